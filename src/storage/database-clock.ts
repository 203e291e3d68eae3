/** The database's clock, read without asking it each time. Ids and windows take their time from it, so that nodes
 *  whose own clocks differ agree on order and on what has expired. */
import type { Database } from "./database.ts";
import { sql } from "./sql.ts";

const SAMPLE_EVERY_MS = 10_000;

export type Clock = { now(): number };

export class DatabaseClock implements Clock {
  readonly #db: Database;
  /** The database's time at the zero of this process's steady clock, which no correction of the system's time moves. */
  #zeroMs = performance.timeOrigin;
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  now(): number {
    return Math.trunc(this.#zeroMs + performance.now());
  }

  async start(): Promise<void> {
    await this.#sample();
    // A missed sample leaves the last offset standing, which is right to within the drift of ten seconds.
    this.#timer = setInterval(() => void this.#sample().catch(() => undefined), SAMPLE_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #sample(): Promise<void> {
    const sentAt = performance.now();
    const [row] = await this.#db.rows<{ now_ms: number }>(sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`);
    const receivedAt = performance.now();
    if (row !== undefined) this.#zeroMs = row.now_ms - (sentAt + receivedAt) / 2;
  }
}
