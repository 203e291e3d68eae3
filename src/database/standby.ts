/** Reads from a standby that has everything that was committed until a few seconds ago (decision 0080).
 *
 *  The node reads the position of the primary's log every second, and notes when it asked for it, by its own clock. A standby that has replayed the
 *  log up to that position has everything that was committed before that moment. So the age of what a read sees is bounded without comparing clocks of
 *  machines, and an idle primary needs no writes. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { RepeatingJob } from "../lib/background-job.ts";
import type { DatabaseSession } from "./connections.ts";
import type { DatabaseAddress } from "./database-address.ts";
import { ConnectionLost, Database, DatabaseUnavailable, sqlState } from "./database.ts";
import { prepare } from "./sql.ts";

/** A position in the log that the primary had at that moment or later, by the clock of this process. */
type Sample = { position: bigint; atMs: number };

type PrimaryState = { position: string; history: string };
type StandbyState = { is_standby: boolean; replayed: string | null; history: string; name: string };

/** The server of the sessions. Another one has a higher number, and so has the same one after a restart, which may show an earlier state. `mark`:
 *  the same for all nodes that read from this server. */
type StandbyServer = { number: number; mark: Buffer };

/** Which server has served a read. `repeated`: the primary, after the standby failed. */
export type Served = "standby" | "primary" | "repeated";

/** Reads from a standby or from the primary. */
export type DatabaseReader = <T>(read: (db: Database) => Promise<T>) => Promise<T>;

type StandbyOptions = {
  primary: Database;
  address: DatabaseAddress;
  maxLagMs: number;
  nodeName: string;
  poolSize: number;
  served: (by: Served) => void;
  /** Called when reads begin to use the standby, and with the reason when they stop. */
  changed: (reason: string | undefined) => void;
};

const EVERY_MS = 1_000;
// The lag is measured up to this many seconds; beyond, it is counted from the last measurement.
const MOST_SAMPLES = 900;
const CONNECT_TIMEOUT_MS = 2_000;
const LOOK_TIMEOUT_MS = 2_000;
// Half of the limit on the primary, on which the read may have to be repeated.
const READ_TIMEOUT_MS = 5_000;
// A healthy standby is milliseconds behind.
const CATCH_UP_MS = 1_000;
const CATCH_UP_PAUSE_MS = 20;
const MARK_BYTES = 6;

// The mark is stored anew on each timeline, so that a standby of a former primary or of a restored copy has another one.
const HISTORY = "(select concat(to_jsonb(installation) ->> 'id', ' ', to_jsonb(installation) ->> 'timeline_mark') from installation)";

// A commit is visible when it has been flushed.
const PRIMARY_STATE = prepare(`select (pg_current_wal_flush_lsn() - '0/0')::text as position, ${HISTORY} as history`);

// A server that has restarted has another name.
const STANDBY_STATE = `
  select pg_is_in_recovery() as is_standby, (pg_last_wal_replay_lsn() - '0/0')::text as replayed, ${HISTORY} as history,
         concat(extract(epoch from pg_postmaster_start_time()), ' ', inet_server_addr(), ' ', inet_server_port()) as name`;

