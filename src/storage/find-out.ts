/** A connection died in mid-commit. What was done is found out on a new one. */
import { poll } from "../lib/wait.ts";
import type { ConnectionLost, Database } from "./database.ts";

// As long as a database needs to come back after a crash; whoever waits for the answer waits that long.
const FIND_OUT_MS = 8_000;

/** The old session is ended first, so that what is not there now never will be. Undefined when nothing could be found out. */
export const findOut = <T>(
  db: Database,
  { session }: ConnectionLost,
  look: () => Promise<T>,
  timeoutMs = FIND_OUT_MS,
): Promise<T | undefined> =>
  poll(
    async () => {
      try {
        await db.endSession(session);
        return await look();
      } catch {
        return undefined;
      }
    },
    { timeoutMs, everyMs: 200 },
  );
