/** Receives notifications of other nodes through the database (LISTEN). Nothing depends on them: every node polls as well. */
import type pg from "pg";
import { backoffMs } from "../lib/backoff.ts";
import type { Database } from "./database.ts";
import { sql } from "./sql.ts";

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
// A server that has vanished sends nothing, as a server without announcements does. The system would notice it after two hours.
const CHECK_MS = 10_000;

/** Notifies all listeners of a channel, once the statement is committed. */
export const notify = (db: Database, channel: string, payloads: readonly string[]): Promise<unknown> =>
  db.rows(sql`select pg_notify(${channel}, payload) from unnest(${payloads}::text[]) payload`);

export type Listening = { stop(): Promise<void> };

export type Listener = {
  onMessage: (payload: string) => void;
  /** Called when the connection listens, at first or again. */
  onListening?: () => void;
  /** Called for the first failure until the connection listens again. */
  onError: (error: unknown) => void;
  /** The pause between two checks whether the server still responds. */
  checkMs?: number;
};

export function listen(db: Database, channel: string, { onMessage, onListening, onError, checkMs = CHECK_MS }: Listener): Listening {
  let isStopped = false;
  let isFailing = false;
  let failures = 0;
  let retry: NodeJS.Timeout | undefined;
  let check: NodeJS.Timeout | undefined;
  let client: pg.Client | undefined;

  const reconnect = (): void => {
    client = undefined;
    clearTimeout(check);
    if (isStopped || retry !== undefined) return;
    failures += 1;
    retry = setTimeout(
      () => {
        retry = undefined;
        void connect();
      },
      backoffMs(failures, FIRST_RETRY_MS, MAX_RETRY_MS),
    );
  };

  /** The statement fails at its time limit, and the end of the connection leads to another one. */
  const checkLater = (checked: pg.Client): void => {
    check = setTimeout(() => {
      checked.query("select 1").then(
        () => client === checked && !isStopped && checkLater(checked),
        () => checked.end(),
      );
    }, checkMs);
  };

  const connect = async (): Promise<void> => {
    let opened: typeof client;
    try {
      opened = await db.openConnection();
      client = opened;
      opened.on("notification", ({ payload }) => onMessage(payload ?? ""));
      opened.on("end", reconnect);
      await opened.query(`listen ${channel}`);
      failures = 0;
      isFailing = false;
      onListening?.();
      if (isStopped) await opened.end();
      else checkLater(opened);
    } catch (error) {
      if (!isFailing && !isStopped) onError(error);
      isFailing = true;
      // A connection that cannot listen is closed. An error of the close adds nothing; the next attempt opens another connection.
      await opened?.end().catch(() => undefined);
      reconnect();
    }
  };

  const connecting = connect();
  return {
    stop: async () => {
      isStopped = true;
      clearTimeout(retry);
      clearTimeout(check);
      await connecting;
      // A lost connection cannot be ended, and need not be.
      await client?.end().catch(() => undefined);
    },
  };
}
