/** Opt-outs and service windows: unwanted messages are refused. Messages that were accepted before fail, and no carrier
 *  receives them. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { optIn, optOut, optOutAll, type OptOut } from "../../src/consent/change-consent.ts";
import { encodeId, newId, type EventId } from "../../src/model/id.ts";
import type { Recipient } from "../../src/model/phone-number.ts";
import { uuidTimeMs } from "../../src/lib/uuid.ts";
import type { Delivery } from "../../src/delivery/delivery.ts";
import type { Message } from "../../src/messages/message.ts";
import type { NewMessage } from "../../src/messages/new-message.ts";
import { QUEUE_STATE } from "../../src/messages/queue-entry.ts";
import type { Connection, SendOutcome } from "../../src/providers/provider.ts";
import { Database, DatabaseUnavailable } from "../../src/database/database.ts";
import type { Sql } from "../../src/database/sql.ts";
import { clientOfAccount, type Client } from "../support/client.ts";
import { LINK, Rig } from "../support/delivery-rig.ts";
import { RECIPIENT, recipientNo } from "../support/recipient.ts";
import { assertProblem, pointersOf, until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply, type RequestOptions } from "../support/harness.ts";
import { lockMessage } from "../support/locks.ts";
import { assertReplayOf } from "../support/replay.ts";
import { accepted, refused, ScriptedCarrier, throttled, unknown } from "../support/scripted-carrier.ts";

// The sender of the link, which messages have here unless they name another.
const SENDER = "+15005550000";

const pairOf = (rig: Rig, recipient: Recipient, sender: string | null) =>
  ({ accountId: rig.accountId, environment: "test", recipient, sender }) as const;
const stop = (rig: Rig, { recipient = RECIPIENT, sender = null as string | null } = {}): Promise<OptOut> =>
  rig.db.transaction((tx) => optOut(tx, rig.clock.now(), pairOf(rig, recipient, sender), { source: "api" }));
const start = (rig: Rig, { recipient = RECIPIENT, sender = null as string | null } = {}): Promise<unknown> =>
  rig.db.transaction((tx) => optIn(tx, rig.clock.now(), pairOf(rig, recipient, sender), { source: "api" }));

/** The message failed permanently by the check at send time, and has left the queue. */
async function assertFailedByCheck(rig: Rig, message: Message, code: string, attempts = 0): Promise<void> {
  const failed = await rig.untilStatus(message, "failed");
  assert.deepEqual([failed.error?.code, failed.error?.permanent, failed.attempts], [code, true, attempts]);
  assert.ok(failed.failedAtMs !== null && failed.sentAtMs === null);
  assert.equal(await rig.queueRow(message), undefined);
  const last = (await rig.timeline(message)).at(-1);
  assert.deepEqual([last?.type, last?.status, last?.isIgnored], ["message.failed", "failed", false]);
}

/** Sends another message through the lane. Every earlier message that had to be sent has been sent by then. */
async function anotherPasses(rig: Rig, carrier: ScriptedCarrier): Promise<void> {
  const other = await rig.accept({ recipient: recipientNo(9_999) });
  carrier.changed();
  await rig.untilStatus(other, "sent");
}

