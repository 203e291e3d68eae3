/** The connections to PostgreSQL: a pool, and single ones outside it. Every session has a name of its own and the settings of this service, and
 *  is on the primary, except in a pool for a standby. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { ConcurrencyLimit } from "../lib/concurrency-limit.ts";
import { uuidFromText } from "../lib/uuid.ts";
import { clientConfig, serverName, type DatabaseAddress } from "./database-address.ts";
import { DatabaseServers, serverUrls, type Timeline } from "./database-servers.ts";
import { History, type Witness } from "./history.ts";
import type { Sql } from "./sql.ts";
import { sessionName } from "./session-names.ts";
import { DriverClient, socketConfig, type PoolOptions, type TimedQuery } from "./driver.ts";

type Settings = Readonly<Record<string, string>>;

/** `poolSize`: the most connections at a time. `settings` replaces the settings of each session, for the statements of tests. `connectTimeoutMs` and
 *  `statementTimeoutMs` replace the time limits. `checkStandby` makes the target a standby: the function checks each new session, and returns the
 *  number of its server. Sessions of servers with lower numbers are not used any more. */
export type DatabaseTarget = (DatabaseAddress | { socketDir: string; user: string; database: string }) & {
  poolSize?: number;
  settings?: Settings;
  connectTimeoutMs?: number;
  statementTimeoutMs?: number;
  checkStandby?: (session: DatabaseSession) => Promise<number>;
};