export class Standby {
  /** The database of the standby. Use it in `read`. */
  readonly db: Database;
  readonly #options: StandbyOptions;
  readonly #job: RepeatingJob;
  #samples: Sample[] = [];
  #sampledAtMs = 0;
  #history: string | undefined;
  #server: StandbyServer & { name: string } = { number: 0, mark: Buffer.alloc(MARK_BYTES), name: "" };
  #fault: string | undefined = "it has not responded yet";
  #hasAllUntilMs: number | undefined;
  readonly #madeMs = performance.now();
  #wasUsable: boolean | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: StandbyOptions) {
    const { address, nodeName, poolSize } = options;
    this.#options = options;
    this.db = new Database(
      {
        ...address,
        poolSize,
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
        statementTimeoutMs: READ_TIMEOUT_MS,
        checkStandby: (session) => this.#check(session),
      },
      `${nodeName}-standby`,
    );
    this.#job = new RepeatingJob({ turns: [() => this.#turn()], onError: () => undefined, stopWithinMs: LOOK_TIMEOUT_MS });
  }

  start(): void {
    this.#job.start();
  }

  async stop(): Promise<void> {
    await this.#job.stop();
    await this.db.close();
  }

  get server(): StandbyServer {
    return this.#server;
  }

  /** The age of the last moment until which the standby certainly has everything. Before the first measurement, the age of this object. */
  get lagMs(): number {
    return performance.now() - (this.#hasAllUntilMs ?? this.#madeMs);
  }

  get isUsable(): boolean {
    return this.#fault === undefined && this.#hasAllUntilMs !== undefined && this.lagMs <= this.#options.maxLagMs;
  }

  /** Reads from the standby, if it is still this server. Returns undefined if the primary has to be read: the standby is away or too far behind, or it
   *  canceled the read, such as for a conflict with its recovery. */
  async read<T>({ number }: StandbyServer, work: () => Promise<T>): Promise<{ value: T } | undefined> {
    const { served } = this.#options;
    if (number !== this.#server.number || !this.isUsable) {
      served("primary");
      return undefined;
    }
    try {
      const value = await work();
      // A session that was opened meanwhile may be one of another server.
      if (number === this.#server.number) {
        served("standby");
        return { value };
      }
    } catch (error) {
      const isLost = error instanceof DatabaseUnavailable || error instanceof ConnectionLost;
      if (!isLost && sqlState(error) === undefined) throw error;
      if (isLost) this.#lose(error);
    }
    served("repeated");
    return undefined;
  }

  /** Returns a reader for several reads in a row. It uses the standby if that has everything that was committed until now, and the primary from the
   *  first read on that the standby does not serve. */
  async openReader(): Promise<DatabaseReader> {
    const { primary, served } = this.#options;
    let server = this.isUsable && (await this.#catchUp()) ? this.#server : undefined;
    return async (read) => {
      const found = server && (await this.read(server, () => read(this.db)));
      if (found !== undefined) return found.value;
      if (server === undefined) served("primary");
      server = undefined;
      return read(primary);
    };
  }

  async #catchUp(): Promise<boolean> {
    const sinceMs = performance.now();
    await this.#sample();
    while (this.isUsable && performance.now() < sinceMs + CATCH_UP_MS) {
      await this.#look();
      if (this.#hasAllUntilMs !== undefined && this.#hasAllUntilMs >= sinceMs) return this.isUsable;
      await sleep(CATCH_UP_PAUSE_MS);
    }
    return false;
  }

  async #turn(): Promise<number> {
    // While the primary is away there are no new samples, and the lag grows.
    await this.#sample().catch(() => undefined);
    await this.#look();
    this.#report();
    return EVERY_MS;
  }

  async #sample(): Promise<void> {
    const atMs = performance.now();
    const [row] = await this.#options.primary.rows<PrimaryState>({ ...PRIMARY_STATE, values: [] });
    if (row === undefined || atMs < this.#sampledAtMs) return;
    this.#sampledAtMs = atMs;
    // Positions of two timelines cannot be compared.
    if (row.history !== this.#history) {
      this.#samples = [];
      this.#hasAllUntilMs = undefined;
    }
    this.#history = row.history;
    const position = BigInt(row.position);
    const last = this.#samples.at(-1);
    if (last?.position === position) last.atMs = atMs;
    else this.#samples.push({ position, atMs });
    if (this.#samples.length > MOST_SAMPLES) this.#samples.shift();
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookNow().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  /** A session whose server is no longer a standby is ended by the error. */
  async #lookNow(): Promise<void> {
    try {
      await this.db.session(LOOK_TIMEOUT_MS, async (run) => {
        const { rows } = await run(STANDBY_STATE);
        this.#note(rows[0] as StandbyState);
      });
    } catch (error) {
      this.#lose(error);
    }
  }

  async #check(session: DatabaseSession): Promise<number> {
    const { rows } = await session.query<StandbyState>(STANDBY_STATE);
    const state = rows[0] as StandbyState;
    requireStandby(state);
    if (state.name !== this.#server.name) {
      const mark = createHash("sha256").update(state.name).digest().subarray(0, MARK_BYTES);
      this.#server = { number: this.#server.number + 1, mark, name: state.name };
      this.#hasAllUntilMs = undefined;
    }
    return this.#server.number;
  }

  #note(state: StandbyState): void {
    requireStandby(state);
    if (state.name !== this.#server.name) throw new Error("another standby has responded");
    if (this.#history === undefined) throw new Error("the position of the primary is not known");
    if (state.history !== this.#history)
      throw new Error("it does not follow this primary: it has another history, or belongs to another database");
    const replayed = BigInt(state.replayed ?? 0);
    const sample = this.#samples.findLast(({ position }) => position <= replayed);
    if (sample !== undefined) this.#hasAllUntilMs = Math.max(this.#hasAllUntilMs ?? 0, sample.atMs);
    this.#fault = undefined;
  }

  #lose(error: unknown): void {
    this.#fault = reasonOf(error);
    this.#report();
  }

  #report(): void {
    if (this.isUsable === this.#wasUsable) return;
    this.#wasUsable = this.isUsable;
    const { changed, maxLagMs } = this.#options;
    changed(this.isUsable ? undefined : (this.#fault ?? `it is more than ${maxLagMs / 1_000} seconds behind the primary`));
  }
}

function requireStandby({ is_standby: isStandby }: StandbyState): void {
  if (!isStandby) throw new Error("it is not a standby");
}

/** The reasons of all servers of the URL. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join("; ");
  if (!(error instanceof Error)) return String(error);
  return error instanceof DatabaseUnavailable && error.cause !== undefined ? reasonOf(error.cause) : error.message;
}
