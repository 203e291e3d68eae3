/** All SQL of consent: suppressions, their history, service windows and settings. */
import type { EventId, SuppressionId } from "../model/id.ts";
import type { Recipient } from "../model/phone-number.ts";
import type { Uuid } from "../lib/uuid.ts";
import { batchStatement, column } from "../database/batch.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { rowReader, type StoredRow } from "../database/row-reader.ts";
import { readPage, scanStatement, type ListPage } from "../database/scan-page.ts";
import { prepare, sql, type Prepared } from "../database/sql.ts";
import { storedSettings, type SomeSettings } from "./consent-settings.ts";
import type { ConsentChange, ConsentScope, Pair, Suppression } from "./suppression.ts";

// The sender is part of the key, in which null would not equal null.
export const ANY_SENDER = "";

const COLUMNS = `s.account_id, s.environment, s.recipient, case when s.sender <> '${ANY_SENDER}' then s.sender end as sender, s.id,
       s.is_active, s.source, s.keyword, s.message_id, s.note, s.updated_at, s.created_by`;

const toSuppression = rowReader<Suppression>(COLUMNS, ["updatedAtMs"]);

/** A suppression as a change leaves it. */
export type Changed = { changeId: EventId; suppression: Suppression };

const pairColumns = [
  column<Pair, "uuid">("account_id", "uuid", ({ accountId }) => accountId),
  column<Pair, "text">("environment", "text", ({ environment }) => environment),
  column<Pair, "text">("recipient", "text", ({ recipient }) => recipient),
  column<Pair, "text">("sender", "text", ({ sender }) => sender ?? ANY_SENDER),
];

const suppressionColumns = [
  ...pairColumns,
  column<Suppression, "uuid">("id", "uuid", ({ id }) => id),
  column<Suppression, "boolean">("is_active", "boolean", ({ isActive }) => isActive),
  column<Suppression, "text">("source", "text", ({ source }) => source),
  column<Suppression, "text">("keyword", "text", ({ keyword }) => keyword),
  column<Suppression, "uuid">("message_id", "uuid", ({ messageId }) => messageId),
  column<Suppression, "text">("note", "text", ({ note }) => note),
  column<Suppression, "timestamptz">("updated_at", "timestamptz", ({ updatedAtMs }) => updatedAtMs),
  column<Suppression, "text">("created_by", "text", ({ createdBy }) => createdBy),
];

/** Inserts the history of the suppressions in `stored`. */
const recordChanges = (changeId: string): string => `
  insert into suppression_changes (account_id, environment, suppression_id, id, is_active, source, keyword, message_id, note)
  select account_id, environment, id, ${changeId}, is_active, source, keyword, message_id, note
    from stored`;

const insertNew = batchStatement<Suppression>(
  suppressionColumns,
  (items) => `
with stored as (
  insert into suppressions (account_id, environment, recipient, sender, id, is_active, source, keyword, message_id, note, updated_at,
                            created_by)
  select item.account_id, item.environment, item.recipient, item.sender, item.id, item.is_active, item.source, item.keyword,
         item.message_id, item.note, item.updated_at, item.created_by
    from ${items}
   order by item.ordinal
  on conflict (account_id, environment, recipient, sender) do nothing
  returning *
), recorded as (${recordChanges("id")}
)
select id
  from stored`,
);

/** Inserts suppressions whose pair has none yet, each with its first change, which has the same id. Returns their ids. Waits for another
 *  transaction that inserts the same pair. */
export const insertSuppressions = (tx: Tx, suppressions: readonly Suppression[]): Promise<{ id: SuppressionId }[]> =>
  tx.rows<{ id: SuppressionId }>(insertNew(suppressions));

const lockPairs = batchStatement<Pair>(
  pairColumns,
  (items) => `
select found.*
  from ${items}
 cross join lateral (select ${COLUMNS}
                       from suppressions s
                      where s.account_id = item.account_id and s.environment = item.environment and s.recipient = item.recipient
                        and s.sender = item.sender
                      limit 1
                        for update) found`,
);

/** Locks the suppressions of these pairs until the transaction ends, in the given order. */
export const lockSuppressions = async (tx: Tx, pairs: readonly Pair[]): Promise<Suppression[]> =>
  (await tx.rows<StoredRow>(lockPairs(pairs))).map(toSuppression);

const store = batchStatement<Changed>(
  [
    ...suppressionColumns.map(({ name, type, pick }) => ({ name, type, pick: ({ suppression }: Changed) => pick(suppression) })),
    column("change_id", "uuid", ({ changeId }) => changeId),
  ],
  (items) => `
with stored as (
  update suppressions s
     set is_active = item.is_active, source = item.source, keyword = item.keyword, message_id = item.message_id, note = item.note,
         updated_at = item.updated_at
    from ${items}
   where s.account_id = item.account_id and s.environment = item.environment and s.recipient = item.recipient
     and s.sender = item.sender
  returning s.*, item.change_id
)${recordChanges("change_id")}`,
);

