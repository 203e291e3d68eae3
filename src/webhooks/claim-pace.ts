/** The pace of the claims of webhook deliveries: when the worker claims again. The pace has no timer and no clock. The worker reports events, and claims where `end` or `isDueAfter` says so. */
import type { SharePlan } from "./claim-shares.ts";
import type { HealthLevel, Slot } from "./load.ts";

// Where more endpoints wait than one claim reads, so many claims in a row may take nothing. They read 12,800 endpoints without room or
// without a due delivery; the next poll continues.
const MAX_EMPTY_CLAIMS = 200;

export class WebhookClaimPace {
  #isClaiming = false;
  /** Endpoints that have room may have due deliveries that were not claimed. */
  #hasMore = true;
  /** A wake-up arrived after the last claim began. */
  #isWoken = false;
  /** How many claims it takes to read all endpoints that may have due deliveries. */
  #claimsForAll = 1;
  #emptyClaims = 0;
  /** Endpoints with due deliveries for which there was no room. */
  #blocked: ReadonlySet<string> = new Set();
  #fullRooms: ReadonlySet<HealthLevel> = new Set();

  get isClaiming(): boolean {
    return this.#isClaiming;
  }

  /** The queue may have new deliveries. */
  wake(): void {
    this.#hasMore = true;
    this.#isWoken = true;
  }

  /** The regular wake-up. Deliveries may have become due at endpoints that the empty claims passed. */
  poll(): void {
    this.#emptyClaims = 0;
    this.wake();
  }

  begin(): void {
    this.#isClaiming = true;
    this.#hasMore = false;
    this.#isWoken = false;
    this.#blocked = new Set();
  }

  /** The claim reads some of the endpoints that may have due deliveries. */
  read({ claimsForAll }: { claimsForAll: number }): void {
    this.#claimsForAll = claimsForAll;
    if (claimsForAll > 1) this.#hasMore = true;
  }

  /** The claim takes these shares. An endpoint without room, or a full room, has room again when one of its calls ends. */
  plan({ blocked, hasMore }: SharePlan, fullRooms: ReadonlySet<HealthLevel>): void {
    this.#blocked = blocked;
    this.#fullRooms = fullRooms;
    if (hasMore) this.#hasMore = true;
  }

  /** The claim has ended. `hasMore`: an endpoint got its whole share. Returns whether the worker claims again at once. */
  end({ count, hasMore }: { count: number; hasMore: boolean }): boolean {
    this.#isClaiming = false;
    if (hasMore) this.#hasMore = true;
    this.#emptyClaims = count > 0 ? 0 : this.#emptyClaims + 1;
    // After a claim that took nothing, only other endpoints are worth a claim. When all have been read, a call must end first.
    const isWorthwhile = count > 0 || this.#emptyClaims < Math.min(this.#claimsForAll, MAX_EMPTY_CLAIMS);
    return this.#isWoken || (this.#hasMore && isWorthwhile);
  }

  /** Whether the worker claims after a call has ended: where the call made room, and before the claimed deliveries run out. */
  isDueAfter({ endpoint, health }: Slot, { waiting, calls }: { waiting: number; calls: number }): boolean {
    const mayFindDeliveries = this.#hasMore || this.#blocked.has(endpoint) || this.#fullRooms.has(health);
    return mayFindDeliveries && waiting <= calls / 2;
  }
}
