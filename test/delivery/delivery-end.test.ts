/** The stop of a node, and messages that end because a time has passed. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { within } from "../../src/lib/wait.ts";
import type { SendOutcome } from "../../src/providers/provider.ts";
import { Database } from "../../src/database/database.ts";
import type { Sql } from "../../src/database/sql.ts";
import { linkTo, LINK, Rig } from "../support/delivery-rig.ts";
import { RECIPIENT, recipientNo } from "../support/recipient.ts";
import { LIMIT_MS, until } from "../support/expect.ts";
import { lockTable } from "../support/locks.ts";
import { accepted, receipt, ScriptedCarrier, unknown, type Send } from "../support/scripted-carrier.ts";

const DONE = Symbol("done");
const isDone = async (promise: Promise<unknown>, limitMs: number): Promise<boolean> =>
  (await within(
    promise.then(() => DONE),
    limitMs,
  )) === DONE;

describe("a stop", () => {
  test("waits for messages at the carrier, returns those only claimed, and sends nothing afterwards", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 2 });
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.otherwise = () => promise;
    const messages = await rig.acceptMany(10, () => ({}));
    const delivery = await rig.deliver({ [LINK]: carrier });
    const lane = delivery.lanes.get(LINK);
    await until("two at the carrier, and more claimed", () => (carrier.sends.length === 2 && (lane?.ownedCount ?? 0) > 2) || undefined);
    const stopping = delivery.stop();
    await until("the others to be returned", async () => {
      const [row] = await rig.rows<{ count: number }>("select count(*) from delivery_queue where due_at <= now()");
      return row?.count === messages.length - 2 || undefined;
    });
    assert.equal(await isDone(stopping, 100), false, "the stop waits for the carrier");
    assert.equal(carrier.isClosed, false);
    // A new message is not reserved by a lane any more.
    const late = await rig.accept({}, { handover: delivery.handover });
    assert.ok(((await rig.queueRow(late))?.due_in_ms ?? 1) <= 0);
    resolve(accepted("the same for all"));
    assert.ok(await isDone(stopping, LIMIT_MS));
    assert.equal(carrier.isClosed, true);
    assert.equal(await rig.count("sent"), 2, "the responses are stored");
    assert.equal(await rig.count("queued"), messages.length - 1);
    // Another process takes the rest. The stopped one submits nothing more.
    const next = new ScriptedCarrier();
    await rig.deliver({ [LINK]: next }, { node: "node-2" });
    await until("the rest to be sent", async () => (await rig.count("sent")) === messages.length + 1 || undefined);
    assert.equal(carrier.sends.length, 2);
    assert.equal(next.sends.length, messages.length - 1);
    assert.ok(next.sends.every(({ message }) => message.attempt === 1));
  });

  test("returns the messages of a claim that is still running", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    // A lane claims nothing for a carrier that is not ready: the first claim begins after the queue is locked.
    carrier.isReady = false;
    const delivery = await rig.deliver({ [LINK]: carrier });
    const message = await rig.accept();
    // The lane need not find the message by a scan of the queue, which would wait for the lock.
    delivery.handover.queued(LINK, [message]);
    await using lock = await lockTable(rig.url, "delivery_queue", "access exclusive");
    carrier.isReady = true;
    carrier.changed();
    await lock.waiting();
    const stopping = delivery.stop();
    await lock.release();
    assert.ok(await isDone(stopping, LIMIT_MS), "the stop waits for nothing else");
    assert.equal(carrier.sends.length, 0);
    assert.ok(((await rig.queueRow(message))?.due_in_ms ?? 1) <= 0, "due immediately, for any node");
  });

  test("aborts a submission without a response, and stores its outcome as unknown", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.otherwise = ({ signal }: Send) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve({ kind: "unknown", detail: "aborted" })));
    const message = await rig.accept();
    const delivery = await rig.deliver({ [LINK]: carrier });
    await until("the message to be at the carrier", () => carrier.sends[0]);
    const startedAt = performance.now();
    await delivery.stop();
    assert.ok(performance.now() - startedAt < LIMIT_MS);
    assert.equal((await rig.queueRow(message))?.state, 1);
    assert.equal((await rig.message(message)).status, "sending");
    assert.equal((await rig.timeline(message)).at(-1)?.detail?.attempt?.["detail"], "aborted");
  });

  test("ends within seconds though a carrier never responds, and its message is found with an unknown outcome", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.otherwise = "never";
    const message = await rig.accept();
    const delivery = await rig.deliver({ [LINK]: carrier });
    await until("the message to be at the carrier", () => carrier.sends[0]);
    assert.ok(await isDone(delivery.stop(), 15_000));
    const next = new ScriptedCarrier();
    await rig.deliver({ [LINK]: next }, { node: "node-2" });
    if ((await rig.queueRow(message))?.state === 0) await rig.makeDue(message);
    await until("the message to be held", async () => (await rig.queueRow(message))?.state === 1 || undefined);
    assert.equal(next.sends.length, 0);
  });

  test("is immediate without work, and a second stop has no effect", async () => {
    await using rig = await Rig.open();
    const delivery = await rig.deliver({ [LINK]: new ScriptedCarrier() });
    assert.ok(await isDone(delivery.stop(), 1_500));
    assert.ok(await isDone(delivery.stop(), 1_500));
  });
});

describe("a time to live", () => {
  const expire = (rig: Rig, id: Buffer) =>
    rig.rows(
      `with m as (update messages set expires_at = now() - interval '1 second' where id = $1)
       update delivery_queue set expires_at = now() - interval '1 second' where message_id = $1`,
      [id],
    );

  test("expires the message in a lane that is not ready or that no node serves", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.isReady = false;
    const expired = [await rig.accept(), await rig.accept({}, { link: "of another day" })];
    const young = await rig.accept();
    for (const { id } of expired) await expire(rig, id);
    await rig.deliver({ [LINK]: carrier });
    for (const message of expired) {
      const { error } = await rig.untilStatus(message, "expired");
      assert.equal(error?.code, "ttl_expired");
      assert.equal(await rig.queueRow(message), undefined);
    }
    assert.equal((await rig.message(young)).status, "queued");
    carrier.isReady = true;
    carrier.changed();
    await rig.untilStatus(young, "sent");
    assert.equal(carrier.sends.length, 1);
  });

  test("has no effect and costs no work while the message is at the carrier or held", async () => {
    await using rig = await Rig.open();
    let sweeps = 0;
    class Counting extends Database {
      override rows<T>(statement: Sql): Promise<T[]> {
        if (/q\.expires_at <= /.test(statement.text)) sweeps += 1;
        return super.rows<T>(statement);
      }
    }
    const db = new Counting({ url: rig.url }, "counting", () => undefined);
    const carrier = new ScriptedCarrier();
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.responds(recipientNo(1), () => promise);
    carrier.responds(recipientNo(2), unknown);
    const messages = await rig.acceptMany(2, (index) => ({ recipient: recipientNo(index + 1) }));
    const delivery = await rig.deliver({ [LINK]: carrier }, { db });
    await until("both to be submitted", () => carrier.sends.length === 2 || undefined);
    for (const { id } of messages) await expire(rig, id);
    const before = sweeps;
    await until("three sweeps", () => sweeps >= before + 3 || undefined);
    const startedAt = performance.now();
    await until("two more sweeps", () => sweeps >= before + 5 || undefined);
    assert.ok(performance.now() - startedAt > 900, "the sweep does not repeat immediately for messages that it cannot expire");
    for (const message of messages) assert.equal((await rig.message(message)).status, "sending");
    resolve(accepted());
    await until("the response to be stored", async () => (await rig.count("sent")) === 1 || undefined);
    await delivery.stop();
    await db.close();
  });

  test("does not expire a scheduled message, however late its release", async () => {
    await using rig = await Rig.open();
    const message = await rig.accept({ send_at: new Date(Date.now() + 3_600_000).toISOString(), ttl_seconds: 30 });
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    await rig.makeDue(message);
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual(
      (await rig.timeline(sent)).map(({ type, detail }) => [type, detail?.reason]),
      [
        ["message.scheduled", undefined],
        ["message.queued", "send_at has come"],
        ["message.sending", undefined],
        ["message.sent", undefined],
      ],
    );
  });
});

describe("a receipt that never arrives", () => {
  const silence = async (rig: Rig, carrier: ScriptedCarrier) => {
    carrier.responds(RECIPIENT, accepted("7"));
    const message = await rig.accept();
    const other = await rig.accept({ recipient: recipientNo(1) });
    await rig.deliver({ [LINK]: carrier }, { receiptWaitMs: 700 });
    await rig.untilStatus(other, "sent");
    const name = `name of ${other.recipient}`;
    await carrier.receive([receipt(name, "delivered")]);
    const { error, failedAtMs, sequence } = await rig.untilStatus(message, "expired");
    assert.equal(error?.code, "no_receipt");
    assert.equal(error.permanent, false);
    assert.ok(failedAtMs !== null);
    assert.equal(sequence, 4);
    assert.equal((await rig.timeline(message)).at(-1)?.detail?.reason, "no receipt arrived in time");
    return { message, other };
  };
  const named = ({ message }: Send): SendOutcome => accepted(`name of ${message.recipient}`);

  test("expires the message, and a delivered message stays delivered", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.otherwise = named;
    const { other } = await silence(rig, carrier);
    await until("the carrier ids to be deleted or kept for longer", async () => {
      const [row] = await rig.rows<{ count: number }>("select count(*) from provider_references where expires_at <= now()");
      return row?.count === 0 || undefined;
    });
    assert.equal((await rig.message(other)).status, "delivered");
  });

  for (const where of ["the process that sent it", "another process"]) {
    test(`sets the status when it arrives late after all, at ${where}`, async () => {
      await using rig = await Rig.open();
      const carrier = new ScriptedCarrier();
      carrier.otherwise = named;
      const { message } = await silence(rig, carrier);
      // By then the sweep has processed the carrier id.
      await until("the carrier id to be processed", async () => {
        const rows = await rig.rows("select from provider_references where provider_message_id = '7' and expires_at <= now()");
        return rows.length === 0 || undefined;
      });
      const receiving = where === "another process" ? new ScriptedCarrier() : carrier;
      if (receiving !== carrier) await rig.deliver({ [LINK]: receiving }, { node: "node-2", db: rig.connect("node-2") });
      await receiving.receive([receipt("7", "delivered")]);
      const now = await rig.message(message);
      assert.equal(now.status, "delivered");
      assert.equal(now.error?.code, "no_receipt", "an error once set is not erased");
      assert.equal(now.sequence, 5);
    });
  }

  test("leaves a message of unknown outcome to the link's policy", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, unknown);
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier }, { receiptWaitMs: 200, links: [linkTo(LINK, { holdMs: 2_500, policy: "fail" })] });
    await until("the carrier id to be processed", async () => {
      const [row] = await rig.rows<{ names: number; held: number }>(
        "select (select count(*) from provider_references) as names, (select count(*) from delivery_queue where state = 1) as held",
      );
      return (row?.names === 0 && row.held === 1) || undefined;
    });
    assert.equal((await rig.message(message)).status, "sending");
    assert.equal((await rig.untilStatus(message, "failed")).error?.code, "outcome_unknown");
  });
});