/** Stores changes of locked suppressions, and their history. */
export const storeChanges = async (tx: Tx, changes: readonly Changed[]): Promise<void> => {
  await tx.rows(store(changes));
};

// Always true. The condition lets the planner use the index, see the schema.
const BY_ID = "recipient > ''";
const BY_RECIPIENT = "id > '00000000-0000-0000-0000-000000000000'";

const find = (suffix: string) => {
  const statement = prepare(`
select ${COLUMNS}
  from suppressions s
 where s.account_id = $1 and s.environment = $2 and s.id = $3 and s.${BY_ID}${suffix}`);
  return async (db: Queryable, { accountId, environment }: Owner, id: SuppressionId): Promise<Suppression | undefined> => {
    const [row] = await db.rows<StoredRow>({ ...statement, values: [accountId, environment, id] });
    return row && toSuppression(row);
  };
};

export const findSuppression = find("");
/** Locks a suppression until the transaction ends. */
export const lockSuppression = find("\n   for update");

export type SuppressionFilter = { from: Uuid; before: Uuid; recipient: string | null; sender: string | null; isActive: boolean };

const listBy = (condition: string): Prepared =>
  scanStatement({
    scan: `
  select id, sender, is_active
    from suppressions
   where account_id = $1 and environment = $2 and id < $5 and id >= $6 and ${condition}`,
    filter: "($7::text is null or sender = $7) and is_active = $8",
    whole: `
  select ${COLUMNS}
    from suppressions s
   where s.account_id = $1 and s.environment = $2 and s.id = found.id and s.${BY_ID}`,
  });

const listAll = listBy(BY_ID);
const listByRecipient = listBy(`recipient = $9 and ${BY_RECIPIENT}`);

/** A page of suppressions, newest first. */
export async function listSuppressions(
  db: Queryable,
  owner: Owner,
  filter: SuppressionFilter,
  limit: number,
): Promise<ListPage<Suppression>> {
  const { from, before, recipient, sender, isActive } = filter;
  const [statement, values] =
    recipient === null ? [listAll, [before, from, sender, isActive]] : [listByRecipient, [before, from, sender, isActive, recipient]];
  const { items, next } = await readPage<StoredRow & { id: SuppressionId }>(db, statement, { owner, limit, isFiltered: true, values });
  return { items: items.map(toSuppression), next };
}

const toChange = rowReader<ConsentChange>("id, is_active, source, keyword, message_id, note", []);

/** The history of a suppression, newest first, before `before`. */
export const listChanges = async (
  db: Queryable,
  { accountId, environment, id }: Suppression,
  before: Uuid,
  limit: number,
): Promise<ConsentChange[]> => {
  const rows = await db.rows<StoredRow>(sql`
  select id, is_active, source, keyword, message_id, note
    from suppression_changes
   where account_id = ${accountId} and environment = ${environment} and suppression_id = ${id} and id < ${before}
   order by id desc
   limit ${limit}`);
  return rows.map(toChange);
};

// A message that is `sending` has few newer messages to the same recipient.
const LATEST_MESSAGES = 100;

const countSending = batchStatement<Pair>(
  pairColumns,
  (items) => `
select item.ordinal::integer, count(*)::integer as count
  from ${items}
 cross join lateral (select m.status, m.sender
                       from messages m
                      where m.account_id = item.account_id and m.environment = item.environment and m.recipient = item.recipient
                      order by m.id desc
                      limit ${LATEST_MESSAGES}) latest
 where latest.status = 'sending' and (item.sender = '' or latest.sender = item.sender)
 group by item.ordinal`,
);

/** Counts the `sending` messages of each pair among the latest messages to its recipient, in the order of the pairs. */
export async function countInFlight(tx: Tx, pairs: readonly Pair[]): Promise<number[]> {
  const rows = await tx.rows<{ ordinal: number; count: number }>(countSending(pairs));
  const counts = new Map(rows.map(({ ordinal, count }) => [ordinal - 1, count]));
  return pairs.map((_, index) => counts.get(index) ?? 0);
}

/** Stores when the recipient wrote to the sender. An older message than the stored one changes nothing. */
export const storeWindow = (
  tx: Tx,
  { accountId, environment, recipient, sender }: Pair & { sender: string },
  atMs: number,
): Promise<unknown[]> =>
  tx.rows(sql`
  insert into service_windows as w (account_id, environment, recipient, sender, opened_at)
  select ${accountId}, ${environment}, ${recipient}, ${sender}, ${new Date(atMs)}::timestamptz
  on conflict (account_id, environment, recipient, sender) do update
     set opened_at = excluded.opened_at
   where w.opened_at < excluded.opened_at`);

