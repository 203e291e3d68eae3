/** Verifications go away some time after they are over, as messages do. */
import { Turns } from "../lib/turns.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { forgetVerifications } from "./queries.ts";

const DAY_MS = 24 * 3_600_000;
const BATCH = 1_000;
const EVERY_MS = 3_600_000;

export function keepForgettingVerifications(
  { db, clock, retentionDays }: { db: Database; clock: Clock; retentionDays: number },
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  const turns = new Turns(onError);
  turns.every(async () => {
    const forgotten = await forgetVerifications(db, clock.now() - retentionDays * DAY_MS, BATCH);
    return forgotten === BATCH ? 0 : EVERY_MS;
  });
  return turns;
}
