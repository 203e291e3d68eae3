/** Seals the audit log: adds its entries to the hash chain of their account, and publishes each with its hash. One node seals at a time, so
 *  that the writers of entries do not wait for each other. An entry is sealed after its transaction has committed. */
import { Counter, type Registry } from "prom-client";
import { RepeatingJob, type BackgroundJob } from "../lib/background-job.ts";
import { newId, type AccountId } from "../model/id.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import type { Environment } from "../model/owner.ts";
import { auditEventRecord, type AuditRow } from "./audit-event.ts";
import { CHAIN_START, nextChainLink, type ChainLink } from "./chain.ts";
import { findLastLink, listUnsealed, lockSealing, storeLink } from "./queries.ts";

/** Publishes an event in the transaction. The caller passes it, since events are above this folder. */
type PublishAudit = (
  tx: Tx,
  event: { accountId: AccountId; environment: Environment; id: ReturnType<typeof newEventId>; type: "audit.created"; record: string },
) => Promise<void>;

type SealParts = {
  db: Database;
  clock: Clock;
  publish: PublishAudit;
  wakeWebhooks: () => void;
  /** Counts a sealed entry. */
  onSealed: (action: string) => void;
};

const PAGE_ROWS = 200;
// A customer who follows the log by webhooks should not wait long, and an idle node should ask seldom.
const IDLE_MS = 1_000;

const newEventId = (nowMs: number) => newId("evt", nowMs);

export const sealingJob = (parts: SealParts, onError: (error: unknown) => void): BackgroundJob =>
  new RepeatingJob({ turns: [async () => ((await sealPage(parts)) < PAGE_ROWS ? IDLE_MS : 0)], onError, isSpread: true });

/** Seals the entries that wait, up to a page. Returns their number. */
async function sealPage({ db, clock, publish, wakeWebhooks, onSealed }: SealParts): Promise<number> {
  const sealed = await db.transaction(async (tx) => {
    if (!(await lockSealing(tx))) return [];
    const rows = await listUnsealed(tx, PAGE_ROWS);
    const heads = new Map<string, ChainLink>();
    for (const row of rows) await sealRow(tx, row, { heads, publish, nowMs: clock.now() });
    return rows;
  });
  for (const { action } of sealed) onSealed(action);
  if (sealed.length > 0) wakeWebhooks();
  return sealed.length;
}

type Sealing = { heads: Map<string, ChainLink>; publish: PublishAudit; nowMs: number };

async function sealRow(tx: Tx, row: AuditRow, { heads, publish, nowMs }: Sealing): Promise<void> {
  const { account_id: accountId, environment, id } = row;
  const account = accountId.toString("hex");
  const before = heads.get(account) ?? (await findLastLink(tx, accountId)) ?? CHAIN_START;
  const link = nextChainLink(before, row);
  heads.set(account, link);
  await storeLink(tx, accountId, id, link);
  if (environment === null) return;
  const record = JSON.stringify(auditEventRecord(row, link.hash));
  await publish(tx, { accountId, environment, id: newEventId(nowMs), type: "audit.created", record });
}

/** Counts sealed entries by their action. One node seals at a time, so each entry is counted once. */
export function auditCounter(registry: Registry): (action: string) => void {
  const counter = new Counter({
    name: "godwit_audit_events_total",
    help: "Entries of the audit log, by action.",
    labelNames: ["action"],
    registers: [registry],
  });
  return (action) => counter.inc({ action });
}
