/** `kill -9` of the service, of its embedded database and of both, and a graceful stop, all of them under load: messages with a
 *  202 are stored once, other requests can be repeated, and each message is delivered or has an unknown outcome. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../../src/lib/wait.ts";
import { socketDir } from "../../src/embedded/data-directory.ts";
import { Database } from "../../src/database/database.ts";
import { createDatabase, inspectionOf } from "../support/database.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";
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
  sendUntil,
  type Sent,
} from "../support/sending.ts";
import { assertSubmittedOnce, tracesOf, tally } from "./accounted.ts";

const withStatus = (sent: readonly Sent[], status: number | undefined): Sent[] => sent.filter((one) => one.status === status);

/** Sends load during the work, which starts when messages are accepted. Returns all requests. */
async function loadWhile(godwit: Godwit, apiKey: string, work: () => Promise<unknown>): Promise<Sent[]> {
  const stop = new AbortController();
  let isUnderWay = false;
  const load = sendUntil(stop.signal, { godwit, apiKey }, ({ status }) => (isUnderWay ||= status === 202));
  try {
    await until("messages to be accepted", () => isUnderWay || undefined);
    await work();
  } finally {
    stop.abort();
  }
  return load;
}

/** Sends load until the service is killed at that moment and every connection has broken. Returns all requests. */
const loadUntilKilled = (godwit: Godwit, apiKey: string, moment: () => Promise<unknown>): Promise<Sent[]> =>
  loadWhile(godwit, apiKey, async () => {
    await moment();
    await godwit.stop("SIGKILL");
  });

const query = (text: string, values: readonly unknown[] = []) => ({ name: `crash_${randomUUID()}`, text, values });

/** A moment during the traffic: messages are delivered, and more arrive all the time. */
async function inTraffic(db: Database | undefined, random: () => number): Promise<void> {
  assert.ok(db !== undefined);
  const count = async (): Promise<number> => (await db.rows(query("select from messages where status = 'delivered'"))).length;
  const already = await count();
  await until("messages to be delivered", async () => (await count()) > already || undefined);
  await sleep(random() * 500);
}

const simulatorSpeed = 20;
// Another node takes the messages of a dead one when their lease has expired. Messages that may have left are then held for
// three seconds, at twenty times the simulator's speed.
const delivering = { roles: "api,dispatch", simulatorSpeed, timings: { queueLeaseMs: 3_000 } };

// Enough for thousands of messages on a busy machine.
const SETTLE_MS = 240_000;
// The difference between the clocks of a node and the database.
const CLOCK_MARGIN_MS = 100;

/** Waits until every message has its last possible status. The simulator of a process dies with it: messages that it had accepted
 *  stay `sent`, and messages that were sent later do not. */
async function settledAfter(db: Database, diedAtMs: number): Promise<void> {
  const isNone = async (text: string, ...values: unknown[]): Promise<true | undefined> =>
    (await db.rows(query(`${text} limit 1`, values))).length === 0 || undefined;
  // A row is held as soon as its unknown outcome is stored.
  await until("every waiting message to be taken", () => isNone("select from delivery_queue where state = 0"), SETTLE_MS);
  await until("every held message to end", () => isNone("select from delivery_queue"), SETTLE_MS);
  const since = new Date(diedAtMs + CLOCK_MARGIN_MS);
  await until("the receipts of living carriers", () => isNone("select from messages where status = 'sent' and sent_at > $1", since));
}

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

