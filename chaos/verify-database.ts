/** The promises that only the database can show: the order of commits, and the ends of its queues. */
import { encodeId, toId } from "../src/model/id.ts";
import { uuidFromText } from "../src/lib/uuid.ts";
import type { Cluster } from "./cluster.ts";
import { RECOVERY_MARGIN_MS } from "./faults.ts";
import { verdict, type Verdict } from "./verdict.ts";

type Late = { message_id: string; is_late: boolean; late_ms: number };

export async function checkDatabase({ database }: Cluster): Promise<Verdict[]> {
  const afterOptOut = await database.rows<Late>(
    `select e.message_id,
            pg_xact_commit_timestamp(e.xmin) > pg_xact_commit_timestamp(c.xmin) as is_late,
            extract(epoch from pg_xact_commit_timestamp(e.xmin) - pg_xact_commit_timestamp(c.xmin)) * 1000 as late_ms
       from suppression_changes c
       join suppressions s on s.id = c.suppression_id
       join messages m on m.recipient = s.recipient and m.account_id = s.account_id and m.environment = s.environment
       join events e on e.message_id = m.id and e.id <> e.message_id
      where c.is_active
        and e.type = 'message.sending'
        and e.record is not null`,
  );
  const afterCancel = await database.rows<Late>(
    `select c.message_id,
            coalesce(pg_xact_commit_timestamp(e.xmin) > pg_xact_commit_timestamp(c.xmin), false) as is_late,
            extract(epoch from pg_xact_commit_timestamp(e.xmin) - pg_xact_commit_timestamp(c.xmin)) * 1000 as late_ms
       from events c
       left join events e on e.message_id = c.message_id and e.id <> e.message_id and e.type = 'message.sending' and e.record is not null
      where c.type = 'message.canceled'
        and c.record is not null`,
  );
  return [
    orderVerdict("no message is sending after an opt-out", afterOptOut),
    orderVerdict("no message is sending after a cancellation", afterCancel),
    await checkQueues({ database }),
  ];
}

const orderVerdict = (promise: string, rows: readonly Late[]): Verdict =>
  verdict(promise, rows, ({ message_id: id, is_late: isLate, late_ms: lateMs }) =>
    isLate ? `${publicId("msg", id)}: ${Math.round(lateMs)} ms after` : undefined,
  );

/** The id of a row as the API writes it. */
export const publicId = (prefix: "msg" | "evt", uuid: string): string => encodeId(prefix, toId(prefix, uuidFromText(uuid)));

/** The rows that must be gone at the end. A parked receipt whose message is known would be lost. */
async function checkQueues({ database }: Pick<Cluster, "database">): Promise<Verdict> {
  const rows = await database.rows<{ name: string; count: number }>(
    `select 'delivery_queue' as name, count(*)::integer from delivery_queue
      union all
     select 'webhook_queue', count(*)::integer from webhook_queue
      union all
     select 'parked_receipts of known messages', count(*)::integer
       from parked_receipts
       join provider_references using (link, provider_message_id)`,
  );
  return verdict("the queues are empty", rows, ({ name, count }) => (count === 0 ? undefined : `${name}: ${count} rows`));
}

/** When the recipients of messages opted out, by message. */
export async function optOutTimes({ database }: Cluster): Promise<Map<string, number>> {
  const rows = await database.rows<{ id: string; at_ms: number }>(
    `select m.id, min(extract(epoch from pg_xact_commit_timestamp(c.xmin)) * 1000)::float8 as at_ms
       from suppression_changes c
       join suppressions s on s.id = c.suppression_id
       join messages m on m.recipient = s.recipient and m.account_id = s.account_id and m.environment = s.environment
      where c.is_active
      group by m.id`,
  );
  return new Map(rows.map(({ id, at_ms: atMs }) => [publicId("msg", id), atMs]));
}

/** The messages with an attempt whose outcome was unknown. */
export async function unknownMessages({ database }: Cluster): Promise<string[]> {
  const rows = await database.rows<{ message_id: string }>("select distinct message_id from events where type = 'attempt.unknown'");
  return rows.map(({ message_id: id }) => publicId("msg", id));
}

/** Events whose time is so long before their commit that a recovery cannot reach them: the node that made them started while the clock
 *  of the database was shifted. */
export async function eventsOfWrongClock({ database }: Cluster): Promise<Set<string>> {
  const rows = await database.rows<{ id: string }>(
    `select id::text
       from events
      where record is not null
        and extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000
              - ('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint > $1`,
    [RECOVERY_MARGIN_MS / 2],
  );
  return new Set(rows.map(({ id }) => publicId("evt", id)));
}
