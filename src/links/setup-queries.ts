/** All SQL of created links, senders and routes, and of pauses. */
import type { AccountId, LinkId, MessageId, RouteId, SenderId } from "../model/id.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { lockOwner, OWNER_LOCKS } from "../database/locks.ts";
import { sql } from "../database/sql.ts";
import type { LinkDefinition } from "./link-definition.ts";
import type { RouteRow, Sender } from "./plan.ts";

export type Stamps = { account_id: AccountId; updated_at: Date; created_by: string | null };

/** `revision` changes with each change of the row. */
export type LinkRow = Stamps & { id: LinkId; name: string; definition: LinkDefinition; secrets: string; revision: string };
export type SenderOptions = Pick<Sender, "countries" | "pool" | "preference" | "rate">;
export type SenderRow = Stamps & { id: SenderId; link_id: LinkId; number: string; definition: SenderOptions };
export type RouteDefinition = Omit<RouteRow, "account" | "environment">;
export type RouteRecordRow = Stamps & { id: RouteId; definition: RouteDefinition };

export type PauseRow = { link: string; reason: string; ends_at: Date | null; paused_by: string | null };

/** Waits for other changes of the account, so that its limits and its names hold. */
export const lockSetup = (tx: Tx, accountId: AccountId): Promise<unknown[]> =>
  lockOwner(tx, OWNER_LOCKS.setup, { accountId, environment: "live" });

export const readVersion = async (db: Queryable): Promise<string> =>
  (
    await db.rows<{ version: string }>(sql`
  select version::text as version
    from created_version`)
  )[0]?.version ?? "";

/** Lets all nodes notice a change when it has committed. Returns the version of the change. Changes wait for each other here until they commit. */
export const raiseVersion = async (tx: Tx): Promise<string> =>
  (
    await tx.rows<{ version: string }>(sql`
  update created_version
     set version = version + 1
  returning version::text as version`)
  )[0]?.version ?? "";

/** The time in the id of the newest message of the queue; zero without one. */
export async function newestQueuedMs(db: Queryable): Promise<number> {
  const [newest] = await db.rows<{ message_id: MessageId }>(sql`
  select message_id
    from delivery_queue
   order by message_id desc
   limit 1`);
  return newest === undefined ? 0 : uuidTimeMs(newest.message_id);
}

/** The links of one account, or of all, the oldest first. */
export const readLinks = (db: Queryable, accountId: AccountId | null): Promise<LinkRow[]> =>
  db.rows<LinkRow>(sql`
  select account_id, id, name, definition, secrets, updated_at, created_by, xmin::text as revision
    from created_links
   where account_id = ${accountId} or ${accountId}::uuid is null
   order by id`);

export const readSenders = (db: Queryable, accountId: AccountId | null): Promise<SenderRow[]> =>
  db.rows<SenderRow>(sql`
  select account_id, id, link_id, number, definition, updated_at, created_by
    from created_senders
   where account_id = ${accountId} or ${accountId}::uuid is null
   order by id`);

export const readRoutes = (db: Queryable, accountId: AccountId | null): Promise<RouteRecordRow[]> =>
  db.rows<RouteRecordRow>(sql`
  select account_id, id, definition, updated_at, created_by
    from created_routes
   where account_id = ${accountId} or ${accountId}::uuid is null
   order by id`);

/** Writes a link, a new one or a changed one. */
export const writeLink = async (tx: Tx, row: Omit<LinkRow, "revision">): Promise<void> => {
  await tx.rows(sql`
  insert into created_links (account_id, id, name, definition, secrets, updated_at, created_by)
  values (${row.account_id}, ${row.id}, ${row.name}, ${JSON.stringify(row.definition)}::json, ${row.secrets}, ${row.updated_at},
          ${row.created_by})
  on conflict (account_id, id) do update
     set name = excluded.name, definition = excluded.definition, secrets = excluded.secrets, updated_at = excluded.updated_at`);
};

export const writeSender = async (tx: Tx, row: SenderRow): Promise<void> => {
  await tx.rows(sql`
  insert into created_senders (account_id, id, link_id, number, definition, updated_at, created_by)
  values (${row.account_id}, ${row.id}, ${row.link_id}, ${row.number}, ${JSON.stringify(row.definition)}::json, ${row.updated_at},
          ${row.created_by})
  on conflict (account_id, id) do update
     set definition = excluded.definition, updated_at = excluded.updated_at`);
};

export const writeRoute = async (tx: Tx, row: RouteRecordRow): Promise<void> => {
  await tx.rows(sql`
  insert into created_routes (account_id, id, definition, updated_at, created_by)
  values (${row.account_id}, ${row.id}, ${JSON.stringify(row.definition)}::json, ${row.updated_at}, ${row.created_by})
  on conflict (account_id, id) do update
     set definition = excluded.definition, updated_at = excluded.updated_at`);
};

/** Deletes a link with its senders. */
export const deleteLink = async (tx: Tx, row: Pick<LinkRow, "account_id" | "id">): Promise<void> => {
  await tx.rows(sql`
  delete from created_links
   where account_id = ${row.account_id} and id = ${row.id}`);
};

export const deleteSender = async (tx: Tx, row: Pick<SenderRow, "account_id" | "id">): Promise<void> => {
  await tx.rows(sql`
  delete from created_senders
   where account_id = ${row.account_id} and id = ${row.id}`);
};

export const deleteRoute = async (tx: Tx, row: Pick<RouteRecordRow, "account_id" | "id">): Promise<void> => {
  await tx.rows(sql`
  delete from created_routes
   where account_id = ${row.account_id} and id = ${row.id}`);
};

/** The pauses that have not ended. */
export const readPauseRows = (db: Queryable, nowMs: number): Promise<PauseRow[]> =>
  db.rows<PauseRow>(sql`
  select link, reason, ends_at, paused_by
    from link_pauses
   where ends_at is null or ends_at > ${new Date(nowMs)}`);

/** A pause that ends by itself does not shorten one that does not, and a pause of the operator replaces every other. */
export const writePauseRow = async (tx: Tx, { link, reason, ends_at, paused_by }: PauseRow, isOfOperator: boolean): Promise<boolean> =>
  (
    await tx.rows(sql`
  insert into link_pauses as pause (link, reason, ends_at, paused_by)
  values (${link}, ${reason}, ${ends_at}, ${paused_by})
  on conflict (link) do update
     set reason = excluded.reason, ends_at = excluded.ends_at, paused_by = excluded.paused_by
   where pause.ends_at is not null or (${isOfOperator} and pause.reason <> excluded.reason)
  returning 1`)
  ).length > 0;

export const deletePause = async (tx: Tx, link: string): Promise<boolean> =>
  (
    await tx.rows(sql`
  delete from link_pauses
   where link = ${link}
  returning 1`)
  ).length > 0;

/** Stores the secrets of a link, sealed with a new key. */
export const writeSecrets = async (tx: Tx, { account_id, id, secrets }: Pick<LinkRow, "account_id" | "id" | "secrets">): Promise<void> => {
  await tx.rows(sql`
  update created_links
     set secrets = ${secrets}
   where account_id = ${account_id} and id = ${id}`);
};