describe("an opt-out and the change to `sending`", () => {
  test("are committed one after the other: an opt-out waits for a change that has passed its check", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const respond = Promise.withResolvers<SendOutcome>();
    carrier.otherwise = () => respond.promise;
    const message = await rig.accept();
    const lock = await lockMessage(rig.url, encodeId("msg", message.id));
    await rig.deliver({ [LINK]: carrier });
    await lock.waiting();
    const committed: string[] = [];
    const stopped = stop(rig).then((done) => {
      committed.push("opt-out");
      return done;
    });
    await lock.waiting(2);
    assert.deepEqual([committed, carrier.sends], [[], []]);
    await lock.release();
    const { inFlight } = await stopped;
    assert.equal(inFlight, 1);
    assert.equal((await rig.message(message)).status, "sending");
    respond.resolve(accepted());
    await rig.untilStatus(message, "sent");
  });

  for (const [what, recipients] of [
    ["of one recipient", [RECIPIENT]],
    ["of several recipients", [recipientNo(1), RECIPIENT]],
  ] as const) {
    test(`are committed one after the other: a change is put off while an opt-out ${what} is about to commit`, async () => {
      await using rig = await Rig.open();
      const carrier = new ScriptedCarrier();
      const [message, neighbor] = [await rig.accept(), await rig.accept({ recipient: recipientNo(2) })];
      const stored = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      const wishes = recipients.map((recipient) => ({ pair: pairOf(rig, recipient, null), cause: { source: "import" } as const }));
      const stopped = rig.db.transaction(async (tx) => {
        await optOutAll(tx, rig.clock.now(), wishes);
        stored.resolve();
        await gate.promise;
      });
      await stored.promise;
      let turns = 0;
      carrier.beforeTurn = ({ recipient }) => {
        turns += recipient === RECIPIENT ? 1 : 0;
        return undefined;
      };
      await rig.deliver({ [LINK]: carrier });
      await until("the message to be tried again", () => turns > 2 || undefined);
      // An import locks the whole environment, so that its number of locks does not depend on its length.
      if (recipients.length === 1) await rig.untilStatus(neighbor, "sent");
      assert.equal((await rig.message(message)).status, "queued");
      gate.resolve();
      await stopped;
      await assertFailedByCheck(rig, message, "recipient_opted_out");
      await rig.untilStatus(neighbor, "sent");
      assert.deepEqual(carrier.sendsTo(RECIPIENT), []);
    });
  }

  test("do not let a message leave whose provider was delayed after the change by more than a second", async () => {
    await using rig = await Rig.open();
    const message = await rig.accept();
    const answers: boolean[] = [];
    const send: Connection["send"] = async (_message, _signal, begin) => {
      answers.push(await begin());
      await stop(rig);
      await sleep(1_100);
      answers.push(await begin());
      return answers.at(-1) === true ? accepted() : { kind: "withdrawn" };
    };
    const open = async (): Promise<Connection> => ({ window: 1, isReady: true, send, close: async () => undefined });
    await rig.deliver({ [LINK]: { name: "delayed", open } });
    await assertFailedByCheck(rig, message, "recipient_opted_out", 1);
    assert.deepEqual(answers, [true, false]);
  });

  test("that do not end do not hold up the messages of other accounts", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    const gate = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const stopped = rig.db.transaction(async (tx) => {
      await optOutAll(tx, rig.clock.now(), [{ pair: pairOf(rig, RECIPIENT, null), cause: { source: "api" } }]);
      held.resolve();
      await gate.promise;
    });
    await held.promise;
    await rig.acceptMany(20, () => ({ recipient: RECIPIENT }));
    const other = await rig.accept({ recipient: recipientNo(5) });
    await rig.untilStatus(other, "sent");
    gate.resolve();
    await stopped;
  });

  test("count the messages of the pair that are `sending`", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const respond = Promise.withResolvers<SendOutcome>();
    carrier.otherwise = () => respond.promise;
    await rig.deliver({ [LINK]: carrier });
    const messages = [await rig.accept(), await rig.accept({ sender: "SHOP" }), await rig.accept({ recipient: recipientNo(1) })];
    for (const each of messages) await rig.untilStatus(each, "sending");
    assert.equal((await stop(rig, { sender: "SHOP" })).inFlight, 1);
    assert.equal((await stop(rig)).inFlight, 2);
    assert.equal((await stop(rig, { recipient: recipientNo(3) })).inFlight, 0);
    respond.resolve(accepted());
    for (const each of messages) await rig.untilStatus(each, "sent");
    assert.equal((await stop(rig)).inFlight, 0);
  });

  test("do not keep an unknown outcome of a message that was `sending` from being stored", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const respond = Promise.withResolvers<SendOutcome>();
    carrier.otherwise = () => respond.promise;
    await rig.deliver({ [LINK]: carrier });
    const message = await rig.accept();
    await rig.untilStatus(message, "sending");
    assert.equal((await stop(rig)).inFlight, 1);
    respond.resolve(unknown);
    await until("the outcome to be stored", async () =>
      (await rig.timeline(message)).some(({ type }) => type === "attempt.unknown") ? true : undefined,
    );
  });
});

