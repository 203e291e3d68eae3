/** The order in which clients read events, as the database knows it. Ids are in the order of their creation, which may be long before the
 *  commit, so a reader that follows ids would skip events. Each event has a position instead, from a sequence.
 *
 *  Positions are not in the order of commits either, but it can be known up to which position every event is settled: committed, or rolled
 *  back for good. The proof:
 *
 *  1. A statement that writes events locks the table before it takes its snapshot and before it draws a position, and the lock lasts until
 *     its transaction has ended.
 *  2. So an event with a position up to P, where P was drawn before a list of the lock's holders was read, belongs to a transaction
 *     that is in the list or has ended.
 *  3. When all transactions of the list have ended, every event up to P is settled. A snapshot that is taken then sees those that committed.
 *
 *  The list also tells when all statements have ended that cannot have seen an earlier commit, such as that of an endpoint which was enabled:
 *  their snapshots are older than the list, so their transactions are in it.
 *
 *  Nothing depends on transaction ids, which start anew when the data is copied to another server, or on transactions of others: only a
 *  transaction that writes events can delay the readers. */
import { pause } from "../lib/wait.ts";
import type { Database, Queryable } from "../database/database.ts";
import { lastPosition, listWriters, repairSequence } from "./queries.ts";

const WRITERS_POLL_MS = 20;

/** Waits until all transactions that are writing events at this moment have ended. Returns false if the signal is aborted or the limit passes
 *  before. */
export async function writersEnd(db: Queryable, signal: AbortSignal, limitMs = Infinity): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  let running = await listWriters(db);
  while (running.size > 0 && !signal.aborted && performance.now() < deadline) {
    await pause(WRITERS_POLL_MS, signal);
    running = running.intersection(await listWriters(db));
  }
  return running.size === 0;
}

// A copy of the data without the sequence, as logical replication makes it, is recognized by a sequence that has just begun.
const MAX_NEW_POSITION = 100_000;

/** Makes new events follow those of a copy whose sequence was not copied. */
export async function continuePositions(db: Database): Promise<void> {
  if ((await lastPosition(db)) < MAX_NEW_POSITION) await db.transaction(repairSequence);
}

/** A position, and the transactions that may still commit an event up to it. */
type Fence = { position: number; writers: ReadonlySet<string>; sinceMs: number };

const REFRESH_MS = 100;

/** The position up to which every event is settled, shared by all readers of this process. */
export class EventPositions {
  readonly #db: Database;
  #last = 0;
  #settled = 0;
  #pending: Fence | undefined;
  #refreshing: Promise<number> | undefined;
  #refreshedAtMs = Number.NEGATIVE_INFINITY;
  /** How often the database went back to an earlier position, as one that is restored does. Readers then look up their place anew. */
  restores = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** For how long the same transactions have kept the readers from going on. */
  async readStalledMs(): Promise<number> {
    // Without the database nothing is known; other metrics report that.
    await this.settled().catch(() => undefined);
    return this.#pending === undefined ? 0 : performance.now() - this.#pending.sinceMs;
  }

  settled(): Promise<number> {
    if (performance.now() - this.#refreshedAtMs < REFRESH_MS) return Promise.resolve(this.#settled);
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  async #refresh(): Promise<number> {
    const sinceMs = performance.now();
    const position = await lastPosition(this.#db);
    const writers = await listWriters(this.#db);
    if (position < this.#last) {
      this.restores += 1;
      this.#pending = undefined;
      this.#settled = 0;
    }
    this.#last = position;
    this.#pass({ position, writers, sinceMs });
    this.#refreshedAtMs = performance.now();
    return this.#settled;
  }

  /** Advances the settled position past the writers that have ended. */
  #pass(now: Fence): void {
    if (this.#pending !== undefined) {
      const writers = this.#pending.writers.intersection(now.writers);
      this.#pending = writers.size > 0 ? { ...this.#pending, writers } : this.#settle(this.#pending);
    }
    this.#pending ??= now.writers.size > 0 ? now : this.#settle(now);
  }

  #settle({ position }: Fence): undefined {
    this.#settled = position;
  }
}
