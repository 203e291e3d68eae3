"""The times of a request: RFC 3339 in UTC, as the service writes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timezone
from typing import Any


def with_times(value: Any, name: str = "") -> Any:
    """Returns a body or a query with texts in place of its times. ``name`` is the position of the value, for the error."""
    if isinstance(value, Mapping):
        return {key: with_times(each, f"{name}.{key}" if name else str(key)) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_times(each, f"{name}[{index}]") for index, each in enumerate(value)]
    return _text(value, name) if isinstance(value, date) else value


def _text(value: date, name: str) -> str:
    # A guess of the zone would send a message hours too early.
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise ValueError(f"{name} must be a time with a zone, such as datetime.now(timezone.utc), and is {value!r}")
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
