/** Receives notifications of other nodes through the database (LISTEN). Nothing depends on them: every node polls as well. */
import { backoffMs } from "../lib/backoff.ts";
import type { Database } from "./database.ts";
import { sql } from "./sql.ts";

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

/** Notifies all listeners of a channel, once the statement is committed. */
export const notify = async (db: Database, channel: string, payloads: readonly string[]): Promise<void> => {
  await db.rows(sql`select pg_notify(${channel}, payload) from unnest(${payloads}::text[]) payload`);
};

export type Listening = { stop(): Promise<void> };

export type Listener = {
  onMessage: (payload: string) => void;
  /** Called when the connection listens, at first or again. */
  onListening?: () => void;
  /** Called for the first failure until the connection listens again. */
  onError: (error: unknown) => void;
};

export function listen(db: Database, channel: string, { onMessage, onListening, onError }: Listener): Listening {
  let isStopped = false;
  let isFailing = false;
  let failures = 0;
  let retry: NodeJS.Timeout | undefined;
  let client: Awaited<ReturnType<Database["openConnection"]>> | undefined;

  const reconnect = (): void => {
    client = undefined;
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
      await connecting;
      // A lost connection cannot be ended, and need not be.
      await client?.end().catch(() => undefined);
    },
  };
}