export type ServiceWindow = { sender: string; opened_at: Date };

/** The service windows of a recipient, by sender, after `after`. */
export const listWindows = (db: Queryable, person: ConsentScope, after: string | null, limit: number): Promise<ServiceWindow[]> =>
  db.rows<ServiceWindow>(sql`
  select sender, opened_at
    from service_windows
   where account_id = ${person.accountId} and environment = ${person.environment} and recipient = ${person.recipient}
     and (${after}::text is null or sender > ${after}::text)
   order by sender
   limit ${limit}`);

/** Keeps the active opt-outs of a recipient as keyed hashes. */
export const keepErasedOptOuts = (tx: Tx, { accountId, environment }: Owner, recipient: Recipient, nowMs: number): Promise<unknown> =>
  tx.rows(sql`
  insert into erased_opt_outs (account_id, environment, recipient_hash, sender, created_at)
  select account_id, environment, hash_recipient(account_id, recipient), sender, ${new Date(nowMs)}
    from suppressions
   where account_id = ${accountId} and environment = ${environment} and recipient = ${recipient} and is_active
  on conflict do nothing`);

/** Deletes the suppressions of a recipient with their history, and its service windows. Returns the number of suppressions. */
export async function deleteConsent(tx: Tx, { accountId, environment }: Owner, recipient: Recipient): Promise<number> {
  await tx.rows(sql`
  delete from suppression_changes c
   using suppressions s
   where s.account_id = ${accountId} and s.environment = ${environment} and s.recipient = ${recipient}
     and c.account_id = s.account_id and c.environment = s.environment and c.suppression_id = s.id`);
  await tx.rows(sql`
  delete from service_windows
   where account_id = ${accountId} and environment = ${environment} and recipient = ${recipient}`);
  const deleted = await tx.rows(sql`
  delete from suppressions
   where account_id = ${accountId} and environment = ${environment} and recipient = ${recipient}
  returning 1`);
  return deleted.length;
}

/** Deletes the opt-out of an erased recipient toward exactly this sender. Returns whether there was one. */
export async function deleteErasedOptOut(tx: Tx, { accountId, environment, recipient, sender }: Pair): Promise<boolean> {
  const deleted = await tx.rows(sql`
  delete from erased_opt_outs
   where account_id = ${accountId} and environment = ${environment} and sender = ${sender ?? ANY_SENDER}
     and recipient_hash = case when exists (select from erased_opt_outs) then hash_recipient(${accountId}, ${recipient}) end
  returning 1`);
  return deleted.length > 0;
}

export type ErasedOptOut = { sender: string; created_at: Date };

/** The opt-outs of a recipient whose data was erased, by sender, after `after`. An empty sender stands for all senders. */
export const listErasedOptOuts = (db: Queryable, person: ConsentScope, after: string | null, limit: number): Promise<ErasedOptOut[]> =>
  db.rows<ErasedOptOut>(sql`
  select sender, created_at
    from erased_opt_outs
   where account_id = ${person.accountId} and environment = ${person.environment}
     and recipient_hash = hash_recipient(${person.accountId}, ${person.recipient})
     and (${after}::text is null or sender > ${after}::text)
   order by sender
   limit ${limit}`);

export type StoredSettings = { settings: SomeSettings; updated_at: Date };

/** The settings that the account has set itself; undefined if it has set none. */
export async function findSettings(db: Queryable, { accountId, environment }: Owner): Promise<StoredSettings | undefined> {
  const [row] = await db.rows<StoredSettings>(sql`
  select settings, updated_at
    from consent_settings
   where account_id = ${accountId} and environment = ${environment}`);
  return row && { ...row, settings: storedSettings(row.settings) };
}

/** Locks the settings of an environment until the transaction ends, even if there are none yet. Returns those that the account has set. */
export async function lockSettings(tx: Tx, { accountId, environment }: Owner, nowMs: number): Promise<SomeSettings> {
  const [row] = await tx.rows<Pick<StoredSettings, "settings">>(sql`
  insert into consent_settings (account_id, environment, settings, updated_at)
  select ${accountId}, ${environment}, '{}'::json, ${new Date(nowMs)}
  on conflict (account_id, environment) do update
     set updated_at = excluded.updated_at
  returning settings`);
  return storedSettings(row?.settings);
}

/** Stores the settings of a locked environment. */
export const storeSettings = (tx: Tx, { accountId, environment }: Owner, settings: SomeSettings, nowMs: number): Promise<unknown[]> =>
  tx.rows(sql`
  update consent_settings
     set settings = ${JSON.stringify(settings)}::json, updated_at = ${new Date(nowMs)}
   where account_id = ${accountId} and environment = ${environment}`);
