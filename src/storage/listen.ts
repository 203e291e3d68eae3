/** Hears what other processes announce through the database (LISTEN). A help, never a need: through a pooler that has no
 *  sessions nothing is heard, and everyone polls as well. */
import { backoffMs } from "../lib/backoff.ts";
import type { Database } from "./database.ts";
import { sql } from "./sql.ts";

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

/** Announces to whoever listens, once the statement is committed. */
export const notify = async (db: Database, channel: string, payloads: readonly string[]): Promise<void> => {
  await db.rows(sql`select pg_notify(${channel}, payload) from unnest(${payloads}::text[]) payload`);
};

export type Listening = { stop(): Promise<void> };

export type Listener = {
  onMessage: (payload: string) => void;
  /** Hears of the first failure until the connection listens again. */
  onError: (error: unknown) => void;
};

export function listen(db: Database, channel: string, { onMessage, onError }: Listener): Listening {
  let isStopped = false;
  let isFailing = false;
  let failures = 0;
  let retry: NodeJS.Timeout | undefined;
  let client: Awaited<ReturnType<Database["connectAlone"]>> | undefined;

  const again = (): void => {
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
      opened = await db.connectAlone();
      client = opened;
      opened.on("notification", ({ payload }) => onMessage(payload ?? ""));
      opened.on("end", again);
      await opened.query(`listen ${channel}`);
      failures = 0;
      isFailing = false;
      if (isStopped) await opened.end();
    } catch (error) {
      if (!isFailing && !isStopped) onError(error);
      isFailing = true;
      // A connection that cannot listen is not kept, and its end says nothing new: the next attempt opens another.
      await opened?.end().catch(() => undefined);
      again();
    }
  };

  const connecting = connect();
  return {
    stop: async () => {
      isStopped = true;
      clearTimeout(retry);
      await connecting;
      // A connection that is lost already has nothing to end.
      await client?.end().catch(() => undefined);
    },
  };
}
