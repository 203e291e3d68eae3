/** The budget of `npm test` in processor time. The same work takes more of it on a slow machine, after a cold start, and beside other
 *  programs. A fixed program that runs a few times beside the tests measures by how much, and scales the budget. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

// Processor time also differs between runs.
const PERMITTED_EXCESS = 1.25;

/** The processor time that the fixed program takes now. */
export async function referenceMs(): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, "reference-work.ts")]);
  return Number(stdout);
}

export const mean = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length;

/** `referenceMs`: of the fixed program on the quiet machine of the recorded run. */
export type Budget = { budgetMs: number; referenceMs: number };

/** Decides whether a run was within its budget. A fast machine does not make the budget smaller. */
export function judge(
  { budgetMs, referenceMs: recordedMs }: Budget,
  usedMs: number,
  measuredMs: readonly number[],
): { scale: number; isWithin: boolean } {
  const scale = measuredMs.length === 0 ? 1 : Math.max(1, mean(measuredMs) / recordedMs);
  return { scale, isWithin: usedMs <= budgetMs * PERMITTED_EXCESS * scale };
}
