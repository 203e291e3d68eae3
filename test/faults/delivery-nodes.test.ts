/** Several processes on one database: each message is submitted once, whichever process dies, is slow, or gets no notifications. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type pg from "pg";
import { createLog } from "../../src/model/log.ts";
import { Announcer } from "../../src/queue/announcer.ts";
import { announcingHandover } from "../../src/delivery/announcements.ts";
import { advance } from "../../src/messages/advance.ts";
import { changeBy } from "../../src/messages/change.ts";
import type { Message } from "../../src/messages/message.ts";
import type { SendOutcome } from "../../src/providers/provider.ts";
import { claimDue, scanAccounts, setDueTimes, type Claimed } from "../../src/delivery/queue.ts";
import { Database } from "../../src/database/database.ts";
import { sendingSignal } from "../../src/delivery/begin-sending.ts";
import { LINK, linkTo, publicId, Rig } from "../support/delivery-rig.ts";
import { RECIPIENT, recipientNo } from "../support/recipient.ts";
import { queueOnly } from "../support/engine.ts";
import { NEVER_MS, until } from "../support/expect.ts";
import { accepted, receipt, ScriptedCarrier } from "../support/scripted-carrier.ts";

/** Claims due messages, like a process that is silent afterwards. */
const claimAndDie = async (rig: Rig): Promise<Claimed[]> => {
  const nowMs = rig.clock.now();
  const found = (await scanAccounts(rig.db)).get(LINK) ?? [];
  const shares = found.map(({ rank, group, dueAtMs }) => ({ rank, group, fromMs: dueAtMs, most: 50 }));
  return claimDue(rig.db, { lane: LINK, shares, most: 50, nowMs, leaseMs: 15_000 });
};

/** A message with a stored attempt of a process that is silent afterwards. */
async function writeAndDie(rig: Rig, message: Message): Promise<Message> {
  await claimAndDie(rig);
  const written = changeBy(message, sendingSignal(message, linkTo(LINK)), rig.clock.now());
  assert.ok(written !== undefined);
  assert.deepEqual(await advance(rig.db, [written]), [true]);
  return written.after;
}

const second = (rig: Rig, carrier: ScriptedCarrier, options: object = {}) =>
  rig.deliver({ [LINK]: carrier }, { node: "node-2", db: rig.connect("node-2"), ...options });

