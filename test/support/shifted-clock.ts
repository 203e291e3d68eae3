/** A database whose clock a test can set: functions of another schema are found before those of PostgreSQL. */
import pg from "pg";
import { createDatabase } from "./database.ts";

/** Gives a database a clock that is off by `shifted.step`, and by the time since `since` at a rate. Commit timestamps keep the true time. */
export const SHIFTED_CLOCK = `
  create schema shifted;
  create table shifted.step (by interval not null, rate float8 not null default 0, since timestamptz not null default 'epoch');
  insert into shifted.step values ('0');
  create function shifted.now() returns timestamptz stable language sql
    as 'select pg_catalog.now() + by + rate * (pg_catalog.now() - since) from shifted.step';
  create function shifted.clock_timestamp() returns timestamptz volatile language sql
    as 'select pg_catalog.clock_timestamp() + by + rate * (pg_catalog.clock_timestamp() - since) from shifted.step';
  do $$ begin
    execute format('alter database %I set search_path = public, shifted, pg_catalog', current_database());
  end $$`;

export class ShiftedClock {
  readonly databaseUrl: string;
  readonly #client: pg.Client;

  private constructor(databaseUrl: string, client: pg.Client) {
    this.databaseUrl = databaseUrl;
    this.#client = client;
  }

  static async create(): Promise<ShiftedClock> {
    const databaseUrl = await createDatabase();
    const client = new pg.Client(databaseUrl);
    await client.connect();
    await client.query(SHIFTED_CLOCK);
    return new ShiftedClock(databaseUrl, client);
  }

  /** Sets the clock of the database off by an interval, such as `2 hours` or `-36 days`. */
  async shift(by: string): Promise<void> {
    await this.#client.query("update shifted.step set by = $1", [by]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
  }
}
