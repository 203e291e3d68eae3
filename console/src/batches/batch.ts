/** The progress of a batch, from the counts of its statuses. */
import type { Batch } from "godwit-sdk";

const FINAL: ReadonlySet<string> = new Set(["delivered", "read", "undelivered", "failed", "expired", "canceled"]);

export type BatchProgress = { finished: number; all: number; share: number };

/** How many of the accepted messages have a final status. */
export function progressOf({ accepted, statuses }: Batch): BatchProgress {
  const finished = Object.entries(statuses).reduce((sum, [status, count]) => (FINAL.has(status) ? sum + count : sum), 0);
  return { finished, all: accepted, share: accepted === 0 ? 1 : finished / accepted };
}
