/** Starts the due steps of fallbacks, for messages that were not delivered in time. */
import type { SecretBox } from "../lib/secret-box.ts";
import type { Composer } from "../messages/compose.ts";
import { claimDueFallbacks, type DueFallback } from "../messages/fallbacks.ts";
import type { Handover } from "../messages/handover.ts";
import { startFallback } from "../messages/start-fallback.ts";
import { isDatabaseTrouble } from "../database/database.ts";
import type { DeliveryContext } from "./context.ts";

const BATCH = 20;

type FallbacksParts = DeliveryContext & { composer: Composer; box: SecretBox; handover: Handover; leaseMs: number };

/** Returns the number of due fallbacks; there may be more until it is zero. A fallback that fails delays no other, and is due again after
 *  its lease. */
export async function startDueFallbacks(parts: FallbacksParts): Promise<number> {
  const { db, clock, leaseMs } = parts;
  const due = await claimDueFallbacks(db, { nowMs: clock.now(), leaseMs }, BATCH);
  const failures: unknown[] = [];
  for (const each of due) {
    try {
      await start(parts, each);
    } catch (error) {
      if (isDatabaseTrouble(error)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} fallbacks could not be started: ${String(failures[0])}`);
  return due.length;
}

async function start({ db, clock, composer, box, handover, wakeWebhooks }: FallbacksParts, due: DueFallback): Promise<void> {
  const { account_id: accountId, environment, message_id: id } = due;
  const accepted = await db.transaction((tx) => startFallback(tx, { composer, box, nowMs: clock.now() }, { accountId, environment, id }));
  wakeWebhooks();
  if (accepted !== undefined) handover.queued(accepted.queueEntry.lane, [accepted.message]);
}
