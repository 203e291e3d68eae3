/** All SQL of this API. */
import type { Queryable } from "../database/database.ts";
import { sql } from "../database/sql.ts";
import { uuidToText } from "../lib/uuid.ts";
import type { Media } from "../media/media.ts";
import { findMedia } from "../media/queries.ts";
import type { MessageRecord } from "../messages/message.ts";
import { decodeId, idKey, type AccountId, type MessageId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import { filesOfRecord } from "./message-resource.ts";
import type { SourceDetails } from "./source-details.ts";

type Identified = { id: MessageId };

/** Reads the details that this API keeps of messages. A message of another API has none. */
export async function readDetails<M extends Identified>(
  db: Queryable,
  { accountId, environment }: Owner,
  messages: readonly M[],
): Promise<ReadonlyMap<M, SourceDetails>> {
  if (messages.length === 0) return new Map();
  const rows = await db.rows<{ id: MessageId; source_details: SourceDetails }>(sql`
  select m.id, m.source_details
    from unnest(${messages.map(({ id }) => uuidToText(id))}::uuid[]) wanted (id)
   cross join lateral (select *
                         from messages known
                        where known.account_id = ${accountId} and known.environment = ${environment} and known.id = wanted.id
                        limit 1) m
   where m.source = 'twilio' and m.source_details is not null`);
  const found = new Map(rows.map((row) => [idKey(row.id), row.source_details]));
  return new Map(messages.map((message) => [message, found.get(idKey(message.id)) ?? {}]));
}

/** The files of a message that were not deleted. */
export async function readFiles(db: Queryable, owner: Owner, record: MessageRecord): Promise<Media[]> {
  const ids = filesOfRecord(record).flatMap(({ media_id: text }) => decodeId("media", text) ?? []);
  const found = await Promise.all(ids.map((id) => findMedia(db, owner, id)));
  return found.filter((media) => media !== undefined);
}

type AccountRow = { name: string; created_at: Date };

export async function findAccount(db: Queryable, accountId: AccountId): Promise<AccountRow | undefined> {
  const [row] = await db.rows<AccountRow>(sql`
  select name, created_at
    from accounts
   where id = ${accountId}`);
  return row;
}
