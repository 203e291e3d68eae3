/** Idempotency of concurrent requests: duplicates of a running request, clients that disconnect, and one row that the database refuses in a
 *  group commit. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { poll } from "../../src/lib/wait.ts";
import { LIMIT_MS } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { HELD_BODY, holdAccepts } from "../support/locks.ts";
import {
  assertConflict,
  assertFirst,
  assertOneExecution,
  assertReplayOf,
  assertReused,
  codeOf,
  effectCount,
  isReplay,
  isStored,
  NEVER,
  ONCE,
  unique,
} from "../support/replay.ts";
import { postBytes } from "../support/sending.ts";

let godwit: Godwit;
let apiKey: string;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  apiKey = await godwit.key();
});
after(() => godwit.stop());

const post = (key: string, body: unknown = sms()): Promise<Reply> =>
  godwit.request("POST", "/v1/messages", { key: apiKey, idempotencyKey: key, body });

/** Sends the bytes, and disconnects when `until` resolves. */
const hangUp = (bytes: string, until: () => Promise<unknown> = async () => undefined): Promise<void> => {
  const { hostname, port } = new URL(godwit.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes, () => void until().then(() => socket.destroy(), reject)));
    socket.on("error", reject);
    socket.on("close", () => resolve());
  });
};

describe("of a hundred concurrent requests", () => {
  const HUNDRED = Array.from({ length: 100 }, (_, index) => index);

  test("with one key one is executed, and the others are conflicts or replays", async () => {
    for (let round = 0; round < 3; round += 1) {
      const key = randomUUID();
      const body = unique();
      const replies = await Promise.all(HUNDRED.map(() => post(key, body)));
      const first = assertOneExecution(replies);
      assertReplayOf(first, await post(key, body));
      assert.deepEqual(await effectCount(godwit, body), ONCE);
    }
  });

  test("with the key of a finished request all are replays", async () => {
    const key = randomUUID();
    const body = unique();
    const first = await post(key, body);
    for (const reply of await Promise.all(HUNDRED.map(() => post(key, body)))) assertReplayOf(first, reply);
    assert.deepEqual(await effectCount(godwit, body), ONCE);
  });

  test("with two bodies and one key one body is executed, and the other never", async () => {
    const key = randomUUID();
    const bodies = [unique(), unique()];
    const replies = await Promise.all(HUNDRED.map((index) => post(key, bodies[index % 2])));
    const winner = replies.findIndex((reply) => reply.status === 202 && !isReplay(reply));
    assert.notEqual(winner, -1);
    for (const [index, reply] of replies.entries()) {
      if (index === winner) continue;
      if (reply.status === 409) assertConflict(reply);
      else if (index % 2 === winner % 2) assertReplayOf(replies[winner] as Reply, reply);
      else assertReused(reply);
    }
    assert.deepEqual(await effectCount(godwit, bodies[winner % 2] as Record<string, unknown>), ONCE);
    assert.deepEqual(await effectCount(godwit, bodies[1 - (winner % 2)] as Record<string, unknown>), NEVER);
  });

  test("duplicates of a running one are conflicts at once, and replays later", async () => {
    await using hold = await holdAccepts(godwit.databaseUrl);
    const key = randomUUID();
    const body = unique({ body: HELD_BODY });
    const running = post(key, body);
    await hold.waiting();
    for (const reply of await Promise.all([post(key, body), post(key, sms())])) assertConflict(reply);
    await hold.release();
    const first = await running;
    assertFirst(first);
    assertReplayOf(first, await post(key, body));
    assertReused(await post(key, sms()));
    assert.deepEqual(await effectCount(godwit, body), ONCE);
  });
});

describe("a client that disconnects", () => {
  test("while its request runs: the request completes, and a retry replays it", async () => {
    await using hold = await holdAccepts(godwit.databaseUrl);
    const key = randomUUID();
    const body = unique({ body: HELD_BODY });
    await hangUp(postBytes(apiKey, key, body), () => hold.waiting());
    assertConflict(await post(key, body));
    await hold.release();
    assert.ok(
      await poll(async () => (await isStored(godwit, key)) || undefined, { timeoutMs: LIMIT_MS, everyMs: 20 }),
      "the request was not completed",
    );
    const again = await post(key, body);
    assert.equal(again.status, 202);
    assert.equal(isReplay(again), true);
    assert.deepEqual(await effectCount(godwit, body), ONCE);
  });

  test("as soon as the body is sent: the request completes without a retry, also when the credential is looked up first", async () => {
    for (let round = 0; round < 10; round += 1) {
      const key = randomUUID();
      if (round % 2 === 0) apiKey = await godwit.key();
      const body = unique();
      await hangUp(postBytes(apiKey, key, body));
      assert.ok(
        await poll(async () => (await isStored(godwit, key)) || undefined, { timeoutMs: LIMIT_MS, everyMs: 20 }),
        `not completed in round ${round}`,
      );
      assert.equal(isReplay(await post(key, body)), true);
      assert.deepEqual(await effectCount(godwit, body), ONCE);
    }
  });

  test("within the body: no key is claimed, and a retry is executed", async () => {
    const key = randomUUID();
    const body = unique();
    await hangUp(postBytes(apiKey, key, body).slice(0, -20));
    assertFirst(await post(key, body));
    assert.deepEqual(await effectCount(godwit, body), ONCE);
  });
});

describe("a row that the database refuses", () => {
  test("is a 500 without details, other requests of the group commit are accepted, and a retry is executed", async () => {
    await godwit.rows("alter table messages add constraint refuse_poison check (body <> 'poison')");
    const requests = Array.from({ length: 30 }, (_, index) => ({
      key: randomUUID(),
      body: unique({ body: index === 17 ? "poison" : "well" }),
    }));
    const replies = await Promise.all(requests.map(({ key, body }) => post(key, body)));
    await godwit.rows("alter table messages drop constraint refuse_poison");
    const poison = requests[17] as (typeof requests)[number];
    replies.forEach((reply, index) => {
      if (index !== 17) return assertFirst(reply);
      assert.equal(reply.status, 500);
      assert.equal(codeOf(reply), "internal_server_error");
      assert.doesNotMatch(reply.text, /poison|constraint|violates|messages|relation|sql/i);
      return undefined;
    });
    assert.equal(await isStored(godwit, poison.key), false);
    for (const { body } of requests) assert.deepEqual(await effectCount(godwit, body), body === poison.body ? NEVER : ONCE);
    assertFirst(await post(poison.key, poison.body));
    assert.deepEqual(await effectCount(godwit, poison.body), ONCE);
  });
});
