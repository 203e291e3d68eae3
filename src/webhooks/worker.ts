/** The webhook worker of this node: it takes over deliveries that this process commits, claims others that are due, calls their endpoints, and
 *  settles the outcomes. No transaction is open during a call. Deliveries of a node that died become due again when their leases expire.
 *
 *  `queue/` decides when to claim, and keeps the turns of the endpoints; `call-limits.ts` decides how many deliveries of each endpoint are
 *  claimed, and how many calls run. */
import type { WebhookHandover } from "../events/handover.ts";
import type { QueuedDeliveries, WakeWebhooks } from "../events/publish.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { idKey } from "../model/id.ts";
import { errorFields, reportError, type Log } from "../model/log.ts";
import { poll, within } from "../lib/wait.ts";
import type { Database } from "../database/database.ts";
import { ClaimLoop } from "../queue/claim-loop.ts";
import { PacedScan } from "../queue/paced-scan.ts";
import { WaitingGroups, type ClaimedPlace, type Share, type TakenGroup } from "../queue/waiting-groups.ts";
import {
  attemptDelivery,
  type AttemptParts,
  explain,
  hasEvent,
  isSuccess,
  settledWithoutAttempt,
  subjectOf,
  type ClaimedDelivery,
} from "./attempt.ts";
import { CallLimits, planShares, type Slot } from "./call-limits.ts";
import type { Endpoint } from "./endpoint.ts";
import { EndpointHandover } from "./handover.ts";
import { recoverStep } from "./maintain-endpoints.ts";
import type { WebhookWatch } from "./metrics.ts";
import {
  claimShares,
  endpointOfRow,
  FRESH,
  queuedEndpoint,
  readEndpointsOf,
  releaseRows,
  RETRY,
  scanEndpoints,
  type ClaimedRow,
  type QueuedEndpoint,
} from "./queue.ts";
import { Settler } from "./settle.ts";

export type WorkerParts = AttemptParts & {
  db: Database;
  wakeWebhooks: WakeWebhooks;
  watch: WebhookWatch;
  /** How long a claim lasts, and how much of that time a call needs at its start. */
  leaseMs: number;
  callMs: number;
  /** How often the worker claims when no node announces new deliveries. */
  pollMs: number;
  log: Log;
};

/** A delivery that this node owns until the lease ends. */
type Leased = { delivery: ClaimedDelivery; leaseEndsAtMs: number };
type Call = { slot: Slot; startedAtMs: number };

const RECOVER_POLL_MS = 1_000;
// A claim serves at most this many endpoints with new deliveries, and as many with retries. The next claim continues after them.
const MAX_ENDPOINTS = 64;
// Calls which end together are followed by one claim.
const CLAIM_DELAY_MS = 3;
// A call counts as slow after this time. Slow calls are looked for this often.
const SLOW_MS = 1_000;
const FIND_SLOW_MS = 250;
// Together with the parts that stop before the worker, within the time that a stop may take.
const DRAIN_MS = 3_000;
const LAST_CLAIM_MS = 1_000;
// The time to store an outcome.
const SETTLE_MS = 2_000;
const ABORT_MS = 1_000;

