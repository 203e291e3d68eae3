/** The connection to PostgreSQL, embedded or not: a bounded pool, limits on every statement, and error classes by their meaning for the
 *  interrupted work. */
import pg from "pg";
import { ConcurrencyLimit } from "../lib/concurrency-limit.ts";
import { uuidFromText } from "../lib/uuid.ts";
import { speedUpBind, type BindingConnection } from "./bind.ts";
import { needsVerifiedTls, refuseClearTextPassword, verifyServer, type DatabaseAddress } from "./database-address.ts";
import { sql, type Sql } from "./sql.ts";

type Settings = Readonly<Record<string, string>>;

/** `poolSize`: the most connections at a time. `settings` replaces the settings of each session, and `connectTimeoutMs` the time limit for a
 *  connection, for the statements of tests. */
export type DatabaseTarget = (DatabaseAddress | { socketDir: string; user: string; database: string }) & {
  poolSize?: number;
  settings?: Settings;
  connectTimeoutMs?: number;
};

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
  constructor(session: string, cause: unknown) {
    super("the database connection was lost with a statement under way", { cause });
    this.session = session;
  }
}

// Enough for four accepts, three advances, claims, some readers and maintenance. More connections only add work to the server.
const POOL_SIZE = 16;
// Requests wait while the pool is empty. Beyond this number the service is overloaded and responds with 503.
const MAX_WAITING = 500;
const CONNECT_TIMEOUT_MS = 5_000;
// No statement needs a second. After ten seconds the database has a problem, and the client gets an error.
const STATEMENT_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;

// Each statement has one good plan for all values: probes of an index, row by row. Planning for each execution would cost more than
// the execution, and a planner without statistics of a new table would sort or hash the whole table. A bitmap scan of a small table
// looks cheap to the planner as well, but has to read the dead rows of a queue each time. A sort of all weeks looks as cheap as reading
// them side by side in order, which ends at the limit of the statement.
const PLANNING = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_sort: "off",
  jit: "off",
};

const SETTINGS: Settings = {
  ...PLANNING,
  statement_timeout: `${STATEMENT_TIMEOUT_MS}ms`,
  idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_TIMEOUT_MS}ms`,
};

const TYPE = { int8: 20, uuid: 2950 } as const;

// The types of the driver declare only a list of names for the type numbers that a server may send.
const builtin = pg.types as unknown as { getTypeParser(oid: number, format?: string): (text: string) => unknown };

const types = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    if (oid === TYPE.uuid) return uuidFromText;
    if (oid === TYPE.int8) return Number;
    return builtin.getTypeParser(oid, format);
  },
};

/** The connections of a process: the pool, and new ones outside the pool. */
type Connections = {
  pool: pg.Pool;
  newClient: () => pg.Client;
  begin: (client: pg.ClientBase) => Promise<void>;
  /** The limits of the shares. */
  limits: ConcurrencyLimit[];
  /** Settings for all sessions that became known after the first sessions had begun. */
  late: Map<string, string>;
  /** How many of the late settings a session has. */
  known: WeakMap<pg.ClientBase, number>;
};

function openConnections(target: DatabaseTarget, nodeName: string, onIdleError: (error: Error) => void): Connections {
  let sessions = 0;
  const nextSession = (): string => `godwit ${nodeName} ${(sessions += 1)}`;
  const isVerified = "url" in target && needsVerifiedTls(target);
  class NamedClient extends pg.Client {
    constructor(config: pg.ClientConfig) {
      super(config);
      // Not in the configuration, where a name in the URL would take precedence: the name of each session must be unique.
      (this as unknown as { connectionParameters: { application_name: string } }).connectionParameters.application_name = nextSession();
      // The pool listens for errors only while a client is idle. Without this listener, a connection that is lost in use would end
      // the process. Its statement fails by itself, and the pool drops the client.
      this.on("error", () => undefined);
      if (isVerified) verifyServer(this);
      refuseClearTextPassword(this);
      speedUpBind((this as unknown as { connection: BindingConnection }).connection);
    }
  }
  const begin = (client: pg.ClientBase): Promise<void> => beginSession(client, target.settings ?? SETTINGS);
  const config = {
    ...("url" in target ? { connectionString: target.url } : { host: target.socketDir, user: target.user, database: target.database }),
    types: types,
    connectionTimeoutMillis: target.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    // Ends a statement on a dead network, where the timeout of the server has no effect.
    query_timeout: STATEMENT_TIMEOUT_MS + 2_000,
    keepAlive: true,
  };
  const pooled = { Client: NamedClient, max: target.poolSize ?? POOL_SIZE, idleTimeoutMillis: 60_000, onConnect: begin };
  const pool = new pg.Pool({ ...config, ...pooled } as unknown as pg.PoolConfig);
  pool.on("error", onIdleError);
  return { pool, newClient: () => new NamedClient(config), begin, limits: [], late: new Map(), known: new WeakMap() };
}

export class Database implements Queryable {
  readonly #connections: Connections;
  readonly #limit: ConcurrencyLimit | undefined;

  constructor(
    target: DatabaseTarget,
    nodeName: string,
    onIdleError: (error: Error) => void,
    { connections = openConnections(target, nodeName, onIdleError), limit }: { connections?: Connections; limit?: ConcurrencyLimit } = {},
  ) {
    this.#connections = connections;
    this.#limit = limit;
    this.#share = (shareLimit) => new Database(target, nodeName, onIdleError, { connections, limit: shareLimit });
  }

  readonly #share: (limit: ConcurrencyLimit) => Database;

  /** The same database for one kind of work, which uses at most so many connections of the pool at a time. The other connections stay free
   *  for the other kinds of work. */
  share({ maxConnections, maxWaiting }: { maxConnections: number; maxWaiting: number }): Database {
    const limit = new ConcurrencyLimit(maxConnections, maxWaiting);
    this.#connections.limits.push(limit);
    return this.#share(limit);
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
        const result = await work((text) => client.query({ text, query_timeout: statementTimeoutMs + 1_000 } as pg.QueryConfig));
        await client.query(`set statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
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

  /** Opens a connection outside the pool, for work that keeps one. The caller ends it. */
  async openConnection(): Promise<pg.Client> {
    const { newClient, begin } = this.#connections;
    const client = newClient();
    await client.connect();
    try {
      await begin(client);
      return client;
    } catch (error) {
      await client.end();
      throw error;
    }
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

  /** Sets a custom setting for every session of the pool, before its next statement. The value is a parameter, so that no list of running
   *  statements shows it. */
  setForSessions(name: string, value: string): void {
    this.#connections.late.set(name, value);
  }

  /** The present use of the pool, and how much work waits for a connection. */
  get load(): { busy: number; idle: number; waiting: number } {
    const { pool, limits } = this.#connections;
    const { totalCount, idleCount, waitingCount } = pool;
    const waiting = limits.reduce((sum, limit) => sum + limit.waiting, waitingCount);
    return { busy: totalCount - idleCount, idle: idleCount, waiting };
  }

  async close(): Promise<void> {
    await this.#connections.pool.end();
  }

  async #withClient<T>(work: (client: pg.PoolClient) => Promise<T>, options?: { isOneOff: boolean }): Promise<T> {
    const limit = this.#limit;
    if (limit === undefined) return this.#withPooledClient(work, options);
    if (limit.isFull) throw tooManyWait();
    return limit.run(() => this.#withPooledClient(work, options));
  }

  /** With `isOneOff` the connection is not used again after an error, since its state is unknown. */
  async #withPooledClient<T>(work: (client: pg.PoolClient) => Promise<T>, { isOneOff = false } = {}): Promise<T> {
    const { pool, late, known } = this.#connections;
    if (pool.waitingCount >= MAX_WAITING) throw tooManyWait();
    let client: pg.PoolClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw new DatabaseUnavailable("the database cannot be reached", { cause: error });
    }
    try {
      if (late.size !== (known.get(client) ?? 0)) await applyLate(client, this.#connections);
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      const isLost = isConnectionError(error);
      client.release(isLost || isOneOff);
      throw isLost ? new ConnectionLost(sessionOf(client), error) : error;
    }
  }
}

