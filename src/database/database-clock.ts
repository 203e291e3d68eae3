/** The clock of the database, without a query for each reading. Ids and time windows use it, so that nodes with different clocks agree on
 *  the order and on expiry.
 *
 *  The clock of a server can be wrong for a while: a step by its operator, a restored snapshot, a failed time service. A step that the
 *  clock of this machine does not confirm is not followed. A node that starts during such a step recognizes it by the time that the nodes
 *  store. */
import { hostname } from "node:os";
import { RepeatingJob } from "../lib/background-job.ts";
import type { Database } from "./database.ts";
import { sql } from "./sql.ts";

// A step of the database's clock is noticed within this time, and other nodes that start learn of it.
const SAMPLE_EVERY_MS = 2_000;

export type Clock = { now(): number };

/** Decides whether a time has come. */
export type DueClock = Clock & { dueNow(): number };

/** One reading of the database's clock, in milliseconds. The other times are those of this process when it asked and when it had the
 *  response: of the monotonic clock, and of the clock of the machine. */
export type ClockSample = { databaseMs: number; sentAtMs: number; receivedAtMs: number; wallMs: number };

// A reading is as uncertain as half of its round trip. After a round trip this long it says nothing about a step.
const MAX_ROUND_TRIP_MS = 1_000;
// Clocks that a time service keeps differ by less, and are corrected in smaller steps.
const MAX_STEP_MS = 500;

// A difference that is reported: the doctor, too, warns above it.
const REPORTED_DIFFERENCE_MS = 1_000;
// A message waits for the clock of this machine for this long at most. That clock may be the wrong one, or stand still.
const MAX_HELD_BACK_MS = 60_000;

// A stored time that is younger, by the clock of the database, is that of a node which runs, or ran a moment ago.
const FRESH_MS = 20_000;

// A machine without a time service may be wrong by seconds, and the service may have been stopped for hours. Within this difference an old
// stored time says nothing about the two clocks, and the node uses that of the database.
const MAX_DIFFERENCE_AT_START_MS = 60_000;

/** The time of a node when it was stored, and those of the database and of the node's machine at the same moment. The last is null if
 *  the node ran on another machine than the one that reads it. */
export type StoredTime = { nodeMs: number; databaseMs: number; machineMs: number | null };

/** The times that a node has at its start. `stored` is null on the first start. */
export type StartTimes = { databaseMs: number; machineMs: number; stored: StoredTime | null };

/** The step of the database's clock that a node leaves out at its start. If the stored time is of the same machine, it shows how wrong the
 *  machine's clock is, so any step is found. If nodes of other machines run, the node leaves out the same step as they do, so that all
 *  nodes have the same time. Otherwise the node uses the machine's clock if that is much nearer to the stored time. */
export function stepAtStart({ databaseMs, machineMs, stored }: StartTimes): number {
  if (stored === null) return 0;
  const { nodeMs } = stored;
  const isNearer = (expectedMs: number, leastMs: number): boolean =>
    Math.abs(databaseMs - nodeMs) - Math.abs(expectedMs - nodeMs) > leastMs;
  const doAgree = Math.abs(databaseMs - machineMs) <= MAX_STEP_MS;
  if (stored.machineMs !== null) {
    const expectedMs = machineMs + nodeMs - stored.machineMs;
    return !doAgree && isNearer(expectedMs, MAX_STEP_MS) ? databaseMs - expectedMs : 0;
  }
  const ageMs = databaseMs - stored.databaseMs;
  const stepMs = stored.databaseMs - nodeMs;
  if (ageMs > -MAX_STEP_MS && ageMs <= FRESH_MS) return Math.abs(stepMs) > MAX_STEP_MS ? stepMs : 0;
  return !doAgree && isNearer(machineMs, MAX_DIFFERENCE_AT_START_MS) ? databaseMs - machineMs : 0;
}

export type Verdict = { kind: "followed" } | { kind: "discarded" } | { kind: "unconfirmed"; stepMs: number };

/** The estimate of the database's clock, and the rules for following a sample. */
export class ClockEstimate {
  /** The database's time at the zero of this process's monotonic clock, which corrections of the system time do not affect. */
  #zeroMs: number | undefined;
  /** The time of this machine at the same zero, when the last sample was followed. */
  #wallZeroMs = 0;

