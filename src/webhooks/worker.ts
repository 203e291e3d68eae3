/** The webhook worker of this node: it claims due deliveries, calls their endpoints, and settles the outcomes. No transaction is open
 *  during a call. Deliveries of a node that died become due again when their leases expire.
 *
 *  `claim-pace.ts` decides when to claim, `claim-shares.ts` how many deliveries of each endpoint, and `load.ts` how many calls run. */
import type { QueuedDeliveries, WakeWebhooks } from "../events/publish.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { encodeId, idKey } from "../model/id.ts";
import { errorFields, reportError, type Log } from "../model/log.ts";
import { poll } from "../lib/wait.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { PacedScan } from "../database/paced-scan.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { abandoned, attemptDelivery, dropped, isSuccess, type ClaimedDelivery } from "./attempt.ts";
import { WebhookClaimPace } from "./claim-pace.ts";
import { byEndpoint, isAnyShareFull, planShares } from "./claim-shares.ts";
import { toEndpoint } from "./endpoint-queries.ts";
import type { DisabledReason, Endpoint } from "./endpoint.ts";
import { Load, type Slot } from "./load.ts";
import type { Outbound, Reply } from "./outbound.ts";
import {
  claimShares,
  readEndpointsOf,
  releaseRows,
  scanEndpoints,
  type ClaimedRow,
  type Share,
  type TakenEndpoint,
  type WaitingRow,
} from "./queue.ts";
import { recoverStep } from "./recover.ts";
import { Settler } from "./settle.ts";
import type { Signer } from "./signature.ts";
import { WaitingEndpoints } from "./waiting-endpoints.ts";

/** Receives everything that the metrics count. */
export type WebhookWatch = {
  attempted(reply: Reply): void;
  disabled(reason: DisabledReason): void;
};

export type WorkerParts = {
  db: Database;
  clock: Clock;
  outbound: Outbound;
  signer: Signer;
  wakeWebhooks: WakeWebhooks;
  watch: WebhookWatch;
  /** How long a claim lasts, and how much of that time a call needs at its start. */
  leaseMs: number;
  callMs: number;
  /** How often the worker claims when no node announces new deliveries. */
  pollMs: number;
  log: Log;
  tracing?: Tracing | undefined;
};

/** A delivery that this node owns until the lease ends. */
type Leased = { delivery: ClaimedDelivery; leaseEndsAtMs: number };
type Call = { slot: Slot; startedAtMs: number };

const RECOVER_POLL_MS = 1_000;
// A claim waits this long, so that calls which end together are followed by one claim.
const CLAIM_DELAY_MS = 3;
// A call counts as slow after this time. Slow calls are looked for this often.
const SLOW_MS = 1_000;
const FIND_SLOW_MS = 250;
// Together with the parts that stop before the worker, within the time that a stop may take.
const DRAIN_MS = 3_000;
const LAST_CLAIM_MS = 1_000;
const ABORT_MS = 1_000;