const tooManyWait = (): DatabaseUnavailable => new DatabaseUnavailable("too many requests wait for a database connection");

async function applyLate(client: pg.ClientBase, { late, known }: Connections): Promise<void> {
  for (const [name, value] of late) await client.query({ text: "select set_config($1, $2, false)", values: [name, value] });
  known.set(client, late.size);
}

const sessionOf = (client: pg.ClientBase): string =>
  (client as unknown as { connectionParameters: { application_name: string } }).connectionParameters.application_name;

/** Sets the settings by a statement, because PgBouncer refuses start-up parameters that it does not know. It sets the name again, to which
 *  PgBouncer may have added a host. In session mode, PgBouncer assigns a server connection with the first statement: from here on a
 *  statement cannot wait in PgBouncer, where `endSession` would not find it. */
async function beginSession(client: pg.ClientBase, settings: Settings): Promise<void> {
  const all = Object.entries({ ...settings, application_name: sessionOf(client) });
  const text = all.map(([name, value]) => `set ${name} = ${client.escapeLiteral(value)}`).join(";\n");
  await client.query({ text, query_timeout: CONNECT_TIMEOUT_MS } as pg.QueryConfig);
}

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
// 25006: the server is a standby. 40: a deadlock. 53: out of disk, memory or connections. 57014: the statement took too long.
const isServerUnfit = (code: string): boolean => code === "25006" || code === "57014" || /^(40|53)/.test(code);

const sqlState = (error: unknown): string | undefined => (error instanceof pg.DatabaseError ? error.code : undefined);

/** Whether the connection failed: an error of a socket, or of a server that stops, and not the server's response to the statement. */
function isConnectionError(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return isServerGone(state);
  if (!(error instanceof Error)) return false;
  const { syscall, code = "" } = error as NodeJS.ErrnoException;
  return (
    syscall !== undefined ||
    /^(E[A-Z]+|ERR_(SSL|TLS|STREAM|SOCKET)\w*)$/.test(code) ||
    /[Cc]onnection|[Qq]uery read timeout/.test(error.message)
  );
}

/** Whether the fault is in the database and not in the request, so that the client can retry later. */
export function isDatabaseTrouble(error: unknown): boolean {
  return error instanceof DatabaseUnavailable || error instanceof ConnectionLost || isServerUnfit(sqlState(error) ?? "");
}

/** Whether the server refused the content of a row (data, constraints, limits, an operator's trigger). A retry of the same row cannot
 *  succeed, and the other rows of the batch are not at fault. */
export const isRowRefused = (error: unknown): boolean => /^(21|22|23|44|54|P0)/.test(sqlState(error) ?? "");
