/** A message that finds room in its lane is delivered by the process that accepts it, without a claim. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { announcingHandover } from "../../src/delivery/announcements.ts";
import type { Delivery } from "../../src/delivery/delivery.ts";
import { idKey } from "../../src/model/id.ts";
import { createLog } from "../../src/model/log.ts";
import type { Handover, LanePlace } from "../../src/messages/handover.ts";
import type { SendOutcome } from "../../src/providers/provider.ts";
import { Announcer } from "../../src/queue/announcer.ts";
import { LINK, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { until } from "../support/expect.ts";
import { accepted, ScriptedCarrier, throttled } from "../support/scripted-carrier.ts";

/** Delivery whose lane has learned that the queue is empty. */
async function ready(rig: Rig, carrier: ScriptedCarrier): Promise<Delivery> {
  const delivery = await rig.deliver({ [LINK]: carrier });
  const probe = await rig.accept({ recipient: recipientNo(999) }, { handover: delivery.handover });
  await rig.untilStatus(probe, "sent");
  return delivery;
}

/** The handover to its lanes, with another place for each reserved one. */
const reserving = ({ handover }: Delivery, placeFor: (place: LanePlace) => LanePlace): Handover => ({
  ...handover,
  reserve: (lane, message) => {
    const place = handover.reserve(lane, message);
    return place && placeFor(place);
  },
});

const sendsTo = ({ sends }: ScriptedCarrier, to: string): number => sends.filter(({ message: { recipient } }) => recipient === to).length;

describe("a message that finds room", () => {
  test("is stored as queued, under a lease, and becomes sending before it is submitted", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const delivery = await ready(rig, carrier);
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.otherwise = () => promise;
    const message = await rig.accept({ recipient: recipientNo(1) }, { handover: delivery.handover });
    await until("the carrier to be called", () => sendsTo(carrier, recipientNo(1)) === 1 || undefined);
    const sending = await rig.message(message);
    assert.deepEqual([sending.status, sending.sequence, sending.attempts, sending.provider?.link], ["sending", 2, 1, LINK]);
    assert.ok(((await rig.queueRow(message))?.due_in_ms ?? 0) > 0, "no other node claims it");
    const timeline = await rig.timeline(message);
    assert.deepEqual(
      timeline.map(({ type, sequence, previous, status }) => [type, sequence, previous, status]),
      [
        ["message.queued", 1, null, "queued"],
        ["message.sending", 2, "queued", "sending"],
      ],
    );
    assert.equal(timeline[1]?.detail?.attempt?.["outcome"], "written");
    resolve(accepted());
    assert.equal((await rig.untilStatus(message, "sent")).sequence, 3);
    assert.equal(sendsTo(carrier, recipientNo(1)), 1);
  });

  test("is sending only within the window; the rest stays queued and is sent when there is room", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 10 });
    const delivery = await ready(rig, carrier);
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.otherwise = () => promise;
    await rig.acceptMany(30, () => ({}), { handover: delivery.handover });
    assert.ok((await rig.count("sending")) <= 10);
    carrier.otherwise = () => accepted();
    resolve(accepted("the first ones"));
    await until("all to be sent", async () => (await rig.count("sent")) >= 31 || undefined);
    assert.ok(carrier.highWater <= 10, "the carrier has at most the window");
    assert.equal(carrier.sends.length, 31);
  });

  test("stays queued where its link is paused before it is stored, and is sent once after the pause", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const delivery = await ready(rig, carrier);
    const { promise: isStored, resolve: store } = Promise.withResolvers<() => void>();
    const late = reserving(delivery, (place) => ({ release: () => undefined, take: (stored) => store(() => place.take(stored)) }));
    const message = await rig.accept({ recipient: recipientNo(1) }, { handover: late });
    assert.equal(message.status, "queued");
    carrier.responds(recipientNo(2), throttled("link", 700), accepted());
    await rig.accept({ recipient: recipientNo(2) }, { handover: delivery.handover });
    await until("the pause", () => delivery.lanes.get(LINK)?.isPaused || undefined);
    (await isStored)();
    await rig.untilStatus(message, "sent");
    assert.deepEqual(
      (await rig.timeline(message)).map(({ type }) => type),
      ["message.queued", "message.sending", "message.sent"],
    );
    assert.equal(sendsTo(carrier, recipientNo(1)), 1);
  });
});