/** A database whose changes to `sending` commit at once, and whose responses reach the service only when the test lets them pass. */
class DelayedDatabase extends Database {
  readonly passed = Promise.withResolvers<void>();
  /** The number of next reads of messages that find no database. */
  readsToFail = 0;
  /** The number of opt-outs that were read again. */
  checks = 0;

  override async rows<T>(statement: Sql): Promise<T[]> {
    if (this.readsToFail > 0 && statement.text.includes("from messages")) {
      this.readsToFail -= 1;
      throw new DatabaseUnavailable("the database cannot be reached");
    }
    const result = await super.rows<T>(statement);
    if (!statement.text.includes("update messages") && statement.text.includes("suppress")) this.checks += 1;
    if (statement.text.includes("find_suppressed")) await this.passed.promise;
    return result;
  }
}

describe("a process that is delayed between the commit of `sending` and the first byte", () => {
  type Delayed = { rig: Rig; message: Message; carrier: ScriptedCarrier; delivery: Delivery };

  /** Runs `meanwhile` when the message is `sending`, and lets the process continue more than a second later. */
  async function delayed(
    meanwhile: (delayed: Delayed) => Promise<unknown>,
    check: (delayed: Delayed) => Promise<void>,
    { readsToFail = 0, ...options }: { responseTimeoutMs?: number; readsToFail?: number } = {},
  ): Promise<void> {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await rig.accept();
    const db = new DelayedDatabase({ url: rig.url }, "delayed", () => undefined);
    rig.atEnd(() => db.close());
    const delivery = await rig.deliver({ [LINK]: carrier }, { db, ...options });
    await rig.untilStatus(message, "sending");
    await meanwhile({ rig, message, carrier, delivery });
    await sleep(1_100);
    db.readsToFail = readsToFail;
    db.passed.resolve();
    await check({ rig, message, carrier, delivery });
  }

  test("sends the message where nothing has changed", () =>
    delayed(
      async () => undefined,
      async ({ rig, message, carrier }) => {
        await rig.untilStatus(message, "sent");
        assert.equal(carrier.sends.length, 1);
      },
    ));

  test("checks only messages again whose own statement was delayed, not those that waited for it", async () => {
    await using rig = await Rig.open();
    const db = new DelayedDatabase({ url: rig.url }, "delayed", () => undefined);
    rig.atEnd(() => db.close());
    await rig.deliver({ [LINK]: new ScriptedCarrier() }, { db });
    const first: Message[] = [];
    for (const number of [1, 2]) {
      first.push(await rig.accept({ recipient: recipientNo(number) }));
      await rig.untilStatus(first.at(-1) as Message, "sending");
    }
    // As many batches are at the database as may be.
    const last = await rig.accept({ recipient: recipientNo(3) });
    await sleep(1_100);
    assert.equal((await rig.message(last)).status, "queued");
    db.passed.resolve();
    for (const message of [...first, last]) await rig.untilStatus(message, "sent");
    assert.equal(db.checks, first.length);
  });

  test("sends it also where the database cannot be reached for the next check at once", () =>
    delayed(
      async () => undefined,
      async ({ rig, message, carrier }) => {
        await rig.untilStatus(message, "sent");
        assert.equal(carrier.sends.length, 1);
      },
      { readsToFail: 2 },
    ));

  test("does not send it to a recipient who has opted out meanwhile", () =>
    delayed(
      async ({ rig }) => assert.equal((await stop(rig)).inFlight, 1),
      async ({ rig, message, carrier }) => {
        await assertFailedByCheck(rig, message, "recipient_opted_out", 1);
        assert.deepEqual(carrier.sends, []);
      },
    ));

  test("does not send it after its time to live", () =>
    delayed(
      ({ rig, message }) => rig.rows("update messages set expires_at = now() where id = $1", [message.id]),
      async ({ rig, message, carrier }) => {
        await rig.untilStatus(message, "expired");
        assert.deepEqual(carrier.sends, []);
      },
    ));

  test("does not send it where another node has failed it meanwhile", () =>
    delayed(
      ({ rig, message }) => rig.rows("update messages set status = 'failed', sequence = sequence + 1 where id = $1", [message.id]),
      async ({ rig, message, carrier }) => {
        await anotherPasses(rig, carrier);
        assert.deepEqual(carrier.sendsTo(message.recipient), []);
        assert.equal((await rig.message(message)).status, "failed");
      },
    ));

  for (const isHeld of [false, true])
    test(`returns it to the queue after the time limit of the attempt${isHeld ? ", also where another node holds it" : ""}`, () =>
      delayed(
        async ({ rig, message, carrier, delivery }) => {
          await until("the attempt to end", () => delivery.lanes.get(LINK)?.lastError?.code === "outcome_unknown");
          if (!isHeld) return;
          await rig.deliver({ [LINK]: carrier }, { node: "node-2", db: rig.connect("node-2") });
          await until("the other node to hold it", async () => {
            await rig.rows("update delivery_queue set due_at = now() where message_id = $1 and state = $2", [
              message.id,
              QUEUE_STATE.waiting,
            ]);
            return (await rig.queueRow(message))?.state === QUEUE_STATE.held;
          });
        },
        async ({ rig, message, carrier }) => {
          await rig.untilStatus(message, "sent");
          const attempts = carrier.sends.map(({ message: { attempt } }) => attempt);
          assert.deepEqual(attempts, [2], "the first attempt sent nothing");
          const isUnknown = (await rig.timeline(message)).some(({ type }) => type === "attempt.unknown");
          assert.equal(isUnknown, isHeld);
        },
        { responseTimeoutMs: 300 },
      ));
});

