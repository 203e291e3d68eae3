/** A message that finds room at its carrier is on record as `sending` from the moment it is stored, and leaves right after. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Delivery } from "../../src/delivery/delivery.ts";
import type { Handover } from "../../src/messages/handover.ts";
import type { SendOutcome } from "../../src/providers/provider.ts";
import { LINK, recipientNo, Rig } from "../support/delivery-rig.ts";
import { until } from "../support/expect.ts";
import { accepted, ScriptedCarrier, throttled } from "../support/scripted-carrier.ts";

/** Delivery whose lane knows by now that nobody waits in the queue. */
async function ready(rig: Rig, carrier: ScriptedCarrier): Promise<Delivery> {
  const delivery = await rig.deliver({ [LINK]: carrier });
  const probe = await rig.accept({ recipient: recipientNo(999) }, { handover: delivery.handover });
  await rig.untilStatus(probe, "sent");
  return delivery;
}

describe("a message that finds room", () => {
  test("is stored as sending, with both events, of which the first says queued", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const delivery = await ready(rig, carrier);
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    carrier.otherwise = () => promise;
    const message = await rig.accept({ recipient: recipientNo(1) }, { handover: delivery.handover });
    assert.deepEqual([message.status, message.sequence, message.attempts, message.provider?.link], ["sending", 2, 1, LINK]);
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
    assert.equal(carrier.sends.filter(({ message: { recipient } }) => recipient === recipientNo(1)).length, 1);
  });

  test("never makes more of them than the window; the rest is queued and goes when there is room", async () => {
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
    assert.ok(carrier.highWater <= 10, "nobody is handed over past the window");
    assert.equal(carrier.sends.length, 31);
  });

  test("whose link is paused before it is stored does not leave, and goes when the pause is over", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const delivery = await ready(rig, carrier);
    const { promise: isStored, resolve: store } = Promise.withResolvers<() => void>();
    const late: Handover = { ...delivery.handover, stored: (...place) => store(() => delivery.handover.stored(...place)) };
    const message = await rig.accept({ recipient: recipientNo(1) }, { handover: late });
    assert.equal(message.status, "sending");
    carrier.answers(recipientNo(2), throttled("link", 700), accepted());
    await rig.accept({ recipient: recipientNo(2) }, { handover: delivery.handover });
    await until("the pause", () => delivery.lanes.get(LINK)?.isPaused || undefined);
    (await isStored)();
    assert.equal((await rig.untilStatus(message, "queued")).attempts, 1);
    await rig.untilStatus(message, "sent");
    assert.deepEqual(
      (await rig.timeline(message)).map(({ type }) => type),
      ["message.queued", "message.sending", "message.queued", "message.sending", "message.sent"],
    );
    assert.equal(carrier.sends.filter(({ message: { recipient } }) => recipient === recipientNo(1)).length, 1);
  });
});

describe("a message of which nobody knows whether it was stored", () => {
  const doubting = (delivery: Delivery): Handover => ({
    ...delivery.handover,
    stored: (lane, message, reservation) => {
      if (reservation !== undefined) delivery.handover.withdraw(lane, message, reservation);
    },
  });

  test("and was, goes back to the queue without having left, and leaves once", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const delivery = await ready(rig, carrier);
    const message = await rig.accept({ recipient: recipientNo(1) }, { handover: doubting(delivery) });
    const sent = await rig.untilStatus(message, "sent");
    assert.equal(sent.attempts, 2);
    assert.deepEqual(
      (await rig.timeline(message)).map(({ type }) => type),
      ["message.queued", "message.sending", "message.queued", "message.sending", "message.sent"],
    );
    assert.equal(carrier.sends.filter(({ message: { recipient } }) => recipient === recipientNo(1)).length, 1);
  });

  test("and was not, leaves nothing behind, and its place is free", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier({ window: 1 });
    const delivery = await ready(rig, carrier);
    const stranger = await rig.accept({ recipient: recipientNo(1) });
    await rig.rows("delete from delivery_queue where message_id = $1", [stranger.id]);
    await rig.rows("delete from messages where id = $1", [stranger.id]);
    const reservation = delivery.handover.reserve(LINK, stranger);
    assert.ok(reservation?.written);
    delivery.handover.withdraw(LINK, stranger, reservation);
    await until("the place to be free", () => delivery.lanes.get(LINK)?.inHand === 0 || undefined);
    const next = await rig.accept({ recipient: recipientNo(2) }, { handover: delivery.handover });
    await rig.untilStatus(next, "sent");
    await sleep(50);
    assert.ok(!carrier.sends.some(({ message: { recipient } }) => recipient === recipientNo(1)));
  });
});
