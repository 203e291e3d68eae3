/** The connection to PostgreSQL, embedded or not: a bounded pool, limits on every statement, and errors told apart by
 *  what they mean for the work that was under way. */
import pg from "pg";
import { uuidFromText } from "../lib/uuid.ts";
import { speedUpBind, type BindingConnection } from "./bind.ts";
import { sql, type Sql } from "./sql.ts";

export type DatabaseTarget = { url: string } | { socketDir: string; user: string; database: string };

/** Anything that runs statements: the pool, or one transaction on it. */
export type Queryable = { rows<T>(statement: Sql): Promise<T[]> };
export type Tx = Queryable;

/** Nothing of this statement was done: no connection could be had. */
export class DatabaseUnavailable extends Error {
  override name = "DatabaseUnavailable";
}

/** The connection died with a statement under way: it may have committed or not. */
export class ConnectionLost extends Error {
  override name = "ConnectionLost";
  /** The name of the lost session, by which a new connection can make sure that the old one is over. */
  readonly session: string;
  constructor(session: string, cause: unknown) {
    super("the database connection was lost with a statement under way", { cause });
    this.session = session;
  }
}

// Four accepting, three advancing, claims, some readers and the maintenance fit; more only add work to the server.
const POOL_SIZE = 16;
// Requests that find the pool empty wait here; past this many the service is overloaded and says so.
const MAX_WAITING = 500;
const CONNECT_TIMEOUT_MS = 5_000;
// No statement of ours needs a second; ten is a database in trouble, and the client should hear so.
const STATEMENT_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;

// Our statements are written to have one good plan, whatever the values: probes of an index, row by row. Planning anew each
// time would cost more than running them, and a planner without statistics of a young table would sort or hash it whole.
// A bitmap of a small table looks cheap to it as well, and has to read what is dead in a queue each time.
const PLANNING = [
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_bitmapscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  "jit=off",
]
  .map((setting) => `-c ${setting}`)
  .join(" ");

const TYPE = { int8: 20, uuid: 2950 } as const;

// Its types know only a list of names for the numbers that a server may send.
const builtin = pg.types as unknown as { getTypeParser(oid: number, format?: string): (text: string) => unknown };

const types = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    if (oid === TYPE.uuid) return uuidFromText;
    if (oid === TYPE.int8) return Number;
    return builtin.getTypeParser(oid, format);
  },
};

export class Database implements Queryable {
  readonly #pool: pg.Pool;
  readonly #newClient: () => pg.Client;
  #sessions = 0;

  constructor(target: DatabaseTarget, nodeName: string, onIdleError: (error: Error) => void) {
    const nextSession = (): string => `godwit ${nodeName} ${(this.#sessions += 1)}`;
    class NamedClient extends pg.Client {
      constructor(config: pg.ClientConfig) {
        super(config);
        // Not in the configuration, where a name in the URL would win: a session must be told from all others.
        (this as unknown as { connectionParameters: { application_name: string } }).connectionParameters.application_name = nextSession();
        // The pool listens only while a client is idle; a client cut off in use would end the process otherwise. Its
        // statement fails by itself, and the pool drops it.
        this.on("error", () => undefined);
        speedUpBind((this as unknown as { connection: BindingConnection }).connection);
      }
    }
    const config = {
      ...("url" in target ? { connectionString: target.url } : { host: target.socketDir, user: target.user, database: target.database }),
      types: types,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      options: PLANNING,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
      // A statement that outlives its own time-out on a dead network still ends.
      query_timeout: STATEMENT_TIMEOUT_MS + 2_000,
      keepAlive: true,
    };
    this.#newClient = () => new NamedClient(config);
    this.#pool = new pg.Pool({ ...config, Client: NamedClient, max: POOL_SIZE, idleTimeoutMillis: 60_000 } as unknown as pg.PoolConfig);
    this.#pool.on("error", onIdleError);
  }

