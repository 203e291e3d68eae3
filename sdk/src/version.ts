/** The version of this package. scripts/release.ts sets it. */
export const VERSION = "0.2.0";
