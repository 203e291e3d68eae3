/** Holds an accept in mid-transaction: its key is claimed, its message is not yet written, and nothing is committed. */
import assert from "node:assert/strict";
import pg from "pg";
import { poll } from "../../src/lib/wait.ts";
import { DATABASE_LOCK, LOCKS } from "../../src/storage/locks.ts";
import { LIMIT_MS } from "./expect.ts";

/** Messages with this text wait while it is held; all others pass. */
export const HELD_BODY = "held by the test";
const LOCK = `${DATABASE_LOCK}, ${LOCKS.heldByTest}`;

export class Hold {
  readonly #client: pg.Client;
  #isReleased = false;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  static async take(databaseUrl: string): Promise<Hold> {
    const client = new pg.Client(databaseUrl);
    // Some tests cut every connection of the database, this one too.
    client.on("error", () => undefined);
    await client.connect();
    await client.query(`
      create or replace function hold_message() returns trigger language plpgsql as $$
      begin
        if new.body = '${HELD_BODY}' then
          perform pg_advisory_xact_lock_shared(${LOCK});
        end if;
        return new;
      end $$;
      create or replace trigger hold_message before insert on messages for each row execute function hold_message();
      select pg_advisory_lock(${LOCK})`);
    return new Hold(client);
  }

  /** Resolves once so many statements wait. */
  async waiting(count = 1): Promise<void> {
    const ask = async (): Promise<true | undefined> => ((await this.held()) >= count ? true : undefined);
    assert.ok(await poll(ask, { timeoutMs: LIMIT_MS, everyMs: 10 }), "no statement reached the hold");
  }

  async held(): Promise<number> {
    return (await this.#backends()).length;
  }

  /** The database's process that runs the first statement which waits. */
  async backend(): Promise<number> {
    return (await this.#backends())[0] ?? 0;
  }

  async #backends(): Promise<number[]> {
    const { rows } = await this.#client.query<{ pid: number }>(
      `select pid
         from pg_locks
        where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())
          and (classid, objid) = (${LOCK})`,
    );
    return rows.map(({ pid }) => pid);
  }

  /** Lets what waits go on. Twice is as good as once. */
  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    await this.#client.query("select pg_advisory_unlock_all()");
    await this.#client.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