// Enough for four accepts, three advances, claims, some readers and maintenance. More connections only add work to the server.
const POOL_SIZE = 16;
const CONNECT_TIMEOUT_MS = 5_000;
// Statements take milliseconds. A server that takes longer may have vanished, and another one may be the primary by now.
const SUSPECT_MS = 2_000;
// No statement needs a second. After ten seconds the database has a problem, and the client gets an error.
export const STATEMENT_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;
// A statement that waits for a lock would be committed for a process that has died: its messages would be `sending`, and no process would send them.
const CONNECTION_CHECK_MS = 250;

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
  idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_TIMEOUT_MS}ms`,
  client_connection_check_interval: `${CONNECTION_CHECK_MS}ms`,
  // A role may have another level. The warning about a commit that did not wait for its standby must arrive.
  client_min_messages: "warning",
};

const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.UUID, uuidFromText);
// A number beyond those that JavaScript has exactly would be rounded, possibly to one that PostgreSQL refuses as a parameter.
types.setTypeParser(pg.types.builtins.INT8, (text) => Math.min(Math.max(Number(text), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER));

// JavaScript has no date for `infinity`, nor for the last years of PostgreSQL. Code that reads a time always gets a date that it can store.
const FIRST_TIME_MS = Date.UTC(-4712, 0, 1);
const LAST_TIME_MS = 8.64e15;
const parseTime = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ) as (text: string) => Date | number;
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => {
  const time = parseTime(text);
  if (time instanceof Date && !Number.isNaN(time.getTime())) return time;
  return new Date(text.startsWith("-") || text.endsWith("BC") ? FIRST_TIME_MS : LAST_TIME_MS);
});

/** A standby may be promoted. */
export class ReadOnlyServer extends Error {
  override name = "ReadOnlyServer";
  constructor() {
    super("the server only permits reading: it is a standby, or its default_transaction_read_only is on");
  }
}

/** `config` reads the files of the certificates again for each session. */
type Server = { name: string; config: () => pg.ClientConfig };
type SessionConfig = pg.ClientConfig & { application_name: string };

/** A session. Its name is unique, so that a lost session can be found and ended. */
export class DatabaseSession extends DriverClient {
  readonly sessionName: string;
  /** The timeline of its server. Each promotion of a standby begins a new one. Zero if the server does not tell. For a session on a standby, the
   *  number that `checkStandby` returned. */
  timeline = 0;
  /** Whether a commit returned before its synchronous standby had it, because somebody canceled the wait. */
  isCommitUnconfirmed = false;
  /** How many of the settings that became known later the session has. */
  laterSettings = 0;

  constructor(config: SessionConfig) {
    super(config);
    this.sessionName = config.application_name;
    // The pool listens for errors only while a client is idle. Without this listener, a connection that is lost in use would end
    // the process. Its statement fails by itself, and the pool drops the client.
    this.on("error", () => undefined);
    // The text of the warning depends on the language of the server, and its SQLSTATE is that of all warnings.
    this.on("notice", ({ routine }) => (this.isCommitUnconfirmed ||= routine === "SyncRepWaitForLSN"));
  }
}

/** The pool of a process, and new sessions outside the pool. */
export class Connections {
  readonly pool: pg.Pool;
  /** Whether a statement failed for lack of disk or memory, and nothing that needs them was done since. */
  hasStorageFault = false;
  /** The limits of the shares of the pool. */
  readonly limits: ConcurrencyLimit[] = [];
  readonly history = new History();
  readonly #servers: DatabaseServers;
  readonly #targets: readonly Server[];
  readonly #nodeName: string;
  readonly #connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly #checkStandby: DatabaseTarget["checkStandby"];
  #sessions = 0;
  readonly #settings: Settings;
  /** The work that has not ended, if there are several servers. A session of the pool does one after the other. */
  readonly #works = new Set<{ session: DatabaseSession }>();
  /** Settings for all sessions that became known after the first sessions had begun. */
  readonly #later = new Map<string, string>();

  constructor(target: DatabaseTarget, nodeName: string, onIdleError: (error: Error) => void) {
    this.#targets = serversOf(target);
    this.#servers = new DatabaseServers(this.#targets.length, (position) => this.#probe(position));
    this.#nodeName = nodeName;
    this.#connectTimeoutMs = target.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
    this.statementTimeoutMs = target.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
    this.#settings = target.settings ?? { ...SETTINGS, statement_timeout: `${this.statementTimeoutMs}ms` };
    this.#checkStandby = target.checkStandby;
    const nextConfig = (): SessionConfig => this.#config(this.#servers.current);
    const options: PoolOptions = {
      /** The pool passes its own configuration, which names no server. */
      Client: class extends DatabaseSession {
        constructor() {
          super(nextConfig());
        }
      },
      max: target.poolSize ?? POOL_SIZE,
      idleTimeoutMillis: 60_000,
      connectionTimeoutMillis: this.#connectTimeoutMs,
      onConnect: (client) => this.#begin(client as DatabaseSession),
    };
    this.pool = new pg.Pool(options);
    this.pool.on("error", onIdleError);
  }

  /** The latest timeline of a session; zero if the server does not tell. */
  get timeline(): number {
    return this.#servers.timeline;
  }

  take(): Promise<DatabaseSession & pg.PoolClient> {
    return this.#onPrimary(() => this.#takeCurrent());
  }

  /** Watches a session until the returned function is called. If its work takes long and another server has become the primary, the session
   *  is given up, and so are all others on the former primary. */
  watch(session: DatabaseSession): () => void {
    if (!this.#servers.areSeveral) return () => undefined;
    const work = { session };
    this.#works.add(work);
    const timer = setTimeout(() => void this.#lookForSuccessor(work), SUSPECT_MS);
    return () => {
      clearTimeout(timer);
      this.#works.delete(work);
    };
  }

  async #lookForSuccessor(work: { session: DatabaseSession }): Promise<void> {
    while (this.#works.has(work)) {
      try {
        await this.#servers.find();
      } catch {
        // The next search begins. A search in vain pauses by itself.
        continue;
      }
      for (const { session } of this.#works)
        if (session.timeline < this.timeline) session.giveUp(new Error("another server has become the primary"));
      await sleep(SUSPECT_MS);
    }
  }

  /** Opens a session outside the pool. The caller ends it. */
  open(): Promise<DatabaseSession> {
    return this.#onPrimary(() => this.#open(this.#servers.current));
  }

  /** Sets a custom setting for every session of the pool, before its next statement. The value is a parameter, so that no list of running
   *  statements shows it. */
  setForSessions(name: string, value: string): void {
    this.#later.set(name, value);
  }

  /** Gives a session the settings that became known after its begin. */
  async applyLater(session: DatabaseSession): Promise<void> {
    if (session.laterSettings === this.#later.size) return;
    for (const [name, value] of this.#later) await session.query({ text: "select set_config($1, $2, false)", values: [name, value] });
    session.laterSettings = this.#later.size;
  }

  /** Opens a session. If the server has failed, or is no longer the primary, the primary is looked for. After a search in vain the next
   *  search comes before a new connection, which to a server that has vanished would take its whole time limit. A session of the pool comes
   *  before a search, which also fails if the server has no more connections. */
  async #onPrimary<T>(open: () => Promise<T>): Promise<T> {
    if (!this.#servers.isLost || this.pool.idleCount > 0)
      try {
        return await open();
      } catch (error) {
        if (!this.#servers.areSeveral) throw error;
      }
    await this.#servers.find();
    return open();
  }

  /** Takes a session of the pool, and drops those on servers that were the primary before. */
  async #takeCurrent(): Promise<DatabaseSession & pg.PoolClient> {
    for (;;) {
      const session = (await this.pool.connect()) as DatabaseSession & pg.PoolClient;
      if (session.timeline === this.timeline) return session;
      session.release(true);
    }
  }

  async #open(position: number): Promise<DatabaseSession> {
    const session = new DatabaseSession(this.#config(position));
    await session.connect();
    try {
      await this.#begin(session);
      return session;
    } catch (error) {
      await session.end();
      throw error;
    }
  }

  async #probe(position: number): Promise<void> {
    try {
      const session = await this.#open(position);
      await session.end();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`${this.#targets[position]?.name}: ${reason}`, { cause: error });
    }
  }

  /** The configuration of a new session. A name in the URL or in PGAPPNAME has no effect. */
  #config(position: number): SessionConfig {
    this.#sessions += 1;
    return {
      // Ends a statement on a dead network, where the timeout of the server has no effect.
      query_timeout: this.statementTimeoutMs + 2_000,
      ...this.#targets[position]?.config(),
      types,
      connectionTimeoutMillis: this.#connectTimeoutMs,
      keepAlive: true,
      application_name: sessionName(this.#nodeName, this.#sessions),
    };
  }

  async #begin(session: DatabaseSession): Promise<void> {
    await beginSession(session, this.#settings);
    if (this.#checkStandby !== undefined) {
      session.timeline = await this.#checkStandby(session);
      return this.#servers.noteTimeline({ number: session.timeline, mark: null });
    }
    await requirePrimary(session);
    const timeline = await readTimeline(session);
    if (this.timeline > 0 && timeline.number > this.timeline) await this.#checkHistory(session);
    session.timeline = timeline.number;
    this.#servers.noteTimeline(timeline);
  }

  /** Before the timeline is noted, so that no other session of this process is used on it. */
  async #checkHistory(session: DatabaseSession): Promise<void> {
    await inTransaction(session, (tx) => this.history.check(tx));
  }
}

