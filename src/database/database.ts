/** The connection to PostgreSQL, embedded or not: a bounded pool, limits on every statement, and error classes by their meaning for the
 *  interrupted work. */
import pg from "pg";
import { ConcurrencyLimit } from "../lib/concurrency-limit.ts";
import { Connections, type DatabaseTarget, type DatabaseSession } from "./connections.ts";
import type { History } from "./history.ts";
import { isLossByDriver, type TimedQuery } from "./driver.ts";
import { sql, type Sql } from "./sql.ts";

/** Anything that runs statements: the pool, or one transaction on it. */
export type Queryable = { rows<T>(statement: Sql): Promise<T[]> };
export type Tx = Queryable;

/** No connection was available, so nothing of the statement was executed. */
export class DatabaseUnavailable extends Error {
  override name = "DatabaseUnavailable";
}

/** The connection was lost during a statement, which may have committed or not. */
export class ConnectionLost extends Error {
  override name = "ConnectionLost";
  /** The name of the lost session, by which a new connection can make sure that the session has ended. */
  readonly session: string;
  /** The timeline of its server. After a failover it differs from that of the database. */
  readonly timeline: number;
  constructor({ sessionName, timeline }: DatabaseSession, cause: unknown) {
    super("the database connection was lost with a statement under way", { cause });
    this.session = sessionName;
    this.timeline = timeline;
  }
}

type PoolShare = { connections: Connections; limit: ConcurrencyLimit };

// Requests wait while the pool is empty. Beyond this number the service is overloaded and responds with 503.
const MAX_WAITING = 500;

export class Database implements Queryable {
  readonly #connections: Connections;
  readonly #limit: ConcurrencyLimit | undefined;

  /** `target`: a server, or a share of the pool of another database. */
  constructor(target: DatabaseTarget | PoolShare, nodeName = "", onIdleError: (error: Error) => void = () => undefined) {
    const isShare = "limit" in target;
    this.#connections = isShare ? target.connections : new Connections(target, nodeName, onIdleError);
    this.#limit = isShare ? target.limit : undefined;
  }

