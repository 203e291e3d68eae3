/** Folds the changes of the counts into their hours and minutes, and forgets old ones, in the background of every node: whoever
 *  comes first does it. */
import { pause } from "../lib/wait.ts";
import type { Database } from "../storage/database.ts";
import { FOLD_ROWS, foldUsage, forgetHours, forgetMinutes } from "./queries.ts";

// Readers go through what is not folded yet, row by row: two seconds keep that a matter of milliseconds.
const FOLD_EVERY_MS = 2_000;

const FORGETTING = [
  { forget: forgetHours, everyMs: 24 * 3_600_000 },
  // A part in 150 of what is kept: the table stays as small as it is, and what is deleted makes room for what comes.
  { forget: forgetMinutes, everyMs: 10 * 60_000 },
] as const;

export type Folding = {
  /** No turn begins after this; resolves when the one under way has ended. */
  stop(): Promise<void>;
};

export function keepFolding(db: Database, onError: (error: unknown) => void): Folding {
  const stopping = new AbortController();
  const running = run(db, onError, stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function run(db: Database, onError: (error: unknown) => void, stopping: AbortSignal): Promise<void> {
  // A node that is restarted every day forgets, too: it begins with it.
  const due = FORGETTING.map((each) => ({ ...each, atMs: 0 }));
  while (!stopping.aborted) {
    try {
      await repeat(() => foldUsage(db), FOLD_ROWS, stopping);
      for (const each of due.filter(({ atMs }) => performance.now() >= atMs)) {
        await repeat(() => each.forget(db), 1, stopping);
        each.atMs = performance.now() + each.everyMs;
      }
    } catch (error) {
      onError(error);
    }
    await pause(FOLD_EVERY_MS * (0.75 + Math.random() / 2), stopping);
  }
}

/** Turn after turn, as long as one does at least so much. */
async function repeat(turn: () => Promise<number>, enough: number, stopping: AbortSignal): Promise<void> {
  let done = enough;
  while (done >= enough && !stopping.aborted) done = await turn();
}
