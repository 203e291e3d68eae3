/** The axes of a chart: round values for the grid, and the positions of the labels. */

/** Numbers of messages, milliseconds, or shares of 1. */
export type ValueKind = "count" | "duration" | "share";

const COUNT_STEPS = [1, 2, 5];
// Round milliseconds, seconds and minutes.
const DURATION_STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000,
];

const MAX_LINES = 4;
const HOUR_MS = 3_600_000;

/** Returns the values of the grid lines from 0 up to at least `highest`, at most five. */
export function toTicks(kind: ValueKind, highest: number): number[] {
  const step = kind === "share" ? 0.25 : stepFor(kind, highest / MAX_LINES);
  const lines = kind === "share" ? MAX_LINES : Math.max(1, Math.ceil(highest / step));
  return Array.from({ length: lines + 1 }, (_, at) => at * step);
}

function stepFor(kind: "count" | "duration", least: number): number {
  if (kind === "duration") return DURATION_STEPS.find((step) => step >= least) ?? Math.ceil(least / HOUR_MS) * HOUR_MS;
  // Counts are whole numbers.
  for (let power = 1; ; power *= 10) {
    const found = COUNT_STEPS.find((step) => step * power >= least);
    if (found !== undefined) return found * power;
  }
}

const MAX_LABELS = 6;

/** Returns the positions on the time axis that get a label: evenly spaced, with the last one. */
export function toLabelPositions(count: number): number[] {
  const step = Math.max(1, Math.ceil(count / MAX_LABELS));
  const positions: number[] = [];
  for (let at = count - 1; at >= 0; at -= step) positions.unshift(at);
  return positions;
}
