/** Idempotency across two server processes on one database. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { within } from "../../src/lib/wait.ts";
import { LIMIT_MS, until } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { HELD_BODY, holdAccepts, type Lock } from "../support/locks.ts";
import { cutConnections } from "../support/outage.ts";
import {
  assertConflict,
  assertFirst,
  assertOneExecution,
  assertReplayOf,
  assertReused,
  codeOf,
  effectCount,
  isReplay,
  ONCE,
  unique,
} from "../support/replay.ts";

let nodeA: Godwit;
let nodeB: Godwit;
let apiKey: string;
before(async () => {
  nodeA = await startGodwit();
  nodeB = await startGodwit({ databaseUrl: nodeA.databaseUrl });
  await nodeA.unlimited();
  apiKey = await nodeA.key();
});
after(async () => {
  await Promise.all([nodeA.stop(), nodeB.stop()]);
});

const postTo = (node: Godwit, idempotencyKey: string, body: unknown, credential = apiKey): Promise<Reply> =>
  node.request("POST", "/v1/messages", { key: credential, idempotencyKey, body });

async function assertAtOnce(answer: Promise<Reply>): Promise<Reply> {
  const reply = await within(answer, LIMIT_MS);
  assert.ok(reply !== undefined, `no response for ${LIMIT_MS} ms`);
  return reply;
}

describe("two nodes", () => {
  test("execute a hundred requests with one key once", async () => {
    for (let round = 0; round < 3; round += 1) {
      const key = randomUUID();
      const body = unique();
      const replies = await Promise.all(Array.from({ length: 100 }, (_, index) => postTo(index % 2 === 0 ? nodeA : nodeB, key, body)));
      const first = assertOneExecution(replies);
      for (const node of [nodeA, nodeB]) assertReplayOf(first, await postTo(node, key, body));
      assert.deepEqual(await effectCount(nodeA, body), ONCE);
    }
  });

  test("execute two hundred keys once each when each is sent to both at the same time", async () => {
    const requests = Array.from({ length: 200 }, () => ({ key: randomUUID(), body: unique() }));
    await Promise.all(
      requests.map(async ({ key, body }) => {
        const first = assertOneExecution(await Promise.all([postTo(nodeA, key, body), postTo(nodeB, key, body)]));
        assertReplayOf(first, await postTo(nodeB, key, body));
      }),
    );
    for (const { body } of requests) assert.deepEqual(await effectCount(nodeA, body), ONCE);
  });

  test("replay each other's responses, and refuse the key for another body", async () => {
    const key = randomUUID();
    const body = unique();
    const first = await postTo(nodeA, key, body);
    assertFirst(first);
    assertReplayOf(first, await postTo(nodeB, key, body));
    assertReused(await postTo(nodeB, key, { ...body, body: "another" }));
  });

  test("replay each other's refusals", async () => {
    const key = randomUUID();
    const body = unique({ body: "x".repeat(500), max_segments: 1 });
    const refused = await postTo(nodeA, key, body);
    assert.equal(refused.status, 422);
    assertReplayOf(refused, await postTo(nodeB, key, body));
  });

  test("execute an expired key again once, although both get the request", async () => {
    const key = randomUUID();
    const body = unique();
    const first = await postTo(nodeA, key, body);
    await nodeA.rows(
      "update idempotency_keys set created_at = created_at - interval '25 hours', expires_at = now() - interval '1 hour' where key = $1",
      [key],
    );
    const again = assertOneExecution(
      await Promise.all(Array.from({ length: 20 }, (_, index) => postTo(index % 2 === 0 ? nodeA : nodeB, key, body))),
    );
    assert.notEqual(again.json["id"], first.json["id"]);
    assert.deepEqual(await effectCount(nodeA, body), { messages: 2, events: 2, queued: 2 });
  });
});

describe("while the first request runs on one node", () => {
  let hold: Lock;
  beforeEach(async () => {
    hold = await holdAccepts(nodeA.databaseUrl);
  });
  afterEach(() => hold.release());

  test("its duplicate gets a conflict immediately on both, and the response when it has finished", async () => {
    const key = randomUUID();
    const body = unique({ body: HELD_BODY });
    const running = postTo(nodeA, key, body);
    await hold.waiting();
    for (const node of [nodeA, nodeB, nodeB, nodeA]) assertConflict(await assertAtOnce(postTo(node, key, body)));
    assertConflict(await assertAtOnce(postTo(nodeB, key, sms())));
    await hold.release();
    const first = await running;
    assertFirst(first);
    for (const node of [nodeA, nodeB]) assertReplayOf(first, await postTo(node, key, body));
    assert.deepEqual(await effectCount(nodeA, body), ONCE);
  });

  test("the other node executes other keys, and the same key of another account or environment", async () => {
    const key = randomUUID();
    const neighbor = await nodeA.key({ account: "neighbor" });
    const running = postTo(nodeA, key, unique({ body: HELD_BODY }));
    await hold.waiting();
    assertFirst(await assertAtOnce(postTo(nodeB, randomUUID(), sms())));
    assertFirst(await assertAtOnce(postTo(nodeB, key, sms(), neighbor)));
    // Live has no link and returns its own refusal, without a conflict with the key that runs in test.
    const inLive = await assertAtOnce(postTo(nodeB, key, sms(), await nodeA.key({ environment: "live" })));
    assert.deepEqual([inLive.status, codeOf(inLive), isReplay(inLive)], [422, "no_route", false]);
    await hold.release();
    assertFirst(await running);
  });

  test("finished keys are still replayed", async () => {
    const finished = { key: randomUUID(), body: unique() };
    const first = await postTo(nodeA, finished.key, finished.body);
    const running = postTo(nodeB, randomUUID(), unique({ body: HELD_BODY }));
    await hold.waiting();
    assertReplayOf(first, await assertAtOnce(postTo(nodeA, finished.key, finished.body)));
    await hold.release();
    assertFirst(await running);
  });

  test("a kill of that node undoes everything, and a retry on the other node is executed", async () => {
    const doomed = await startGodwit({ asProcess: true, databaseUrl: nodeA.databaseUrl });
    const key = randomUUID();
    const body = unique({ body: HELD_BODY });
    const broken = assert.rejects(postTo(doomed, key, body));
    await hold.waiting();
    await doomed.stop("SIGKILL");
    await broken;
    // The database ends the session of a process that has died, also while its statement waits for a lock.
    await until("the session of the killed node to end", async () => (await hold.waiters()).length === 0 || undefined);
    const retried = postTo(nodeB, key, body);
    await hold.waiting();
    assertConflict(await assertAtOnce(postTo(nodeA, key, body)));
    await hold.release();
    const first = await retried;
    assertFirst(first);
    assertReplayOf(first, await postTo(nodeA, key, body));
    assert.deepEqual(await effectCount(nodeA, body), ONCE);
  });

  test("a termination of its session undoes everything, and a retry on the other node is executed", async () => {
    const key = randomUUID();
    const body = unique({ body: HELD_BODY });
    const running = postTo(nodeA, key, body);
    await hold.waiting();
    await cutConnections(nodeA.databaseUrl, "wait_event_type = 'Lock'");
    assert.equal((await running).status, 503);
    await hold.release();
    assertFirst(await postTo(nodeB, key, body));
    assert.deepEqual(await effectCount(nodeA, body), ONCE);
  });
});