  at(monotonicMs: number): number {
    return Math.trunc((this.#zeroMs ?? performance.timeOrigin) + monotonicMs);
  }

  /** Follows the sample, or says why not. The first sample is followed unless the stored time contradicts it. */
  add({ databaseMs, sentAtMs, receivedAtMs, wallMs }: ClockSample, stored: StoredTime | null = null): Verdict {
    const roundTripMs = receivedAtMs - sentAtMs;
    const zeroMs = databaseMs - (sentAtMs + receivedAtMs) / 2;
    const wallZeroMs = wallMs - receivedAtMs;
    if (this.#zeroMs === undefined) {
      const stepMs = stepAtStart({ databaseMs, machineMs: wallMs, stored });
      if (stepMs !== 0) {
        this.#zeroMs = zeroMs - stepMs;
        this.#wallZeroMs = wallZeroMs;
        return { kind: "unconfirmed", stepMs: Math.round(stepMs) };
      }
    } else {
      if (roundTripMs > MAX_ROUND_TRIP_MS) return { kind: "discarded" };
      const stepMs = zeroMs - this.#zeroMs;
      const isNear = (one: number, other: number): boolean => Math.abs(one - other) <= MAX_STEP_MS + roundTripMs;
      // This machine has made the same step, or now agrees with the database: the clock was wrong before.
      const isConfirmed = isNear(stepMs, 0) || isNear(wallZeroMs - this.#wallZeroMs, stepMs) || isNear(zeroMs, wallZeroMs);
      if (!isConfirmed) return { kind: "unconfirmed", stepMs: Math.round(stepMs) };
    }
    // An estimate within the uncertainty of the reading may be the better of the two.
    if (this.#zeroMs === undefined || Math.abs(zeroMs - this.#zeroMs) > roundTripMs / 2) this.#zeroMs = zeroMs;
    this.#wallZeroMs = wallZeroMs;
    return { kind: "followed" };
  }
}

export type ClockReports = {
  /** Called once when the database's clock makes a step that is not confirmed, or has made it before the start. */
  unconfirmed(stepMs: number): void;
  /** Called once when the clock of this machine differs by more than a second. Positive: the database is ahead. */
  different(differenceMs: number): void;
};

export class DatabaseClock implements DueClock {
  readonly #db: Database;
  readonly #reports: ClockReports | undefined;
  readonly #estimate = new ClockEstimate();
  #unconfirmedMs = 0;
  #isDifferent = false;
  #hasStarted = false;
  readonly #job = new RepeatingJob({
    // After a failed sample the last estimate stays in use. Its error is the drift of some seconds.
    onError: () => undefined,
    afterErrorMs: SAMPLE_EVERY_MS,
    firstAfterMs: SAMPLE_EVERY_MS,
  });

  /** Without reports, as in a command, the clock follows the first sample and neither reads nor stores a time: the database may have an older
   *  schema. */
  constructor(db: Database, reports?: ClockReports) {
    this.#db = db;
    this.#reports = reports;
  }

  now(): number {
    return this.#estimate.at(performance.now());
  }

  /** The time that has come by the clock of the database and by that of this machine: a time service may slew one of them by seconds, in steps too
   *  small to be noticed. Another node, whose clock is right, does not wait longer. */
  dueNow(): number {
    return this.now() - Math.min(Math.max(0, this.differenceMs), MAX_HELD_BACK_MS);
  }

  /** How far the database is ahead of this machine. */
  get differenceMs(): number {
    return this.now() - Date.now();
  }

  /** The step of the database's clock that is not followed; 0 if there is none. */
  get unconfirmedMs(): number {
    return this.#unconfirmedMs;
  }

  async start(): Promise<void> {
    await this.#sample();
    this.#job.repeat(async () => {
      await this.#sample();
      return SAMPLE_EVERY_MS;
    });
  }

  /** Does not wait for a sample, since the database may not respond. */
  stop(): void {
    void this.#job.stop();
  }

  async #sample(): Promise<void> {
    const stored = this.#hasStarted || this.#reports === undefined ? null : await readStoredTime(this.#db);
    const verdict = this.#estimate.add(await this.#db.readClock(), stored);
    this.#hasStarted = true;
    if (verdict.kind === "discarded") return;
    const before = this.#unconfirmedMs;
    this.#unconfirmedMs = verdict.kind === "unconfirmed" ? verdict.stepMs : 0;
    if (before === 0 && verdict.kind === "unconfirmed") this.#reports?.unconfirmed(verdict.stepMs);
    const { differenceMs } = this;
    const wasDifferent = this.#isDifferent;
    this.#isDifferent = Math.abs(differenceMs) > REPORTED_DIFFERENCE_MS;
    if (this.#isDifferent && !wasDifferent) this.#reports?.different(differenceMs);
    if (this.#reports !== undefined) await storeTime(this.#db, this.now());
  }
}

async function readStoredTime(db: Database): Promise<StoredTime | null> {
  const [row] = await db.rows<{ clock_at: Date | null; database_clock_at: Date; machine_clock_at: Date; machine: string }>(sql`
  select clock_at, database_clock_at, machine_clock_at, machine
    from installation`);
  if (!row?.clock_at) return null;
  const machineMs = row.machine === hostname() ? row.machine_clock_at.getTime() : null;
  return { nodeMs: row.clock_at.getTime(), databaseMs: row.database_clock_at.getTime(), machineMs };
}

const STORE_EVERY_MS = 9_000;

/** Stores the time of this node, and those of the database and the machine, unless a node has stored about the same times. It does not wait
 *  for a transaction that has changed the row: after a wait the times would not belong to one moment. */
const storeTime = (db: Database, nowMs: number): Promise<unknown> =>
  db.rows(sql`
  update installation
     set clock_at = ${new Date(nowMs)},
         database_clock_at = clock_timestamp(),
         machine_clock_at = ${new Date()},
         machine = ${hostname()}
   where only_row = (select only_row
                       from installation
                      where clock_at is null
                         or clock_at not between ${new Date(nowMs - STORE_EVERY_MS)} and ${new Date(nowMs + STORE_EVERY_MS)}
                         or abs(extract(epoch from (clock_timestamp() - ${new Date(nowMs)}) - (database_clock_at - clock_at))) > 0.5
                        for update skip locked)`);