describe("two processes", () => {
  test("submit each of five hundred messages once, and all are delivered", async () => {
    await using rig = await Rig.open();
    const carriers = [new ScriptedCarrier({ window: 20 }), new ScriptedCarrier({ window: 20 })] as const;
    const names = new Map<string, string>();
    for (const carrier of carriers) {
      carrier.otherwise = ({ message }) => {
        const name = `name of ${message.id}`;
        names.set(name, message.id);
        return accepted(name);
      };
    }
    await rig.acceptMany(200, () => ({}));
    const [first, other] = [await rig.deliver({ [LINK]: carriers[0] }), await second(rig, carriers[1])];
    await Promise.all([first.handover, other.handover, queueOnly].map((handover) => rig.acceptMany(100, () => ({}), { handover })));
    await until("all to be sent", async () => (await rig.count("sent")) === 500 || undefined);
    const sends = carriers.flatMap((carrier) => carrier.sends.map(({ message }) => message));
    assert.equal(sends.length, 500);
    assert.equal(new Set(sends.map(({ id }) => id)).size, 500);
    assert.ok(sends.every(({ attempt }) => attempt === 1));
    for (const carrier of carriers) assert.ok(carrier.sends.length > 0, "one process has sent nothing");
    // Each receipt arrives at the process that did not send the message, and also at the other.
    const receipts = Array.from(names.keys(), (name) => receipt(name, "delivered"));
    await Promise.all(carriers.map((carrier) => carrier.receive(receipts)));
    assert.equal(await rig.count("delivered"), 500);
    const [queue] = await rig.rows<{ count: number }>("select count(*) from delivery_queue");
    assert.equal(queue?.count, 0);
    const doubled = await rig.rows("select message_id from events where type = 'message.sending' group by message_id having count(*) > 1");
    assert.deepEqual(doubled, []);
  });

  test("are notified of each other's messages long before their next poll", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier }, { pollMs: NEVER_MS });
    await until("the process to listen", async () => {
      const [row] = await rig.rows<{ count: number }>(
        "select count(*) from pg_stat_activity where datname = current_database() and query like 'listen %'",
      );
      return row?.count === 1 || undefined;
    });
    const announcer = new Announcer(rig.connect("node-2"), "node-2", createLog("silent").log);
    const handover = announcingHandover(announcer);
    for (let index = 0; index < 9; index += 1) {
      await rig.accept({ recipient: recipientNo(index) }, { handover });
      await until("the message to be submitted", () => carrier.sendsTo(recipientNo(index))[0]);
    }
    await announcer.stop();
  });

  for (const what of ["connection", "listening"] as const) {
    test(`that cannot have their own ${what} poll for work once a second`, async () => {
      await using rig = await Rig.open();
      let open = 0;
      class Deaf extends Database {
        override async openConnection(): Promise<pg.Client> {
          if (what === "connection") throw new Error("no sessions here");
          const client = await super.openConnection();
          open += 1;
          client.on("end", () => (open -= 1));
          client.query = () => Promise.reject(new Error("no listening here"));
          return client;
        }
      }
      const deaf = new Deaf({ url: rig.url }, "deaf", () => undefined);
      rig.atEnd(() => deaf.close());
      const carrier = new ScriptedCarrier();
      await rig.deliver({ [LINK]: carrier }, { db: deaf });
      for (let index = 0; index < 3; index += 1) {
        const message = await rig.accept({ recipient: recipientNo(index) });
        await rig.untilStatus(message, "sent");
      }
      await until("no session to be left open", () => open === 0 || undefined);
    });
  }
});

describe("a process that died", () => {
  test("before its attempt was stored leaves a message that another process sends", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await rig.accept();
    assert.equal((await claimAndDie(rig)).length, 1);
    await rig.deliver({ [LINK]: carrier });
    const marker = await rig.accept({ recipient: recipientNo(1) });
    carrier.changed();
    await rig.untilStatus(marker, "sent");
    assert.equal(carrier.sendsTo(RECIPIENT).length, 0, "not before its lease expires");
    await rig.makeDue(message);
    carrier.changed();
    assert.equal((await rig.untilStatus(message, "sent")).attempts, 1);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
  });

  test("after its attempt was stored leaves a message that is held and fails, and is never sent again", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await writeAndDie(rig, await rig.accept());
    await rig.makeDue(message);
    await rig.deliver({ [LINK]: carrier }, { links: [linkTo(LINK, { holdMs: 400, policy: "fail" })] });
    await until("the message to be held", async () => (await rig.queueRow(message))?.state === 1 || undefined);
    const held = (await rig.timeline(message)).at(-1);
    assert.equal(held?.type, "attempt.unknown");
    assert.equal(held.detail?.attempt?.["detail"], "the process that submitted it ended before the response arrived");
    const failed = await rig.untilStatus(message, "failed");
    assert.equal(failed.error?.code, "outcome_unknown");
    assert.equal(failed.attempts, 1);
    const marker = await rig.accept({ recipient: recipientNo(1) });
    await rig.untilStatus(marker, "sent");
    assert.equal(carrier.sendsTo(RECIPIENT).length, 0);
    // A receipt that arrives now sets the status.
    await carrier.receive([receipt("7", "delivered", { reference: publicId(message) })]);
    assert.equal((await rig.message(message)).status, "delivered");
  });

  test("after its attempt was stored leaves a message that is sent again where the policy is resend", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await writeAndDie(rig, await rig.accept());
    await rig.makeDue(message);
    await rig.deliver({ [LINK]: carrier }, { links: [linkTo(LINK, { holdMs: 200, policy: "resend" })] });
    assert.equal((await rig.untilStatus(message, "sent")).attempts, 2);
    assert.deepEqual(
      carrier.sends.map(({ message: { attempt } }) => attempt),
      [2],
    );
  });
});