export class WebhookWorker {
  readonly #parts: WorkerParts;
  readonly #limits = new CallLimits();
  readonly #endpoints = new WaitingGroups<QueuedEndpoint>(2);
  readonly #claims: ClaimLoop;
  readonly #scan: PacedScan;
  readonly #job: RepeatingJob;
  readonly #settler: Settler;
  readonly #handover: EndpointHandover;
  /** Claimed deliveries whose call has not begun, by endpoint. */
  readonly #waiting = new Map<string, Leased[]>();
  readonly #calls = new Set<Call>();
  readonly #stopping = new AbortController();
  /** Aborts the calls that outlast the stop. */
  readonly #abort = new AbortController();
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
      onLater: ({ row }, dueAtMs) => this.#endpoints.add({ rank: RETRY, group: endpointOfRow(row), dueAtMs }),
    });
    this.#handover = new EndpointHandover({
      ...parts,
      hasRoom: (name) => this.#mayHandOver(name),
      take: (rows, endpoints, leaseEndsAtMs) => {
        for (const row of rows) this.#take(row, endpoints.get(idKey(row.endpoint_id)), leaseEndsAtMs);
        this.#handover.learn(endpoints.values());
        this.#beginCalls();
      },
      giveBack: (rows) => this.#release(rows),
      onError: reportError(parts.log, "webhooks.claim_failed", "the endpoints of new webhook deliveries could not be read"),
    });
    this.#claims = new ClaimLoop({
      isAnyDue: () => this.#endpoints.isAnyDue(parts.clock.now(), this.#hasRoom),
      begin: () => {
        const taken = this.#endpoints.take(parts.clock.now(), [MAX_ENDPOINTS, MAX_ENDPOINTS], this.#hasRoom);
        return taken.length === 0 ? undefined : this.#claim(taken);
      },
      onError: reportError(parts.log, "webhooks.claim_failed", "a claim of due webhook deliveries failed"),
      delayMs: CLAIM_DELAY_MS,
    });
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  get handover(): WebhookHandover {
    return this.#handover;
  }

  start(): void {
    const { db, clock, wakeWebhooks, pollMs } = this.#parts;
    this.#job.repeat(async () => {
      this.#claims.claim();
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
    for (const { accountId, environment, endpointId, dueAtMs } of queued)
      this.#endpoints.add({ rank: FRESH, group: queuedEndpoint(accountId, environment, endpointId), dueAtMs });
    this.#claims.claim();
  }

  /** Reads the queue for deliveries that no node announced: of nodes that died, and those that were committed late. */
  async #scanQueue(): Promise<void> {
    const { db, clock } = this.#parts;
    this.#endpoints.refresh(await scanEndpoints(db, clock.now()), clock.now());
    this.#claims.claim();
  }

  /** Begins no more calls, and gives the calls in flight some time. Deliveries without an outcome after that return to the queue. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#job.stop();
    await within(Promise.all([this.#claims.stop(), this.#handover.stop()]), LAST_CLAIM_MS);
    const waiting = Array.from(this.#waiting.values()).flat();
    // Cleared first: a call that ends begins the next call of a waiting delivery.
    this.#waiting.clear();
    await this.#returnToQueue(waiting);
    const isIdle = async (): Promise<true | undefined> => (this.#calls.size === 0 && this.#settler.pending === 0 ? true : undefined);
    if ((await poll(isIdle, { timeoutMs: DRAIN_MS, everyMs: 10 })) === undefined) {
      this.#abort.abort();
      await poll(isIdle, { timeoutMs: ABORT_MS, everyMs: 10 });
    }
    await this.#parts.client.close();
  }

  readonly #hasRoom = ({ key }: QueuedEndpoint): boolean => this.#limits.hasRoom(key, this.#waiting.get(key)?.length ?? 0);

  /** Whether the endpoint may get deliveries past the queue. Its due rows in the queue come first. */
  #mayHandOver(name: string): boolean {
    const nowMs = this.#parts.clock.now();
    const isDue = [FRESH, RETRY].some((rank) => this.#endpoints.mayBeDue(rank, name, nowMs));
    return !isDue && this.#limits.mayHandOver(name, this.#waiting.get(name)?.length ?? 0);
  }

  async #claim(taken: readonly TakenGroup<QueuedEndpoint>[]): Promise<void> {
    const { db, clock, leaseMs } = this.#parts;
    let [shares, claimed]: [Share<QueuedEndpoint>[], ClaimedRow[]] = [[], []];
    try {
      const endpoints = await readEndpointsOf(
        db,
        taken.map(({ group }) => group),
      );
      this.#handover.learn(endpoints.values());
      shares = this.#sharesOf(taken, endpoints);
      const nowMs = clock.now();
      const leaseEndsAtMs = performance.now() + leaseMs;
      const wanted = shares.filter(({ most }) => most > 0);
      const timed = wanted.map((share) => ({
        ...share,
        untilMs: isCallable(endpoints.get(share.group.key)) ? nowMs : null,
        leasedUntilMs: Math.floor(nowMs) + leaseMs,
      }));
      if (wanted.length > 0) claimed = await claimShares(db, timed);
      for (const row of claimed) this.#take(row, endpoints.get(idKey(row.endpoint_id)), leaseEndsAtMs);
    } catch (error) {
      this.#endpoints.giveBack(taken);
      throw error;
    }
    this.#endpoints.end(shares, claimed.map(placeOf));
    this.#beginCalls();
  }

  #sharesOf(taken: readonly TakenGroup<QueuedEndpoint>[], endpoints: ReadonlyMap<string, Endpoint>): Share<QueuedEndpoint>[] {
    const callable = Array.from(endpoints).filter(([, endpoint]) => isCallable(endpoint));
    const rooms = this.#limits.allot(
      callable.map(([name, { failingSinceMs }]) => ({
        name,
        isFailing: failingSinceMs !== null,
        waiting: this.#waiting.get(name)?.length ?? 0,
      })),
    );
    const roomOf = new Map(callable.map(([name], index) => [name, rooms[index] ?? 0]));
    return planShares(taken, (key) => roomOf.get(key), Math.random);
  }

  #take(row: ClaimedRow, endpoint: Endpoint | undefined, leaseEndsAtMs: number): void {
    if (endpoint === undefined || !hasEvent(row)) return this.#settler.settle(settledWithoutAttempt(row, "dropped"));
    if (endpoint.status !== "enabled") return this.#settler.settle(settledWithoutAttempt(row, "failed"));
    const name = idKey(row.endpoint_id);
    const leased = { delivery: { row, endpoint }, leaseEndsAtMs };
    const waiting = this.#waiting.get(name);
    if (waiting === undefined) this.#waiting.set(name, [leased]);
    else waiting.push(leased);
  }

  #beginCalls(): void {
    this.#isBeginPlanned = false;
    for (const [name, waiting] of Array.from(this.#waiting)) {
      let slot: Slot | undefined;
      while (waiting.length > 0 && (slot = this.#limits.begin(name)) !== undefined) {
        const next = waiting.shift() as Leased;
        if (next.leaseEndsAtMs - performance.now() > this.#parts.callMs) void this.#call(next, slot);
        else {
          this.#limits.end(slot);
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
    let isOk: boolean | undefined = false;
    try {
      // A callback may need several calls. The claim must not end before its outcome is stored.
      const limitMs = Math.max(0, leaseEndsAtMs - performance.now() - SETTLE_MS);
      const { settlement, reply, isGone } = await attemptDelivery(this.#parts, delivery, { signal: this.#abort.signal, limitMs });
      // An endpoint that has nothing to get takes as many as one that responds; of one that must wait, nothing is known.
      isOk = reply === undefined ? settlement.outcome === "dropped" || undefined : isSuccess(reply);
      if (reply !== undefined) this.#parts.watch.attempted(reply);
      if (reply !== undefined && reply.kind !== "response") this.#parts.log.info(explain(delivery, reply), "a webhook was not delivered");
      // The endpoint may have received the delivery or not. Another node repeats the call.
      if (this.#abort.signal.aborted && reply !== undefined && !isOk) await this.#returnToQueue([{ delivery, leaseEndsAtMs }]);
      else this.#settler.settle(settlement);
      if (isGone) await this.#disable(delivery.endpoint);
    } catch (error) {
      const facts = { event: "webhooks.attempt_failed", ...subjectOf(delivery), ...errorFields(error) } as const;
      this.#parts.log.error(facts, "a webhook delivery failed");
    } finally {
      this.#calls.delete(call);
      this.#limits.end(slot, isOk);
    }
    this.#followCall();
  }

  /** Begins further calls, together with those that other ended calls made room for, and claims before the claimed
   *  deliveries run out. */
  #followCall(): void {
    if (!this.#isBeginPlanned) {
      this.#isBeginPlanned = true;
      setImmediate(() => this.#beginCalls());
    }
    if (this.#waitingCount() <= this.#calls.size / 2) this.#claims.claim();
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
    for (const { slot, startedAtMs } of this.#calls) if (startedAtMs < beforeMs) this.#limits.slow(slot);
    this.#beginCalls();
  }

  /** Ends the leases that have not expired. */
  async #returnToQueue(leased: readonly Leased[]): Promise<void> {
    const nowMs = performance.now();
    const owned = leased.filter(({ leaseEndsAtMs }) => leaseEndsAtMs > nowMs);
    if (owned.length > 0) await this.#release(owned.map(({ delivery }) => delivery.row));
  }

  async #release(claims: readonly ClaimedRow[]): Promise<void> {
    // Without the database the leases expire.
    const dueAtMs = this.#parts.clock.now();
    await releaseRows(this.#parts.db, claims, dueAtMs).catch(
      reportError(this.#parts.log, "webhooks.release_failed", "claimed webhook deliveries could not be returned to the queue"),
    );
    for (const row of claims) this.#endpoints.add({ rank: row.is_retry ? RETRY : FRESH, group: endpointOfRow(row), dueAtMs });
  }
}

const isCallable = (endpoint: Endpoint | undefined): boolean => endpoint?.status === "enabled";

const placeOf = (row: ClaimedRow): ClaimedPlace => ({
  rank: row.is_retry ? RETRY : FRESH,
  key: idKey(row.endpoint_id),
  dueAtMs: row.was_due_at.getTime(),
});