/** Runs statements in one transaction of a session that nothing else uses yet. */
async function inTransaction(session: DatabaseSession, work: (tx: Parameters<Witness>[0]) => Promise<void>): Promise<void> {
  await session.query("begin");
  await work({ rows: async <T>({ text, values }: Sql) => (await session.query({ text, values: values as unknown[] })).rows as T[] });
  await session.query("commit");
}

function serversOf(target: DatabaseTarget): Server[] {
  if ("url" in target)
    return serverUrls(target.url).map((url) => ({ name: serverName(url), config: () => clientConfig({ ...target, url }) }));
  const { socketDir, user, database } = target;
  return [{ name: socketDir, config: () => socketConfig({ host: socketDir, user, database }) }];
}

/** Sets the settings by a statement, because PgBouncer refuses start-up parameters that it does not know. It sets the name again, to which
 *  PgBouncer may have added a host. In session mode, PgBouncer assigns a server connection with the first statement: from here on a
 *  statement cannot wait in PgBouncer, where `endSession` would not find it. */
async function beginSession(session: DatabaseSession, settings: Settings): Promise<void> {
  const all = Object.entries({ ...settings, application_name: session.sessionName });
  const text = all.map(([name, value]) => `set ${name} = ${session.escapeLiteral(value)}`).join(";\n");
  const query: TimedQuery = { text, query_timeout: CONNECT_TIMEOUT_MS };
  await session.query(query);
}

async function requirePrimary(session: DatabaseSession): Promise<void> {
  const { rows } = await session.query<{ transaction_read_only: string }>("show transaction_read_only");
  if (rows[0]?.transaction_read_only === "on") throw new ReadOnlyServer();
}

/** The name of a WAL file begins with the timeline. A managed server may not permit the functions. */
async function readTimeline(session: DatabaseSession): Promise<Timeline> {
  try {
    const { rows } = await session.query<{ name: string; has_marks: boolean }>(`
      select pg_walfile_name(pg_current_wal_lsn()) as name,
             exists (select
                       from pg_attribute
                      where attrelid = to_regclass('installation') and attname = 'marked_by') as has_marks`);
    const number = Number.parseInt(rows[0]?.name.slice(0, 8) ?? "0", 16);
    return { number, mark: rows[0]?.has_marks === true ? await markTimeline(session, number) : null };
  } catch (error) {
    if (error instanceof pg.DatabaseError && /^(0A|42)/.test(error.code ?? "")) return { number: 0, mark: null };
    throw error;
  }
}

/** Returns the mark of the timeline, and stores one on a timeline that has none. */
async function markTimeline(session: DatabaseSession, timeline: number): Promise<string | null> {
  const read = async (): Promise<string | undefined> => {
    const text = "select timeline_mark::text as mark from installation where timeline = $1";
    const { rows } = await session.query<{ mark: string }>({ text, values: [timeline] });
    return rows[0]?.mark;
  };
  const mark = await read();
  if (mark !== undefined) return mark;
  const text = `
    update installation
       set timeline = $1, timeline_mark = made.mark, marked_by_of = made.mark, marked_by = pg_current_xact_id()
      from (select gen_random_uuid() as mark) made
     where timeline is distinct from $1`;
  await session.query({ text, values: [timeline] });
  return (await read()) ?? null;
}
