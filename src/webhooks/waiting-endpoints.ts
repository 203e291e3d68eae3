/** The endpoints whose deliveries wait in the queue, as far as this node knows (`database/waiting-groups.ts`): those with new deliveries, and
 *  those with retries. In each list the endpoints take turns. */
import { idKey, type EndpointId } from "../model/id.ts";
import { WaitingGroups } from "../database/waiting-groups.ts";
import type { ClaimedRow, QueuedEndpoint, Share, TakenEndpoint } from "./queue.ts";

/** A claim serves at most so many endpoints with first attempts, and as many with retries. The next claim goes on with others. */
const MAX_ENDPOINTS = 64;

export class WaitingEndpoints {
  readonly #fresh = new WaitingGroups<QueuedEndpoint>();
  readonly #retries = new WaitingGroups<QueuedEndpoint>();

  /** The endpoint has a delivery that is due at this time. */
  add(endpoint: QueuedEndpoint, isRetry: boolean, dueAtMs: number): void {
    this.#of(isRetry).add({ key: idKey(endpoint.endpointId), group: endpoint, dueAtMs });
  }

  /** Takes over the endpoints that a scan has found in the queue. */
  refresh(found: readonly (QueuedEndpoint & { isRetry: boolean; dueAtMs: number })[], nowMs: number): void {
    for (const isRetry of [false, true]) {
      const groups = found
        .filter((each) => each.isRetry === isRetry)
        .map(({ accountId, environment, endpointId, dueAtMs }) => ({
          key: idKey(endpointId),
          group: { accountId, environment, endpointId },
          dueAtMs,
        }));
      this.#of(isRetry).refresh(groups, nowMs);
    }
  }

  /** How many claims it takes to serve all endpoints that may have due deliveries. */
  claimsForAll(nowMs: number): number {
    return Math.ceil(Math.max(this.#fresh.countDue(nowMs), this.#retries.countDue(nowMs)) / MAX_ENDPOINTS);
  }

  /** Takes the next endpoints that may have due deliveries: first those with new ones. */
  take(nowMs: number): TakenEndpoint[] {
    return [false, true].flatMap((isRetry) =>
      this.#of(isRetry)
        .take(nowMs, MAX_ENDPOINTS)
        .map((taken) => ({ isRetry, taken })),
    );
  }

  /** The claim has ended. An endpoint without a share waits as before, and one that got its whole share may have more. */
  end(endpoints: readonly TakenEndpoint[], shares: readonly Share[], claimed: readonly ClaimedRow[]): void {
    const nameOf = (isRetry: boolean, id: EndpointId): string => `${isRetry} ${idKey(id)}`;
    const shareOf = new Map(shares.map((share) => [nameOf(share.isRetry, share.endpointId), share]));
    const rowsOf = Map.groupBy(claimed, (row) => nameOf(row.is_retry, row.endpoint_id));
    for (const { isRetry, taken } of endpoints) {
      const name = nameOf(isRetry, taken.group.endpointId);
      const share = shareOf.get(name);
      const rows = rowsOf.get(name) ?? [];
      const mayHaveMore = share === undefined || rows.length >= share.most;
      const reachedMs = Math.max(taken.fromMs, ...rows.map((row) => row.was_due_at.getTime()));
      this.#of(isRetry).end(taken, mayHaveMore ? reachedMs : undefined);
    }
  }

  #of(isRetry: boolean): WaitingGroups<QueuedEndpoint> {
    return isRetry ? this.#retries : this.#fresh;
  }
}
