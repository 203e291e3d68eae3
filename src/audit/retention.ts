/** Deletes old entries of the audit log. The last of their links stays as a checkpoint of the chain, from
 *  which verification continues. */
import type { AccountId } from "../model/id.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Database } from "../database/database.ts";
import { deleteLinks, listChains, listOldestLinks, lockSealing } from "./queries.ts";

const PAGE_ROWS = 1_000;

type Age = { nowMs: number; keptMs: number };

/** Deletes up to a page of old entries of each chain, and returns how many. */
export async function deleteOldEntries(db: Database, age: Age, stopping?: AbortSignal): Promise<number> {
  let deleted = 0;
  for (const { account_id: accountId } of await listChains(db))
    if (stopping?.aborted !== true) deleted += await deletePage(db, accountId, age);
  return deleted;
}

const deletePage = (db: Database, accountId: AccountId, { nowMs, keptMs }: Age): Promise<number> =>
  db.transaction(async (tx) => {
    if (!(await lockSealing(tx))) return 0;
    const oldest = await listOldestLinks(tx, accountId, PAGE_ROWS);
    // Entries that committed late have older times than links before them. Only the start of a chain can be deleted.
    const kept = oldest.findIndex(({ event_id: id }) => uuidTimeMs(id) >= nowMs - keptMs);
    const old = kept === -1 ? oldest : oldest.slice(0, kept);
    const last = old.at(-1);
    if (last !== undefined) await deleteLinks(tx, accountId, last.sequence);
    return old.length;
  });