describe("a service with its embedded database", () => {
  let dataDir: string;
  let godwit: Godwit;
  let apiKey: string;
  let db: Database;
  const all: Sent[] = [];

  const start = async (roles = "api"): Promise<void> => {
    godwit = await startGodwit({ asProcess: true, roles, simulatorSpeed, env: { GODWIT_DATA_DIR: dataDir } });
  };
  const postmaster = (): number => Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
  const commandOf = (pid: number): string => (existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/cmdline`, "utf8") : "");
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runGodwit(args, { GODWIT_DATA_DIR: dataDir });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const kill = async (): Promise<void> => {
    const gone = new Promise<void>((resolve) => godwit.child.once("exit", () => resolve()));
    godwit.child.kill("SIGKILL");
    await gone;
  };
  /** Checks all requests that were ever sent to this directory. */
  const assertKept = async (sent: readonly Sent[]): Promise<void> => {
    await assertEachOnce(db, withStatus(all, 202));
    all.push(...(await retryUnanswered(godwit, apiKey, sent)));
    await assertEachOnce(db, all);
    await assertNothingHalfDone(db);
  };

  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "godwit-crash-"));
    // The user of the database needs access.
    chmodSync(dataDir, 0o755);
    await start();
    const url = `postgres://godwit@/postgres?host=${encodeURIComponent(socketDir(dataDir))}`;
    db = new Database(inspectionOf(url), "test", () => undefined);
    await run("environments", "set-tier", "test", "unlimited");
    const made = await run("keys", "create", "--environment", "test", "--scopes", "messages:send,messages:read", "--json");
    apiKey = (JSON.parse(made) as { key: string }).key;
  });
  after(async () => {
    await db.close();
    await godwit.stop();
    // Only a failed test leaves its database running.
    const pidFile = join(dataDir, "postgres", "postmaster.pid");
    if (existsSync(pidFile) && commandOf(postmaster()).includes(dataDir)) process.kill(postmaster(), "SIGQUIT");
    rmSync(dataDir, { recursive: true, force: true });
  });

  test("loses nothing when only the service is killed", async (context) => {
    const random = seeded(context);
    const sent = await loadWhile(godwit, apiKey, async () => {
      await sleep(random() * 400);
      await kill();
    });
    await start();
    await assertEachOnce(db, withStatus(sent, 202));
    await assertKept(sent);
  });

  test("loses nothing when both are killed", async (context) => {
    const random = seeded(context);
    const sent = await loadWhile(godwit, apiKey, async () => {
      await sleep(random() * 400);
      process.kill(postmaster(), "SIGKILL");
      await sleep(random() * 20);
      await kill();
    });
    await start();
    await assertEachOnce(db, withStatus(sent, 202));
    await assertKept(sent);
  });

  /** Sends load while the database is killed at that moment, until it is available again. */
  const loadThroughDatabaseLoss = async (moment: () => Promise<unknown>): Promise<Sent[]> => {
    const killed = postmaster();
    const stop = new AbortController();
    const connections = 16;
    let isKilled = false;
    let isUnderWay = false;
    let refused = 0;
    let taken = 0;
    // After a refusal each connection may still return an earlier success. One more success proves that the database is available. The
    // time limit only stops a broken recovery.
    const load = sendUntil(
      AbortSignal.any([stop.signal, AbortSignal.timeout(SETTLE_MS)]),
      { godwit, apiKey, connections },
      ({ status }) => {
        if (isKilled && status !== 202) refused += 1;
        isUnderWay ||= status === 202;
        taken = status === 202 ? taken + 1 : 0;
        if (refused > 0 && taken > connections) stop.abort();
      },
    );
    await until("messages to be accepted", () => isUnderWay || undefined);
    await moment();
    process.kill(killed, "SIGKILL");
    isKilled = true;
    const sent = await load;
    assert.ok(refused > 0 && stop.signal.aborted, "refused, and then recovered");
    assert.notEqual(postmaster(), killed);
    return sent;
  };

  test("responds with 503 or 500 while its database is killed, restarts it, and loses nothing", async (context) => {
    const random = seeded(context);
    const sent = await loadThroughDatabaseLoss(() => sleep(random() * 400));
    for (const { status } of sent) assert.ok([202, 500, 503].includes(status ?? 0), `answered ${status}`);
    await assertNothingDone(db, withStatus(sent, 503));
    await assertEachOnce(db, withStatus(sent, 202));
    await assertKept(sent);
    context.diagnostic(
      `${sent.length} requests, ${withStatus(sent, 503).length} answered 503, ${withStatus(sent, 500).length} answered 500`,
    );
  });

  test("delivers all messages, also when its database is killed meanwhile", async (context) => {
    const random = seeded(context);
    assert.equal(await within(godwit.stop(), LIMIT_MS), 0, godwit.output.join("\n"));
    await start("api,dispatch");
    const sent = await loadThroughDatabaseLoss(() => inTraffic(db, random));
    all.push(...(await retryUnanswered(godwit, apiKey, sent)));
    // No carrier died, so every receipt arrives.
    await settledAfter(db, 0);
    const messages = await tracesOf({ db });
    assertSubmittedOnce(messages, all);
    await assertKeysReplay(godwit, apiKey, all);
    context.diagnostic(`${messages.length} messages; ${tally(messages)}`);
  });

  test("stops gracefully after these crashes", async () => {
    assert.equal(await within(godwit.stop(), LIMIT_MS), 0, godwit.output.join("\n"));
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
