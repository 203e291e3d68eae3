/** The queue of parts that wait to be submitted: for one of the bound sessions, for room in the window, for their share of the rate, and for the
 *  end of a pause that the carrier asked for. */
import { LastSecond, type Place } from "../last-second.ts";
import { Rate } from "./rate.ts";
import type { Session } from "./session.ts";
import type { SmppTimes } from "./settings.ts";

/** An admitted part may use `session` until `release` is called. Its place is written right before its bytes; null: the link has no rate. The other
 *  kinds say why the part may not be sent. */
export type Admission = Admitted | { kind: "unbound" | "aborted" | "closed" };
type Admitted = { kind: "admitted"; session: Session; atMs: number; place: Place | null };

/** The carrier's response to a part, as far as it concerns the rate. */
export type PartOutcome = "accepted" | "throttled" | "other";

/** `parts`: the number of parts of a message that has not started; 0 for a started one. */
type Waiter = { settle: (admission: Admission) => void; parts: number; sinceMs: number };

// How soon a node without the lease checks for it again.
const LEASE_CHECK_MS = 200;

export type SubmitQueueOptions = {
  window: number;
  partsPerSecond: number | null;
  times: SmppTimes;
  /** Whether this node may still send on the link. */
  hasLease: () => boolean;
  changed: () => void;
};

