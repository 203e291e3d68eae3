/** The SQL with which delivery reads messages: by their ids, and by their carrier ids. */
import type { MessageId } from "../lib/id.ts";
import type { Message } from "../messages/message.ts";
import type { CarrierId } from "../messages/provider-reference.ts";
import { joinMessage, MESSAGE_COLUMNS, messageOfRow, type MessageRow } from "../messages/rows.ts";
import { batchStatement, column } from "../storage/batch.ts";
import type { Queryable } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { carrierIdColumns } from "./receipt-queries.ts";

export type OwnedMessage = Owner & { id: MessageId };

const read = batchStatement<OwnedMessage>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("message_id", "uuid", ({ id }) => id),
  ],
  (items) => `
select ${MESSAGE_COLUMNS}
  from ${items}${joinMessage("item")}`,
);

/** Reads the current versions of these messages. */
export const readMessages = async (db: Queryable, ids: readonly OwnedMessage[]): Promise<Message[]> =>
  (await db.rows<MessageRow>(read(ids))).map(messageOfRow);

const findByCarrierId = batchStatement<CarrierId>(
  carrierIdColumns,
  (items) => `
select item.ordinal::integer as ordinal, known.part, ${MESSAGE_COLUMNS}
  from ${items}
 cross join lateral (select r.account_id, r.environment, r.message_id, r.part
                       from provider_references r
                      where r.link = item.link and r.provider_message_id = item.id
                      order by r.message_id desc
                      limit 1) known${joinMessage("known")}`,
);

/** A message, and the number of its part where it was sent in several parts. */
export type MatchedMessage = { message: Message; part: number | null };

/** Finds the messages with these carrier ids, by position in the list: the newest one, where a carrier has used an id again. An unknown id
 *  has no entry. */
export async function findByCarrierIds(db: Queryable, carrierIds: readonly CarrierId[]): Promise<Map<number, MatchedMessage>> {
  const rows = await db.rows<MessageRow & { ordinal: number; part: number | null }>(findByCarrierId(carrierIds));
  return new Map(rows.map((row) => [row.ordinal - 1, { message: messageOfRow(row), part: row.part }]));
}
