/** Several processes deliver from one database, and one of them loses the database or is stopped: no message leaves twice,
 *  and none is lost. A separate process records the messages that left. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { STATEMENT_TIMEOUT_MS } from "../../src/database/connections.ts";
import { decodeId } from "../../src/model/id.ts";
import { assertAccounted, isUnknown, tracesOf, tally, type MessageTrace } from "./accounted.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { prompt, Scene, type Node } from "./dispatching.ts";
import type { PlanOf } from "./witness.ts";
import { NEVER_MS, until } from "../support/expect.ts";
import { Lock } from "../support/locks.ts";
import { allowConnections, cutConnections } from "../support/outage.ts";

const WINDOW = 40;
// A carrier here responds in tenths of a second, and a node commits in milliseconds. On a busy machine both take longer: a late response must
// not become an unknown outcome, and another node must not take a message of a node that is only slow.
const PATIENT = { responseTimeoutMs: 120_000, queueLeaseMs: 120_000 };

/** The change of a message that waits for longer than a batch may. */
const WAITS_LONG = `
  select (extract(epoch from clock_timestamp() - query_start) * 1000)::float8 as ms
    from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock' and clock_timestamp() - query_start > interval '400 milliseconds'`;

// Longer than `findOut` takes. A shorter time would only prove less.
const LOOKED_FOR_MS = 9_500;

/** A carrier that always responds, mostly immediately. One in five messages has no receipt. */
const answering =
  (random: () => number): PlanOf =>
  () => ({
    response: "accepted",
    responseAfterMs: random() * (random() > 0.9 ? 300 : 40),
    receiptAfterMs: random() < 0.2 ? null : random() * 200,
    isNamed: random() < 0.5,
  });

/** Checks that each message left once, got a response, and never had an unknown outcome. */
function assertUndoubted(traces: readonly MessageTrace[]): void {
  for (const trace of traces) {
    const { id, lines, timeline, status } = trace;
    assert.equal(lines.length, 1, `${id} was submitted ${lines.length} times: ${JSON.stringify(trace)}`);
    assert.equal(status, lines[0]?.plan.receiptAfterMs === null ? "sent" : "delivered", JSON.stringify(trace));
    assert.ok(!timeline.some(isUnknown), `${id} had an unknown outcome: ${JSON.stringify(trace)}`);
  }
}

test("two processes share two thousand messages: the carrier gets each once, and each attempt was stored before it left", async (context) => {
  await using scene = await Scene.open(context, { plan: answering, window: 100, ...PATIENT });
  const { witness, random } = scene;
  await scene.accept(2_000);
  const unrecorded: string[] = [];
  const looks: Promise<void>[] = [];
  witness.onLine = ({ id, attempt }) => {
    if (random() > 0.05) return;
    const look = scene.rows("select from events where message_id = $1 and type = 'message.sending'", [decodeId("msg", id)]);
    looks.push(look.then((rows) => void (rows.length === attempt || unrecorded.push(id))));
  };
  const nodes = await Promise.all([scene.start(), scene.start()]);
  await scene.settle();
  await Promise.all(looks);
  assert.ok(looks.length > 0);
  assert.deepEqual(unrecorded, [], "the attempts were not stored when the bytes left");
  const traces = await assertAccounted(scene, 2_000);
  assertUndoubted(traces);
  const shares = nodes.map(({ name }) => witness.linesOf(name).length);
  context.diagnostic(`${tally(traces)}; ${shares.join(" and ")} by the two`);
  for (const share of shares) assert.ok(share > 0, "both processes sent messages");
  for (const node of nodes) assert.equal((await scene.stop(node)).code, 0);
});

/** Cuts all connections of the node to the database, which notices only later through its keepalives. */
async function cutAll(scene: Scene, wire: DatabaseWire, { name }: Node): Promise<void> {
  const sessions = await scene.rows<{ pid: number }>("select pid from pg_stat_activity where application_name like $1", [
    `godwit ${name} %`,
  ]);
  wire.cutAll();
  await until("the old sessions have ended", async () => {
    const pids = sessions.map(({ pid }) => pid);
    await cutConnections(scene.databaseUrl, `pid = any ('{${pids.join()}}') and state = 'idle'`);
    return (await scene.rows("select from pg_stat_activity where pid = any ($1::integer[])", [pids])).length === 0;
  });
}

/** Messages that are left when the node is idle were claimed by a statement whose result was lost. */
async function lapseOrphans(scene: Scene, node: Node): Promise<void> {
  const isIdle = async (): Promise<boolean> => (await scene.claimedCount(node)) === 0;
  await until("the node is idle, or nothing is left", async () => {
    const due = await scene.rows("select from delivery_queue where due_at <= now()");
    return due.length === 0 && (await isIdle());
  });
  await scene.lapse();
}

