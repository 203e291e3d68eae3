/** Several workers behind one port: they share the work, a worker that dies or stalls is replaced and loses nothing, and a stop is graceful. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { childProcesses } from "../support/child-processes.ts";
import { createDatabase } from "../support/database.ts";
import { until } from "../support/expect.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";
import { HELD_BODY, holdAccepts } from "../support/locks.ts";
import { readMetrics } from "../support/metrics-text.ts";
import { isReplay } from "../support/replay.ts";
import { assertEachOnce, assertNothingHalfDone, retryUnanswered, sendUntil, type Sent } from "../support/sending.ts";

const WORKERS = { asProcess: true, env: { GODWIT_WORKERS: "2" } } as const;

/** The process ids of the workers. */
const workersOf = ({ child }: Godwit): number[] => childProcesses(child.pid, "serve-node");

/** Undefined where the connection was to a worker that died. */
const metricOf = async (godwit: Godwit, name: string): Promise<number | undefined> =>
  (await readMetrics(godwit).catch(() => undefined))?.get(name);

/** The connection is a new one, since the system may give it to either worker. */
const readiness = async ({ url }: Godwit): Promise<number> => (await fetch(`${url}/readyz`, { headers: { connection: "close" } })).status;

/** A connection whose request has no end yet. */
async function beginRequest({ url }: Godwit): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write("GET /readyz HTTP/1.1\r\n");
  return socket;
}

const requestLines = (godwit: Godwit): number => godwit.logs.filter(({ msg }) => msg === "request").length;

