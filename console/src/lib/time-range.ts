/** The period of a page: a preset such as the last 24 hours, or two times that the user enters. It is kept in the address. */

const HOUR_MS = 3_600_000;

export const PRESETS = {
  "1h": { title: "Last hour", lengthMs: HOUR_MS },
  "24h": { title: "Last 24 hours", lengthMs: 24 * HOUR_MS },
  "7d": { title: "Last 7 days", lengthMs: 7 * 24 * HOUR_MS },
  "30d": { title: "Last 30 days", lengthMs: 30 * 24 * HOUR_MS },
} as const;

export type PresetName = keyof typeof PRESETS;
export const PRESET_NAMES = Object.keys(PRESETS) as PresetName[];

export type TimeRange =
  | { kind: "any" }
  | { kind: "preset"; name: PresetName }
  | { kind: "custom"; after: string | undefined; before: string | undefined };

/** The period as parameters of the API. */
export type Bounds = { created_after?: string; created_before?: string };

export const ANY: TimeRange = { kind: "any" };
export const preset = (name: PresetName): TimeRange => ({ kind: "preset", name });

/** Reads the period of an address. Times without a name of a preset are a custom period. */
export function readTimeRange(query: URLSearchParams, otherwise: TimeRange): TimeRange {
  const name = query.get("range");
  const found = PRESET_NAMES.find((each) => each === name);
  if (found !== undefined) return preset(found);
  const after = query.get("created_after")?.trim() || undefined;
  const before = query.get("created_before")?.trim() || undefined;
  return name === "custom" || after !== undefined || before !== undefined ? { kind: "custom", after, before } : otherwise;
}

/** Returns the address with another period. */
export function withTimeRange(query: URLSearchParams, range: TimeRange): URLSearchParams {
  const next = new URLSearchParams(query);
  for (const name of ["range", "created_after", "created_before"]) next.delete(name);
  if (range.kind === "preset") next.set("range", range.name);
  if (range.kind === "custom") {
    next.set("range", "custom");
    if (range.after !== undefined) next.set("created_after", range.after);
    if (range.before !== undefined) next.set("created_before", range.before);
  }
  return next;
}

export function toBounds(range: TimeRange, nowMs: number): Bounds {
  if (range.kind === "any") return {};
  if (range.kind === "preset") return { created_after: new Date(nowMs - PRESETS[range.name].lengthMs).toISOString() };
  return {
    ...(range.after === undefined ? {} : { created_after: range.after }),
    ...(range.before === undefined ? {} : { created_before: range.before }),
  };
}

/** The fault of a custom period, if both times are given and in the wrong order. */
export function rangeFault(range: TimeRange): string | undefined {
  if (range.kind !== "custom" || range.after === undefined || range.before === undefined) return undefined;
  return Date.parse(range.after) >= Date.parse(range.before) ? "The start must be before the end." : undefined;
}
