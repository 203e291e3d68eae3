/** All SQL of kept inbound messages and notifications. */
import type { OptKind } from "../consent/opt-out-words.ts";
import type { CarriedContent } from "../model/content.ts";
import type { AccountId, KeptInboundId, MessageId } from "../model/id.ts";
import type { Recipient } from "../model/phone-number.ts";
import type { Channel } from "../links/channel.ts";
import { batchStatement, column } from "../database/batch.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Environment, Owner } from "../model/owner.ts";
import { sql } from "../database/sql.ts";

const KEPT_KINDS = ["message", "notification"] as const;
export type KeptKind = (typeof KEPT_KINDS)[number];

/** A kept message or notification that the operator has not assigned. */
export type KeptInbound = {
  id: KeptInboundId;
  kind: KeptKind;
  link: string;
  provider: string;
  channel: Channel;
  provider_message_id: string | null;
  sender: Recipient | null;
  recipient: Recipient | null;
  body: string | null;
  reported: OptKind | null;
  is_to_group: boolean;
  content: CarriedContent | null;
  details: Readonly<Record<string, string>> | null;
};

const insert = batchStatement<KeptInbound>(
  [
    column("id", "uuid", ({ id }) => id),
    column("kind", "text", ({ kind }) => kind),
    column("link", "text", ({ link }) => link),
    column("provider", "text", ({ provider }) => provider),
    column("channel", "text", ({ channel }) => channel),
    column("provider_message_id", "text", ({ provider_message_id: id }) => id),
    column("sender", "text", ({ sender }) => sender),
    column("recipient", "text", ({ recipient }) => recipient),
    column("body", "text", ({ body }) => body),
    column("reported", "text", ({ reported }) => reported),
    column("is_to_group", "boolean", ({ is_to_group: isToGroup }) => isToGroup),
    column("content", "text", ({ content }) => content && JSON.stringify(content)),
    column("details", "text", ({ details }) => details && JSON.stringify(details)),
  ],
  (items) => `
insert into kept_inbound
  (id, kind, link, provider, channel, provider_message_id, sender, recipient, body, reported, is_to_group, content, details)
select id, kind, link, provider, channel, provider_message_id, sender, recipient, body, reported, is_to_group, content::json,
       details::json
  from ${items}`,
);

export const insertKept = (tx: Tx, kept: readonly KeptInbound[]): Promise<unknown> => tx.rows(insert(kept));

/** Deletes all but the newest notifications. */
export const deleteFurtherNotifications = (tx: Tx, most: number): Promise<unknown> =>
  tx.rows(sql`
  delete from kept_inbound
   where id = any (array(select id
                           from kept_inbound
                          where kind = 'notification' and message_id is null
                          order by id desc
                         offset ${most}
                          limit 1000))`);

/** Reads the messages and notifications that the operator has not assigned, the newest first. */
export const readKept = (db: Queryable, limit: number): Promise<KeptInbound[]> =>
  db.rows<KeptInbound>(sql`
  select id, kind, link, provider, channel, provider_message_id, sender, recipient, body, reported, is_to_group, content, details
    from kept_inbound
   where message_id is null
   order by id desc
   limit ${limit}`);

/** Counts what the operator has not assigned, by kind, each up to a limit. */
export const countKept = (db: Queryable, limit: number): Promise<{ kind: KeptKind; count: number }[]> =>
  db.rows<{ kind: KeptKind; count: number }>(sql`
  select kinds.kind, counted.count
    from unnest(${KEPT_KINDS}::text[]) as kinds(kind)
   cross join lateral (select count(*)::integer as count
                         from (select id
                                 from kept_inbound
                                where kind = kinds.kind and message_id is null
                                limit ${limit}) waiting) counted`);

export type LockedKept = KeptInbound & { account_id: AccountId | null; environment: Environment | null; message_id: MessageId | null };

/** Locks a kept message or notification until the transaction ends. */
export const lockKept = async (tx: Tx, id: KeptInboundId): Promise<LockedKept | undefined> =>
  (
    await tx.rows<LockedKept>(sql`
  select id, kind, link, provider, channel, provider_message_id, sender, recipient, body, reported, is_to_group, content, details,
         account_id, environment, message_id
    from kept_inbound
   where id = ${id}
     for update`)
  )[0];

/** Stores the message that a kept one became, and removes the person and the contents, which the message has now. */
export const storeAssigned = (tx: Tx, id: KeptInboundId, { accountId, environment }: Owner, messageId: MessageId): Promise<unknown> =>
  tx.rows(sql`
  update kept_inbound
     set account_id = ${accountId}, environment = ${environment}, message_id = ${messageId},
         sender = null, recipient = null, body = null, content = null, details = null
   where id = ${id}`);
