/** The pace of the claims of webhook deliveries: when the worker claims again, and with which endpoints a claim starts. The pace has no
 *  timer and no clock. The worker reports events, and claims where `end` or `isDueAfter` says so. */
import { NO_ID, type EndpointId } from "../lib/id.ts";
import type { SharePlan } from "./claim-shares.ts";
import type { HealthLevel, Slot } from "./load.ts";
import { MAX_ENDPOINTS } from "./queue.ts";
import type { WaitingRow } from "./queue.ts";

/** The endpoints after which the next claim continues, for new deliveries and for retries. */
type Cursor = Readonly<{ fresh: EndpointId; retry: EndpointId }>;

// Where more endpoints wait than one claim reads, so many claims in a row may take nothing. They read 12,800 endpoints without room or
// without a due delivery; the next poll continues.
const MAX_EMPTY_CLAIMS = 200;

export class WebhookClaimPace {
  #after: Cursor = { fresh: NO_ID, retry: NO_ID };
  #isClaiming = false;
  /** Endpoints that have room may have due deliveries that were not claimed. */
  #hasMore = true;
  /** A wake-up arrived after the last claim began. */
  #isWoken = false;
  /** More endpoints wait than the last claim read, and it did not reach the last of them. */
  #isCut = false;
  #emptyClaims = 0;
  /** Endpoints with due deliveries for which there was no room. */
  #blocked: ReadonlySet<string> = new Set();
  #fullRooms: ReadonlySet<HealthLevel> = new Set();

  get isClaiming(): boolean {
    return this.#isClaiming;
  }

  get after(): Cursor {
    return this.#after;
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
    this.#isCut = false;
    this.#blocked = new Set();
  }

  /** Moves the cursor past the endpoints that the claim read. */
  read(rows: readonly WaitingRow[]): void {
    const ofKind = (isRetry: boolean): WaitingRow[] => rows.filter((row) => row.is_retry === isRetry);
    this.#after = { fresh: this.#pass(ofKind(false), this.#after.fresh), retry: this.#pass(ofKind(true), this.#after.retry) };
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
    const isWorthwhile = count > 0 || (this.#isCut && this.#emptyClaims < MAX_EMPTY_CLAIMS);
    return this.#isWoken || (this.#hasMore && isWorthwhile);
  }

  /** Whether the worker claims after a call has ended: where the call made room, and before the claimed deliveries run out. */
  isDueAfter({ endpoint, health }: Slot, { waiting, calls }: { waiting: number; calls: number }): boolean {
    const mayFindDeliveries = this.#hasMore || this.#blocked.has(endpoint) || this.#fullRooms.has(health);
    return mayFindDeliveries && waiting <= calls / 2;
  }

  #pass(rows: readonly WaitingRow[], after: EndpointId): EndpointId {
    if (rows.length < MAX_ENDPOINTS) return after;
    const reached = rows.at(-1)?.endpoint_id ?? NO_ID;
    this.#hasMore = true;
    // A smaller id than before means that the claim went past the last endpoint and around to the first.
    if (reached.compare(after) > 0) this.#isCut = true;
    return reached;
  }
}
