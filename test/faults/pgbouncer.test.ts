/** PgBouncer between the nodes and PostgreSQL: sessions work, and a pool that shares server connections is refused at the start. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, describe, test } from "node:test";
import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { Database } from "../../src/database/database.ts";
import { sql } from "../../src/database/sql.ts";
import { chooseUser } from "../../src/embedded/run-as.ts";
import { createDatabase, createEmptyDatabase } from "../support/database.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { NEVER_MS, until } from "../support/expect.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";
import { HELD_BODY, holdAccepts } from "../support/locks.ts";
import { assertFirst, assertOneExecution, effectCount, isStored, NEVER, ONCE, unique } from "../support/replay.ts";
import { atEnd } from "../support/at-end.ts";
import { missingProgram } from "../support/debian-package.ts";

type PoolMode = "session" | "transaction" | "statement";

const PROGRAM = "/usr/sbin/pgbouncer";
// It is part of the name of the socket. No port of the machine is used.
const PORT = 6432;

/** The reason why PgBouncer is missing, after an attempt to install it. */
const missingPgBouncer = (): string | undefined => missingProgram("pgbouncer", PROGRAM);

const accepts = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });

class PgBouncer {
  /** The DATABASE_URL for the service. */
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #ended: Promise<unknown>;

  private constructor(url: string, child: ChildProcess, folder: string) {
    this.url = url;
    this.#child = child;
    this.#folder = folder;
    this.#ended = new Promise((resolve) => child.once("close", resolve));
  }

  /** Starts PgBouncer with its default settings, except those that are given. */
  static async start(databaseUrl: string, settings: { pool_mode: PoolMode } & Record<string, string | number>): Promise<PgBouncer> {
    const { host, port, user, password, database } = new pg.Client(databaseUrl);
    const folder = mkdtempSync(join(tmpdir(), "godwit-pgbouncer-"));
    // PgBouncer refuses to run as root, as PostgreSQL does.
    const runAs = chooseUser("");
    chmodSync(folder, 0o777);
    const server = { host, port, user, ...(password ? { password } : {}) };
    const all = { unix_socket_dir: folder, listen_port: PORT, auth_type: "any", ...settings };
    const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
    const login = Object.entries(server).map(([name, value]) => `${name}='${value}'`);
    const file = join(folder, "pgbouncer.ini");
    writeFileSync(file, ["[databases]", `${database} = ${login.join(" ")}`, "[pgbouncer]", ...lines, ""].join("\n"));
    const child = spawn(PROGRAM, ["-q", file], { stdio: "ignore", cwd: "/", ...(runAs && { uid: runAs.uid, gid: runAs.gid }) });
    const url = `postgres://${user}@/${database}?host=${encodeURIComponent(folder)}&port=${PORT}`;
    const bouncer = new PgBouncer(url, child, folder);
    atEnd(() => bouncer.stop());
    // The file of the socket exists before PgBouncer listens on it.
    await until("PgBouncer to listen", () => accepts(join(folder, `.s.PGSQL.${PORT}`)));
    return bouncer;
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

// Enough for the connections of three nodes and those of the test.
const POOL_SIZE = 100;

let missing: string | undefined;
before(() => {
  missing = missingPgBouncer();
});

const sessions = (databaseUrl: string): Promise<PgBouncer> =>
  PgBouncer.start(databaseUrl, { pool_mode: "session", default_pool_size: POOL_SIZE, max_client_conn: 200 });

const untilListening = (godwit: Godwit, nodes: number): Promise<true> =>
  until("the nodes to listen", async () => {
    const [row] = await godwit.rows<{ count: number }>(
      "select count(*) from pg_stat_activity where datname = current_database() and query like 'listen %'",
    );
    return row?.count === nodes || undefined;
  });

describe("in session mode", () => {
  test("two nodes that start together migrate an empty database, and deliver each other's messages when notified", async (context) => {
    if (missing !== undefined) return context.skip(missing);
    await using bouncer = await sessions(await createEmptyDatabase());
    const timings = { deliveryPollMs: NEVER_MS, webhookPollMs: NEVER_MS };
    const start = (roles: string): Promise<Godwit> => startGodwit({ databaseUrl: bouncer.url, roles, timings, simulatorSpeed: 1_000 });
    const [api, dispatch] = await Promise.all([start("api"), start("dispatch")]);
    try {
      await untilListening(api, 2);
      await api.unlimited();
      const key = await api.key();
      const replies = await Promise.all(Array.from({ length: 50 }, () => api.send(key)));
      for (const reply of replies) assertFirst(reply);
      await until("every message to be delivered", async () => {
        const [row] = await api.rows<{ count: number }>("select count(*) from messages where status = 'delivered'");
        return row?.count === replies.length || undefined;
      });
    } finally {
      await Promise.all([api.stop(), dispatch.stop()]);
    }
  });

  test("a key that reaches two nodes at once is executed once", async (context) => {
    if (missing !== undefined) return context.skip(missing);
    await using bouncer = await sessions(await createDatabase());
    await using first = await startGodwit({ databaseUrl: bouncer.url });
    await using second = await startGodwit({ databaseUrl: bouncer.url });
    await first.unlimited();
    const key = await first.key();
    const [body, idempotencyKey] = [unique(), randomUUID()];
    const nodes = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? first : second));
    assertOneExecution(await Promise.all(nodes.map((node) => node.request("POST", "/v1/messages", { key, idempotencyKey, body }))));
    assert.deepEqual(await effectCount(first, body), ONCE);
  });

  test("a statement whose connection to PgBouncer is lost is ended, so that a 503 stays true", async (context) => {
    if (missing !== undefined) return context.skip(missing);
    const databaseUrl = await createDatabase();
    await using direct = await startGodwit({ databaseUrl });
    // The host in the name of a session must not hide the session.
    await using bouncer = await PgBouncer.start(databaseUrl, { pool_mode: "session", application_name_add_host: 1 });
    const wire = await DatabaseWire.to(bouncer.url);
    const godwit = await startGodwit({ databaseUrl: wire.url });
    try {
      await using hold = await holdAccepts(databaseUrl);
      const [body, idempotencyKey] = [unique({ body: HELD_BODY }), randomUUID()];
      wire.cutNext("running", String(body["client_reference"]));
      const reply = await godwit.request("POST", "/v1/messages", { key: await direct.key(), idempotencyKey, body });
      assert.equal(reply.status, 503, reply.text);
      assert.equal((await hold.waiters()).length, 0, "the statement does not run any more");
      await hold.release();
      assert.equal(await isStored(direct, idempotencyKey), false);
      assert.deepEqual(await effectCount(direct, body), NEVER);
    } finally {
      await godwit.stop();
      await wire.close();
    }
  });

  test("a session has the settings of the service, also on a server connection that another session used before", async (context) => {
    if (missing !== undefined) return context.skip(missing);
    await using bouncer = await sessions(await createDatabase());
    const settings = async (url: string): Promise<unknown[]> => {
      const db = new Database({ url }, "test", () => undefined);
      try {
        return await db.rows(sql`select current_setting('enable_seqscan') as scan, current_setting('statement_timeout') as timeout`);
      } finally {
        await db.close();
      }
    };
    for (let count = 0; count < 2; count += 1) assert.deepEqual(await settings(bouncer.url), [{ scan: "off", timeout: "10s" }]);
  });
});

