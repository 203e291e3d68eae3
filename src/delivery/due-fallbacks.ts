/** Works off the fallbacks that are due: where a message did not get delivered, its next step begins. */
import type { Handover } from "../messages/handover.ts";
import type { Composer } from "../messages/compose.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { startFallback } from "../messages/start-fallback.ts";
import { claimDueFallbacks, type DueFallback } from "../messages/fallbacks.ts";
import type { Clock } from "../storage/database-clock.ts";
import { isDatabaseTrouble, type Database } from "../storage/database.ts";

const BATCH = 20;

export type FallbacksParts = {
  db: Database;
  clock: Clock;
  composer: Composer;
  box: SecretBox;
  handover: Handover;
  wakeWebhooks: () => void;
  leaseMs: number;
};

/** Returns how many were due: there may be more until it is none. One that cannot be begun holds up no other, and is due again when
 *  its lease has run out. */
export async function startDueFallbacks(parts: FallbacksParts): Promise<number> {
  const due = await claimDueFallbacks(parts.db, parts.leaseMs, BATCH);
  const failures: unknown[] = [];
  for (const each of due) {
    try {
      await start(parts, each);
    } catch (error) {
      if (isDatabaseTrouble(error)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} fallbacks could not be begun: ${String(failures[0])}`);
  return due.length;
}

async function start({ db, clock, composer, box, handover, wakeWebhooks }: FallbacksParts, due: DueFallback): Promise<void> {
  const { account_id: accountId, environment, message_id: id } = due;
  const accepted = await db.transaction((tx) => startFallback(tx, { composer, box, nowMs: clock.now() }, { accountId, environment, id }));
  wakeWebhooks();
  if (accepted !== undefined) handover.queued(accepted.queueEntry.lane);
}
