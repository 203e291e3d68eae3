/** Lanes: no link waits for another link, no message of high priority waits for a campaign, and no account waits for the
 *  backlog of another. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { idKey, newId, type AccountId, type MessageId } from "../../src/model/id.ts";
import type { Message } from "../../src/messages/message.ts";
import type { SendOutcome } from "../../src/providers/provider.ts";
import { LINK, publicId, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { NEVER_MS, until } from "../support/expect.ts";
import { accepted, refused, ScriptedCarrier } from "../support/scripted-carrier.ts";

/** Accounts in the order of their ids, the oldest first. */
const accounts = (count: number): AccountId[] => Array.from({ length: count }, () => newId("acct", Date.now()));

/** The owner of each submitted message, in the order of submission. */
const ownersOf = (carrier: ScriptedCarrier, messages: readonly Message[], owners: readonly AccountId[]): number[] => {
  const byId = new Map(messages.map((each) => [publicId(each), owners.findIndex((owner) => owner.equals(each.accountId))]));
  return carrier.sends.map(({ message }) => byId.get(message.id) ?? -1);
};

const countsOf = (owners: readonly number[], count: number): number[] =>
  Array.from({ length: count }, (_, account) => owners.filter((each) => each === account).length);

const backlog = async (rig: Rig, owners: readonly AccountId[], each: number): Promise<Message[]> =>
  (await Promise.all(owners.map((accountId) => rig.acceptMany(each, () => ({}), { accountId })))).flat();

const allSent = (rig: Rig, count: number): Promise<unknown> =>
  until(`${count} to be sent`, async () => (await rig.count("sent")) >= count || undefined);

describe("a link", () => {
  test("that does not respond delays no other", async () => {
    await using rig = await Rig.open();
    const [slow, fast] = [new ScriptedCarrier({ window: 10 }), new ScriptedCarrier({ window: 10 })];
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    slow.otherwise = () => promise;
    await rig.acceptMany(60, () => ({}), { link: "slow" });
    await rig.acceptMany(60, () => ({}), { link: "fast" });
    await rig.deliver({ slow, fast });
    await until("the slow link to be full", () => slow.sends.length >= 9 || undefined);
    await allSent(rig, 60);
    assert.equal(fast.sends.length, 60);
    assert.ok(slow.sends.length <= 10, "the window is never exceeded");
    resolve(accepted("the same for all"));
  });

  test("that throttles delays no other", async () => {
    await using rig = await Rig.open();
    const [slow, fast] = [new ScriptedCarrier(), new ScriptedCarrier()];
    slow.otherwise = { kind: "throttled", scope: "link", retryAfterMs: 60_000, providerCode: null };
    await rig.acceptMany(20, () => ({}), { link: "slow" });
    const delivery = await rig.deliver({ slow, fast });
    await until("the pause", () => delivery.lanes.get("slow")?.isPaused || undefined);
    await rig.acceptMany(20, () => ({}), { link: "fast" });
    fast.changed();
    await allSent(rig, 20);
    assert.equal(delivery.lanes.get("fast")?.isPaused, false);
  });

  test("uses its whole window and never exceeds it", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 7 });
    carrier.otherwise = async ({ message }) => {
      await sleep(message.id.charCodeAt(29) % 5);
      return accepted();
    };
    // Messages of every priority, from the queue and from requests at the same time.
    const priority = (index: number) => ({ priority: (["high", "normal", "bulk"] as const)[index % 3] as "high" });
    await rig.acceptMany(100, priority);
    const { handover } = await rig.deliver({ [LINK]: carrier });
    await rig.acceptMany(100, priority, { handover });
    await allSent(rig, 200);
    assert.equal(carrier.highWater, 7);
    assert.equal(new Set(carrier.sends.map(({ message }) => message.id)).size, 200);
  });

  test("that is not ready receives no message and has none claimed, and continues when it is ready", async () => {
    await using rig = await Rig.open();
    const [carrier, other] = [new ScriptedCarrier(), new ScriptedCarrier()];
    carrier.isReady = false;
    const { handover, lanes } = await rig.deliver({ [LINK]: carrier, other }, { pollMs: NEVER_MS });
    const waiting = [await rig.accept({}, { handover }), await rig.accept()];
    // Every lane takes a turn meanwhile: the message of another link is sent.
    const marker = await rig.accept({}, { link: "other", handover });
    await rig.untilStatus(marker, "sent");
    assert.equal(carrier.sends.length, 0);
    assert.equal(lanes.get(LINK)?.ownedCount, 0);
    for (const message of waiting) assert.ok(((await rig.queueRow(message))?.due_in_ms ?? 1) <= 0, "due for any node that can take it");
    carrier.isReady = true;
    carrier.changed();
    await allSent(rig, 3);
  });

  test("takes a new message immediately where no message waits", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const { handover } = await rig.deliver({ [LINK]: carrier });
    // The first messages may wait in the queue until the lane knows that the queue is empty.
    await rig.untilStatus(await rig.accept({}, { handover }), "sent");
    await sleep(20);
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.otherwise = () => promise;
    const message = await rig.accept({}, { handover });
    await until("the message to be submitted", () => carrier.sends[1]);
    const row = await rig.queueRow(message);
    assert.ok((row?.due_in_ms ?? 0) > 5_000, "this process owns the message for the time of its lease");
    resolve(accepted());
    await rig.untilStatus(message, "sent");
  });
});

