/** Sweeps: the expiry of messages. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { expireQueued } from "../../src/delivery/sweep.ts";
import { decodeId } from "../../src/lib/id.ts";
import { Advancer } from "../../src/messages/advance.ts";
import type { Database } from "../../src/storage/database.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

let godwit: Godwit;
let key: string;
let sweep: () => Promise<number>;
before(async () => {
  godwit = await startGodwit();
  key = await godwit.key();
  const db = godwit.db as Database;
  const advancer = new Advancer({
    db,
    clock: { now: () => Date.now() },
    wakeWebhooks: () => undefined,
    watch: { advanced: () => undefined },
  });
  sweep = () => expireQueued(db, advancer);
});
after(() => godwit.stop());

/** A message whose time to live has passed. */
async function pastTimeToLive(status: string): Promise<string> {
  const { json } = await godwit.send(key);
  const id = decodeId("msg", String(json["id"]));
  await godwit.rows("update messages set status = $2, expires_at = now() - interval '1 second' where id = $1", [id, status]);
  await godwit.rows("update delivery_queue set expires_at = now() - interval '1 second' where message_id = $1", [id]);
  return String(json["id"]);
}

const statusOf = async (id: string): Promise<unknown> => (await godwit.request("GET", `/v1/messages/${id}`, { key })).json["status"];

test("a message that waited longer than its time to live expires, and the next sweep does not find it", async () => {
  const waiting = await pastTimeToLive("queued");
  assert.equal(await sweep(), 1);
  assert.equal(await statusOf(waiting), "expired");
  assert.equal(await sweep(), 0);
});

test("a message at a carrier is unchanged, and is no reason for another sweep", async () => {
  const atCarrier = await pastTimeToLive("sending");
  assert.equal(await sweep(), 0);
  assert.equal(await statusOf(atCarrier), "sending");
});

test("more messages at carriers than a sweep reads do not hide a message that waits", async () => {
  const atCarrier = decodeId("msg", await pastTimeToLive("sending"));
  // The other messages of the same millisecond, with their rows in the queue.
  const copy = (table: string, column: string): Promise<unknown> =>
    godwit.rows(
      `insert into ${table}
       select copied.*
         from ${table} original
        cross join generate_series(1, 600) number
        cross join jsonb_populate_record(original, jsonb_build_object('${column}',
                     overlay(original.${column}::text placing lpad(number::text, 12, '0') from 25))) copied
        where original.${column} = $1`,
      [atCarrier],
    );
  await copy("messages", "id");
  await copy("delivery_queue", "message_id");
  const waiting = await pastTimeToLive("queued");
  assert.equal(await sweep(), 1);
  assert.equal(await statusOf(waiting), "expired");
});
