/** `kill -9` of delivering processes, at random moments and under load. Nothing is lost, and nothing leaves twice unless the policy
 *  permits it. A separate process records the messages that left. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertAccounted, isResend, isUnknown, tracesOf, tally, type MessageTrace } from "./accounted.ts";
import { Scene, usual, type Node } from "./dispatching.ts";
import { until } from "../support/expect.ts";

const COUNT = 400;
const ROUNDS = 2;
const WINDOW = 40;

/** Lets the node submit some more messages, and kills it. Its claimed messages are due immediately. */
async function killUnderLoad(scene: Scene, node: Node): Promise<void> {
  await scene.moreLines(node, 20 + Math.floor(scene.random() * 130));
  await scene.kill(node);
  await scene.lapse();
}

const withResend = (traces: readonly MessageTrace[]): MessageTrace[] => traces.filter(({ timeline }) => timeline.some(isResend));

describe("processes killed under load", () => {
  test("one after the other finish each message, and the carrier gets none twice", async (context) => {
    await using scene = await Scene.open(context);
    await scene.accept(COUNT);
    for (let round = 0; round < ROUNDS; round += 1) await killUnderLoad(scene, await scene.start());
    await scene.start();
    await scene.settle();
    const traces = await assertAccounted(scene, COUNT);
    context.diagnostic(tally(traces));
    const struck = traces.filter(({ timeline }) => timeline.some(isUnknown));
    assert.ok(struck.length > 0, "no kill interrupted an attempt");
  });

  test("next to a running one whose connections break also finish each message, and the carrier gets none twice", async (context) => {
    await using scene = await Scene.open(context);
    await scene.accept(COUNT);
    const living = await scene.start();
    for (let round = 0; round < ROUNDS; round += 1) {
      const node = await scene.start();
      await killUnderLoad(scene, node);
      if (round % 2 === 1) scene.witness.cut(living.name);
    }
    await scene.settle();
    const traces = await assertAccounted(scene, COUNT);
    context.diagnostic(tally(traces));
    assert.equal(living.run.child.exitCode, null, "the other process still runs");
  });

  test("with the policy resend send a message again only where the timeline shows it", async (context) => {
    await using scene = await Scene.open(context, { onUnknown: { policy: "resend", holdMs: 800 } });
    await scene.accept(COUNT);
    for (let round = 0; round < ROUNDS; round += 1) await killUnderLoad(scene, await scene.start());
    await scene.start();
    await scene.settle();
    const traces = await assertAccounted(scene, COUNT);
    context.diagnostic(`${tally(traces)}, sent again: ${withResend(traces).length}`);
    assert.ok(withResend(traces).length > 0, "no kill interrupted an attempt");
    assert.deepEqual(
      traces.filter(({ status }) => status === "failed"),
      [],
    );
  });
});

test("a kill before the response: messages are held, resolved by receipts with our reference, and never submitted again", async (context) => {
  const answers = Promise.withResolvers<void>();
  const receipts = new Map<string, boolean>();
  await using scene = await Scene.open(context, {
    window: WINDOW,
    // The receipts come within the hold.
    onUnknown: { policy: "fail", holdMs: 10_000 },
    // On a busy machine an attempt that has not begun must not reach its time limit.
    responseTimeoutMs: 120_000,
    plan:
      (random) =>
      ({ id, node }) => {
        if (node !== "node1") return { ...usual(random)({ id, node, attempt: 2 }), response: "accepted", receiptAfterMs: null };
        const isNamed = receipts.size % 2 === 0;
        receipts.set(id, isNamed);
        return { response: "accepted", responseAfterMs: 0, until: answers.promise, receiptAfterMs: 50, isNamed };
      },
  });
  await scene.accept(150);
  const doomed = await scene.start();
  // More messages are claimed than the window holds, and none is being submitted.
  await until("the window is full", async () => receipts.size === WINDOW && (await scene.claimedCount(doomed)) > WINDOW);
  await scene.kill(doomed);
  const left = new Map(receipts);
  await scene.lapse();
  const { run } = await scene.start();
  // A receipt with our reference would find its message before the next process does.
  await until("the holds", async () => (await scene.rows("select from messages where has_unknown")).length === WINDOW);
  answers.resolve();
  await scene.settle();
  const traces = await assertAccounted(scene, 150);
  context.diagnostic(tally(traces));
  const warned = run.logs.filter(({ event, status }) => event === "delivery.outcome_unknown" && status === "sending");
  assert.deepEqual(
    warned.map((line) => String(line["message_id"])).toSorted(),
    [...left.keys()].toSorted(),
    "the log names each held message",
  );
  for (const { id, status, lines, timeline } of traces) {
    assert.equal(lines.length, 1, `${id} was submitted ${lines.length} times`);
    const isNamed = left.get(id);
    if (isNamed === undefined) assert.equal(status, "sent", "the message was only claimed, and the next process sends it");
    else {
      assert.equal(status, isNamed ? "delivered" : "failed");
      assert.ok(timeline.some(isUnknown));
    }
  }
});

test("a kill during the storage of attempts: messages with a stored attempt that never left are not resent either", async (context) => {
  await using scene = await Scene.open(context, { window: 100 });
  await scene.accept(300);
  for (let round = 0; round < 3; round += 1) {
    const node = await scene.start();
    // At the first line, a hundred more attempts are being stored, or stored and not yet submitted.
    await until("a first line", () => scene.witness.linesOf(node.name).length > 0);
    await scene.kill(node);
    await scene.lapse();
  }
  const written = (await tracesOf(scene)).filter(({ status, lines }) => status === "sending" && lines.length === 0);
  await scene.start();
  await scene.settle();
  const traces = await assertAccounted(scene, 300);
  context.diagnostic(`${tally(traces)}; stored and never left: ${written.length}`);
  const ends = new Map(traces.map((trace) => [trace.id, trace]));
  for (const { id } of written) assert.equal(ends.get(id)?.lines.length, 0, `${id} was sent after an unknown outcome`);
});
