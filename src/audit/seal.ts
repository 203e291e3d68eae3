/** Seals the audit log, and deletes its old entries. Sealing adds entries to the hash chain of their account, and publishes each with its hash.
 *  One node seals at a time, so that the writers of entries do not wait for each other. An entry is sealed after its transaction has committed. */
import type { Counter, Registry } from "prom-client";
import { RepeatingJob } from "../lib/background-job.ts";
import { metricsIn } from "../lib/metrics.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { newId, type AccountId, type EventId } from "../model/id.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { ACTIONS, auditEventRecord, type AuditRow } from "./audit-event.ts";
import { CHAIN_START, checkpointMac, nextChainLink, type ChainKey } from "./chain.ts";
import { deleteLinks, findLastLink, listChains, listOldestLinks, listUnsealed, lockSealing, storeLink, type ChainLink } from "./queries.ts";

/** Publishes an event in the transaction. The caller passes it, since events are above this folder. */
type PublishAudit = (tx: Tx, event: Owner & { id: EventId; type: "audit.created"; record: string }) => Promise<unknown>;

type SealParts = {
  db: Database;
  clock: Clock;
  chainKey: ChainKey;
  publish: PublishAudit;
  wakeWebhooks: () => void;
  registry: Registry;
};

const PAGE_ROWS = 200;
const OLD_ROWS = 1_000;
// A customer who follows the log by webhooks should not wait long, and an idle node should ask seldom.
const IDLE_MS = 1_000;

export function sealingJob(parts: SealParts, onError: (error: unknown) => void): RepeatingJob {
  // One node seals at a time, so each entry is counted once.
  const sealed = metricsIn(parts.registry).counter("godwit_audit_events_total", "Entries of the audit log, by action.", {
    action: ACTIONS,
  });
  const turn = async (): Promise<number> => ((await sealPage(parts, sealed)) < PAGE_ROWS ? IDLE_MS : 0);
  return new RepeatingJob({ turns: [turn], onError, isSpread: true });
}

/** Seals the entries that wait, up to a page. Returns their number. */
async function sealPage({ db, clock, chainKey, publish, wakeWebhooks }: SealParts, counter: Counter): Promise<number> {
  const sealed = await db.transaction(async (tx) => {
    if (!(await lockSealing(tx))) return [];
    const rows = await listUnsealed(tx, PAGE_ROWS);
    const heads = new Map<string, ChainLink>();
    for (const row of rows) await sealRow(tx, row, { heads, chainKey, publish, nowMs: clock.now() });
    return rows;
  });
  for (const { action } of sealed) counter.inc({ action });
  if (sealed.length > 0) wakeWebhooks();
  return sealed.length;
}

type Sealing = { heads: Map<string, ChainLink>; chainKey: ChainKey; publish: PublishAudit; nowMs: number };

async function sealRow(tx: Tx, row: AuditRow, { heads, chainKey, publish, nowMs }: Sealing): Promise<void> {
  const { account_id: accountId, environment, id } = row;
  const account = accountId.toString("hex");
  const before = heads.get(account) ?? (await findLastLink(tx, accountId)) ?? CHAIN_START;
  const link = nextChainLink(before, row, chainKey);
  heads.set(account, link);
  await storeLink(tx, accountId, id, link);
  if (environment === null) return;
  const record = JSON.stringify(auditEventRecord(row, link.hash));
  await publish(tx, { accountId, environment, id: newId("evt", nowMs), type: "audit.created", record });
}

export type Age = { nowMs: number; keptMs: number };

type OldEntries = Age & { chainKey: ChainKey };

/** Deletes up to a page of old entries of each chain, and returns how many. The last of their links stays as a checkpoint of the chain, from
 *  which verification continues. */
export async function deleteOldEntries(db: Database, age: OldEntries, stopping?: AbortSignal): Promise<number> {
  let deleted = 0;
  for (const { account_id: accountId } of await listChains(db))
    if (stopping?.aborted !== true) deleted += await deletePage(db, accountId, age);
  return deleted;
}

const deletePage = (db: Database, accountId: AccountId, { nowMs, keptMs, chainKey }: OldEntries): Promise<number> =>
  db.transaction(async (tx) => {
    if (!(await lockSealing(tx))) return 0;
    const oldest = await listOldestLinks(tx, accountId, OLD_ROWS);
    // Entries that committed late have older times than links before them. Only the start of a chain can be deleted.
    const kept = oldest.findIndex(({ event_id: id }) => uuidTimeMs(id) >= nowMs - keptMs);
    const old = kept === -1 ? oldest : oldest.slice(0, kept);
    const last = old.at(-1);
    if (last !== undefined) await deleteLinks(tx, accountId, last.sequence, checkpointMac(chainKey, accountId, last, last.event_id));
    return old.length;
  });
