/** Senders: pools, the sender that a recipient knows, and the rate of a sender. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LinkDirectory } from "../../src/links/directory.ts";
import { EMPTY_PLAN, type Sender } from "../../src/links/plan.ts";
import type { Message } from "../../src/messages/message.ts";
import type { NewMessage } from "../../src/messages/new-message.ts";
import { linkTo, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { until } from "../support/expect.ts";
import { ScriptedCarrier } from "../support/scripted-carrier.ts";

const SIMULATOR = { ...linkTo("simulator"), provider: "simulator" } as const;
const A = { ...linkTo("a"), sender: null };
const NUMBERS = ["+15550001", "+15550002", "+15550003"];

const numberOn = (number: string, fields: Partial<Sender> = {}): Sender => ({
  number,
  link: "a",
  account: "house",
  environment: "live",
  ...fields,
});
const POOL = NUMBERS.map((number) => numberOn(number, { pool: "codes" }));

const linkDirectoryWith = (rig: Rig, senders: readonly Sender[]): LinkDirectory =>
  new LinkDirectory(SIMULATOR, { ...EMPTY_PLAN, links: [A], senders }, new Map([["house", rig.accountId]]));
const send = (rig: Rig, linkDirectory: LinkDirectory, fields: Partial<NewMessage> = {}): Promise<Message> =>
  rig.accept(fields, { linkDirectory, environment: "live" });

describe("a pool", () => {
  test("gives a recipient the sender that it knows, also after a restart", async () => {
    await using rig = await Rig.open();
    const first = await send(rig, linkDirectoryWith(rig, POOL), { recipient: recipientNo(1) });
    assert.deepEqual([first.senderReason, first.linkReason], ["pool", "only_link"]);
    // Now all other senders are less busy, and another node accepts the message.
    const busy = POOL.map((sender) => ({ ...sender, rate: 0.1 }));
    const linkDirectory = linkDirectoryWith(rig, busy);
    for (let index = 0; index < 10; index += 1) linkDirectory.assigned("a", first.sender ?? "");
    const second = await send(rig, linkDirectory, { recipient: recipientNo(1) });
    assert.deepEqual([second.sender, second.senderReason], [first.sender, "sticky"]);
    const other = await send(rig, linkDirectory, { recipient: recipientNo(2) });
    assert.notEqual(other.sender, first.sender);
  });

  test("gives two messages to a new recipient at the same moment the same sender", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(
      rig,
      POOL.map((sender) => ({ ...sender, rate: 0.1 })),
    );
    const first = await send(rig, linkDirectory, { recipient: recipientNo(1) });
    const [second, third] = await Promise.all([1, 2].map(() => send(rig, linkDirectory, { recipient: recipientNo(1) })));
    assert.deepEqual([second?.sender, third?.sender], [first.sender, first.sender]);
  });

  test("gives a recipient another sender when the one that it knows has left the pool", async () => {
    await using rig = await Rig.open();
    const first = await send(rig, linkDirectoryWith(rig, POOL), { recipient: recipientNo(1) });
    const rest = POOL.filter(({ number }) => number !== first.sender);
    const second = await send(rig, linkDirectoryWith(rig, rest), { recipient: recipientNo(1) });
    assert.notEqual(second.sender, first.sender);
    assert.equal(second.senderReason, "pool");
  });

  test("counts a sender that a request names as one that the recipient knows", async () => {
    await using rig = await Rig.open();
    const named = await send(rig, linkDirectoryWith(rig, POOL), { recipient: recipientNo(1), sender: "+15550003" });
    assert.equal(named.senderReason, "named");
    const next = await send(rig, linkDirectoryWith(rig, POOL), { recipient: recipientNo(1) });
    assert.deepEqual([next.sender, next.senderReason], ["+15550003", "sticky"]);
  });

  test("spreads new recipients over its senders by their rates", async () => {
    await using rig = await Rig.open();
    const [fast = "", slow = ""] = NUMBERS;
    const linkDirectory = linkDirectoryWith(rig, [
      numberOn(fast, { pool: "codes", rate: 0.3 }),
      numberOn(slow, { pool: "codes", rate: 0.1 }),
    ]);
    const messages = await rig.acceptMany(40, (index) => ({ recipient: recipientNo(index) }), { linkDirectory, environment: "live" });
    const count = messages.filter(({ sender }) => sender === fast).length;
    assert.ok(count >= 28 && count <= 32, `${count} of 40`);
  });
});

describe("a sender with a rate", () => {
  const PER_SECOND = 5;
  const SLOW = NUMBERS[0] ?? "";

  test("sends no faster than its rate on the link, and delays no other sender", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig, [numberOn(SLOW, { rate: PER_SECOND }), numberOn("+15550009")]);
    const carrier = new ScriptedCarrier();
    const times: number[] = [];
    carrier.beforeTurn = ({ sender }) => void (sender === SLOW && times.push(performance.now()));
    const slow = await rig.acceptMany(15, (index) => ({ recipient: recipientNo(index), sender: SLOW }), {
      linkDirectory,
      environment: "live",
    });
    const free = await rig.acceptMany(15, (index) => ({ recipient: recipientNo(100 + index), sender: "+15550009" }), {
      linkDirectory,
      environment: "live",
    });
    const startedAt = performance.now();
    await rig.deliver({ simulator: new ScriptedCarrier(), a: carrier }, { linkDirectory });
    for (const message of free) await rig.untilStatus(message, "sent");
    assert.ok(times.length < 15, "the messages of the other sender do not wait for these");
    for (const message of slow) assert.equal((await rig.untilStatus(message, "sent")).attempts, 1);
    assert.equal(times.length, 15);
    // A busy machine may take some time from a turn to the carrier, so only the time of the last turn is certain.
    assert.ok((times.at(-1) ?? 0) - startedAt >= (14 * 1_000) / PER_SECOND, "the last one has the fifteenth turn");
  });

  test("lets an urgent message go before the messages that wait", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig, [numberOn(SLOW, { rate: 1 })]);
    const carrier = new ScriptedCarrier();
    await rig.acceptMany(30, (index) => ({ recipient: recipientNo(index), priority: "bulk" }), { linkDirectory, environment: "live" });
    const delivery = await rig.deliver({ simulator: new ScriptedCarrier(), a: carrier }, { linkDirectory });
    await until("the first to be sent", () => carrier.sends.length > 0 || undefined);
    const urgent = await rig.accept(
      { recipient: recipientNo(99), priority: "high" },
      { linkDirectory, environment: "live", handover: delivery.handover },
    );
    await rig.untilStatus(urgent, "sent");
    assert.ok(carrier.sends.length < 15, `${carrier.sends.length} went before it`);
  });

  test("returns what waits for a turn to the queue when the service stops", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig, [numberOn(SLOW, { rate: 1 })]);
    const carrier = new ScriptedCarrier();
    const messages = await rig.acceptMany(10, (index) => ({ recipient: recipientNo(index) }), { linkDirectory, environment: "live" });
    const delivery = await rig.deliver({ simulator: new ScriptedCarrier(), a: carrier }, { linkDirectory });
    await until("the first to be sent", () => carrier.sends.length > 0 || undefined);
    await delivery.stop();
    const sent = carrier.sends.length;
    assert.ok(sent < messages.length);
    assert.equal(await rig.count("queued"), messages.length - sent);
    assert.equal(await rig.count("sending"), 0);
  });
});