describe("two workers", () => {
  test("share requests, replay each other's responses, and have one page of metrics", async () => {
    await using godwit = await startGodwit(WORKERS);
    await godwit.unlimited();
    const key = await godwit.key();
    const idempotencyKey = randomUUID();
    const replies = await Promise.all(Array.from({ length: 20 }, () => godwit.send(key, {}, { idempotencyKey })));
    assert.deepEqual(
      new Set(replies.map(({ status }) => status)),
      new Set(replies.some(({ status }) => status === 409) ? [202, 409] : [202]),
    );
    assert.equal(replies.filter((reply) => reply.status === 202 && !isReplay(reply)).length, 1);
    const stop = new AbortController();
    let sentCount = 0;
    const sent = await sendUntil(stop.signal, { godwit, apiKey: key, connections: 8 }, () => {
      if ((sentCount += 1) === 200) stop.abort();
    });
    assert.ok(sent.every(({ status }) => status === 202));
    const metrics = await readMetrics(godwit);
    assert.equal(metrics.get("godwit_workers"), 2);
    assert.equal(metrics.get("godwit_database_up"), 1);
    const accepted = [...metrics].filter(([name]) => /godwit_http_requests_total\{.*status="(202|409)"/.test(name));
    assert.equal(
      accepted.reduce((sum, [, count]) => sum + count, 0),
      sent.length + replies.length,
    );
    // Each worker has its own line when it begins to listen.
    assert.equal(new Set(godwit.logs.flatMap(({ msg, ["node"]: node }) => (msg === "listening" ? [node] : []))).size, 2);
    assert.equal((await fetch(`${godwit.url}/readyz`)).status, 200);
  });

  const rootOnly = process.getuid?.() === 0 ? false : "only root can drop its privileges";
  test("drop the privileges of root, which their supervisor keeps", { skip: rootOnly }, async () => {
    await using godwit = await startGodwit(WORKERS);
    const factOf = (pid: number | undefined, name: string): string | undefined =>
      new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    assert.equal(factOf(godwit.child.pid, "Uid"), "0");
    const workers = workersOf(godwit);
    assert.equal(workers.length, 2);
    for (const pid of workers) {
      // A worker listens a moment before it gives up root.
      await until("the worker to drop its privileges", () => factOf(pid, "Uid") !== "0");
      assert.equal(factOf(pid, "CapEff"), "0000000000000000");
    }
  });

  test("lose nothing when one is killed under load, and it is replaced", async () => {
    await using godwit = await startGodwit(WORKERS);
    await godwit.unlimited();
    const apiKey = await godwit.key();
    const all: Sent[] = [];
    const stop = new AbortController();
    // A broken connection ends one sender. The others are at the worker that lives.
    const load = sendUntil(stop.signal, { godwit, apiKey, connections: 16 }, (one) => all.push(one));
    await until("messages to be accepted", () => all.length > 20 || undefined);
    const [first = 0] = workersOf(godwit);
    process.kill(first, "SIGKILL");
    await until("another worker", async () => (await metricOf(godwit, "godwit_worker_restarts_total")) === 1 || undefined);
    await until("two workers again", async () => (await metricOf(godwit, "godwit_workers")) === 2 || undefined);
    stop.abort();
    await load;
    assert.ok(!workersOf(godwit).includes(first));
    const ended = await until("the log to say so", () => godwit.logs.find(({ event }) => event === "service.worker_ended"));
    assert.deepEqual([ended["pid"], ended["how"]], [first, "SIGKILL"]);
    assert.ok(godwit.db !== undefined);
    const settled = await retryUnanswered(godwit, apiKey, all);
    await assertEachOnce(godwit.db, settled);
    await assertNothingHalfDone(godwit.db);
  });

  test("deliver each message once, and finish what they have begun when they are stopped", async () => {
    await using godwit = await startGodwit({ ...WORKERS, roles: "api,dispatch", simulatorSpeed: 20 });
    await godwit.unlimited();
    const apiKey = await godwit.key();
    const stop = new AbortController();
    let count = 0;
    const sent = await sendUntil(stop.signal, { godwit, apiKey, connections: 8 }, () => {
      if ((count += 1) === 150) stop.abort();
    });
    const lines = requestLines(godwit);
    assert.equal(await godwit.stop(), 0);
    assert.ok(lines > 0, "requests are logged");
    const stops = godwit.logs.filter(({ msg }) => msg === "stopped");
    assert.equal(stops.length, 2);
    await using next = await startGodwit({ databaseUrl: godwit.databaseUrl, roles: "api,dispatch", simulatorSpeed: 20 });
    await until("all to be delivered", async () => {
      const rows = await next.rows<{ count: number }>("select count(*)::integer as count from messages where status = 'delivered'");
      return rows[0]?.count === sent.length || undefined;
    });
    const doubled = await next.rows("select from events where type = 'message.sending' group by message_id having count(*) > 1");
    assert.deepEqual(doubled, []);
  });

  test("are both not ready while one of them finishes its requests before a stop", async () => {
    await using godwit = await startGodwit(WORKERS);
    await godwit.unlimited();
    const key = await godwit.key();
    await using hold = await holdAccepts(godwit.databaseUrl);
    const running = Array.from({ length: 12 }, () => godwit.send(key, { body: HELD_BODY }));
    await hold.waiting();
    assert.equal(await readiness(godwit), 200);
    const stopped = godwit.stop();
    await until("the service to be not ready", async () => (await readiness(godwit)) === 503 || undefined);
    for (let count = 0; count < 20; count += 1) assert.equal(await readiness(godwit), 503);
    await hold.release();
    // On a slow machine a request may have arrived after the stop began.
    const statuses = new Set((await Promise.all(running)).map(({ status }) => status));
    assert.ok(statuses.has(202), "a request that was running is completed");
    assert.ok(statuses.isSubsetOf(new Set([202, 503])), `responses: ${[...statuses].join(", ")}`);
    assert.equal(await stopped, 0);
  });

  // The thread of a worker that gets the second signal waits for ever.
  const BLOCKS_ON_USR2 = `process.on("SIGUSR2", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))`;
  for (const [signal, state] of [
    ["SIGSTOP", "stopped"],
    ["SIGUSR2", "silent"],
  ] as const)
    test(`get no connection when ${state}: the supervisor replaces such a worker, and its requests end`, async () => {
      const env = { ...WORKERS.env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(BLOCKS_ON_USR2)}` };
      await using godwit = await startGodwit({ ...WORKERS, env });
      // The system gives each connection to either worker, so each of them has some of these.
      const held = await Promise.all(Array.from({ length: 24 }, () => beginRequest(godwit)));
      const [stalled = 0] = workersOf(godwit);
      process.kill(stalled, signal);
      const line = await until("the supervisor to notice", () => godwit.logs.find(({ event }) => event === "service.worker_stalled"));
      assert.deepEqual([line["pid"], line["state"]], [stalled, state]);
      await until("its process to end", () => !isRunning(stalled) || undefined);
      await until("its requests to end", () => held.some(({ destroyed }) => destroyed) || undefined);
      const replies = await Promise.all(Array.from({ length: 60 }, () => readiness(godwit)));
      assert.deepEqual(new Set(replies), new Set([200]));
      await until("two workers again", async () => (await metricOf(godwit, "godwit_workers")) === 2 || undefined);
      assert.equal(await metricOf(godwit, "godwit_worker_stalls_total"), 1);
      for (const socket of held) socket.destroy();
    });

  test("outlive a stop of the whole machine", async () => {
    await using godwit = await startGodwit(WORKERS);
    const pids = workersOf(godwit);
    const all = [godwit.child.pid ?? 0, ...pids];
    for (const pid of all) process.kill(pid, "SIGSTOP");
    // Longer than a worker may be stopped. Time that the supervisor does not spend either does not count.
    await sleep(4_000);
    for (const pid of all) process.kill(pid, "SIGCONT");
    // The supervisor looks at them twice a second.
    await sleep(1_500);
    assert.equal(await metricOf(godwit, "godwit_workers"), 2);
    assert.equal(await metricOf(godwit, "godwit_worker_stalls_total"), 0);
    assert.deepEqual(workersOf(godwit), pids);
  });

  test("do not share their port with those of another service", async () => {
    await using godwit = await startGodwit(WORKERS);
    const env = {
      DATABASE_URL: await createDatabase(),
      GODWIT_SECRET_KEY: SECRET_KEY,
      GODWIT_WORKERS: "2",
      GODWIT_PORT: new URL(godwit.url).port,
    };
    const { code, stderr } = await runGodwit(["serve"], env);
    assert.equal(code, 1);
    assert.match(stderr, /port \d+ on 127\.0\.0\.1 is in use/);
  });

  test("both end with a supervisor that is killed", async () => {
    await using godwit = await startGodwit(WORKERS);
    const pids = workersOf(godwit);
    assert.equal(pids.length, 2);
    await godwit.stop("SIGKILL");
    await until("the workers to end", () => pids.every((pid) => !isRunning(pid)) || undefined);
  });
});

test("a start whose port is in use ends with one clear line", async () => {
  const blocker = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => blocker.once("listening", resolve));
  const { port } = blocker.address() as AddressInfo;
  const env = {
    DATABASE_URL: await createDatabase(),
    GODWIT_SECRET_KEY: SECRET_KEY,
    GODWIT_WORKERS: "2",
    GODWIT_PORT: String(port),
    GODWIT_LOG: "json",
  };
  const { code, stdout, stderr } = await runGodwit(["serve"], env);
  blocker.close();
  assert.equal(code, 1);
  assert.match(`${stdout}${stderr}`, /port \d+ on 127\.0\.0\.1 is in use/);
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
