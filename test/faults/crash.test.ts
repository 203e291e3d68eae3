/** `kill -9` of the service, and a graceful stop, both under load: messages with a 202 are stored once, other requests can be repeated, and each
 *  message is delivered or has an unknown outcome. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../../src/lib/wait.ts";
import { createDatabase } from "../support/database.ts";
import { startGodwit } from "../support/harness.ts";
import { LIMIT_MS, NEVER_MS, until } from "../support/expect.ts";
import { HELD_BODY, holdAccepts } from "../support/locks.ts";
import { assertFirst, effectCount, NEVER, unique } from "../support/replay.ts";
import { seeded } from "../support/seed.ts";
import {
  assertEachOnce,
  assertKeysReplay,
  assertNothingDone,
  assertNothingHalfDone,
  postBytes,
  retryUnanswered,
  type Sent,
} from "../support/sending.ts";
import { assertSubmittedOnce, tracesOf, tally } from "./accounted.ts";
import { delivering, inTraffic, loadUntilKilled, loadWhile, settledAfter, withStatus } from "./crash-load.ts";

describe("a service that is killed under load", () => {
  test("loses no message with a 202, and leaves no partial message", async (context) => {
    const random = seeded(context);
    const databaseUrl = await createDatabase();
    const all: Sent[] = [];
    for (let round = 0; round < 3; round += 1) {
      await using godwit = await startGodwit({ asProcess: true, databaseUrl });
      await godwit.unlimited();
      const apiKey = await godwit.key();
      const sent = await loadUntilKilled(godwit, apiKey, () => sleep(random() * 600));
      all.push(...sent);
      assert.ok(withStatus(sent, 202).length > 0, "requests were accepted");
      assert.deepEqual(new Set(sent.map(({ status }) => status)), new Set([202, undefined]));
    }
    await using godwit = await startGodwit({ databaseUrl });
    assert.ok(godwit.db !== undefined);
    await assertEachOnce(godwit.db, withStatus(all, 202));
    const settled = await retryUnanswered(godwit, await godwit.key(), all);
    await assertEachOnce(godwit.db, settled);
    await assertNothingHalfDone(godwit.db);
    context.diagnostic(`${all.length} requests, ${withStatus(all, undefined).length} cut off`);
  });
});

// The tests mostly wait for leases to expire, so they wait together.
describe("a service that is killed while it delivers", { concurrency: 2 }, () => {
  test("repeatedly loses nothing, records every transition, and submits nothing twice", async (context) => {
    const random = seeded(context);
    const databaseUrl = await createDatabase();
    const all: Sent[] = [];
    for (let round = 0; round < 2; round += 1) {
      await using godwit = await startGodwit({ asProcess: true, databaseUrl, ...delivering });
      await godwit.unlimited();
      const sent = await loadUntilKilled(godwit, await godwit.key(), () => inTraffic(godwit.db, random));
      all.push(...sent);
      assert.ok(withStatus(sent, 202).length > 0, "requests were accepted");
    }
    const diedAtMs = Date.now();
    await using godwit = await startGodwit({ databaseUrl, ...delivering });
    assert.ok(godwit.db !== undefined);
    const apiKey = await godwit.key();
    const settled = await retryUnanswered(godwit, apiKey, all);
    await settledAfter(godwit.db, diedAtMs);
    const messages = await tracesOf({ db: godwit.db });
    assertSubmittedOnce(messages, settled);
    await assertKeysReplay(godwit, apiKey, settled);
    context.diagnostic(`${all.length} requests, ${withStatus(all, undefined).length} cut off; ${tally(messages)}`);
  });

  test("next to another node leaves it every message that was not submitted", async (context) => {
    const random = seeded(context);
    await using doomed = await startGodwit({ asProcess: true, ...delivering });
    await using other = await startGodwit({ databaseUrl: doomed.databaseUrl, ...delivering });
    assert.ok(other.db !== undefined);
    await other.unlimited();
    const apiKey = await other.key();
    const sent = await loadUntilKilled(doomed, apiKey, () => inTraffic(other.db, random));
    const diedAtMs = Date.now();
    const settled = await retryUnanswered(other, apiKey, sent);
    await settledAfter(other.db, diedAtMs);
    const messages = await tracesOf({ db: other.db });
    assertSubmittedOnce(messages, settled);
    await assertKeysReplay(other, apiKey, settled);
    context.diagnostic(`${sent.length} requests, ${withStatus(sent, undefined).length} cut off; ${tally(messages)}`);
  });
});

describe("a graceful stop", () => {
  test("under load keeps every message with a 202, and other requests can be repeated on another node", async (context) => {
    const random = seeded(context);
    const godwit = await startGodwit({ asProcess: true });
    await using other = await startGodwit({ databaseUrl: godwit.databaseUrl });
    assert.ok(other.db !== undefined);
    await godwit.unlimited();
    const apiKey = await godwit.key();
    const sent = await loadWhile(godwit, apiKey, async () => {
      await sleep(random() * 400);
      assert.equal(await within(godwit.stop(), LIMIT_MS), 0);
    });
    assert.ok(withStatus(sent, 202).length > 0);
    for (const { status } of sent) assert.ok([202, 503, undefined].includes(status), `answered ${status}`);
    await assertNothingDone(other.db, withStatus(sent, 503));
    await assertEachOnce(other.db, withStatus(sent, 202));
    await assertEachOnce(other.db, await retryUnanswered(other, apiKey, sent));
    await assertNothingHalfDone(other.db);
  });

  test("during delivery leaves no unknown outcome, and another node takes the rest immediately", async (context) => {
    const random = seeded(context);
    // A message that is not returned stays leased for longer than this test takes.
    const lasting = { ...delivering, timings: { queueLeaseMs: NEVER_MS } };
    await using godwit = await startGodwit({ asProcess: true, ...lasting });
    await using other = await startGodwit({ databaseUrl: godwit.databaseUrl, ...lasting });
    assert.ok(other.db !== undefined);
    await godwit.unlimited();
    const apiKey = await godwit.key();
    const sent = await loadWhile(godwit, apiKey, async () => {
      await inTraffic(other.db, random);
      assert.equal(await within(godwit.stop(), LIMIT_MS), 0);
    });
    const settled = await retryUnanswered(other, apiKey, sent);
    await settledAfter(other.db, 0);
    const messages = await tracesOf({ db: other.db });
    assertSubmittedOnce(messages, settled);
    assert.deepEqual(new Set(messages.map(({ status }) => status)), new Set(["delivered"]), tally(messages));
  });

  test("waits for a running request and responds to it", async () => {
    const godwit = await startGodwit();
    const apiKey = await godwit.key();
    await using hold = await holdAccepts(godwit.databaseUrl);
    const running = godwit.send(apiKey, { body: HELD_BODY });
    await hold.waiting();
    const stopped = godwit.stop();
    assert.equal(await within(stopped, 500), undefined, "the stop waits");
    await hold.release();
    assertFirst(await running);
    assert.equal(await within(stopped, LIMIT_MS), 0);
  });

  test("is not delayed by clients that disconnected earlier", async () => {
    const godwit = await startGodwit();
    const apiKey = await godwit.key();
    const { hostname, port } = new URL(godwit.url);
    const whole = postBytes(apiKey, randomUUID());
    const body = unique();
    const part = postBytes(apiKey, randomUUID(), body).slice(0, -10);
    for (const bytes of [whole, part, part.slice(0, part.indexOf("\r\n\r\n"))]) {
      await new Promise<void>((resolve, reject) => {
        const socket = connect(Number(port), hostname, () => socket.write(bytes, () => socket.destroy()));
        socket.on("error", reject);
        socket.on("close", () => resolve());
      });
    }
    assertFirst(await godwit.send(apiKey));
    assert.deepEqual(await effectCount(godwit, body), NEVER);
    // The stop waits for requests that have not ended. The third client sent no complete head, so it made no request.
    const ended = (): number => godwit.logs.filter(({ method, route }) => method === "POST" && route === "/v1/messages").length;
    await until("the two requests and the last one to end", () => ended() === 3);
    assert.equal(await within(godwit.stop(), LIMIT_MS), 0);
  });
});

test("a service whose log has no reader any more stops when it is asked to", async () => {
  const godwit = await startGodwit({ asProcess: true });
  godwit.child.stdout?.destroy();
  const exited = new Promise<number | null>((resolve) => void godwit.child.once("exit", resolve));
  godwit.child.kill("SIGTERM");
  assert.equal(await within(exited, LIMIT_MS), 0);
});
