"""The version of this package. scripts/release.ts sets it, also in pyproject.toml."""

__version__ = "0.2.0"
