/** The database's clock, read without asking it each time. Ids and windows take their time from it, so that nodes
 *  whose own clocks differ agree on order and on what has expired. */
import type { Database } from "./database.ts";
import { sql } from "./sql.ts";

const SAMPLE_EVERY_MS = 10_000;

export type Clock = { now(): number };

export class DatabaseClock implements Clock {
  readonly #db: Database;
  #offsetMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  now(): number {
    return Math.trunc(Date.now() + this.#offsetMs);
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
    const sentAt = Date.now();
    const [row] = await this.#db.rows<{ now_ms: number }>(sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`);
    const receivedAt = Date.now();
    const offsetMs = (row?.now_ms ?? receivedAt) - (sentAt + receivedAt) / 2;
    // Within the round trip the two clocks cannot be told apart: then ours is as good, and the offset does not wobble.
    this.#offsetMs = Math.abs(offsetMs) <= receivedAt - sentAt + 1 ? 0 : offsetMs;
  }
}
