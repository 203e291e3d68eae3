/** The shares of a claim: how many due deliveries of each endpoint it takes. Pure. */
import { idKey } from "../model/id.ts";
import type { ClaimedRow, Share, WaitingRow } from "./queue.ts";

export type SharePlan = {
  shares: readonly Share[];
  /** Endpoints with due deliveries and without room. */
  blocked: ReadonlySet<string>;
  /** An endpoint has deliveries of which the plan takes none, although it has room. */
  hasMore: boolean;
};

// Deliveries to deleted and disabled endpoints need no call, only a statement.
const MOST_TO_DROP = 100;
// New deliveries come first, and retries still progress beside any number of them.
const RETRY_PART = 1 / 4;

/** Divides the room of each endpoint between its new deliveries and its retries. `random` returns a number from 0 up to 1. */
export function planShares(due: readonly WaitingRow[], rooms: ReadonlyMap<string, number>, random: () => number): SharePlan {
  const shares = due.filter((row) => !isCallable(row)).map((row) => shareOf(row, MOST_TO_DROP));
  const blocked = new Set<string>();
  let hasMore = false;
  for (const [name, rows] of byEndpoint(due)) {
    const room = rooms.get(name) ?? 0;
    const [first, second] = rows;
    if (room === 0 || first === undefined) blocked.add(name);
    else if (second === undefined) shares.push(shareOf(first, room));
    else {
      // The rounding is random, so that neither new deliveries nor retries always take the last place.
      const forRetries = Math.floor(room * RETRY_PART + random());
      if (room > forRetries) shares.push(shareOf(first, room - forRetries));
      if (forRetries > 0) shares.push(shareOf(second, forRetries));
      if (forRetries === 0 || forRetries === room) hasMore = true;
    }
  }
  return { shares, blocked, hasMore };
}

/** The rows of callable endpoints: for each endpoint the row of its new deliveries, then the row of its retries. */
export const byEndpoint = (due: readonly WaitingRow[]): Map<string, WaitingRow[]> =>
  Map.groupBy(due.filter(isCallable), (row) => idKey(row.endpoint_id));

/** Whether the claim took a whole share, so that its endpoint may have more due deliveries. */
export function isAnyShareFull(shares: readonly Share[], claimed: readonly ClaimedRow[]): boolean {
  const rows = Map.groupBy(claimed, (row) => `${row.is_retry} ${idKey(row.endpoint_id)}`);
  return shares.some(({ endpointId, isRetry, most }) => (rows.get(`${isRetry} ${idKey(endpointId)}`)?.length ?? 0) >= most);
}

const isCallable = (row: WaitingRow): boolean => row.id !== null && row.status === "enabled";

const shareOf = (row: WaitingRow, most: number): Share => ({
  endpointId: row.endpoint_id,
  isRetry: row.is_retry,
  isUncallable: !isCallable(row),
  fromMs: row.from_at.getTime(),
  most,
});
