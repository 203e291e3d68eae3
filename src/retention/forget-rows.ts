/** Rows of small tables go away as messages do: one by one, since they have no weeks to be dropped with. */
import { RepeatingJob, type Turn } from "../lib/background-job.ts";
import { firstUuidAt } from "../lib/uuid.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { AGEING_TABLES, deleteOldRows, type AgeingTable } from "./queries.ts";

const DAY_MS = 24 * 3_600_000;
const BATCH = 1_000;
const EVERY_MS = 3_600_000;

export function rowCleanup(
  { db, clock, retentionDays }: { db: Database; clock: Clock; retentionDays: number },
  onError: (error: unknown) => void,
): RepeatingJob {
  const cleanUp =
    (table: AgeingTable): Turn =>
    async () => {
      const deleted = await deleteOldRows(db, table, firstUuidAt(clock.now() - retentionDays * DAY_MS), BATCH);
      return deleted === BATCH ? 0 : EVERY_MS;
    };
  return new RepeatingJob({ turns: (Object.keys(AGEING_TABLES) as AgeingTable[]).map(cleanUp), onError });
}
