/** The connection is lost while a message becomes `sending`, and stays away for so long that the outcome is unknown: the node must not take the change of
 *  another node for its own. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sendingSignal } from "../../src/delivery/begin-sending.ts";
import { Advancer } from "../../src/messages/advance.ts";
import { changeBy, type Signal } from "../../src/messages/change.ts";
import type { Message } from "../../src/messages/message.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { until } from "../support/expect.ts";
import { ScriptedCarrier } from "../support/scripted-carrier.ts";

// It is only in the statement that makes the message `sending`.
const MARK = "message.sending";

/** Changes a message as another node does. */
async function changeElsewhere(rig: Rig, message: Message, signal: Signal): Promise<void> {
  const parts = { db: rig.db, clock: rig.clock, wakeWebhooks: () => undefined, watch: { advanced: () => undefined } };
  const change = changeBy(message, signal, rig.clock.now());
  assert.ok(change !== undefined && (await new Advancer(parts).submit(change)) !== false);
}

type Case = {
  moment: "asked" | "answered";
  meanwhile?: (rig: Rig, message: Message) => Promise<void>;
  check: (rig: Rig, message: Message, carrier: ScriptedCarrier) => Promise<void>;
};

/** Delivers a message over a connection that is cut off when the change to `sending` is made, until the node has given up to find out its outcome. */
async function deliverCutOff({ moment, meanwhile, check }: Case): Promise<void> {
  await using rig = await Rig.open();
  const message = await rig.accept();
  const wire = await DatabaseWire.to(rig.url);
  rig.atEnd(() => wire.close());
  const carrier = new ScriptedCarrier();
  const cut = Promise.withResolvers<void>();
  wire.cutNext(moment, MARK, () => {
    wire.cutOff(true);
    cut.resolve();
  });
  const delivery = await rig.deliver({ [LINK]: carrier }, { node: "cut off", db: rig.connect("cut-off", wire.url) });
  await cut.promise;
  await meanwhile?.(rig, message);
  const lane = delivery.lanes.get(LINK) ?? assert.fail("no lane");
  assert.equal(lane.ownedCount, 1);
  // The node asks for the outcome for eight seconds. On a machine that is so slow that it still asks, the test shows less and does not fail.
  await sleep(10_000);
  wire.cutOff(false);
  await until("the attempt to end", () => lane.ownedCount === 0);
  await check(rig, message, carrier);
}

const cancelElsewhere = (rig: Rig, message: Message): Promise<void> =>
  changeElsewhere(rig, message, { status: "canceled", detail: { reason: "by request" }, move: { kind: "leave" } });

describe("a message whose change to sending was lost", { concurrency: true }, () => {
  test("stays canceled if it was canceled meanwhile", () =>
    deliverCutOff({
      moment: "asked",
      meanwhile: cancelElsewhere,
      check: async (rig, message, carrier) => {
        assert.equal((await rig.message(message)).status, "canceled");
        assert.equal((await rig.timeline(message)).length, 2);
        assert.equal(carrier.sends.length, 0);
      },
    }));

  test("stays with another node that has begun to send it meanwhile", () =>
    deliverCutOff({
      moment: "asked",
      meanwhile: (rig, message) => changeElsewhere(rig, message, sendingSignal(message, linkTo(LINK))),
      check: async (rig, message, carrier) => {
        const { status, sequence } = await rig.message(message);
        assert.deepEqual([status, sequence], ["sending", 2]);
        assert.equal(carrier.sends.length, 0);
      },
    }));

  for (const moment of ["asked", "answered"] as const)
    test(`is sent once if nothing else has changed it, and the change was ${moment === "asked" ? "not " : ""}stored`, () =>
      deliverCutOff({
        moment,
        check: async (rig, message, carrier) => {
          await rig.untilStatus(message, "sent");
          assert.equal(carrier.sends.length, 1);
        },
      }));
});