describe("a process that lost its lease", () => {
  test("does not send a message that another process has sent meanwhile", async () => {
    await using rig = await Rig.open();
    const [slow, other] = [new ScriptedCarrier({ window: 1 }), new ScriptedCarrier()];
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    slow.responds(recipientNo(0), () => promise);
    const first = await rig.accept({ recipient: recipientNo(0) });
    const ownedCount = await rig.accept({ recipient: recipientNo(1) });
    const delivery = await rig.deliver({ [LINK]: slow });
    await until("both messages to be claimed", () => (slow.sends.length === 1 && delivery.lanes.get(LINK)?.ownedCount === 2) || undefined);
    await rig.makeDue(ownedCount);
    await second(rig, other);
    await rig.untilStatus(ownedCount, "sent");
    resolve(accepted());
    await rig.untilStatus(first, "sent");
    await until("no message to be claimed", () => delivery.lanes.get(LINK)?.ownedCount === 0 || undefined);
    assert.deepEqual([slow.sendsTo(recipientNo(1)).length, other.sendsTo(recipientNo(1)).length], [0, 1]);
    assert.equal((await rig.message(ownedCount)).attempts, 1);
  });

  test("during an attempt still has its response stored, and no process sends the message again", async () => {
    await using rig = await Rig.open();
    const [slow, other] = [new ScriptedCarrier(), new ScriptedCarrier()];
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    slow.otherwise = () => promise;
    const message = await rig.accept();
    await rig.deliver({ [LINK]: slow });
    await until("the message to be at the carrier", () => slow.sends[0]);
    await rig.makeDue(message);
    await second(rig, other);
    await until("the other process to hold the message", async () => (await rig.queueRow(message))?.state === 1 || undefined);
    resolve(accepted("7"));
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.provider?.messageId, sent.attempts], ["7", 1]);
    assert.equal(await rig.queueRow(message), undefined);
    assert.equal(other.sends.length, 0);
    assert.deepEqual(
      (await rig.timeline(message)).map(({ type }) => type),
      ["message.queued", "message.sending", "attempt.unknown", "message.sent"],
    );
  });
});

describe("a lease", () => {
  test("is renewed for claimed messages, returned for others, and unchanged for held or finished ones", async () => {
    await using rig = await Rig.open();
    const [mine, back, held, gone] = await rig.acceptMany(4, (index) => ({ recipient: recipientNo(index) }));
    assert.ok(mine !== undefined && back !== undefined && held !== undefined && gone !== undefined);
    await claimAndDie(rig);
    await rig.rows("update delivery_queue set state = 1, due_at = now() + interval '1 minute' where message_id = $1", [held.id]);
    await rig.rows("delete from delivery_queue where message_id = $1", [gone.id]);
    await rig.rows("update delivery_queue set due_at = now() + interval '2 seconds' where state = 0");
    const nowMs = rig.clock.now();
    await setDueTimes(
      rig.db,
      [mine, held, gone].map(({ id }) => ({ id, dueAtMs: nowMs + 15_000 })),
    );
    await setDueTimes(rig.db, [{ id: back.id, dueAtMs: nowMs }]);
    const due = async (message: Message): Promise<number> => (await rig.queueRow(message))?.due_in_ms ?? NaN;
    assert.ok((await due(mine)) > 12_000);
    assert.ok((await due(back)) <= 0);
    assert.ok((await due(held)) > 50_000);
    assert.equal(await rig.queueRow(gone), undefined);
    const [taken, ...more] = await claimAndDie(rig);
    assert.deepEqual([taken?.message.id, more.length], [back.id, 0]);
  });

  test("prevents two concurrent claims from taking the same row", async () => {
    await using rig = await Rig.open();
    await rig.acceptMany(200, () => ({}));
    const claims = await Promise.all(Array.from({ length: 8 }, () => claimAndDie(rig)));
    const ids = claims.flat().map(({ message }) => message.id.toString("hex"));
    assert.equal(ids.length, 200);
    assert.equal(new Set(ids).size, 200);
  });
});
