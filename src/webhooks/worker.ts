/** Tells endpoints what waits for them: claims due deliveries, calls, and puts on record what became of each. Nothing of the
 *  database is held during a call. What a process had in hand when it died is due again when its lease is over. */
import { errorFields, reportError, type Log } from "../lib/log.ts";
import { encodeId } from "../lib/id.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { poll } from "../lib/wait.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Bell } from "../events/bell.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { abandoned, attemptDelivery, dropped, isSuccess, type Delivery } from "./attempt.ts";
import { toEndpoint } from "./endpoint-queries.ts";
import type { DisabledReason, Endpoint } from "./endpoint.ts";
import { Load, type Health, type Slot } from "./load.ts";
import type { Outbound, Reply } from "./outbound.ts";
import {
  claimSharesFor,
  findWaiting,
  MAX_ENDPOINTS,
  releaseRows,
  type ClaimedRow,
  type ClaimShares,
  type Share,
  type WaitingRow,
} from "./queue.ts";
import { recoverStep } from "./recover.ts";
import { Settler } from "./settle.ts";
import type { Signer } from "./signer.ts";

/** Told of everything that is counted. */
export type WebhookWatch = {
  attempted(reply: Reply): void;
  disabled(reason: DisabledReason): void;
};

export type WorkerParts = {
  db: Database;
  clock: Clock;
  outbound: Outbound;
  signer: Signer;
  bell: Bell;
  watch: WebhookWatch;
  /** How long a claim holds, and how much of it must be left for a call to begin. */
  leaseMs: number;
  callMs: number;
  /** How often it looks into the queue when no node announces anything. */
  pollMs: number;
  log: Log;
  tracing?: Tracing | undefined;
};

const RECOVER_POLL_MS = 1_000;
// Between two looks at the queue: what ends meanwhile is followed up together.
const GAP_MS = 3;
const SLOW_MS = 1_000;
const SLOW_LOOK_MS = 250;
// Of endpoints that are gone or disabled: there is nothing to call.
const MOST_TO_DROP = 100;
// Together with what stops before it, within what a stop may take.
const DRAIN_MS = 3_000;
const LAST_LOOK_MS = 1_000;
const MAX_EMPTY_LOOKS = 200;
const NOBODY: Uuid = Buffer.alloc(16);

type Held = { delivery: Delivery; until: number };
type Call = { slot: Slot; startedAt: number };