describe("priorities", () => {
  test("messages of high priority overtake a campaign of any size", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 10 });
    carrier.otherwise = async () => {
      await sleep(5);
      return accepted();
    };
    await rig.acceptMany(500, () => ({ priority: "bulk" }));
    const { handover, lanes } = await rig.deliver({ [LINK]: carrier });
    await until("the campaign to have started", () => carrier.sends.length >= 40 || undefined);
    const places: number[] = [];
    for (let index = 0; index < 10; index += 1) {
      const before = carrier.sends.length;
      // One from a request, and one from the queue, which another process announces.
      const message = await rig.accept({ priority: "high" }, index % 2 === 0 ? { handover } : {});
      const group = { key: idKey(message.accountId), accountId: message.accountId };
      if (index % 2 === 1) lanes.get(LINK)?.announced({ rank: 0, group, dueAtMs: message.updatedAtMs });
      await rig.untilStatus(message, "sent");
      places.push(carrier.sends.findIndex(({ message: { id } }) => id === publicId(message)) - before);
    }
    assert.ok(carrier.sends.length < 400, "the campaign has not ended");
    // Twice the number of messages that can be claimed for the carrier: nothing waits for the four hundred.
    assert.ok(Math.max(...places) <= 40, `messages sent before: ${places.join(" ")}`);
    await allSent(rig, 510);
  });

  test("waiting messages are sent in the order of their priority", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 1 });
    for (const priority of ["bulk", "normal", "high"] as const) await rig.acceptMany(20, () => ({ priority }));
    const rank = new Map<string, string>();
    for (const { id, priority } of await rig.rows<{ id: MessageId; priority: string }>("select id, priority from messages"))
      rank.set(publicId({ id }), priority);
    await rig.deliver({ [LINK]: carrier });
    await allSent(rig, 60);
    const order = carrier.sends.map(({ message }) => rank.get(message.id));
    // A claim may take messages of the next priority together with the last ones of the previous priority.
    assert.ok(order.slice(0, 20).filter((each) => each === "high").length >= 17, order.join(" "));
    assert.ok(order.slice(0, 40).every((each) => each !== "bulk") || order.indexOf("bulk") >= 36, order.join(" "));
  });
});

