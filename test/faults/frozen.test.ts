/** A process that is frozen for longer than its lease while others take over, and then continues: its machine was paused, or
 *  ran out of memory. No message leaves twice unless the policy permits it. A separate process records the messages that left. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertAccounted, tracesOf, tally, type MessageTrace } from "./accounted.ts";
import { Scene, usual } from "./dispatching.ts";
import { until } from "../support/expect.ts";

describe("a process that is frozen for longer than its lease", () => {
  for (const policy of ["fail", "resend"] as const) {
    test(`continues after a takeover, and nothing leaves twice unless the policy permits it (${policy})`, async (context) => {
      await using scene = await Scene.open(context, { onUnknown: { policy, holdMs: 500 }, plan: usual, responseTimeoutMs: 1_000 });
      await scene.accept(400);
      const [frozen] = await Promise.all([scene.start(), scene.start()]);
      await scene.moreLines(frozen, 30 + Math.floor(scene.random() * 100));
      await scene.freeze(frozen);
      const seen = scene.witness.linesOf(frozen.name).length;
      await scene.lapse();
      await scene.settle();
      scene.thaw(frozen);
      await until("the process has released everything", async () => (await scene.claimedCount(frozen)) === 0);
      assert.equal((await scene.stop(frozen)).code, 0);
      await scene.settle();
      const traces = await assertAccounted(scene, 400);
      context.diagnostic(`${tally(traces)}; ${scene.witness.linesOf(frozen.name).length - seen} left after it continued`);
    });
  }

  test("receives responses to its own attempts that do not change the next attempts of another process", async (context) => {
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    await using scene = await Scene.open(context, {
      onUnknown: { policy: "resend", holdMs: 300 },
      responseTimeoutMs: 30_000,
      plan: () => {
        let count = 0;
        return ({ attempt }) => {
          count += 1;
          const isRefused = attempt === 1 && count % 2 === 0;
          return {
            response: isRefused ? "refused" : attempt === 1 ? "silent" : "accepted",
            responseAfterMs: 0,
            until: attempt === 1 ? first.promise : second.promise,
            receiptAfterMs: null,
            isNamed: false,
          };
        };
      },
    });
    const { witness } = scene;
    await scene.accept(24);
    const frozen = await scene.start();
    await until("all are at the carrier", () => witness.lines.length === 24);
    await scene.freeze(frozen);
    await scene.lapse();
    await scene.start();
    await until("the second attempts are at the carrier", () => witness.lines.length === 48);
    const before = await tracesOf(scene);
    first.resolve();
    const refused = witness.lines.filter(({ plan }) => plan.response === "refused");
    scene.thaw(frozen);
    await until("the process has received the refusals of its attempts", () =>
      refused.every(({ isResponseReceived }) => isResponseReceived),
    );
    // The others get no response, because their connection breaks.
    witness.cut(frozen.name);
    await until("the process has released everything", async () => (await scene.claimedCount(frozen)) === 0);
    const after = await tracesOf(scene);
    assert.deepEqual(after.map(progressOf), before.map(progressOf), "an ended attempt changed a message whose next attempt is running");
    const held = await scene.rows("select message_id from delivery_queue where state <> 0");
    assert.deepEqual(held, [], "the second attempts have no unknown outcome");
    second.resolve();
    await scene.settle();
    await assertAccounted(scene, 24);
    assert.equal(witness.lines.length, 48);
  });
});

const progressOf = ({ id, status, sequence, attempts }: MessageTrace): unknown => ({ id, status, sequence, attempts });