describe("a message that has no turn on the link", () => {
  test("fails where the provider refuses it before its turn", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.beforeTurn = () => refused(true, "invalid_sender");
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    const failed = await rig.untilStatus(message, "failed");
    assert.deepEqual([failed.error?.code, failed.attempts, carrier.sends.length], ["invalid_sender", 1, 0]);
  });

  test("stays queued without an attempt, and is sent when it has one", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    let waits = 0;
    carrier.beforeTurn = () => ((waits += 1) < 3 ? throttled("recipient", 10) : undefined);
    const message = await rig.accept();
    await rig.deliver({ [LINK]: carrier });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.attempts, waits], [1, 3]);
    assert.deepEqual(
      (await rig.timeline(message)).map(({ type }) => type),
      ["message.queued", "message.sending", "message.sent"],
    );
  });
});

describe("a message that was accepted before its recipient opted out", () => {
  test("fails, and no carrier receives it", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await rig.accept();
    const [own, neighbor] = [await rig.accept({ sender: "SHOP" }), await rig.accept({ recipient: recipientNo(1) })];
    await stop(rig);
    await rig.deliver({ [LINK]: carrier });
    for (const each of [message, own]) await assertFailedByCheck(rig, each, "recipient_opted_out");
    await rig.untilStatus(neighbor, "sent");
    await anotherPasses(rig, carrier);
    assert.deepEqual(carrier.sendsTo(RECIPIENT), []);
    assert.deepEqual(
      (await rig.timeline(message)).map(({ type, detail }) => [type, detail?.reason]),
      [
        ["message.queued", undefined],
        ["message.failed", "our own check at send time"],
      ],
    );
  });

  test("of one sender fails only from that sender", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const [shop, bank, plain] = [await rig.accept({ sender: "SHOP" }), await rig.accept({ sender: "BANK" }), await rig.accept()];
    await stop(rig, { sender: "SHOP" });
    await rig.deliver({ [LINK]: carrier });
    await assertFailedByCheck(rig, shop, "recipient_opted_out");
    await rig.untilStatus(bank, "sent");
    await rig.untilStatus(plain, "sent");
    assert.deepEqual(new Set(carrier.sends.map(({ message: { sender } }) => sender)), new Set([SENDER, "BANK"]));
  });

  test("of the link's sender fails where the request named no sender", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const [plain, shop] = [await rig.accept(), await rig.accept({ sender: "SHOP" })];
    await stop(rig, { sender: SENDER });
    await rig.deliver({ [LINK]: carrier });
    await assertFailedByCheck(rig, plain, "recipient_opted_out");
    await rig.untilStatus(shop, "sent");
    assert.equal(carrier.sends.length, 1);
  });

  test("and is scheduled fails at send_at", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await rig.accept({ send_at: new Date(rig.clock.now() + 3_600_000).toISOString() });
    await rig.deliver({ [LINK]: carrier });
    await stop(rig);
    assert.equal((await rig.message(message)).status, "scheduled");
    await rig.makeDue(message);
    await assertFailedByCheck(rig, message, "recipient_opted_out");
    await anotherPasses(rig, carrier);
    assert.deepEqual(carrier.sendsTo(RECIPIENT), []);
  });

  for (const [what, answer] of [
    ["was refused temporarily", refused(false)],
    ["was throttled", throttled("recipient", 60_000)],
  ] as const) {
    test(`and ${what} is not attempted again`, async () => {
      await using rig = await Rig.open();
      const carrier = new ScriptedCarrier();
      carrier.responds(RECIPIENT, answer, accepted());
      const message = await rig.accept();
      await rig.deliver({ [LINK]: carrier });
      await until("a first attempt", () => carrier.sends[0]);
      await rig.untilStatus(message, "queued");
      await stop(rig);
      await rig.makeDue(message);
      carrier.changed();
      await assertFailedByCheck(rig, message, "recipient_opted_out", 1);
      await anotherPasses(rig, carrier);
      assert.equal(carrier.sendsTo(RECIPIENT).length, 1);
    });
  }

  test("and is claimed fails as well, and the message at the carrier continues", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 1 });
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.responds(RECIPIENT, () => promise);
    const [first, ...others] = await rig.acceptMany(5, () => ({}));
    assert.ok(first !== undefined);
    const delivery = await rig.deliver({ [LINK]: carrier });
    await until(
      "one at the carrier, and more claimed",
      () => (carrier.sends.length === 1 && (delivery.lanes.get(LINK)?.ownedCount ?? 0) >= 2) || undefined,
    );
    await stop(rig);
    resolve(accepted());
    const sent = await until("one to be sent", async () => {
      const all = await Promise.all([first, ...others].map((message) => rig.message(message)));
      return all.find(({ status }) => status === "sent");
    });
    for (const message of [first, ...others])
      if (!message.id.equals(sent.id)) await assertFailedByCheck(rig, message, "recipient_opted_out");
    assert.equal(carrier.sends.length, 1);
  });

  test("is sent when the opt-out is lifted before its turn", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await rig.accept();
    await stop(rig);
    await start(rig);
    await rig.deliver({ [LINK]: carrier });
    await rig.untilStatus(message, "sent");
    assert.equal(carrier.sends.length, 1);
  });

  test("stays failed when the opt-out is lifted later, and the next message is sent", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const message = await rig.accept();
    await stop(rig);
    await rig.deliver({ [LINK]: carrier });
    await assertFailedByCheck(rig, message, "recipient_opted_out");
    await start(rig);
    await rig.untilStatus(await rig.accept(), "sent");
    assert.equal((await rig.message(message)).status, "failed");
    assert.equal(carrier.sends.length, 1);
  });

  test("of another account is sent", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const accountId = newId("acct", rig.clock.now());
    const message = await rig.accept({}, { accountId });
    await stop(rig);
    await rig.deliver({ [LINK]: carrier });
    await rig.untilStatus(message, "sent");
  });
});

