/** A node that starts while its database is away waits for it, and one that stops serves until load balancers have taken it out. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Agent, request } from "undici";
import { atEnd } from "../support/at-end.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { createDatabase, createEmptyDatabase } from "../support/database.ts";
import { until } from "../support/expect.ts";
import { freePort } from "../support/free-port.ts";
import { runGodwit, SECRET_KEY, spawnGodwit, startGodwit, type Run } from "../support/harness.ts";
import { allowConnections } from "../support/outage.ts";

type Answer = { status: number; detail: string };

/** Undefined where nothing listens. */
async function ask(port: number, path: string): Promise<Answer | undefined> {
  try {
    const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`, { reset: true });
    const { detail = "" } = (await body.json()) as { detail?: string };
    return { status: statusCode, detail };
  } catch {
    return undefined;
  }
}

type Waiting = Run & { port: number; databasePort: number };

/** Starts a node whose database is the given port of this machine. */
async function serve(databaseUrl: string, env: Record<string, string> = {}): Promise<Waiting> {
  const [port, databasePort] = [await freePort(), await freePort()];
  const url = new URL(databaseUrl.replace("@/", "@127.0.0.1/"));
  const DATABASE_URL = `postgres://${url.username}:${url.password || "pa55word"}@127.0.0.1:${databasePort}${url.pathname}`;
  const settings = { GODWIT_PORT: String(port), GODWIT_SECRET_KEY: SECRET_KEY, GODWIT_LOG: "json", DATABASE_URL };
  const run = spawnGodwit(["serve"], { ...settings, ...env });
  return { ...run, port, databasePort };
}

const untilWaiting = ({ port }: Waiting): Promise<Answer> =>
  until("the node to wait", async () => {
    const answer = await ask(port, "/readyz");
    return answer?.status === 503 && answer;
  });

const untilReady = ({ port, output }: Waiting): Promise<true> =>
  until(
    () => `the node to be ready:\n${output.join("\n")}`,
    async () => (await ask(port, "/readyz"))?.status === 200,
  );

async function stop({ child, exit }: Run): Promise<number | null> {
  child.kill("SIGTERM");
  return exit;
}

/** A server that accepts connections and never responds, as one whose machine hangs. */
async function silentServer(port: number): Promise<{ server: Server; end: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => undefined))).listen(port, "127.0.0.1");
  await once(server, "listening");
  const end = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { server, end };
}

describe("a node whose database is away at its start", () => {
  for (const workers of ["1", "2"])
    test(`waits for it, alive and not ready, and starts when it returns, with ${workers} workers`, async () => {
      const databaseUrl = await createDatabase();
      const node = await serve(databaseUrl, { GODWIT_WORKERS: workers });
      const { detail } = await untilWaiting(node);
      assert.equal(detail, "The service waits for its database.");
      assert.equal((await ask(node.port, "/livez"))?.status, 200);
      assert.equal((await ask(node.port, "/v1/messages"))?.status, 503);
      // Several attempts have failed since the first one, and the log has one line for them.
      await sleep(2_500);
      const lines = node.logs.filter(({ event }) => event === "service.waiting");
      assert.equal(lines.length, 1);
      assert.match(String(lines[0]?.["reason"]), /ECONNREFUSED/);
      assert.doesNotMatch(JSON.stringify(lines), /pa55word/);
      const wire = await DatabaseWire.to(databaseUrl, node.databasePort);
      await untilReady(node);
      if (workers === "2") await node.waitFor(({ msg }) => msg === "all workers listen");
      assert.equal(await stop(node), 0);
      await wire.close();
    });

  test("ends with code 0 by a signal while it waits", async () => {
    const node = await serve(await createDatabase());
    await untilWaiting(node);
    assert.equal(await stop(node), 0);
  });

  test("waits for a server that does not respond, and for a database that is closed", async () => {
    const databaseUrl = await createDatabase();
    const node = await serve(databaseUrl);
    await untilWaiting(node);
    const silent = await silentServer(node.databasePort);
    await until(
      "an attempt",
      async () => (await new Promise<number>((done) => silent.server.getConnections((_, count) => done(count)))) > 0,
    );
    await silent.end();
    await allowConnections(databaseUrl, false);
    const wire = await DatabaseWire.to(databaseUrl, node.databasePort);
    await untilWaiting(node);
    await allowConnections(databaseUrl, true);
    await untilReady(node);
    assert.equal(await stop(node), 0);
    await wire.close();
  });

  test("does not wait for a database that does not exist, or a login that is refused", async () => {
    const databaseUrl = await createDatabase();
    for (const [change, says] of [
      [(url: URL) => (url.pathname = "/absent"), /cannot be used: database "absent" does not exist/],
      [(url: URL) => (url.username = "nobody_here"), /cannot be used: .*nobody_here/],
    ] as const) {
      const wire = await DatabaseWire.to(databaseUrl);
      const url = new URL(wire.url);
      change(url);
      const run = spawnGodwit(["serve"], { GODWIT_PORT: "0", GODWIT_SECRET_KEY: SECRET_KEY, GODWIT_LOG: "json", DATABASE_URL: url.href });
      assert.equal(await run.exit, 1);
      assert.match(run.output.join("\n"), says);
      await wire.close();
    }
  });
});

