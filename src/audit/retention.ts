/** Deletes old entries of the audit log. The last deleted link of each chain stays as a checkpoint, from which verification continues. */
import { RepeatingJob, type BackgroundJob } from "../lib/background-job.ts";
import type { AccountId } from "../model/id.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { deleteLinks, listChains, listOldestLinks, lockSealing } from "./queries.ts";

const DAY_MS = 86_400_000;
const EVERY_MS = 3_600_000;
const FIRST_AFTER_MS = 120_000;
const PAGE_ROWS = 1_000;

export type AuditRetention = { db: Database; clock: Clock; retentionDays: number };

export const auditRetentionJob = (parts: AuditRetention, onError: (error: unknown) => void): BackgroundJob =>
  new RepeatingJob({
    turns: [
      async (stopping) => {
        await deleteOldEntries(parts, stopping);
        return EVERY_MS;
      },
    ],
    onError,
    firstAfterMs: FIRST_AFTER_MS,
    afterErrorMs: EVERY_MS,
    isSpread: true,
  });

export async function deleteOldEntries({ db, clock, retentionDays }: AuditRetention, stopping?: AbortSignal): Promise<number> {
  let deleted = 0;
  for (const { account_id: accountId } of await listChains(db)) {
    for (let page = PAGE_ROWS; page === PAGE_ROWS; deleted += page) {
      if (stopping?.aborted === true) return deleted;
      page = await deletePage(db, accountId, clock.now(), retentionDays);
    }
  }
  return deleted;
}

const deletePage = (db: Database, accountId: AccountId, nowMs: number, retentionDays: number): Promise<number> =>
  db.transaction(async (tx) => {
    if (!(await lockSealing(tx))) return 0;
    const oldest = await listOldestLinks(tx, accountId, PAGE_ROWS);
    // Entries that committed late have older times than links before them. Only the start of a chain can be deleted.
    const kept = oldest.findIndex(({ event_id: id }) => uuidTimeMs(id) >= nowMs - retentionDays * DAY_MS);
    const old = kept === -1 ? oldest : oldest.slice(0, kept);
    const last = old.at(-1);
    if (last !== undefined) await deleteLinks(tx, accountId, { ids: old.map(({ event_id: id }) => id), last, nowMs });
    return old.length;
  });
