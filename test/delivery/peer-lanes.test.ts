/** Two workers of one machine and a link that only one of them may open: messages that the other accepts reach it in memory. The workers run in
 *  the process of the test, and the test carries the texts between them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Delivery } from "../../src/delivery/delivery.ts";
import type { Peers } from "../../src/delivery/peer-lanes.ts";
import type { SendOutcome } from "../../src/providers/provider.ts";
import { LINK, Rig, type RigDeliveryOptions } from "../support/delivery-rig.ts";
import { Exchange, ExclusiveCarrier } from "../support/exclusive-carrier.ts";
import { until } from "../support/expect.ts";
import { recipientNo } from "../support/recipient.ts";
import { accepted } from "../support/scripted-carrier.ts";

const OWNER = 1;
const OTHER = 2;
// A busy machine may renew a lease late.
const LASTING = { linkLeaseMs: 60_000, queueLeaseMs: 600_000 };

/** Carries texts between two workers, as their supervisor does. */
class Carriage {
  readonly #ears = new Map<number, (from: number, text: string | null) => void>();
  /** The messages that were passed on. */
  readonly passed: string[] = [];
  /** Called in place of the delivery of messages. */
  intercept: ((deliver: () => void) => void) | undefined;

  peer(self: number): Peers {
    return {
      self,
      hear: (onText) => void this.#ears.set(self, onText),
      send: (text) => setImmediate(() => this.#carry(self, text)),
    };
  }

  end(worker: number): void {
    this.#ears.get(worker === OWNER ? OTHER : OWNER)?.(worker, null);
  }

  #carry(from: number, text: string): void {
    const deliver = (): void => this.#ears.get(from === OWNER ? OTHER : OWNER)?.(from, text);
    if (!text.includes('"messages"')) return deliver();
    this.passed.push(text);
    if (this.intercept === undefined) deliver();
    else this.intercept(deliver);
  }
}

type Scene = { rig: Rig; carriage: Carriage; mine: ExclusiveCarrier; owner: Delivery; other: Delivery };

/** The owner has the link, and the other worker knows that its lane has room. */
async function open({ window = 100, ...options }: RigDeliveryOptions & { window?: number } = {}): Promise<Scene & AsyncDisposable> {
  const rig = await Rig.open();
  const exchange = new Exchange();
  const carriage = new Carriage();
  const [mine, theirs] = [new ExclusiveCarrier(exchange, "1", { window }), new ExclusiveCarrier(exchange, "2", { window })];
  const owner = await rig.deliver({ [LINK]: mine }, { ...LASTING, ...options, peers: carriage.peer(OWNER) });
  await until("the link to be open", () => exchange.open === 1 || undefined);
  const second = { node: "node-2", db: rig.connect("node-2"), peers: carriage.peer(OTHER) };
  const other = await rig.deliver({ [LINK]: theirs }, { ...LASTING, ...options, ...second });
  const probe = await rig.accept({ recipient: recipientNo(999) }, { handover: owner.handover });
  await rig.untilStatus(probe, "sent");
  const place = await until("the room to be known", () => other.handover.reserve(LINK, probe));
  place.release();
  return { rig, carriage, mine, owner, other, [Symbol.asyncDispose]: () => rig.close() };
}

const sendsTo = ({ mine }: Scene, number: number): number => mine.sendsTo(recipientNo(number)).length;

