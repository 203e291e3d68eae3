/** The job that folds the changes of usage into hours and minutes, and the deletion of old counts. A lock lets one node work at a time. */
import { RepeatingJob } from "../lib/background-job.ts";
import type { Database } from "../database/database.ts";
import { FOLD_ROWS, foldUsage, forgetHours, forgetMinutes } from "./queries.ts";

// Readers add up the changes that are not folded yet. Two seconds of them take milliseconds.
const FOLD_EVERY_MS = 2_000;

export function usageFolding(db: Database, onError: (error: unknown) => void): RepeatingJob {
  const turn = async (): Promise<number> => ((await foldUsage(db)) < FOLD_ROWS ? FOLD_EVERY_MS : 0);
  return new RepeatingJob({ turns: [turn], onError, afterErrorMs: FOLD_EVERY_MS, isSpread: true });
}

/** Deletes a batch of counts that are not kept any more. Returns whether rows may be left. */
export const deleteOldHours = async (db: Database, nowMs: number): Promise<boolean> => (await forgetHours(db, nowMs)) > 0;
export const deleteOldMinutes = async (db: Database, nowMs: number): Promise<boolean> => (await forgetMinutes(db, nowMs)) > 0;