  async rows<T>(statement: Sql): Promise<T[]> {
    return this.#withClient(async (client) => run<T>(client, statement));
  }

  /** Runs the work in one transaction. Nothing but statements may be awaited inside. */
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

  /** Several statements separated by semicolons, without parameters: for migrations. */
  async script(text: string): Promise<void> {
    await this.#withClient((client) => client.query(text), { isOneOff: true });
  }

  /** One session for work that takes a session-wide lock and long statements. If it throws, the session is ended, and
   *  with it an open transaction and the lock. */
  async session<T>(statementTimeoutMs: number, work: (run: (text: string) => Promise<pg.QueryResult>) => Promise<T>): Promise<T> {
    return this.#withClient(
      async (client) => {
        await client.query(`set statement_timeout = ${Math.trunc(statementTimeoutMs)}`);
        const result = await work((text) => client.query({ text, query_timeout: statementTimeoutMs + 1_000 } as pg.QueryConfig));
        await client.query("reset statement_timeout");
        return result;
      },
      { isOneOff: true },
    );
  }

  /** Makes sure that a lost session can no longer commit anything; throws when that cannot be had. */
  async endSession(session: string): Promise<void> {
    const ended = await this.rows<{ is_over: boolean }>(sql`
      select pg_terminate_backend(pid, 5000) as is_over
        from pg_stat_activity
       where application_name = ${session} and pid <> pg_backend_pid()`);
    if (ended.some((row) => !row.is_over)) throw new Error("a lost session is still running");
    // Ending a session that waits for a synchronous standby makes its commit visible here and, for now, only here. A commit
    // of our own comes after it in the log, and returns when the standby has both.
    await this.rows(sql`select pg_logical_emit_message(true, 'godwit', '')`);
  }

  /** A connection beside the pool, for work that keeps one: whoever opens it ends it. */
  async connectAlone(): Promise<pg.Client> {
    const client = this.#newClient();
    await client.connect();
    return client;
  }

  /** How the pool is used just now. */
  get load(): { busy: number; idle: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /** `isOneOff`: after an error the connection is not used again, whatever state the work left it in. */
  async #withClient<T>(work: (client: pg.PoolClient) => Promise<T>, { isOneOff = false } = {}): Promise<T> {
    if (this.#pool.waitingCount >= MAX_WAITING) throw new DatabaseUnavailable("too many requests wait for a database connection");
    let client: pg.PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      throw new DatabaseUnavailable("the database cannot be reached", { cause: error });
    }
    try {
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

const sessionOf = (client: pg.PoolClient): string =>
  (client as unknown as { connectionParameters: { application_name: string } }).connectionParameters.application_name;

async function run<T>(client: pg.ClientBase, { name, text, values }: Sql): Promise<T[]> {
  const result = await client.query({ name, text, values: values as unknown[] });
  return result.rows as T[];
}

// 57P01–57P03: the server is going down or coming up. 08: connection exceptions.
const isServerGone = (code: string): boolean => code.startsWith("57P") || code.startsWith("08");
// 25006: a standby answered; 40: a deadlock; 53: out of disk, memory or connections; 57014: the statement took too long.
const isServerUnfit = (code: string): boolean => code === "25006" || code === "57014" || /^(40|53)/.test(code);

const sqlState = (error: unknown): string | undefined => (error instanceof pg.DatabaseError ? error.code : undefined);

/** An error that is not the server's answer to the statement, and came from a socket, came from the wire. */
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

/** True for faults of the database rather than of the request: the client may simply try again later. */
export function isDatabaseTrouble(error: unknown): boolean {
  return error instanceof DatabaseUnavailable || error instanceof ConnectionLost || isServerUnfit(sqlState(error) ?? "");
}

/** True when the server refused what a row says (data, constraints, limits, an operator's trigger): retrying the same row
 *  cannot help, and its neighbours are innocent. */
export const isRowRefused = (error: unknown): boolean => /^(21|22|23|44|54|P0)/.test(sqlState(error) ?? "");