describe("a message for a link that another worker has", () => {
  test("is stored with a lease, reaches that worker in memory, and is sent once", async () => {
    await using scene = await open();
    const { rig, carriage, other } = scene;
    const { promise: carried, resolve } = Promise.withResolvers<() => void>();
    carriage.intercept = resolve;
    const message = await rig.accept({ recipient: recipientNo(1) }, { handover: other.handover });
    const arrive = await carried;
    assert.ok(((await rig.queueRow(message))?.due_in_ms ?? 0) > 60_000, "no node may claim it");
    assert.equal(sendsTo(scene, 1), 0);
    arrive();
    await rig.untilStatus(message, "sent");
    assert.equal(sendsTo(scene, 1), 1);
    assert.deepEqual(
      (await rig.timeline(message)).map(({ type }) => type),
      ["message.queued", "message.sending", "message.sent"],
    );
  });

  test("travels with the others that were stored in the same turn", async () => {
    await using scene = await open();
    const { rig, carriage, other } = scene;
    const messages = await rig.acceptMany(40, (index) => ({ recipient: recipientNo(index) }), { handover: other.handover });
    for (const message of messages) await rig.untilStatus(message, "sent");
    assert.ok(carriage.passed.length < 20, `${carriage.passed.length} texts`);
    assert.equal(scene.mine.sends.length, 41);
  });

  test("is sent once if it arrives twice, during its attempt and after it", async () => {
    await using scene = await open();
    const { rig, carriage, mine, other } = scene;
    const { promise: response, resolve: respond } = Promise.withResolvers<SendOutcome>();
    mine.responds(recipientNo(1), () => response);
    const copies: (() => void)[] = [];
    carriage.intercept = (deliver) => {
      copies.push(deliver);
      deliver();
    };
    const message = await rig.accept({ recipient: recipientNo(1) }, { handover: other.handover });
    await until("the attempt", () => sendsTo(scene, 1) === 1 || undefined);
    for (const deliver of copies) deliver();
    respond(accepted());
    await rig.untilStatus(message, "sent");
    await until("its end", () => scene.owner.lanes.get(LINK)?.ownedCount === 0 || undefined);
    for (const deliver of copies) deliver();
    await until("the end of the third", () => scene.owner.lanes.get(LINK)?.ownedCount === 0 || undefined);
    assert.equal(sendsTo(scene, 1), 1);
    assert.equal((await rig.message(message)).attempts, 1);
  });

  test("is sent once after its lease if it is lost on the way", async () => {
    await using scene = await open();
    const { rig, carriage, other } = scene;
    const { promise: isLost, resolve } = Promise.withResolvers<void>();
    carriage.intercept = () => resolve();
    const message = await rig.accept({ recipient: recipientNo(1) }, { handover: other.handover });
    await isLost;
    await rig.makeDue(message);
    await rig.untilStatus(message, "sent");
    assert.equal(sendsTo(scene, 1), 1);
    carriage.intercept = undefined;
    const next = await rig.accept({ recipient: recipientNo(2) }, { handover: other.handover });
    await rig.untilStatus(next, "sent");
  });

  test("is sent once if it arrives after its lease has ended and a claim has taken it", async () => {
    await using scene = await open();
    const { rig, carriage, mine, other } = scene;
    const { promise: response, resolve: respond } = Promise.withResolvers<SendOutcome>();
    mine.responds(recipientNo(1), () => response);
    const { promise: carried, resolve } = Promise.withResolvers<() => void>();
    carriage.intercept = resolve;
    const message = await rig.accept({ recipient: recipientNo(1) }, { handover: other.handover });
    const arrive = await carried;
    await rig.makeDue(message);
    await until("the claim", () => sendsTo(scene, 1) === 1 || undefined);
    arrive();
    respond(accepted());
    await rig.untilStatus(message, "sent");
    arrive();
    await until("the end of all attempts", () => scene.owner.lanes.get(LINK)?.ownedCount === 0 || undefined);
    assert.equal(sendsTo(scene, 1), 1);
  });

  test("waits in the queue when the lane of that worker is full, and no more than its room is on the way", async () => {
    await using scene = await open({ window: 5 });
    const { rig, mine, carriage, other } = scene;
    const { promise: response, resolve: respond } = Promise.withResolvers<SendOutcome>();
    mine.otherwise = () => response;
    const onTheWay: (() => void)[] = [];
    carriage.intercept = (deliver) => onTheWay.push(deliver);
    const messages = await rig.acceptMany(60, (index) => ({ recipient: recipientNo(index) }), { handover: other.handover });
    const count = carriage.passed.join("").match(/"number":/g)?.length ?? 0;
    assert.ok(count > 0 && count <= 9, `${count} messages are on the way to a lane with nine places`);
    carriage.intercept = undefined;
    for (const deliver of onTheWay) deliver();
    mine.otherwise = () => accepted();
    respond(accepted());
    for (const message of messages) await rig.untilStatus(message, "sent");
    assert.equal(mine.sends.length, 61);
  });

  test("is due for any node when that worker has ended", async () => {
    await using scene = await open();
    const { rig, carriage, owner, other } = scene;
    const unstored = await rig.accept({ recipient: recipientNo(1) });
    const place = other.handover.reserve(LINK, unstored);
    await owner.stop();
    carriage.end(OWNER);
    assert.equal(other.handover.reserve(LINK, unstored), undefined);
    // It was stored with a place that no longer exists.
    await rig.rows("update delivery_queue set due_at = now() + interval '1 hour' where message_id = $1", [unstored.id]);
    place?.take(unstored);
    await until("it to be due", async () => ((await rig.queueRow(unstored))?.due_in_ms ?? Infinity) <= 0 || undefined);
  });
});
