/** Finds out the outcome of a statement whose connection was lost, on a new connection. */
import { poll } from "../lib/wait.ts";
import type { ConnectionLost, Database } from "./database.ts";

// A database needs this long to recover from a crash, and the client waits this long for its response.
const FIND_OUT_MS = 8_000;

/** Ends the old session first, so that a row that is missing now cannot appear later. Returns undefined when the outcome stays unknown. */
export const findOut = <T>(
  db: Database,
  { session }: ConnectionLost,
  read: () => Promise<T>,
  timeoutMs = FIND_OUT_MS,
): Promise<T | undefined> =>
  poll(
    async () => {
      try {
        await db.endSession(session);
        return await read();
      } catch {
        return undefined;
      }
    },
    { timeoutMs, everyMs: 200 },
  );
