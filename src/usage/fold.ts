/** The job that folds the changes of usage into hours and minutes and deletes old ones. It runs on every node; a lock lets one node work
 *  at a time. */
import { RepeatingJob } from "../lib/background-job.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { FOLD_ROWS, foldUsage, forgetHours, forgetMinutes } from "./queries.ts";

// Readers add up the changes that are not folded yet. Two seconds of them take milliseconds.
const FOLD_EVERY_MS = 2_000;

const DELETIONS = [
  { deleteOld: forgetHours, everyMs: 24 * 3_600_000 },
  // Each run deletes one part in 150, so that the table keeps its size and new rows reuse the space.
  { deleteOld: forgetMinutes, everyMs: 10 * 60_000 },
] as const;

export function usageFolding(db: Database, clock: Clock, onError: (error: unknown) => void): RepeatingJob {
  // The first turn deletes too, so that a node that is restarted every day also deletes.
  const due = DELETIONS.map((each) => ({ ...each, atMs: 0 }));
  const turn = async (stopping: AbortSignal): Promise<number> => {
    await repeat(() => foldUsage(db), FOLD_ROWS, stopping);
    for (const each of due.filter(({ atMs }) => performance.now() >= atMs)) {
      await repeat(() => each.deleteOld(db, clock.now()), 1, stopping);
      each.atMs = performance.now() + each.everyMs;
    }
    return FOLD_EVERY_MS;
  };
  return new RepeatingJob({ turns: [turn], onError, afterErrorMs: FOLD_EVERY_MS, isSpread: true });
}

/** Runs a step until it does less than `enough`. */
async function repeat(step: () => Promise<number>, enough: number, stopping: AbortSignal): Promise<void> {
  let done = enough;
  while (done >= enough && !stopping.aborted) done = await step();
}