export class WebhookWorker {
  readonly #parts: WorkerParts;
  readonly #pace = new WebhookClaimPace();
  readonly #load = new Load();
  readonly #endpoints = new WaitingEndpoints();
  readonly #scan: PacedScan;
  readonly #job: RepeatingJob;
  readonly #settler: Settler;
  /** Claimed deliveries whose call has not begun, by endpoint. */
  readonly #waiting = new Map<string, Leased[]>();
  readonly #calls = new Set<Call>();
  readonly #stopping = new AbortController();
  /** Aborts the calls that outlast the stop. */
  readonly #abort = new AbortController();
  #claimTimer: NodeJS.Timeout | undefined;
  #isBeginPlanned = false;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#job = new RepeatingJob({
      onError: reportError(parts.log, "webhooks.worker_failed", "a background task of the webhook worker failed"),
    });
    this.#scan = new PacedScan(() => this.#scanQueue(), parts.pollMs);
    this.#settler = new Settler({
      ...parts,
      onDisabled: (reason) => parts.watch.disabled(reason),
      onLater: (settlement, dueAtMs) => this.#endpoints.add(settlement, true, dueAtMs),
    });
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  start(): void {
    const { db, clock, wakeWebhooks, pollMs } = this.#parts;
    this.#job.repeat(async () => {
      this.#pace.poll();
      this.#claimSoon();
      return pollMs;
    });
    this.#job.repeat(this.#scan.turn);
    this.#job.repeat(async () => {
      this.#findSlow();
      return FIND_SLOW_MS;
    });
    this.#job.repeat(async (stopping) => {
      const step = await recoverStep(db, clock, stopping);
      if (step.queued > 0) wakeWebhooks();
      return step.hasMore ? 0 : RECOVER_POLL_MS;
    });
  }

  /** Claims soon: the queue has deliveries of these endpoints. Without the endpoints the queue is scanned for them. */
  wake(queued?: readonly QueuedDeliveries[]): void {
    if (queued === undefined) return this.#scan.request();
    for (const { dueAtMs, ...endpoint } of queued) this.#endpoints.add(endpoint, false, dueAtMs);
    this.#pace.wake();
    this.#claimSoon();
  }

  /** Reads the queue for deliveries that no node announced: of nodes that died, and those that were committed late. */
  async #scanQueue(): Promise<void> {
    const { db, clock } = this.#parts;
    this.#endpoints.refresh(await scanEndpoints(db, clock.now()), clock.now());
    this.#pace.wake();
    this.#claimSoon();
  }

  /** Begins no more calls, and gives the calls in flight some time. Deliveries without an outcome after that return to the queue. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#claimTimer);
    await this.#job.stop();
    await poll(async () => (this.#pace.isClaiming ? undefined : true), { timeoutMs: LAST_CLAIM_MS, everyMs: 10 });
    const waiting = Array.from(this.#waiting.values()).flat();
    // Cleared first: a call that ends begins the next call of a waiting delivery.
    this.#waiting.clear();
    await this.#returnToQueue(waiting);
    const isIdle = async (): Promise<true | undefined> => (this.#calls.size === 0 && this.#settler.pending === 0 ? true : undefined);
    if ((await poll(isIdle, { timeoutMs: DRAIN_MS, everyMs: 10 })) === undefined) {
      this.#abort.abort();
      await poll(isIdle, { timeoutMs: ABORT_MS, everyMs: 10 });
    }
    await this.#parts.outbound.close();
  }

  #claimSoon(): void {
    if (this.#claimTimer !== undefined || this.#pace.isClaiming || this.#stopping.signal.aborted) return;
    this.#claimTimer = setTimeout(() => {
      this.#claimTimer = undefined;
      void this.#claim();
    }, CLAIM_DELAY_MS);
  }

  async #claim(): Promise<void> {
    this.#pace.begin();
    const result = await this.#claimDue().catch((error: unknown) => {
      this.#parts.log.error({ event: "webhooks.claim_failed", ...errorFields(error) }, "a claim of due webhook deliveries failed");
      return { count: 0, hasMore: false };
    });
    const isAgain = this.#pace.end(result);
    this.#beginCalls();
    if (isAgain) this.#claimSoon();
  }

  /** Returns how many deliveries the claim took, and whether an endpoint may have more. */
  async #claimDue(): Promise<{ count: number; hasMore: boolean }> {
    const nowMs = this.#parts.clock.now();
    this.#pace.read({ claimsForAll: this.#endpoints.claimsForAll(nowMs) });
    const endpoints = this.#endpoints.take(nowMs);
    if (endpoints.length === 0) return { count: 0, hasMore: false };
    let [shares, claimed]: [readonly Share[], readonly ClaimedRow[]] = [[], []];
    try {
      ({ shares, claimed } = await this.#claimOf(endpoints));
    } finally {
      this.#endpoints.end(endpoints, shares, claimed);
    }
    return { count: claimed.length, hasMore: isAnyShareFull(shares, claimed) };
  }

  async #claimOf(endpoints: readonly TakenEndpoint[]): Promise<{ shares: readonly Share[]; claimed: readonly ClaimedRow[] }> {
    const { db, clock, leaseMs } = this.#parts;
    const due = await readEndpointsOf(db, endpoints);
    const shares = this.#sharesOf(due);
    if (shares.length === 0) return { shares, claimed: [] };
    const leaseEndsAtMs = performance.now() + leaseMs;
    const claimed = await claimShares(db, shares, { nowMs: clock.now(), leaseMs });
    const known = new Map(due.map((row) => [idKey(row.endpoint_id), row.id === null ? undefined : toEndpoint(row)]));
    for (const row of claimed) this.#take(row, known.get(idKey(row.endpoint_id)), leaseEndsAtMs);
    return { shares, claimed };
  }

  #sharesOf(due: readonly WaitingRow[]): readonly Share[] {
    const endpoints = Array.from(byEndpoint(due), ([name, [row]]) => ({
      name,
      isFailing: row !== undefined && row.id !== null && row.failing_since !== null,
      waiting: this.#waiting.get(name)?.length ?? 0,
    }));
    const rooms = this.#load.allot(endpoints);
    const plan = planShares(due, new Map(endpoints.map(({ name }, index) => [name, rooms[index] ?? 0])), Math.random);
    this.#pace.plan(plan, this.#load.fullRooms());
    return plan.shares;
  }

  #take(row: ClaimedRow, endpoint: Endpoint | undefined, leaseEndsAtMs: number): void {
    if (endpoint === undefined || !hasEvent(row)) return this.#settler.settle(dropped(row));
    const delivery = { row, endpoint };
    if (endpoint.status !== "enabled") return this.#settler.settle(abandoned(delivery));
    const name = idKey(row.endpoint_id);
    const waiting = this.#waiting.get(name);
    if (waiting === undefined) this.#waiting.set(name, [{ delivery, leaseEndsAtMs }]);
    else waiting.push({ delivery, leaseEndsAtMs });
  }

  /** Begins the calls that have room. */
  #beginCalls(): void {
    this.#isBeginPlanned = false;
    for (const [name, waiting] of Array.from(this.#waiting)) {
      let slot: Slot | undefined;
      while (waiting.length > 0 && (slot = this.#load.begin(name)) !== undefined) {
        const next = waiting.shift() as Leased;
        if (next.leaseEndsAtMs - performance.now() > this.#parts.callMs) void this.#call(next, slot);
        else {
          this.#load.end(slot);
          void this.#returnToQueue([next, ...waiting.splice(0)]);
        }
      }
      // The endpoint moves behind the others, so that they begin first the next time.
      this.#waiting.delete(name);
      if (waiting.length > 0) this.#waiting.set(name, waiting);
    }
  }

  async #call({ delivery, leaseEndsAtMs }: Leased, slot: Slot): Promise<void> {
    const call = { slot, startedAtMs: performance.now() };
    this.#calls.add(call);
    let isOk = false;
    try {
      const { settlement, reply, isGone } = await attemptDelivery(
        { ...this.#parts, now: () => this.#parts.clock.now() },
        delivery,
        this.#abort.signal,
      );
      isOk = isSuccess(reply);
      this.#parts.watch.attempted(reply);
      if (reply.kind === "failed") this.#parts.log.info(explain(delivery, reply), "a webhook was not delivered");
      // The endpoint may have received the delivery or not. Another node repeats the call.
      if (this.#abort.signal.aborted && !isOk) await this.#returnToQueue([{ delivery, leaseEndsAtMs }]);
      else this.#settler.settle(settlement);
      if (isGone) await this.#disable(delivery.endpoint);
    } catch (error) {
      this.#parts.log.error({ event: "webhooks.attempt_failed", ...errorFields(error) }, "a webhook delivery failed");
    } finally {
      this.#calls.delete(call);
      this.#load.end(slot, isOk);
    }
    this.#followCall(slot);
  }

  /** Begins further calls, together with those that other ended calls made room for, and claims where the pace says so. */
  #followCall(slot: Slot): void {
    if (!this.#isBeginPlanned) {
      this.#isBeginPlanned = true;
      setImmediate(() => this.#beginCalls());
    }
    if (this.#pace.isDueAfter(slot, { waiting: this.#waitingCount(), calls: this.#calls.size })) this.#claimSoon();
  }

  #waitingCount(): number {
    let count = 0;
    for (const waiting of this.#waiting.values()) count += waiting.length;
    return count;
  }

  /** Disables an endpoint that responded with 410, and returns its waiting deliveries to the queue. */
  async #disable(endpoint: Endpoint): Promise<void> {
    const name = idKey(endpoint.id);
    const waiting = this.#waiting.get(name) ?? [];
    this.#waiting.delete(name);
    try {
      await this.#settler.disable(endpoint, "gone");
    } finally {
      await this.#returnToQueue(waiting);
    }
  }

  #findSlow(): void {
    const beforeMs = performance.now() - SLOW_MS;
    for (const { slot, startedAtMs } of this.#calls) if (startedAtMs < beforeMs) this.#load.slow(slot);
    this.#beginCalls();
  }

  /** Ends the leases that have not expired. */
  async #returnToQueue(leased: readonly Leased[]): Promise<void> {
    const nowMs = performance.now();
    const owned = leased.filter(({ leaseEndsAtMs }) => leaseEndsAtMs > nowMs);
    if (owned.length === 0) return;
    // Without the database the leases expire.
    const claims = owned.map(({ delivery }) => delivery.row);
    const dueAtMs = this.#parts.clock.now();
    await releaseRows(this.#parts.db, claims, dueAtMs).catch(
      reportError(this.#parts.log, "webhooks.release_failed", "claimed webhook deliveries could not be returned to the queue"),
    );
    for (const { account_id: accountId, environment, endpoint_id: endpointId, is_retry: isRetry } of claims)
      this.#endpoints.add({ accountId, environment, endpointId }, isRetry, dueAtMs);
  }
}

/** Whether the event of the delivery still exists. */
const hasEvent = (row: ClaimedRow): row is ClaimedDelivery["row"] => row.type !== null && row.record !== null;

const explain = ({ row, endpoint }: ClaimedDelivery, { failure, cause, durationMs }: Reply & { kind: "failed" }): object => ({
  endpoint: encodeId("whe", endpoint.id),
  event_id: encodeId("evt", row.event_id),
  failure,
  cause,
  ms: durationMs,
});
