/** The values of /metrics. */
import assert from "node:assert/strict";
import type { Godwit } from "./harness.ts";

/** The values by name and labels, as /metrics writes them. */
export async function readMetrics(godwit: Godwit): Promise<Map<string, number>> {
  const { status, text } = await godwit.request("GET", "/metrics");
  assert.equal(status, 200);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]));
}

/** The series of one metric. */
export const seriesOf = (metrics: ReadonlyMap<string, number>, name: string): Record<string, number> =>
  Object.fromEntries(
    [...metrics].filter(([key, value]) => key.startsWith(`${name}{`) && value !== 0).map(([key, value]) => [key.slice(name.length), value]),
  );