describe("a process that loses the database", () => {
  test("repeatedly under load sends nothing twice, and loses no message and no response of the carrier", async (context) => {
    await using scene = await Scene.open(context, { plan: answering, ...PATIENT });
    const wire = await DatabaseWire.to(scene.databaseUrl);
    try {
      await scene.accept(600);
      const node = await scene.start(wire.url);
      for (let cut = 0; cut < 4; cut += 1) {
        await scene.moreLines(node, 10 + Math.floor(scene.random() * 80));
        await cutAll(scene, wire, node);
      }
      await lapseOrphans(scene, node);
      await scene.settle();
      const traces = await assertAccounted(scene, 600);
      context.diagnostic(tally(traces));
      assertUndoubted(traces);
      assert.equal((await scene.stop(node)).code, 0);
    } finally {
      await wire.close();
    }
  });

  test("for longer than it looks for the outcome of a change to sending returns the messages to the queue", async (context) => {
    await using scene = await Scene.open(context, { plan: answering, ...PATIENT });
    const wire = await DatabaseWire.to(scene.databaseUrl);
    const allow = (isAllowed: boolean) => allowConnections(scene.databaseUrl, isAllowed);
    try {
      const node = await scene.start(wire.url);
      wire.cutNext("answered", "find_suppressed");
      await scene.accept(20);
      await until("the change is committed", async () => (await tracesOf(scene)).some(({ status }) => status === "sending"));
      await allow(false);
      wire.cutAll();
      await sleep(LOOKED_FOR_MS);
      await allow(true);
      await scene.settle();
      const traces = await assertAccounted(scene, 20);
      context.diagnostic(tally(traces));
      assertUndoubted(traces);
      assert.equal((await scene.stop(node)).code, 0);
    } finally {
      await allow(true);
      await wire.close();
    }
  });

  test("stores responses and receipts of that time when the database is available again", async (context) => {
    const answers = Promise.withResolvers<void>();
    await using scene = await Scene.open(context, {
      window: 80,
      ...PATIENT,
      plan: () => () => ({ response: "accepted", responseAfterMs: 0, until: answers.promise, receiptAfterMs: 600, isNamed: false }),
    });
    const { witness } = scene;
    const wire = await DatabaseWire.to(scene.databaseUrl);
    const allow = (isAllowed: boolean) => allowConnections(scene.databaseUrl, isAllowed);
    try {
      await scene.accept(50);
      const node = await scene.start(wire.url);
      await until("all are at the carrier", () => witness.lines.length === 50);
      await allow(false);
      wire.cutAll();
      answers.resolve();
      await until("the process has received all responses", () => witness.lines.every(({ isResponseReceived }) => isResponseReceived));
      const away = await tracesOf(scene);
      assert.deepEqual(new Set(away.map(({ status }) => status)), new Set(["sending"]), "the database was unavailable");
      assert.ok(!witness.lines.some(({ isReceiptStored }) => isReceiptStored), "nothing is acknowledged before it is stored");
      await allow(true);
      await scene.settle();
      assertUndoubted(await assertAccounted(scene, 50));
      assert.equal((await scene.stop(node)).code, 0);
    } finally {
      await allow(true);
      await wire.close();
    }
  });
});

describe("a process that is stopped", () => {
  test("immediately returns messages that are only claimed, and waits for those that have left", async (context) => {
    const answers = Promise.withResolvers<void>();
    await using scene = await Scene.open(context, {
      window: WINDOW,
      ...PATIENT,
      // A message that is not returned stays leased for longer than this test takes.
      queueLeaseMs: NEVER_MS,
      plan: (random) => (line) => ({ ...prompt(random)(line), ...(line.node === "node1" ? { until: answers.promise } : {}) }),
    });
    const { witness } = scene;
    await scene.accept(200);
    const stopped = await scene.start();
    await until(
      "more messages are claimed than the window holds",
      async () => witness.lines.length === WINDOW && (await scene.claimedCount(stopped)) > WINDOW,
    );
    const other = await scene.start();
    await until("the other has sent the rest", async () => {
      const due = await scene.rows("select from delivery_queue where due_at <= now()");
      return due.length === 0 && (await scene.claimedCount(other)) === 0;
    });
    const claimed = 200 - witness.lines.length;
    assert.ok(claimed > 0);
    const askedAt = performance.now();
    const stopping = scene.stop(stopped);
    await until("the other has taken the rest", () => witness.lines.length === 200);
    context.diagnostic(`${claimed} returned and submitted in ${Math.round(performance.now() - askedAt)} ms`);
    answers.resolve();
    const { code } = await stopping;
    assert.equal(code, 0);
    await scene.settle();
    assertUndoubted(await assertAccounted(scene, 200));
  });

  test("under load exits with 0 in time, one process after the other, and nothing leaves twice", async (context) => {
    await using scene = await Scene.open(context);
    await scene.accept(500);
    const other = await scene.start();
    for (let round = 0; round < 2; round += 1) {
      const node = await scene.start();
      await scene.moreLines(node, 20 + Math.floor(scene.random() * 150));
      const { code, tookMs } = await scene.stop(node);
      context.diagnostic(`stopped in ${Math.round(tookMs)} ms`);
      assert.equal(code, 0, node.run.output.join("\n"));
    }
    await scene.settle();
    const traces = await assertAccounted(scene, 500);
    context.diagnostic(tally(traces));
    assert.equal((await scene.stop(other)).code, 0);
  });
});

test("a process that dies while the change to sending waits for a lock leaves the message queued", async (context) => {
  await using scene = await Scene.open(context, { plan: answering, ...PATIENT });
  await scene.accept(1);
  await using lock = await Lock.take(scene.databaseUrl, "select from messages for update");
  const node = await scene.start();
  // First for as long as a batch may, and then beside the batches.
  await until("the change waits beside the batches", async () => (await scene.rows(WAITS_LONG)).length === 1);
  node.run.child.kill("SIGKILL");
  await node.run.exit;
  let waitedMs = 0;
  await until("the statement of the dead process has ended", async () => {
    const [waiting] = await scene.rows<{ ms: number }>(WAITS_LONG);
    waitedMs = waiting?.ms ?? waitedMs;
    return waiting === undefined;
  });
  assert.ok(waitedMs < STATEMENT_TIMEOUT_MS * 0.8, `it was ended by its own time limit, after ${waitedMs} ms`);
  await lock.release();
  const [trace] = await tracesOf(scene);
  assert.deepEqual([trace?.status, trace?.attempts], ["queued", 0]);
});
