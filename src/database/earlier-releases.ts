/** Ends the work of earlier releases on a database, so that the nodes may write what those releases cannot read. No time decides it, but an order:
 *
 *  1. A node connects, and then reads under the lock of migrations whether its release works on the schema. Its sessions name the schema that it knows.
 *  2. Under the same lock, the last migration is marked as one for which earlier releases do not work, if no session of such a release is there.
 *  3. So an earlier node either has read the schema before the mark, and had a session that prevented the mark, or it finds the mark and does not
 *     start. */
import { RepeatingJob } from "../lib/background-job.ts";
import type { Database } from "./database.ts";
import { DATABASE_LOCK, LOCKS } from "./locks.ts";
import { sql } from "./sql.ts";
import { SCHEMA_IN_NAME } from "./session-names.ts";
import { writeCompactRecords } from "./stored-record.ts";

/** The schema from which on releases read compact records of events, and send the contents of messages. */
export const EXCLUSIVE_SCHEMA = 39;

/** Excludes earlier releases if none is connected. Returns whether they are excluded. */
export const excludeEarlierReleases = (db: Database): Promise<boolean> =>
  db.transaction(async (tx) => {
    const [turn] = await tx.rows<{ is_mine: boolean }>(
      sql`select pg_try_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.migrations}) as is_mine`,
    );
    const [schema] = await tx.rows<{ is_exclusive: boolean }>(
      sql`select works_with is null as is_exclusive from schema_migrations where version = ${EXCLUSIVE_SCHEMA}`,
    );
    if (schema?.is_exclusive === true) return true;
    if (schema === undefined || turn?.is_mine !== true) return false;
    const earlier = await tx.rows(sql`
      select 1
        from pg_stat_activity
       where datname = current_database() and application_name like 'godwit %'
         and coalesce(substring(application_name from ${SCHEMA_IN_NAME})::integer, 0) < ${EXCLUSIVE_SCHEMA}
       limit 1`);
    if (earlier.length > 0) return false;
    await tx.rows(sql`update schema_migrations set works_with = null where version = ${EXCLUSIVE_SCHEMA}`);
    return true;
  });

// An upgrade of all nodes takes minutes. Until then events need the space that they needed before.
const AGAIN_MS = 30_000;
const NEVER_MS = 7 * 24 * 3_600_000;

/** Lets this process write compact records and contents as soon as earlier releases are excluded: now, or in a turn of the job. */
export async function startCompactRecords(db: Database, onError: (error: unknown) => void): Promise<RepeatingJob> {
  const turn = async (): Promise<number> => {
    if (!(await excludeEarlierReleases(db))) return AGAIN_MS;
    writeCompactRecords();
    return NEVER_MS;
  };
  const firstAfterMs = await turn().catch((error: unknown) => {
    onError(error);
    return AGAIN_MS;
  });
  const job = new RepeatingJob({ turns: [turn], onError, afterErrorMs: AGAIN_MS, firstAfterMs, isSpread: true });
  job.start();
  return job;
}