export class SubmitQueue {
  readonly #options: SubmitQueueOptions;
  readonly #rate: Rate;
  /** Null: the link has no rate. */
  readonly #lastSecond: LastSecond | null;
  /** Parts of started messages go first, so that a started message ends soon. */
  readonly #started: Waiter[] = [];
  readonly #unstarted: Waiter[] = [];
  /** The bound sessions. All share the window and the rate. */
  readonly #sessions = new Map<Session, { inFlight: number }>();
  #inFlight = 0;
  /** Parts of started messages that the carrier has not accepted yet. */
  #unfinishedParts = 0;
  #pausedUntil = 0;
  #pausedAt = -1;
  #pauses = 0;
  /** The end of the pause is reported as well, by whatever comes first after it. */
  #isPauseReported = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SubmitQueueOptions) {
    this.#options = options;
    const { partsPerSecond } = options;
    this.#rate = new Rate(partsPerSecond, performance.now());
    this.#lastSecond = partsPerSecond === null ? null : new LastSecond(partsPerSecond);
  }

  get isOpen(): boolean {
    return this.#session !== undefined && !this.isPaused && !this.#isClosed && this.#options.hasLease();
  }

  /** Whether this node may still send on the link. */
  get hasLease(): boolean {
    return this.#options.hasLease();
  }

  get isPaused(): boolean {
    return performance.now() < this.#pausedUntil;
  }

  get pauseMs(): number {
    return Math.max(0, Math.ceil(this.#pausedUntil - performance.now()));
  }

  addSession(session: Session): void {
    this.#sessions.set(session, { inFlight: 0 });
    this.#pump();
  }

  /** Without a session, only parts of started messages continue to wait. */
  removeSession(session: Session): void {
    this.#sessions.delete(session);
    if (this.#session === undefined) this.#dismiss(this.#unstarted);
    this.#pump();
  }

  /** The open session with the fewest parts on their way: one that does not answer gets no more than the others. */
  get #session(): Session | undefined {
    const open = Array.from(this.#sessions).filter(([session]) => session.isOpen);
    return open.toSorted(([, a], [, b]) => a.inFlight - b.inFlight)[0]?.[0];
  }

  /** Waits until the next part of a started message is admitted, or the first of `parts` parts. In the second case all parts count
   *  as unfinished until `finish` is called for them. */
  admit(signal: AbortSignal, parts: number | "started"): Promise<Admission> {
    const isStarted = parts === "started";
    if (this.#isClosed) return Promise.resolve({ kind: "closed" });
    if (signal.aborted) return Promise.resolve({ kind: "aborted" });
    if (!isStarted && this.#session === undefined) return Promise.resolve({ kind: "unbound" });
    return new Promise((resolve) => {
      const queue = isStarted ? this.#started : this.#unstarted;
      const abort = (): void => {
        queue.splice(queue.indexOf(waiter), 1);
        resolve({ kind: "aborted" });
      };
      const settle = (admission: Admission): void => {
        signal.removeEventListener("abort", abort);
        resolve(admission);
      };
      const waiter: Waiter = { settle, parts: isStarted ? 0 : parts, sinceMs: performance.now() };
      signal.addEventListener("abort", abort, { once: true });
      queue.push(waiter);
      this.#pump();
    });
  }

  /** Ends an admission: the part has its response, or will get none. */
  release({ session, atMs, place }: Admitted, outcome: PartOutcome): void {
    place?.release();
    this.#inFlight -= 1;
    this.#count(session, -1);
    if (outcome === "throttled") this.#throttle(atMs);
    // The acceptance of a part that left before the pause says nothing about the current rate.
    if (outcome === "accepted" && atMs >= this.#pausedUntil) this.#pauses = 0;
    this.#pump();
  }

  /** Reports that this number of unfinished parts was accepted, or will never be sent. */
  finish(parts: number): void {
    this.#unfinishedParts -= parts;
    this.#pump();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { settle } of [...this.#started.splice(0), ...this.#unstarted.splice(0)]) settle({ kind: "closed" });
  }

  #count(session: Session, more: number): void {
    const counted = this.#sessions.get(session);
    if (counted !== undefined) counted.inFlight += more;
  }

  /** Pauses and lowers the rate. The carrier may throttle every part in the window; all of these count as one. */
  #throttle(atMs: number): void {
    const now = performance.now();
    if (atMs <= this.#pausedAt || this.#isClosed) return;
    const { firstPauseMs, maxPauseMs } = this.#options.times;
    this.#pausedUntil = now + Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(this.#pauses, 20));
    this.#pausedAt = now;
    this.#pauses += 1;
    this.#rate.cut(now);
    this.#isPauseReported = true;
    this.#options.changed();
  }

  #pump(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    if (this.#isPauseReported && !this.isPaused) {
      this.#isPauseReported = false;
      this.#options.changed();
    }
    if (!this.#options.hasLease()) return this.#waitForLease();
    const waitMs = this.#admitNext();
    const turnMs = this.#expireTurns();
    if (waitMs !== undefined || turnMs !== undefined) this.#pumpAfter(Math.min(waitMs ?? Infinity, turnMs ?? Infinity));
  }

  /** Admits as many parts as allowed. Returns the time until further parts may be allowed, if that depends on time. */
  #admitNext(): number | undefined {
    for (let session = this.#session; session !== undefined && this.#inFlight < this.#options.window; session = this.#session) {
      if (this.isPaused) return this.pauseMs;
      const queue = this.#started.length > 0 ? this.#started : this.#unstarted;
      const [next] = queue;
      if (next === undefined || !this.#mayStart(next.parts)) return undefined;
      const nowMs = performance.now();
      const waitMs = this.#lastSecond?.waitMs(nowMs) || this.#rate.take(nowMs);
      if (waitMs > 0) return waitMs;
      const place = this.#lastSecond?.reserve() ?? null;
      queue.shift();
      this.#inFlight += 1;
      this.#count(session, 1);
      this.#unfinishedParts += next.parts;
      next.settle({ kind: "admitted", session, atMs: performance.now(), place });
    }
    return undefined;
  }

  /** Whether a message can end in time: otherwise only some of its parts would be sent. */
  #mayStart(parts: number): boolean {
    const { perSecond } = this.#rate;
    if (parts === 0 || perSecond === null || this.#unfinishedParts === 0) return true;
    return this.#unfinishedParts + parts <= (perSecond * this.#options.times.finishMs) / 1_000;
  }

  /** Dismisses messages that have waited for too long. Returns the time until this happens to the next one. */
  #expireTurns(): number | undefined {
    const { turnMs } = this.#options.times;
    const now = performance.now();
    const firstInTime = this.#unstarted.findIndex(({ sinceMs }) => now - sinceMs < turnMs);
    this.#dismiss(this.#unstarted, firstInTime === -1 ? this.#unstarted.length : firstInTime);
    const [oldest] = this.#unstarted;
    return oldest === undefined ? undefined : Math.max(1, Math.ceil(oldest.sinceMs + turnMs - now));
  }

  /** Another node may have the link: dismisses the messages that have not started. Started messages wait until the link is closed, or
   *  until this node has the lease again. */
  #waitForLease(): void {
    this.#dismiss(this.#unstarted);
    if (this.#started.length > 0) this.#pumpAfter(LEASE_CHECK_MS);
  }

  #dismiss(waiters: Waiter[], count = waiters.length): void {
    for (const { settle } of waiters.splice(0, count)) settle({ kind: "unbound" });
  }

  #pumpAfter(ms: number): void {
    this.#timer = setTimeout(() => this.#pump(), ms);
  }
}