describe("accounts", () => {
  test("share a link: none of three has more than half of any sixty submissions", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 20 });
    const owners = accounts(3);
    const messages = await backlog(rig, owners, 200);
    await rig.deliver({ [LINK]: carrier });
    await allSent(rig, 600);
    const order = ownersOf(carrier, messages, owners);
    // A claim takes at most 40 rows here, a third of each account, one account after the other.
    for (let from = 0; from + 60 <= 540; from += 20) {
      const counts = countsOf(order.slice(from, from + 60), 3);
      assert.ok(Math.max(...counts) <= 30, `sends ${from} to ${from + 60}: ${counts.join(" ")}`);
      assert.ok(Math.min(...counts) >= 10, `sends ${from} to ${from + 60}: ${counts.join(" ")}`);
    }
  });

  for (const window of [1, 2, 10]) {
    test(`share a link with a window of ${window}, however many accounts there are`, async () => {
      await using rig = await Rig.open();
      const carrier = new ScriptedCarrier({ window });
      const owners = accounts(6 * window);
      const messages = await backlog(rig, owners, 8);
      await rig.deliver({ [LINK]: carrier });
      await allSent(rig, messages.length);
      const order = ownersOf(carrier, messages, owners);
      const half = countsOf(order.slice(0, order.length / 2), owners.length);
      // Four of eight each. Responses race within the window.
      assert.ok(Math.min(...half) >= 3 && Math.max(...half) <= 5, `messages per account in the first half: ${half.join(" ")}`);
    });
  }

  test("are all served when there are more accounts than one claim considers", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 20 });
    const owners = accounts(80);
    const messages = await backlog(rig, owners, 6);
    await rig.deliver({ [LINK]: carrier });
    await allSent(rig, 480);
    const half = countsOf(ownersOf(carrier, messages, owners).slice(0, 240), 80);
    assert.ok(Math.min(...half) >= 2 && Math.max(...half) <= 4, `messages per account in the first half: ${half.join(" ")}`);
  });

  test("do not wait for accounts whose messages are not due", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    // More accounts than a claim considers, all of them older, and all waiting for a retry in an hour.
    const early = await backlog(rig, accounts(40), 1);
    await rig.rows("update delivery_queue set due_at = now() + interval '1 hour'");
    const late = await rig.accept({}, { accountId: newId("acct", Date.now()) });
    await rig.deliver({ [LINK]: carrier });
    await rig.untilStatus(late, "sent");
    assert.equal(carrier.sends.length, 1);
    assert.equal(await rig.count("queued"), early.length);
  });

  test("have their scheduled messages released, whatever others have scheduled for later", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const later = { send_at: new Date(Date.now() + 3_600_000).toISOString() };
    await Promise.all(accounts(40).map((accountId) => rig.accept(later, { accountId })));
    const due = await rig.accept(later, { accountId: newId("acct", Date.now()) });
    await rig.makeDue(due);
    await rig.deliver({ [LINK]: carrier });
    await rig.untilStatus(due, "sent");
    assert.equal(await rig.count("scheduled"), 40);
  });

  test("with a backlog have their new messages queued behind it, and others do not", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 5 });
    carrier.otherwise = async () => {
      await sleep(3);
      return accepted();
    };
    const [busy, idle] = accounts(2);
    assert.ok(busy !== undefined && idle !== undefined);
    const waiting = await rig.acceptMany(100, (index) => ({ recipient: recipientNo(index) }), { accountId: busy });
    const { handover } = await rig.deliver({ [LINK]: carrier });
    await until("the backlog to have started", () => carrier.sends.length >= 10 || undefined);
    const before = carrier.sends.length;
    const [behind, free] = await Promise.all([
      rig.accept({}, { accountId: busy, handover }),
      rig.accept({}, { accountId: idle, handover }),
    ]);
    await allSent(rig, 102);
    const order = carrier.sends.map(({ message }) => message.id);
    const positionOf = (message: Message): number => order.indexOf(publicId(message));
    // Responses race within the window, and so do the last messages of the backlog with the next ones.
    assert.ok(positionOf(behind) >= Math.max(...waiting.map(positionOf)) - 5, `its position is ${positionOf(behind)}`);
    assert.ok(positionOf(free) - before <= 30, `${positionOf(free) - before} messages were sent before`);
  });

  test("whose messages are refused repeatedly do not delay other accounts", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 2 });
    const owners = accounts(4);
    const bad = await rig.acceptMany(20, (index) => ({ recipient: recipientNo(index) }), { accountId: owners[0] as AccountId });
    for (const { recipient } of bad) carrier.responds(recipient, refused(false));
    const good = await backlog(rig, owners.slice(1), 10);
    await rig.deliver({ [LINK]: carrier });
    await Promise.all(good.map((message) => rig.untilStatus(message, "sent")));
    assert.equal(await rig.count("failed"), 0);
  });
});

test("scheduled messages of an account are released in turn with those of a campaign that became due before them", async () => {
  await using rig = await Rig.open();
  const [campaign, modest] = accounts(2) as [AccountId, AccountId];
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const many = await rig.acceptMany(600, () => ({ send_at: sendAt }), { accountId: campaign });
  const few = await rig.acceptMany(3, () => ({ send_at: sendAt }), { accountId: modest });
  await rig.rows("update delivery_queue set due_at = now() - interval '2 seconds' where account_id = $1", [campaign]);
  await rig.rows("update delivery_queue set due_at = now() - interval '1 second' where account_id = $1", [modest]);
  const carrier = new ScriptedCarrier();
  await rig.deliver({ [LINK]: carrier });
  await allSent(rig, many.length + few.length);
  const owners = ownersOf(carrier, [...many, ...few], [campaign, modest]);
  assert.deepEqual(countsOf(owners, 2), [600, 3]);
  assert.ok(owners.lastIndexOf(1) < 300, `the last message of the other account is number ${owners.lastIndexOf(1)}`);
});