export class WebhookWorker {
  readonly #parts: WorkerParts;
  readonly #claimShares: ClaimShares;
  readonly #load = new Load();
  readonly #job: RepeatingJob;
  readonly #settler: Settler;
  readonly #calls = new Set<Call>();
  /** Claimed and not begun, by endpoint. */
  readonly #held = new Map<string, Held[]>();
  readonly #stopping = new AbortController();
  /** Ends calls that outlast the stop. */
  readonly #abort = new AbortController();
  #after: { fresh: Uuid; retry: Uuid } = { fresh: NOBODY, retry: NOBODY };
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  /** Endpoints with due deliveries for which there was no room, and the rooms that were full: when a call of theirs ends, there is. */
  readonly #blocked = new Set<string>();
  #crowded: ReadonlySet<Health> = new Set();
  /** There may be due deliveries that were not claimed, of endpoints that have room. */
  #hasMore = true;
  /** Something new came since the last look began. */
  #isWoken = false;
  /** The last look did not reach the last endpoint. */
  #isCut = false;
  #emptyLooks = 0;
  #isBeginning = false;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#claimShares = claimSharesFor(parts.leaseMs);
    this.#job = new RepeatingJob({
      onError: reportError(parts.log, "webhooks.worker_failed", "a background task of the webhook worker failed"),
    });
    this.#settler = new Settler({ ...parts, onDisabled: (reason) => parts.watch.disabled(reason) });
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  start(): void {
    const { db, clock, bell, pollMs } = this.#parts;
    this.#job.repeat(async () => {
      this.#emptyLooks = 0;
      this.wake();
      return pollMs;
    });
    this.#job.repeat(async () => {
      this.#findSlow();
      return SLOW_LOOK_MS;
    });
    this.#job.repeat(async () => {
      const step = await recoverStep(db, clock);
      if (step.queued > 0) bell.ring();
      return step.hasMore ? 0 : RECOVER_POLL_MS;
    });
  }

  /** There may be something new in the queue. */
  wake(): void {
    this.#hasMore = true;
    this.#isWoken = true;
    this.#lookSoon();
  }

  /** Nothing new is begun; calls under way get some time, and what has not ended by then is another's to send again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#job.stop();
    await poll(async () => (this.#isLooking ? undefined : true), { timeoutMs: LAST_LOOK_MS, everyMs: 10 });
    await this.#giveBack(Array.from(this.#held.values()).flat());
    this.#held.clear();
    const isIdle = async (): Promise<true | undefined> => (this.#calls.size === 0 && this.#settler.pending === 0 ? true : undefined);
    if ((await poll(isIdle, { timeoutMs: DRAIN_MS, everyMs: 10 })) === undefined) {
      this.#abort.abort();
      await poll(isIdle, { timeoutMs: 1_000, everyMs: 10 });
    }
    await this.#parts.outbound.close();
  }

  #lookSoon(): void {
    if (this.#timer !== undefined || this.#isLooking || this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#look();
    }, GAP_MS);
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    this.#hasMore = false;
    this.#blocked.clear();
    this.#isWoken = false;
    let claimed = 0;
    try {
      claimed = await this.#claim();
    } catch (error) {
      this.#parts.log.error({ event: "webhooks.claim_failed", ...errorFields(error) }, "a claim of due webhook deliveries failed");
    } finally {
      this.#isLooking = false;
    }
    this.#begin();
    // Where nothing could be claimed, the rest is looked at too, once around; then a call must end first.
    this.#emptyLooks = claimed > 0 ? 0 : this.#emptyLooks + 1;
    const isWorthIt = claimed > 0 || (this.#isCut && this.#emptyLooks < MAX_EMPTY_LOOKS);
    if (this.#isWoken || (this.#hasMore && isWorthIt)) this.#lookSoon();
  }

  /** How many deliveries it took. */
  async #claim(): Promise<number> {
    this.#isCut = false;
    const rows = await findWaiting(this.#parts.db, this.#after.fresh, this.#after.retry);
    for (const isRetry of [false, true]) {
      const mine = rows.filter((row) => row.is_retry === isRetry);
      if (mine.length < MAX_ENDPOINTS) continue;
      // It was cut off: the next look goes on from here, until it has been around.
      const kind = isRetry ? "retry" : "fresh";
      const reached = mine.at(-1)?.endpoint_id ?? NOBODY;
      if (reached.compare(this.#after[kind]) > 0) this.#isCut = true;
      this.#after[kind] = reached;
      this.#hasMore = true;
    }
    // Of an endpoint that is gone or disabled nothing waits for its time.
    const due = rows.filter((row) => row.is_due || !isCallable(row));
    const shares = this.#sharesOf(due);
    if (shares.length === 0) return 0;
    const until = performance.now() + this.#parts.leaseMs;
    const claimed = await this.#claimShares(this.#parts.db, shares);
    const endpoints = new Map(due.map((row) => [nameOf(row.endpoint_id), row.id === null ? undefined : toEndpoint(row)]));
    for (const row of claimed) this.#take(row, endpoints.get(nameOf(row.endpoint_id)), until);
    // Whoever got all that it asked for may have more.
    const counts = Map.groupBy(claimed, (row) => `${row.is_retry} ${nameOf(row.endpoint_id)}`);
    if (shares.some(({ endpointId, isRetry, most }) => (counts.get(`${isRetry} ${nameOf(endpointId)}`)?.length ?? 0) >= most)) {
      this.#hasMore = true;
    }
    return claimed.length;
  }

  /** How much of each endpoint to claim. What is new comes first, but never takes all. */
  #sharesOf(due: readonly WaitingRow[]): Share[] {
    const callable = [...Map.groupBy(due.filter(isCallable), (row) => nameOf(row.endpoint_id))];
    const rooms = this.#load.allot(
      callable.map(([name, [row]]) => ({
        name,
        isFailing: row !== undefined && row.id !== null && row.failing_since !== null,
        held: this.#held.get(name)?.length ?? 0,
      })),
    );
    const shares = due.filter((row) => !isCallable(row)).map((row) => shareOf(row, MOST_TO_DROP));
    this.#crowded = this.#load.fullRooms();
    callable.forEach(([name, rows], index) => {
      const room = rooms[index] ?? 0;
      const [first, second] = rows;
      if (room === 0 || first === undefined) this.#blocked.add(name);
      else if (second === undefined) shares.push(shareOf(first, room));
      else {
        // A quarter, by chance where there is room for few: else the last place would always be taken by the same of the two.
        const forRetries = Math.floor(room / 4 + Math.random());
        if (room > forRetries) shares.push(shareOf(first, room - forRetries));
        if (forRetries > 0) shares.push(shareOf(second, forRetries));
        if (forRetries === 0 || forRetries === room) this.#hasMore = true;
      }
    });
    return shares;
  }

  #take(row: ClaimedRow, endpoint: Endpoint | undefined, until: number): void {
    if (endpoint === undefined || !isWhole(row)) return this.#settler.settle(dropped(row));
    const delivery = { row, endpoint };
    if (endpoint.status !== "enabled") return this.#settler.settle(abandoned(delivery));
    const name = nameOf(row.endpoint_id);
    const held = this.#held.get(name);
    if (held === undefined) this.#held.set(name, [{ delivery, until }]);
    else held.push({ delivery, until });
  }

  /** Begins whatever has room. */
  #begin(): void {
    this.#isBeginning = false;
    for (const [name, held] of Array.from(this.#held)) {
      let slot: Slot | undefined;
      while (held.length > 0 && (slot = this.#load.begin(name)) !== undefined) {
        const next = held.shift() as Held;
        if (next.until - performance.now() > this.#parts.callMs) void this.#call(next, slot);
        else {
          this.#load.end(slot);
          void this.#giveBack([next, ...held.splice(0)]);
        }
      }
      this.#held.delete(name);
      // To the end of the line.
      if (held.length > 0) this.#held.set(name, held);
    }
  }

  /** A call has ended. What others left room for is begun together, and more is claimed before there is nothing to begin. */
  #goOn({ endpoint, health }: Slot): void {
    if (!this.#isBeginning) {
      this.#isBeginning = true;
      setImmediate(() => this.#begin());
    }
    const mayClaim = this.#hasMore || this.#blocked.has(endpoint) || this.#crowded.has(health);
    if (mayClaim && this.#heldCount() <= this.#calls.size / 2) this.#lookSoon();
  }

  #heldCount(): number {
    let count = 0;
    for (const held of this.#held.values()) count += held.length;
    return count;
  }

  async #call({ delivery, until }: Held, slot: Slot): Promise<void> {
    const call = { slot, startedAt: performance.now() };
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
      // Whether it arrived is not known, and whoever has it next finds out.
      if (this.#abort.signal.aborted && !isOk) await this.#giveBack([{ delivery, until }]);
      else this.#settler.settle(settlement);
      if (isGone) await this.#leave(delivery.endpoint);
    } catch (error) {
      this.#parts.log.error({ event: "webhooks.attempt_failed", ...errorFields(error) }, "a webhook delivery failed");
    } finally {
      this.#calls.delete(call);
      this.#load.end(slot, isOk);
    }
    this.#goOn(slot);
  }

  /** It wants nothing more, and what is held for it is not begun. */
  async #leave(endpoint: Endpoint): Promise<void> {
    const name = nameOf(endpoint.id);
    const held = this.#held.get(name) ?? [];
    this.#held.delete(name);
    try {
      await this.#settler.disable(endpoint, "gone");
    } finally {
      await this.#giveBack(held);
    }
  }

  #findSlow(): void {
    const before = performance.now() - SLOW_MS;
    for (const { slot, startedAt } of this.#calls) if (startedAt < before) this.#load.slow(slot);
    this.#begin();
  }

  async #giveBack(held: readonly Held[]): Promise<void> {
    // What was held beyond its lease may be another's by now.
    const now = performance.now();
    const mine = held.filter(({ until }) => until > now);
    if (mine.length === 0) return;
    // Without the database they are free when their leases are over.
    const ids = mine.map(({ delivery }) => delivery.row.id);
    await releaseRows(this.#parts.db, ids).catch(
      reportError(this.#parts.log, "webhooks.release_failed", "claimed webhook deliveries could not be returned to the queue"),
    );
  }
}

const nameOf = (id: Uuid): string => id.toString("latin1");
const isCallable = (row: WaitingRow): boolean => row.id !== null && row.status === "enabled";
const shareOf = (row: WaitingRow, most: number): Share => ({
  endpointId: row.endpoint_id,
  isRetry: row.is_retry,
  isOver: !isCallable(row),
  most,
});
const isWhole = (row: ClaimedRow): row is Delivery["row"] => row.type !== null && row.record !== null;

const explain = ({ row, endpoint }: Delivery, { failure, cause, durationMs }: Reply & { kind: "failed" }): object => ({
  endpoint: encodeId("whe", endpoint.id),
  event_id: encodeId("evt", row.event_id),
  failure,
  cause,
  ms: durationMs,
});
