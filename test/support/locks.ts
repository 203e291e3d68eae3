/** Locks that stop statements of the service inside their transactions until the test releases the lock. */
import assert from "node:assert/strict";
import pg from "pg";
import { DATABASE_LOCK, LOCKS } from "../../src/database/locks.ts";
import { until } from "./expect.ts";
import { rowId } from "./tables.ts";

/** A message with this text waits while `holdAccepts` is in effect; all other messages pass. */
export const HELD_BODY = "held by the test";
const ACCEPT_LOCK = `${DATABASE_LOCK}, ${LOCKS.heldByTest}`;

/** Every statement that writes to the table waits; with `access exclusive`, every statement that reads it, too. */
export const lockTable = (databaseUrl: string | undefined, table: string, mode = "exclusive"): Promise<Lock> =>
  Lock.take(databaseUrl, `lock table ${table} in ${mode} mode`);

/** Every statement that changes the message waits: its idempotency key is claimed, and nothing is committed. */
export const lockMessage = (databaseUrl: string | undefined, id: unknown): Promise<Lock> =>
  Lock.take(databaseUrl, `select from messages where id = '${rowId(id)}' for update`);

/** Every statement that accepts a message with the text HELD_BODY waits: its idempotency key is claimed, its message is not yet written,
 *  and nothing is committed. */
export const holdAccepts = (databaseUrl: string | undefined): Promise<Lock> =>
  Lock.take(
    databaseUrl,
    `select pg_advisory_xact_lock(${ACCEPT_LOCK})`,
    `create or replace function hold_message() returns trigger language plpgsql as $$
     begin
       if new.body = '${HELD_BODY}' then
         perform pg_advisory_xact_lock_shared(${ACCEPT_LOCK});
       end if;
       return new;
     end $$;
     create or replace trigger hold_message before insert on messages for each row execute function hold_message()`,
  );

export class Lock {
  readonly #client: pg.Client;
  #isReleased = false;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Runs the statement in a transaction that stays open. */
  static async take(databaseUrl: string | undefined, statement: string, preparation = ""): Promise<Lock> {
    assert.ok(databaseUrl !== undefined, "the service has no embedded database");
    const client = new pg.Client(databaseUrl);
    // Some tests cut every connection to the database, including this one.
    client.on("error", () => undefined);
    await client.connect();
    await client.query(preparation);
    await client.query("begin");
    await client.query(statement);
    return new Lock(client);
  }

  /** Waits until so many statements wait for the lock, directly or behind each other. */
  async waiting(count = 1): Promise<void> {
    await until(`${count} statements to wait for the lock`, async () => (await this.waiters()).length >= count || undefined);
  }

  /** The server processes of the statements that wait for the lock. */
  async waiters(): Promise<number[]> {
    const { rows } = await this.#client.query<{ pid: number }>(
      `with recursive blocked as materialized (
         select pid, pg_blocking_pids(pid) as blockers
           from (select distinct pid from pg_locks where not granted) waiter
       ), waiting as (
         select pid
           from blocked
          where pg_backend_pid() = any (blockers)
          union
         select blocked.pid
           from blocked
           join waiting on waiting.pid = any (blocked.blockers)
       )
       select pid from waiting`,
    );
    return rows.map(({ pid }) => pid);
  }

  /** Lets the waiting statements go on. A second call does nothing. */
  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    await this.#client.query("rollback");
    await this.#client.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
