/** The shares of a claim: how many due deliveries of each endpoint it takes. Pure. */
import type { Share, TakenGroup } from "../queue/waiting-groups.ts";
import { FRESH, RETRY, type QueuedEndpoint } from "./queue.ts";

// Deliveries to deleted and disabled endpoints need no call, only a statement.
const MOST_TO_DROP = 100;
// New deliveries come first, and retries still progress beside any number of them.
const RETRY_PART = 1 / 4;

/** Divides the room of each endpoint between its new deliveries and its retries. `roomOf` is undefined for an endpoint that cannot be called.
 *  `random` returns a number from 0 up to 1. */
export function planShares(
  taken: readonly TakenGroup<QueuedEndpoint>[],
  roomOf: (key: string) => number | undefined,
  random: () => number,
): Share<QueuedEndpoint>[] {
  const keysOf = (rank: number): Set<string> => new Set(taken.filter((each) => each.rank === rank).map(({ group }) => group.key));
  const [fresh, retries] = [keysOf(FRESH), keysOf(RETRY)];
  const roomsForRetries = new Map<string, number>();
  for (const key of retries) {
    const room = roomOf(key) ?? 0;
    // The rounding is random, so that neither new deliveries nor retries always take the last place.
    roomsForRetries.set(key, fresh.has(key) ? Math.floor(room * RETRY_PART + random()) : room);
  }
  return taken.map((each) => {
    const room = roomOf(each.group.key);
    const forRetries = roomsForRetries.get(each.group.key) ?? 0;
    const most = room === undefined ? MOST_TO_DROP : each.rank === RETRY ? forRetries : room - forRetries;
    return { ...each, most };
  });
}
