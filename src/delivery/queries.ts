/** The SQL by which delivery reads messages: by their ids, and by the names that carriers gave them. */
import type { MessageId } from "../lib/id.ts";
import { joinMessage, MESSAGE_COLUMNS, toMessage, type MessageRow } from "../messages/rows.ts";
import type { Message } from "../messages/message.ts";
import { carrierIdColumns } from "./receipt-queries.ts";
import type { CarrierId } from "../messages/provider-reference.ts";
import { batchStatement, column } from "../storage/batch.ts";
import type { Queryable } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";

export type Owned = Owner & { id: MessageId };

const read = batchStatement<Owned>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("message_id", "uuid", ({ id }) => id),
  ],
  (items) => `
select ${MESSAGE_COLUMNS}
  from ${items}${joinMessage("item")}`,
);

/** Messages as they are now. */
export const readMessages = async (db: Queryable, ids: readonly Owned[]): Promise<Message[]> =>
  (await db.rows<MessageRow>(read(ids))).map(toMessage);

const findNamed = batchStatement<CarrierId>(
  carrierIdColumns,
  (items) => `
select item.ordinal::integer as place, named.part, ${MESSAGE_COLUMNS}
  from ${items}
 cross join lateral (select r.account_id, r.environment, r.message_id, r.part
                       from provider_references r
                      where r.link = item.link and r.provider_message_id = item.id
                      limit 1) named${joinMessage("named")}`,
);

/** A message, and the number of its part where it was sent in several parts. */
export type MatchedMessage = { message: Message; part: number | null };

/** The messages that carriers gave these names, by place in the list. An unknown name has no entry. */
export async function findByCarrierIds(db: Queryable, names: readonly CarrierId[]): Promise<Map<number, MatchedMessage>> {
  const rows = await db.rows<MessageRow & { place: number; part: number | null }>(findNamed(names));
  return new Map(rows.map((row) => [row.place - 1, { message: toMessage(row), part: row.part }]));
}