/** A socket that every user may write to, as systemd has it, and what arrives there. */
async function notifySocket(): Promise<{ path: string; received: () => number }> {
  const path = join(mkdtempSync(join(tmpdir(), "godwit-notify-")), "socket");
  chmodSync(dirname(path), 0o755);
  atEnd(async () => rmSync(dirname(path), { recursive: true, force: true }));
  const receive = `
import os, socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
print("bound", flush=True)
while True: print(receiver.recv(4096).decode(), flush=True)`;
  const receiver = spawn("python3", ["-c", receive, path], { stdio: ["ignore", "pipe", "inherit"] });
  atEnd(async () => void receiver.kill());
  const lines: string[] = [];
  createInterface({ input: receiver.stdout }).on("line", (line) => lines.push(line));
  await until("the socket", () => lines.includes("bound"));
  return { path, received: () => lines.filter((line) => line.includes("READY=1")).length };
}

const missing = ["python3", "systemd-notify"].find((program) => spawnSync(program, ["--version"]).error !== undefined);

describe("under systemd", { skip: missing === undefined ? false : `${missing} is not installed` }, () => {
  for (const workers of ["1", "2"])
    test(`a node says that it listens, with ${workers} workers`, async () => {
      const { path, received } = await notifySocket();
      const databaseUrl = await createDatabase();
      const env = { NOTIFY_SOCKET: path, GODWIT_WORKERS: workers, GODWIT_PORT: "0", GODWIT_LOG: "json", GODWIT_SECRET_KEY: SECRET_KEY };
      const node = spawnGodwit(["serve"], { ...env, DATABASE_URL: databaseUrl });
      await until("the message", () => received() === 1);
      await node.waitFor(({ msg }) => msg === (workers === "1" ? "listening" : "all workers listen"));
      assert.equal(await stop(node), 0);
      assert.deepEqual(
        node.logs.filter(({ event }) => event === "service.not_notified"),
        [],
      );
    });

  test("a node that waits for its database says so as well, and one with a faulty configuration ends without", async () => {
    const { path, received } = await notifySocket();
    const faulty = spawnGodwit(["serve"], { NOTIFY_SOCKET: path, GODWIT_PORT: "none" });
    assert.deepEqual([await faulty.exit, received()], [2, 0]);
    const node = await serve(await createDatabase(), { NOTIFY_SOCKET: path });
    await untilWaiting(node);
    await until("the message", () => received() === 1);
    assert.equal(await stop(node), 0);
  });

  test("a node without a receiver works, and warns", async () => {
    const env = { NOTIFY_SOCKET: "/nowhere/notify", GODWIT_PORT: "0", GODWIT_LOG: "json", GODWIT_SECRET_KEY: SECRET_KEY };
    const node = spawnGodwit(["serve"], { ...env, DATABASE_URL: await createDatabase() });
    await node.waitFor(({ event }) => event === "service.not_notified");
    assert.equal(await stop(node), 0);
  });
});

describe("a node whose schema is not up to date", () => {
  test("waits for godwit migrate where GODWIT_MIGRATE is off, and commands refuse to migrate", async () => {
    const databaseUrl = await createEmptyDatabase();
    const env = { DATABASE_URL: databaseUrl, GODWIT_SECRET_KEY: SECRET_KEY, GODWIT_MIGRATE: "off" };
    const node = await serve(databaseUrl, env);
    assert.equal((await untilWaiting(node)).detail, "The service waits for godwit migrate.");
    const listed = await runGodwit(["keys", "list"], env);
    assert.deepEqual([listed.code, /has schema 0, .*: run godwit migrate/.test(listed.stderr)], [1, true], listed.stderr);
    assert.equal((await runGodwit(["migrate"], env)).code, 0);
    await untilReady(node);
    assert.equal(await stop(node), 0);
  });

  test("waits until the nodes of an earlier release have stopped, and godwit migrate refuses meanwhile", async () => {
    const databaseUrl = await createEmptyDatabase();
    // The first migration makes the schema 27.
    const earlier = new pg.Client({ connectionString: databaseUrl, application_name: "godwit 0123456789ab 1 schema 26" });
    await earlier.connect();
    const env = { DATABASE_URL: databaseUrl, GODWIT_SECRET_KEY: SECRET_KEY };
    const node = await serve(databaseUrl, env);
    assert.equal((await untilWaiting(node)).detail, "The service waits until all nodes of earlier releases have stopped.");
    const { code, stderr } = await runGodwit(["migrate"], env);
    assert.equal(code, 1);
    assert.match(stderr, /^godwit: migration 0027_baseline needs all nodes of earlier releases stopped, and 1 is connected: /);
    await earlier.end();
    await untilReady(node);
    assert.equal(await stop(node), 0);
  });
});

describe("a node that stops", () => {
  for (const workers of ["1", "2"])
    test(`is not ready at once, and serves and asks clients to leave for the drain time, with ${workers} workers`, async () => {
      await using godwit = await startGodwit({ asProcess: true, env: { GODWIT_DRAIN: "3", GODWIT_WORKERS: workers } });
      const key = await godwit.key();
      const client = new Agent({ connections: 1, pipelining: 1 });
      const list = (): ReturnType<typeof request> =>
        request(`${godwit.url}/v1/messages`, { dispatcher: client, headers: { authorization: `Bearer ${key}` } });
      const before = await list();
      await before.body.dump();
      assert.equal(before.headers["connection"], "keep-alive");
      const ended = godwit.stop();
      const port = Number(new URL(godwit.url).port);
      const notReady = await until("the node to be not ready", async () => {
        const answer = await ask(port, "/readyz");
        return answer?.status === 503 && answer;
      });
      assert.equal(notReady.detail, "The service is stopping.");
      const during = await list();
      await during.body.dump();
      assert.deepEqual([during.statusCode, during.headers["connection"]], [200, "close"]);
      await client.close();
      assert.equal(await ended, 0);
    });
});
