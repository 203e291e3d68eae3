/** Sweeps: the expiry of messages, and of the carrier ids of messages. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { expireQueued, expireWithoutReceipt } from "../../src/delivery/sweep.ts";
import { decodeId } from "../../src/model/id.ts";
import { advance, Advancer } from "../../src/messages/advance.ts";
import { changeBy, type Change } from "../../src/messages/change.ts";
import type { Message } from "../../src/messages/message.ts";
import { LATE_RESPONSE, type Receipt } from "../../src/providers/provider.ts";
import type { Clock } from "../../src/database/database-clock.ts";
import type { Database } from "../../src/database/database.ts";
import { LINK, Rig } from "../support/delivery-rig.ts";
import { RECIPIENT, recipientNo } from "../support/recipient.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { accepted, receipt, ScriptedCarrier } from "../support/scripted-carrier.ts";

const advancerParts = (db: Database, clock: Clock = { now: () => Date.now() }): ConstructorParameters<typeof Advancer>[0] => ({
  db,
  clock,
  wakeWebhooks: () => undefined,
  watch: { advanced: () => undefined },
});

let godwit: Godwit;
let key: string;
let sweep: () => Promise<number>;
before(async () => {
  godwit = await startGodwit();
  key = await godwit.key();
  const db = godwit.db as Database;
  const advancer = new Advancer(advancerParts(db));
  sweep = () => expireQueued(db, advancer, Date.now());
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

test("a message does not expire while only the clock of the database has reached its time", async () => {
  const waiting = await pastTimeToLive("queued");
  const db = godwit.db as Database;
  const behind = new Advancer(advancerParts(db, { now: () => Date.now() - 3_600_000 }));
  assert.equal(await expireQueued(db, behind, behind.now()), 0);
  assert.equal(await statusOf(waiting), "queued");
  assert.equal(await sweep(), 1);
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

test("two messages with the same carrier id both expire without a receipt", async () => {
  await using rig = await Rig.open();
  const carrier = new ScriptedCarrier();
  carrier.otherwise = () => accepted("7");
  const messages = await rig.acceptMany(2, (index) => ({ recipient: recipientNo(index + 1) }));
  const delivery = await rig.deliver({ [LINK]: carrier });
  for (const message of messages) await rig.untilStatus(message, "sent");
  // The sweeps of the test are the only ones.
  await delivery.stop();
  await rig.rows("update provider_references set expires_at = now() - interval '1 second'");
  await expireWithoutReceipt(rig.db, new Advancer(advancerParts(rig.db, rig.clock)));
  for (const message of messages) {
    const { status, error } = await rig.message(message);
    assert.deepEqual([status, error?.code], ["expired", "no_receipt"]);
  }
});

describe("a message whose carrier reports that it has it, and nothing after that", () => {
  /** The error of a message after the wait for a receipt, with this report of its carrier before. */
  async function endAfter(rig: Rig, fields: Partial<Receipt>): Promise<Message> {
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, accepted("7"));
    const delivery = await rig.deliver({ [LINK]: carrier });
    const message = await rig.accept();
    carrier.changed();
    await rig.untilStatus(message, "sent");
    await carrier.receive([receipt("7", "sent", fields)]);
    assert.equal((await rig.message(message)).status, "sent", "more reports may follow");
    await delivery.stop();
    await rig.rows("update provider_references set expires_at = now() - interval '1 second'");
    await expireWithoutReceipt(rig.db, new Advancer(advancerParts(rig.db, rig.clock)));
    return rig.message(message);
  }

  test("expires as unconfirmed, and a late receipt still delivers it", async () => {
    await using rig = await Rig.open();
    const message = await endAfter(rig, { raw: { stat: "ACCEPTD" } });
    assert.deepEqual([message.status, message.error?.code], ["expired", "delivery_unconfirmed"]);
    const reason = "the last report of the carrier does not say whether the message was delivered";
    assert.equal((await rig.timeline(message)).at(-1)?.detail?.reason, reason);
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier }, { node: "node-2", db: rig.connect("node-2") });
    await carrier.receive([receipt("7", "delivered")]);
    assert.equal((await rig.message(message)).status, "delivered");
  });

  test("expires without a receipt if the report was a late response to the submission", async () => {
    await using rig = await Rig.open();
    const { error } = await endAfter(rig, { raw: { [LATE_RESPONSE]: "0x00" } });
    assert.equal(error?.code, "no_receipt");
  });
});

describe("the carrier id of a message that is delivered when the wait for receipts ends", () => {
  /** A message at its carrier, whose carrier id is `7` and has expired. */
  async function awaited(rig: Rig): Promise<Message> {
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, accepted("7"));
    const message = await rig.accept();
    const delivery = await rig.deliver({ [LINK]: carrier });
    const sent = await rig.untilStatus(message, "sent");
    // The sweeps of the test are the only ones.
    await delivery.stop();
    await rig.rows("update provider_references set expires_at = now() - interval '1 second'");
    return sent;
  }

  const deliver = async (rig: Rig, message: Message): Promise<void> => {
    const delivered = changeBy(message, { status: "delivered", detail: {}, move: { kind: "leave" } }, rig.clock.now());
    assert.ok(delivered !== undefined);
    assert.deepEqual(await advance(rig.db, [delivered]), [true]);
  };

  async function assertReadable(rig: Rig, message: Message): Promise<void> {
    assert.equal((await rig.message(message)).status, "delivered");
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    await carrier.receive([receipt("7", "read")]);
    assert.equal((await rig.message(message)).status, "read");
  }

  const sweepAll = async (rig: Rig, advancer: Advancer): Promise<void> => {
    while ((await expireWithoutReceipt(rig.db, advancer)) > 0);
  };

  test("is kept for a later receipt, if the sweep comes second", async () => {
    await using rig = await Rig.open();
    const message = await awaited(rig);
    await deliver(rig, message);
    await sweepAll(rig, new Advancer(advancerParts(rig.db, rig.clock)));
    await assertReadable(rig, message);
  });

  test("is kept for a later receipt, if the sweep has read the message before", async () => {
    await using rig = await Rig.open();
    const message = await awaited(rig);
    class Slow extends Advancer {
      override async submit(change: Change): ReturnType<Advancer["submit"]> {
        await deliver(rig, message);
        return super.submit(change);
      }
    }
    await sweepAll(rig, new Slow(advancerParts(rig.db, rig.clock)));
    await assertReadable(rig, message);
  });

  test("is deleted, if the message was delivered before", async () => {
    await using rig = await Rig.open();
    const message = await awaited(rig);
    await deliver(rig, message);
    await rig.rows("update messages set updated_at = updated_at - interval '1 minute'");
    await sweepAll(rig, new Advancer(advancerParts(rig.db, rig.clock)));
    assert.deepEqual(await rig.rows("select from provider_references"), []);
  });
});
