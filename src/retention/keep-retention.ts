/** Retention as a background task: a turn soon after the start, and then a few a day. */
import { assert } from "../lib/assert.ts";
import type { Log } from "../lib/log.ts";
import { pause, within } from "../lib/wait.ts";
import type { Database } from "../storage/database.ts";
import { applyRetention, MIN_RETENTION_DAYS } from "./drop-weeks.ts";

const FIRST_AFTER_MS = 30_000;
const TURN_EVERY_MS = 6 * 3_600_000;
// Whatever used the tables (a backup, a long report) may be over by then.
const AGAIN_AFTER_MS = 10 * 60_000;
const STOP_TIMEOUT_MS = 5_000;

export type KeepRetention = {
  retentionDays: number;
  now: () => number;
  log: Log;
  onError: (error: unknown) => void;
  firstAfterMs?: number;
};

export function keepRetention(db: Database, options: KeepRetention): { stop(): Promise<void> } {
  assert(options.retentionDays >= MIN_RETENTION_DAYS, `messages are kept for ${MIN_RETENTION_DAYS} days at least`);
  const stopping = new AbortController();
  const running = takeTurns(db, options, stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await within(running, STOP_TIMEOUT_MS);
    },
  };
}

async function takeTurns(db: Database, options: KeepRetention, stopping: AbortSignal): Promise<void> {
  // Nodes that were started together need not come together.
  const rest = (ms: number): Promise<void> => pause(ms * (0.75 + Math.random() / 2), stopping);
  await rest(options.firstAfterMs ?? FIRST_AFTER_MS);
  while (!stopping.aborted) await rest(await takeTurn(db, options, stopping));
}

/** Gives the time until the next one. */
async function takeTurn(db: Database, { retentionDays, now, log, onError }: KeepRetention, stopping: AbortSignal): Promise<number> {
  try {
    const turn = await applyRetention(db, { retentionDays, nowMs: now(), log }, stopping);
    return typeof turn?.inUse === "string" ? AGAIN_AFTER_MS : TURN_EVERY_MS;
  } catch (error) {
    // A turn that was cut off by the stop is no news.
    if (!stopping.aborted) onError(error);
    return AGAIN_AFTER_MS;
  }
}
