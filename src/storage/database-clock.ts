/** The clock of the database, without a query for each reading. Ids and time windows use it, so that nodes with different clocks agree on
 *  the order and on expiry. */
import type { Database } from "./database.ts";
import { sql } from "./sql.ts";

const SAMPLE_EVERY_MS = 10_000;

export type Clock = { now(): number };

export class DatabaseClock implements Clock {
  readonly #db: Database;
  /** The database's time at the zero of this process's monotonic clock, which corrections of the system time do not affect. */
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
    // After a failed sample the last offset stays in use. Its error is the drift of ten seconds.
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