describe("a service window that closes after the accept", () => {
  const HELLO: Partial<NewMessage> = { channel: "whatsapp", body: "Hello" };
  const wrote = (rig: Rig, hoursAgo: number): Promise<unknown> =>
    rig.rows(
      `insert into service_windows (account_id, environment, recipient, sender, opened_at)
       values ($1, 'test', $2, $3, now() - $4 * interval '1 hour')
       on conflict (account_id, environment, recipient, sender) do update set opened_at = excluded.opened_at`,
      [rig.accountId, RECIPIENT, SENDER, hoursAgo],
    );

  test("fails scheduled free text, and nothing else", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await wrote(rig, 23);
    const send_at = new Date(rig.clock.now() + 3_600_000).toISOString();
    const [text, sms, other] = [
      await rig.accept({ ...HELLO, send_at }),
      await rig.accept({ send_at }),
      await rig.accept({ ...HELLO, sender: "SHOP", send_at }),
    ];
    await rig.deliver({ [LINK]: carrier });
    await wrote(rig, 25);
    for (const message of [text, sms, other]) await rig.makeDue(message);
    await assertFailedByCheck(rig, text, "service_window_closed");
    await rig.untilStatus(sms, "sent");
    await rig.untilStatus(other, "sent");
    assert.equal(carrier.sends.filter(({ message: { channel, sender } }) => channel === "whatsapp" && sender === SENDER).length, 0);
  });

  test("and opens again in time stops no message", async () => {
    await using rig = await Rig.open();
    await wrote(rig, 23);
    const message = await rig.accept(HELLO);
    await wrote(rig, 25);
    await wrote(rig, 0);
    await rig.deliver({ [LINK]: new ScriptedCarrier() });
    await rig.untilStatus(message, "sent");
  });

  test("yields to the opt-out as the reason where the recipient has opted out as well", async () => {
    await using rig = await Rig.open();
    const message = await rig.accept(HELLO);
    await wrote(rig, 25);
    await stop(rig);
    await rig.deliver({ [LINK]: new ScriptedCarrier() });
    await assertFailedByCheck(rig, message, "recipient_opted_out");
  });
});