  /** The same database for one kind of work, which uses at most so many connections of the pool at a time. The other connections stay free
   *  for the other kinds of work. */
  share({ maxConnections, maxWaiting }: { maxConnections: number; maxWaiting: number }): Database {
    const limit = new ConcurrencyLimit(maxConnections, maxWaiting);
    this.#connections.limits.push(limit);
    return new Database({ connections: this.#connections, limit });
  }

  async rows<T>(statement: Sql): Promise<T[]> {
    return this.#withClient(async (client) => run<T>(client, statement));
  }

  /** Runs the work in one transaction. The work may await only statements. */
  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#withClient(async (client) => {
      await client.query("begin");
      try {
        const result = await work({ rows: (statement) => run(client, statement) });
        await client.query("commit");
        return result;
      } catch (error) {
        if (!isConnectionError(error)) await client.query("rollback");
        throw error;
      }
    });
  }

  /** Runs several statements separated by semicolons, without parameters, for migrations. */
  async script(text: string): Promise<void> {
    await this.#withClient((client) => client.query(text), { isOneOff: true });
  }

  /** Runs work with a session-wide lock and long statements in one session. If the work throws, the session is ended, and with it an
   *  open transaction and the lock. */
  async session<T>(statementTimeoutMs: number, work: (run: (text: string) => Promise<pg.QueryResult>) => Promise<T>): Promise<T> {
    return this.#withClient(
      async (client) => {
        await client.query(`set statement_timeout = ${Math.trunc(statementTimeoutMs)}`);
        const timed = (text: string): TimedQuery => ({ text, query_timeout: statementTimeoutMs + 1_000 });
        const result = await work((text) => client.query(timed(text)));
        await client.query(`set statement_timeout = ${this.#connections.statementTimeoutMs}`);
        return result;
      },
      { isOneOff: true },
    );
  }

  /** Reads the clock of the database. The times of this process are taken on the connection, without the wait for one. */
  async readClock(): Promise<{ databaseMs: number; sentAtMs: number; receivedAtMs: number; wallMs: number }> {
    return this.#withClient(async (client) => {
      const sentAtMs = performance.now();
      const [row] = await run<{ now_ms: number }>(client, sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`);
      return { databaseMs: row?.now_ms ?? NaN, sentAtMs, receivedAtMs: performance.now(), wallMs: Date.now() };
    });
  }

  /** Makes sure that a lost session can no longer commit anything. Throws when the session does not end. */
  async endSession(session: string): Promise<void> {
    const ended = await this.rows<{ has_ended: boolean }>(sql`
      select pg_terminate_backend(pid, 5000) as has_ended
        from pg_stat_activity
       where datname = current_database() and application_name = ${session} and pid <> pg_backend_pid()`);
    if (ended.some((row) => !row.has_ended)) throw new Error("a lost session is still running");
    // When a session that waits for a synchronous standby is ended, its commit becomes visible on this server before the standby has
    // it. The commit of this statement follows it in the log, and returns when the standby has both.
    await this.rows(sql`select pg_logical_emit_message(true, 'godwit', '')`);
  }

  /** Makes sure that a promoted standby would have everything that this process has read. A server with synchronous standbys shows a commit that
   *  its standby does not have, if the wait for the standby was canceled or the server was restarted. Before something outside depends on
   *  what was read, and not on a commit that followed, this commit follows it in the log. */
  async confirmRead(): Promise<void> {
    await this.rows(sql`
      select case when current_setting('synchronous_standby_names') <> '' then pg_logical_emit_message(true, 'godwit', '') end`);
  }

  /** Commits something, so that a database that permits only reading, or whose standby is away, fails here. After a statement failed for lack of disk or
   *  memory, pages are written as well: the log may have room where the tables have none. */
  async probeWrite(): Promise<void> {
    if (!this.#connections.hasStorageFault) {
      const [row] = await this.rows<{ id: string }>(sql`
        select pg_current_xact_id()::text as id, pg_logical_emit_message(true, 'godwit', '')`);
      if (row !== undefined) this.history.committed(row.id);
      return;
    }
    await this.transaction(async (tx) => {
      await tx.rows(sql`create temporary table godwit_probe (filler text) on commit drop`);
      await tx.rows(sql`insert into godwit_probe select repeat('x', 1000) from generate_series(1, 100)`);
    });
    this.#connections.hasStorageFault = false;
  }

  /** The commits that this process saw, by which it recognizes a server that was recovered to an earlier time. */
  get history(): History {
    return this.#connections.history;
  }

  /** The timeline of the server. Every promotion of a standby begins another one. */
  get timeline(): number {
    return this.#connections.timeline;
  }

  /** Opens a connection outside the pool, for work that keeps one. The caller ends it. */
  openConnection(): Promise<pg.Client> {
    return this.#connections.open();
  }

  /** Whether two sessions that are open at the same time use one server connection, or one session uses several, as behind PgBouncer in
   *  transaction mode. Each session has its own server connection otherwise. */
  async sharesServerConnections(): Promise<boolean> {
    return this.#withClient((one) =>
      this.#withClient(async (other) => {
        const seen = new Map<pg.PoolClient, string>();
        for (const client of Array.from({ length: PROBES }, () => [one, one, other, other]).flat()) {
          const connection = await serverConnection(client);
          const isOther = Array.from(seen).some(([known, its]) => (known === client) !== (its === connection));
          if (isOther) return true;
          seen.set(client, connection);
        }
        return false;
      }),
    );
  }

  /** Sets a custom setting for every session of the pool, before its next statement. */
  setForSessions(name: string, value: string): void {
    this.#connections.setForSessions(name, value);
  }

  /** The present use of the pool, and how much work waits for a connection. */
  get load(): { busy: number; idle: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#connections.pool;
    const waiting = this.#connections.limits.reduce((sum, limit) => sum + limit.waiting, waitingCount);
    return { busy: totalCount - idleCount, idle: idleCount, waiting };
  }

  async close(): Promise<void> {
    await this.#connections.pool.end();
  }

  #withClient<T>(work: (client: pg.PoolClient) => Promise<T>, options?: { isOneOff: boolean }): Promise<T> {
    if (this.#limit === undefined) return this.#withPooledClient(work, options);
    if (this.#limit.isFull) return Promise.reject(tooManyWait());
    return this.#limit.run(() => this.#withPooledClient(work, options));
  }

  /** With `isOneOff` the connection is not used again after an error, since its state is unknown. */
  async #withPooledClient<T>(work: (client: pg.PoolClient) => Promise<T>, { isOneOff = false } = {}): Promise<T> {
    const connections = this.#connections;
    if (connections.pool.waitingCount >= MAX_WAITING) throw tooManyWait();
    let client: DatabaseSession & pg.PoolClient;
    try {
      client = await connections.take();
    } catch (error) {
      throw new DatabaseUnavailable("the database cannot be reached", { cause: error });
    }
    const ended = connections.watch(client);
    try {
      await connections.applyLater(client);
      const result = await work(client);
      if (client.isCommitUnconfirmed) throw new Error("the connection is given up: its commit did not wait for the standby");
      client.release();
      return result;
    } catch (error) {
      const isLost = isConnectionError(error);
      if (isStorageFault(sqlState(error) ?? "")) connections.hasStorageFault = true;
      client.release(isLost || isOneOff || sqlState(error) === READ_ONLY);
      throw isLost ? new ConnectionLost(client, error) : error;
    } finally {
      ended();
    }
  }
}

const tooManyWait = (): DatabaseUnavailable => new DatabaseUnavailable("too many requests wait for a database connection");

// Another client of the pooler can take the server connection between two statements of a probe, and hide the sharing.
const PROBES = 3;

/** Names the server connection of a statement. Two servers behind one address may use the same process id. The statement has no name,
 *  since a pooler need not support prepared statements. */
async function serverConnection(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ name: string }>("select pg_backend_pid() || ' ' || pg_postmaster_start_time() as name");
  return rows[0]?.name ?? "";
}

async function run<T>(client: pg.ClientBase, { name, text, values }: Sql): Promise<T[]> {
  const result = await client.query({ name, text, values: values as unknown[] });
  return result.rows as T[];
}

// 57P01–57P03: the server is stopping or starting. 08: connection exceptions.
const isServerGone = (code: string): boolean => code.startsWith("57P") || code.startsWith("08");
/** The server has become a standby, or permits no more writing. */
const READ_ONLY = "25006";
/** Out of disk or memory, or an error of the disk. */
const isStorageFault = (code: string): boolean => /^(53[12]|58)/.test(code);
// 40: a deadlock. 53: out of disk, memory or connections. 57014: the statement took too long. 58: an error of the disk.
const isServerUnfit = (code: string): boolean => code === READ_ONLY || code === "57014" || /^(40|53|58)/.test(code);

/** Whether the state is about the server, and not about a statement or a login. */
export const isServerTrouble = (code: string): boolean => isServerGone(code) || isServerUnfit(code);

/** The SQLSTATE of an error of the server. */
export const sqlState = (error: unknown): string | undefined => (error instanceof pg.DatabaseError ? error.code : undefined);

/** Whether the connection failed: an error of a socket, or of a server that stops, and not the server's response to the statement. */
function isConnectionError(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return isServerGone(state);
  if (!(error instanceof Error)) return false;
  const { syscall, code = "" } = error as NodeJS.ErrnoException;
  return syscall !== undefined || /^(E[A-Z]+|ERR_(SSL|TLS|STREAM|SOCKET)\w*)$/.test(code) || isLossByDriver(error);
}

/** Whether the fault is in the database and not in the request, so that the client can retry later. */
export function isDatabaseTrouble(error: unknown): boolean {
  return error instanceof DatabaseUnavailable || error instanceof ConnectionLost || isServerUnfit(sqlState(error) ?? "");
}

/** Whether the server refused the content of a row (data, constraints, limits, an operator's trigger). A retry of the same row cannot
 *  succeed, and the other rows of the batch are not at fault. */
export const isRowRefused = (error: unknown): boolean => /^(21|22|23|44|54|P0)/.test(sqlState(error) ?? "");