describe("a message whose commit has an unknown outcome", () => {
  /** The lane frees the place, as it does when the database cannot say whether the message is stored. */
  const doubting = (delivery: Delivery): Handover =>
    reserving(delivery, (place) => ({ release: () => undefined, take: () => place.release() }));

  test("is sent once after its lease where it is stored", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const delivery = await ready(rig, carrier);
    const message = await rig.accept({ recipient: recipientNo(1) }, { handover: doubting(delivery) });
    assert.equal(message.status, "queued");
    await rig.makeDue(message);
    assert.equal((await rig.untilStatus(message, "sent")).attempts, 1);
    assert.deepEqual(
      (await rig.timeline(message)).map(({ type }) => type),
      ["message.queued", "message.sending", "message.sent"],
    );
    assert.equal(sendsTo(carrier, recipientNo(1)), 1);
  });

  test("leaves nothing behind where it is not stored, and its place in the lane is free", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 1 });
    const delivery = await ready(rig, carrier);
    const unstored = await rig.accept({ recipient: recipientNo(1) });
    await rig.rows("delete from delivery_queue where message_id = $1", [unstored.id]);
    await rig.rows("delete from messages where id = $1", [unstored.id]);
    const place = delivery.handover.reserve(LINK, unstored);
    assert.ok(place !== undefined);
    place.release();
    const next = await rig.accept({ recipient: recipientNo(2) }, { handover: delivery.handover });
    await rig.untilStatus(next, "sent");
    assert.equal(sendsTo(carrier, recipientNo(1)), 0);
  });
});

describe("the room for more messages of an account", () => {
  const ALL = 100;
  const roomOf = (rig: Rig, delivery: Delivery): number => delivery.handover.roomFor(idKey(rig.accountId));

  test("ends on all nodes while old messages wait for the node that has the link, and not for other accounts", async () => {
    await using rig = await Rig.open();
    const announcer = new Announcer(rig.connect("another node"), "another node", createLog("silent").log);
    rig.atEnd(() => announcer.stop());
    const other = announcingHandover(announcer);
    const room = (): number => other.roomFor(idKey(rig.accountId));
    const { promise: isListening, resolve } = Promise.withResolvers<void>();
    announcer.onListening(resolve);
    await isListening;
    await rig.acceptMany(400, () => ({}));
    await rig.rows("update delivery_queue set due_at = now() - interval '10 seconds'");
    assert.equal(room(), Infinity);
    const delivery = await rig.deliver({ [LINK]: new ScriptedCarrier({ window: 100 }) });
    await until("both nodes to slow the account", () => (room() === 1 && roomOf(rig, delivery) === 1) || undefined);
    assert.deepEqual([other.roomFor("another account"), delivery.handover.roomFor("another account")], [Infinity, ALL]);
    await until("all to be sent", async () => (await rig.count("sent")) >= 400 || undefined);
    await until("the room to be as before", () => (room() === Infinity && roomOf(rig, delivery) === ALL) || undefined);
  });

  test("does not shrink while messages wait for a slow carrier", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 10 });
    const delivery = await ready(rig, carrier);
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.otherwise = () => promise;
    await rig.acceptMany(200, () => ({}), { handover: delivery.handover });
    await until("the carrier to have its window", () => carrier.sends.length >= 10 || undefined);
    await until("the lane to be full", () => (delivery.lanes.get(LINK)?.ownedCount ?? 0) >= 15 || undefined);
    assert.equal(roomOf(rig, delivery), ALL);
    resolve(accepted("all of them"));
  });

  test("does not shrink while old messages wait for a slow carrier with a small window", async () => {
    await using rig = await Rig.open();
    await rig.acceptMany(150, () => ({}));
    await rig.rows("update delivery_queue set due_at = now() - interval '10 seconds'");
    const carrier = new ScriptedCarrier({ window: 10 });
    carrier.otherwise = async () => {
      await sleep(10);
      return accepted();
    };
    const delivery = await rig.deliver({ [LINK]: carrier });
    await until("all to be sent", async () => {
      assert.equal(roomOf(rig, delivery), ALL);
      return (await rig.count("sent")) >= 150 || undefined;
    });
  });

  test("does not shrink while the link is paused", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const delivery = await ready(rig, carrier);
    carrier.otherwise = throttled("link", 60_000);
    await rig.accept({}, { handover: delivery.handover });
    await until("the pause", () => delivery.lanes.get(LINK)?.isPaused || undefined);
    await rig.acceptMany(50, () => ({}), { handover: delivery.handover });
    assert.equal(roomOf(rig, delivery), ALL);
  });
});