describe("through the API", () => {
  let godwit: Godwit;
  before(async () => {
    godwit = await startGodwit();
  });
  after(() => godwit.stop());

  const sender =
    ({ node, key }: Client) =>
    (fields: object = {}, options: RequestOptions = {}): Promise<Reply> =>
      node.send(key, fields, options);

  const countOf = async ({ node }: Client, reference: string): Promise<number> =>
    (await node.rows("select from messages where client_reference = $1", [reference])).length;

  test("a message to a recipient who opted out is refused and not stored, until the opt-out is lifted", async () => {
    const client = await clientOfAccount(godwit, "refused");
    const send = sender(client);
    const { id } = await client.suppressions.add();
    const reply = await send({ client_reference: "refused" });
    assertProblem(reply, "recipient_opted_out");
    assert.deepEqual(pointersOf(reply), ["/recipient"]);
    assert.equal(await countOf(client, "refused"), 0);
    for (const fields of [{ sender: "SHOP" }, { channel: "whatsapp" }, { send_at: new Date(Date.now() + 600_000).toISOString() }])
      assertProblem(await send(fields), "recipient_opted_out");
    assert.equal((await send({ recipient: "+14155550124" })).status, 202);
    await client.suppressions.lift(id);
    assert.equal((await send()).status, 202);
  });

  test("an opt-out of one sender refuses only messages from that sender", async () => {
    const client = await clientOfAccount(godwit, "one sender");
    const send = sender(client);
    await client.suppressions.add({ sender: "SHOP" });
    assertProblem(await send({ sender: "SHOP" }), "recipient_opted_out");
    assert.equal((await send({ sender: "BANK" })).status, 202);
    assert.equal((await send()).status, 202);
    await client.suppressions.add({ sender: SENDER });
    assertProblem(await send(), "recipient_opted_out");
  });

  test("an opt-out applies only to its environment and account", async () => {
    const client = await clientOfAccount(godwit, "apart");
    await client.suppressions.add();
    assert.equal((await sender(await clientOfAccount(godwit, "elsewhere"))()).status, 202);
  });

  test("an earlier response is replayed unchanged: a 202 after the opt-out, and a 422 after it was lifted", async () => {
    const client = await clientOfAccount(godwit, "replays");
    const send = sender(client);
    const [first, second] = [{ idempotencyKey: randomUUID() }, { idempotencyKey: randomUUID() }];
    const taken = await send({ client_reference: "accepted" }, first);
    assert.equal(taken.status, 202);
    const { id } = await client.suppressions.add();
    assertReplayOf(taken, await send({ client_reference: "accepted" }, first));
    const refusal = await send({ client_reference: "not accepted" }, second);
    assertProblem(refusal, "recipient_opted_out");
    await client.suppressions.lift(id);
    assertReplayOf(refusal, await send({ client_reference: "not accepted" }, second));
    assert.deepEqual([await countOf(client, "accepted"), await countOf(client, "not accepted")], [1, 0]);
  });

  test("a refusal without an idempotency key is not stored", async () => {
    const client = await clientOfAccount(godwit, "no key");
    const { id } = await client.suppressions.add();
    const ask = (): Promise<Reply> =>
      godwit.request("POST", "/v1/messages", { key: client.key, body: { recipient: "+14155550123", channel: "sms", body: "x" } });
    assertProblem(await ask(), "recipient_opted_out");
    await client.suppressions.lift(id);
    assert.equal((await ask()).status, 202);
  });

  test("a batch skips recipients who opted out, each with its reason", async () => {
    const client = await clientOfAccount(godwit, "batch");
    await client.suppressions.add();
    const item = (recipient: string) => ({ recipient, channel: "sms", body: "x" });
    const reply = await godwit.request("POST", "/v1/batches", {
      key: client.key,
      idempotencyKey: randomUUID(),
      body: { items: [item("+14155550124"), item("+14155550123"), item("+14155550125")] },
    });
    assert.ok(reply.status >= 200 && reply.status < 300, reply.text);
    const results = reply.json["results"] as { status: string; error: { code: string } | null }[];
    assert.deepEqual(
      results.map(({ status, error }) => [status, error?.code]),
      [
        ["accepted", undefined],
        ["refused", "recipient_opted_out"],
        ["accepted", undefined],
      ],
    );
    assert.deepEqual(await godwit.rows("select from messages where recipient = '+14155550123' and batch_id is not null"), []);
  });

  const TEMPLATE = { body: null, template_id: "verification_code", template_variables: { code: "1234" } };
  const WINDOWS: readonly (readonly [what: string, hoursAgo: number | null, fields: object, isRefused: boolean])[] = [
    ["a text to a recipient who never wrote", null, { channel: "whatsapp" }, false],
    ["a text to a recipient who wrote an hour ago", 1, { channel: "whatsapp" }, false],
    ["a text to a recipient who wrote 23 hours ago", 23, { channel: "whatsapp" }, false],
    ["a text to a recipient who wrote 25 hours ago", 25, { channel: "whatsapp" }, true],
    ["a text from another sender", 25, { channel: "whatsapp", sender: "SHOP" }, false],
    ["a template to a recipient who wrote 25 hours ago", 25, { channel: "whatsapp", ...TEMPLATE }, false],
    ["an SMS to a recipient who wrote 25 hours ago", 25, { channel: "sms" }, false],
    [
      "an SMS with a WhatsApp text as fallback",
      25,
      { channel: "sms", fallback: [{ channel: "whatsapp", body: "x", after_seconds: 9 }] },
      false,
    ],
  ];
  for (const [index, [what, hoursAgo, fields, isRefused]] of WINDOWS.entries()) {
    test(`${what} is ${isRefused ? "refused" : "accepted"}`, async () => {
      const client = await clientOfAccount(godwit, "windows");
      const recipient = `+1415555${String(2_000 + index)}`;
      if (hoursAgo !== null)
        await godwit.rows(
          `insert into service_windows (account_id, environment, recipient, sender, opened_at)
           select id, 'test', $1, $2, now() - $3 * interval '1 hour' from accounts where name = 'windows'`,
          [recipient, SENDER, hoursAgo],
        );
      const reply = await sender(client)({ recipient, ...fields });
      if (!isRefused) return assert.equal(reply.status, 202, reply.text);
      assertProblem(reply, "service_window_closed");
      assert.deepEqual(pointersOf(reply), ["/recipient"]);
      assert.deepEqual(await godwit.rows("select from messages where recipient = $1", [recipient]), []);
    });
  }

  test("the simulator's number with a closed service window accepts a template and no text", async () => {
    const send = sender(await clientOfAccount(godwit, "closed"));
    const recipient = "+15005550014";
    assertProblem(await send({ recipient, channel: "whatsapp" }), "service_window_closed");
    assert.equal((await send({ recipient, channel: "whatsapp", ...TEMPLATE })).status, 202);
    assert.equal((await send({ recipient })).status, 202);
  });
});