const SENTENCE =
  "DATABASE_URL leads to a connection pooler that shares server connections between sessions (PgBouncer with pool_mode = transaction or " +
  "statement): set pool_mode = session, or connect to PostgreSQL directly";

for (const mode of ["transaction", "statement"] satisfies PoolMode[]) {
  describe(`in ${mode} mode`, () => {
    // With server_round_robin, PgBouncer takes the connection that has been idle for longest.
    for (const roundRobin of [0, 1]) {
      test(`the start is refused in one sentence, with server_round_robin = ${roundRobin}`, async (context) => {
        if (missing !== undefined) return context.skip(missing);
        await using bouncer = await PgBouncer.start(await createDatabase(), { pool_mode: mode, server_round_robin: roundRobin });
        const env = { DATABASE_URL: bouncer.url, GODWIT_SECRET_KEY: SECRET_KEY, GODWIT_PORT: "0" };
        const { code, stderr } = await runGodwit(["serve"], env);
        assert.deepEqual({ code, stderr }, { code: 1, stderr: `godwit: ${SENTENCE}\n` });
      });
    }

    test("godwit doctor reports the same sentence", async (context) => {
      if (missing !== undefined) return context.skip(missing);
      await using bouncer = await PgBouncer.start(await createDatabase(), { pool_mode: mode });
      const { code, stdout } = await runGodwit(["doctor", "--json"], { DATABASE_URL: bouncer.url, GODWIT_SECRET_KEY: SECRET_KEY });
      const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; detail: string }[] };
      const { status, detail } = checks.find(({ name }) => name === "database") ?? assert.fail();
      assert.deepEqual({ code, status, detail }, { code: 1, status: "fail", detail: SENTENCE });
    });
  });
}
