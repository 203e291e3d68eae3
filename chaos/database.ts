/** The PostgreSQL server of a run: durable, with commit timestamps, and with a clock that can be shifted. */
import { appendFileSync, chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Database } from "../src/database/database.ts";
import { EmbeddedPostgres } from "../src/embedded/embedded-postgres.ts";
import { migrate } from "../src/database/migrate.ts";
import { SHIFTED_CLOCK } from "../test/support/shifted-clock.ts";

const SETTINGS: Readonly<Record<string, string>> = {
  track_commit_timestamp: "on",
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  // A crash of the server names its statement.
  log_error_verbosity: "default",
};

// A restart takes a second or two. A slow machine may need much longer.
const CONNECT_LIMIT_MS = 120_000;
const RECONNECT_MS = 100;

/** The time in which a transaction held a lock, in milliseconds of this machine's clock, and the id in the first row of its statement. */
export type Held = { fromMs: number; untilMs: number; id: string };

export class ChaosDatabase {
  readonly url: string;
  readonly #server: EmbeddedPostgres;
  #shifts = 0;

  private constructor(server: EmbeddedPostgres) {
    if (!("socketDir" in server.target)) throw new Error("the embedded server listens on a socket");
    this.url = `postgres://godwit@/postgres?host=${encodeURIComponent(server.target.socketDir)}`;
    this.#server = server;
  }

  /** Creates a server in the folder, with the schema of Godwit. */
  static async start(folder: string): Promise<ChaosDatabase> {
    const dataDir = join(folder, "postgresql");
    mkdirSync(dataDir);
    // The user of PostgreSQL needs access.
    for (const path of [folder, dataDir]) chmodSync(path, 0o755);
    const onLog = (line: string): void => appendFileSync(join(folder, "postgresql.log"), `${new Date().toISOString()} ${line}\n`);
    const server = await EmbeddedPostgres.start({ dataDir, command: "chaos", say: () => undefined, onLog, settings: SETTINGS });
    if (!(server instanceof EmbeddedPostgres)) throw new Error("the new folder is in use");
    const database = new ChaosDatabase(server);
    const db = new Database({ url: database.url }, "chaos", () => undefined);
    await migrate(db);
    await db.close();
    await database.rows(SHIFTED_CLOCK);
    return database;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  /** Runs a statement in a session of its own. Repeats it while the server restarts. */
  async rows<T extends object>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    const deadline = performance.now() + CONNECT_LIMIT_MS;
    for (;;) {
      try {
        return await this.#session(async (client) => (await client.query<T>(text, [...values])).rows);
      } catch (error) {
        if (!isInterruption(error) || performance.now() > deadline) throw error;
        await sleep(RECONNECT_MS);
      }
    }
  }

  /** Stops the server. It is started again by itself. */
  restart(mode: "fast" | "immediate"): void {
    const [pid] = readFileSync(join(this.#server.folder, "postmaster.pid"), "utf8").split("\n");
    process.kill(Number(pid), mode === "fast" ? "SIGINT" : "SIGQUIT");
  }

  /** Ends a share of the sessions of the nodes. */
  async terminateBackends(share: number): Promise<void> {
    await this.rows(
      `with session as (
         select pid from pg_stat_activity where application_name like 'godwit %' order by random()
       )
       select pg_terminate_backend(pid)
         from session
        limit (select ceil(count(*) * $1::float8) from session)`,
      [share],
    );
  }

  /** Shifts the clock for a time. A later shift replaces an earlier one. */
  async shiftClock(bySeconds: number, lasts: Promise<unknown>): Promise<void> {
    const number = (this.#shifts += 1);
    await this.#setClock(bySeconds);
    await lasts;
    if (number === this.#shifts) await this.#setClock(0);
  }

  /** Lets the clock go faster for a time, and then slower for the same time, until it is right again. A shift ends this. */
  async slewClock(rate: number, wait: () => Promise<unknown>): Promise<void> {
    const number = (this.#shifts += 1);
    for (const each of [rate, -rate]) {
      await this.rows(
        `update shifted.step
            set by = case when rate = 0 then '0' else by + rate * (pg_catalog.clock_timestamp() - since) end,
                rate = $1,
                since = pg_catalog.clock_timestamp()`,
        [each],
      );
      await wait();
      if (number !== this.#shifts) return;
    }
    await this.#setClock(0);
  }

  /** Keeps a transaction open after its statement. The transaction ends early if the server restarts. Returns the time in which it was open
   *  after the statement; undefined if the statement found no row, or was interrupted. */
  async hold(begin: string, statement: string, lasts: Promise<unknown>): Promise<Held | undefined> {
    let held: { fromMs: number; id: string } | undefined;
    await this.#session(async (client) => {
      const ended = new Promise((resolve) => client.once("end", resolve));
      await client.query("set lock_timeout = '5s'");
      await client.query(begin);
      const { rowCount, rows } = await client.query<{ id?: string }>(statement);
      if (rowCount === 0) return;
      held = { fromMs: Date.now(), id: rows[0]?.id ?? "" };
      await Promise.race([lasts, ended]);
      await client.query("rollback");
    }).catch((error: unknown) => {
      if (!isInterruption(error)) throw error;
    });
    return held === undefined ? undefined : { ...held, untilMs: Date.now() };
  }

  async #setClock(bySeconds: number): Promise<void> {
    await this.rows("update shifted.step set by = make_interval(secs => $1), rate = 0", [bySeconds]);
  }

  async #session<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: this.url, application_name: "chaos" });
    // The query that is under way fails by itself.
    client.on("error", () => undefined);
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** Whether the statement failed because the server was stopped, is starting, or kept a lock for too long. */
function isInterruption(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return /^(57P0|08|ECONN|ENOENT|EPIPE|55P03|40P01)/.test(code ?? "") || /terminated|closed|ended|not queryable/i.test(message ?? "");
}
