/** Fills a database with messages, idempotency keys, events and queue rows, like those of a busy day: messages that wait in the queue, or
 *  delivered ones with the events of their delivery. */
import type { Priority } from "../src/messages/message.ts";
import { PRIORITY_RANK } from "../src/messages/queue-entry.ts";
import { EMBEDDED_ADMIN } from "../src/embedded/embedded-roles.ts";
import { openBenchDatabase } from "./godwit.ts";

const CHUNK = 100_000;
// The messages are spread over the last 20 hours, so that their idempotency keys have not expired.
const SPAN_MS = 20 * 3_600_000;

/** A record of the size of a real one. */
const record = (status: string): string => `
       '{"id":"msg_' || noise || '","object":"message","environment":"test","direction":"outbound","channel":"sms",'
         || '"recipient":"' || recipient || '","sender":null,"status":"${status}",'
         || '"body":"Your verification code is 123456. It is valid for ten minutes.",'
         || '"padding":"' || repeat('x', 450) || '"}'`;

/** The time of an event is a part of its id, so each follows the one before by a millisecond. */
const laterEvent = (status: string, sequence: number): string => `
insert into events (account_id, environment, id, type, message_id, sequence, record)
select account_id, 'test',
       (lpad(to_hex(('x' || lpad(time_hex, 16, '0'))::bit(64)::bigint + ${sequence}), 12, '0') || '7' || substr(noise, 1, 3)
         || '8' || substr(noise, 4, 3) || substr(noise, 7, 12))::uuid,
       'message.${status}', id, ${sequence},${record(status)}
  from filling
 order by n;`;

const DELIVERY = ["sending", "sent", "delivered"];

const queueRows = (priority: Priority): string => `
insert into delivery_queue (message_id, account_id, environment, priority, link, due_at, expires_at)
select id, account_id, 'test', ${PRIORITY_RANK[priority]}, 'simulator', now(), now() + interval '2 days'
  from filling
 order by n;`;

const fillChunk = ({ account, total, priority, isDelivered = false }: Fill, from: number, to: number): string => `
create temp table filling on commit drop as
select n, '\\x${account}'::bytea as account_bytes,
       lpad(to_hex((extract(epoch from now()) * 1000)::bigint - ${SPAN_MS} + n * ${SPAN_MS}::bigint / ${total}), 12, '0')
         as time_hex,
       md5(random()::text || n) as noise,
       gen_random_uuid() as key,
       '+1' || (2000000000 + (random() * 7999999999)::bigint) as recipient
  from generate_series(${from}, ${to}) n;
alter table filling add id uuid, add account_id uuid;
update filling
   set account_id = encode(account_bytes, 'hex')::uuid,
       id = (substr(time_hex, 1, 8) || '-' || substr(time_hex, 9, 4) || '-7' || substr(noise, 1, 3)
             || '-8' || substr(noise, 4, 3) || '-' || substr(noise, 7, 12))::uuid;
insert into messages (account_id, environment, id, direction, channel, recipient, body, status, sequence,
                      segments_count, segments_encoding, segments_characters, priority, expires_at, updated_at)
select account_id, 'test', id, 'outbound', 'sms', recipient,
       'Your verification code is 123456. It is valid for ten minutes.', '${isDelivered ? "delivered" : "queued"}', ${isDelivered ? 4 : 1},
       1, 'gsm7', 61, '${priority}', now() + interval '2 days', now()
  from filling
 order by n;
insert into events (account_id, environment, id, type, message_id, sequence, record)
select account_id, 'test', id, 'message.queued', id, 1,${record("queued")}
  from filling
 order by n;
insert into idempotency_keys (account_id, environment, key, fingerprint, created_at, expires_at, status, location, event_id)
select account_id, 'test', key, decode(noise || noise, 'hex'), now(), now() + interval '24 hours', 202,
       '/v1/messages/msg_' || substr(noise, 1, 26), id
  from filling
 order by n;
${isDelivered ? DELIVERY.map((status, index) => laterEvent(status, index + 2)).join("") : queueRows(priority)}`;

/** `isDelivered`: the messages are delivered, and have four events each. */
export type Fill = { account: string; total: number; priority: Priority; isDelivered?: boolean };

export async function preload({ socketDir }: { socketDir: string }, fill: Fill, say: (line: string) => void): Promise<void> {
  const { total } = fill;
  const db = openBenchDatabase({ socketDir });
  await db.session(30 * 60_000, async (run) => {
    for (let from = 1; from <= total; from += CHUNK) {
      const to = Math.min(total, from + CHUNK - 1);
      await run(`begin;\n${fillChunk(fill, from, to)}\ncommit`);
      if (to % (CHUNK * 10) === 0 || to === total)
        say(`preloaded ${to.toLocaleString("en-US")} of ${total.toLocaleString("en-US")} messages`);
    }
    for (const table of ["messages", "events", "idempotency_keys", "delivery_queue"]) await run(`vacuum analyze ${table}`);
  });
  await db.close();
  const admin = openBenchDatabase({ socketDir }, EMBEDDED_ADMIN);
  await admin.script("checkpoint");
  await admin.close();
}