test("each of two hundred messages around an opt-out is refused, fails, or was submitted before it, and none after it", async (context) => {
  await using godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 20 });
  await using other = await startGodwit({ databaseUrl: godwit.databaseUrl, roles: "api,dispatch", simulatorSpeed: 20 });
  const client = await clientOfAccount(godwit, "race");
  const nodes = [godwit, other] as const;
  const send = (index: number): Promise<Reply> => nodes[index % 2 === 0 ? 0 : 1].send(client.key);
  const nowMs = async (): Promise<number> =>
    Number((await godwit.rows<{ now: number }>("select (extract(epoch from clock_timestamp()) * 1000)::float8 as now"))[0]?.now);
  const early = Array.from({ length: 100 }, (_, index) => send(index));
  const optedOut = Promise.race(early).then(async () => {
    await client.suppressions.add();
    return nowMs();
  });
  const late = Promise.race(early).then(() => Promise.all(Array.from({ length: 100 }, (_, index) => send(index))));
  const [replies, stoppedAt] = await Promise.all([Promise.all([...early, late]).then((all) => all.flat()), optedOut]);
  for (const reply of replies) if (reply.status !== 202) assertProblem(reply, "recipient_opted_out");
  for (let index = 0; index < 4; index += 1) assertProblem(await send(index), "recipient_opted_out");
  const taken = replies.filter(({ status }) => status === 202).length;
  await until("all to reach a final status", async () =>
    (await godwit.rows("select from messages where status not in ('failed', 'delivered')")).length === 0 &&
    (await godwit.rows("select from delivery_queue")).length === 0
      ? true
      : undefined,
  );
  const messages = await godwit.rows<{ status: string; code: string | null; sending: number; sendingId: EventId; attempts: number }>(
    `select m.status, m.error ->> 'code' as code, m.attempts,
            (select count(*)::integer from events e where e.message_id = m.id and e.type = 'message.sending') as sending,
            (select e.id from events e where e.message_id = m.id and e.type = 'message.sending' limit 1) as "sendingId"
       from messages m where m.direction = 'outbound'`,
  );
  assert.equal(messages.length, taken);
  const failed = messages.filter(({ status }) => status === "failed");
  for (const { code, sending, attempts } of failed) assert.deepEqual([code, sending, attempts], ["recipient_opted_out", 0, 0]);
  for (const { status, code, sending, sendingId } of messages) {
    if (status === "failed") continue;
    assert.deepEqual([status, code, sending], ["delivered", null, 1]);
    // The decision to submit was made before the response to the opt-out. The clocks of nodes differ a little.
    const decidedAt = uuidTimeMs(sendingId);
    assert.ok(decidedAt <= stoppedAt + 20, `${decidedAt - stoppedAt} ms after`);
  }
  context.diagnostic(`refused: ${replies.length - taken}, failed: ${failed.length}, delivered: ${taken - failed.length}`);
});
