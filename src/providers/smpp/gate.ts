/** Where parts wait until they may leave: for a connection, for room in the window, for their share of the rate, and for the end of
 *  a pause that the carrier asked for. */
import { Rate } from "./rate.ts";
import type { Session } from "./session.ts";
import type { SmppTimes } from "./settings.ts";

/** `session` until `leave` is called; or why nothing may leave. */
export type Entry = { kind: "entered"; session: Session; atMs: number } | { kind: "unbound" | "aborted" | "closed" };

/** What the carrier made of the part that left. */
export type Verdict = "accepted" | "throttled" | "other";

/** `parts`: of a message that has not begun, how many it has. */
type Waiter = { settle: (entry: Entry) => void; parts: number; sinceMs: number };

// How soon it is asked again whose the link is.
const STAND_BACK_MS = 200;

export type GateOptions = {
  window: number;
  partsPerSecond: number | null;
  times: SmppTimes;
  /** Whether the link is still this node's to send on. */
  isOurs: () => boolean;
  changed: () => void;
};

export class Gate {
  readonly #options: GateOptions;
  readonly #rate: Rate;
  /** Parts of messages that have begun go first: what is begun should end. */
  readonly #begun: Waiter[] = [];
  readonly #fresh: Waiter[] = [];
  #session: Session | undefined;
  #inFlight = 0;
  /** Parts of messages that have begun, which the carrier has not taken yet. */
  #owed = 0;
  #pausedUntil = 0;
  #pausedAt = -1;
  #pauses = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#rate = new Rate(options.partsPerSecond, performance.now());
  }

  get isOpen(): boolean {
    return this.#session?.isOpen === true && !this.isPaused && !this.#isClosed && this.#options.isOurs();
  }

  get isPaused(): boolean {
    return performance.now() < this.#pausedUntil;
  }

  get pauseMs(): number {
    return Math.max(0, Math.ceil(this.#pausedUntil - performance.now()));
  }

  /** With a connection, or without one: then only those wait who have begun. */
  use(session: Session | undefined): void {
    this.#session = session;
    if (session === undefined) this.#sendAway(this.#fresh);
    this.#pump();
  }

  /** For the next part of a message that has begun, or for the first of so many: then all of them are owed, until `paid`. */
  enter(signal: AbortSignal, parts: number | "begun"): Promise<Entry> {
    const hasBegun = parts === "begun";
    if (this.#isClosed) return Promise.resolve({ kind: "closed" });
    if (signal.aborted) return Promise.resolve({ kind: "aborted" });
    if (!hasBegun && this.#session?.isOpen !== true) return Promise.resolve({ kind: "unbound" });
    return new Promise((resolve) => {
      const queue = hasBegun ? this.#begun : this.#fresh;
      const giveUp = (): void => {
        queue.splice(queue.indexOf(waiter), 1);
        resolve({ kind: "aborted" });
      };
      const settle = (entry: Entry): void => {
        signal.removeEventListener("abort", giveUp);
        resolve(entry);
      };
      const waiter: Waiter = { settle, parts: hasBegun ? 0 : parts, sinceMs: performance.now() };
      signal.addEventListener("abort", giveUp, { once: true });
      queue.push(waiter);
      this.#pump();
    });
  }

  /** The part that entered at that time has its answer, or will not have one. */
  leave(atMs: number, verdict: Verdict): void {
    this.#inFlight -= 1;
    if (verdict === "throttled") this.#throttle(atMs);
    // A yes to what left before the pause says nothing about the rate now.
    if (verdict === "accepted" && atMs >= this.#pausedUntil) this.#pauses = 0;
    this.#pump();
  }

  /** So many parts of what has begun are at the carrier, or will never be. */
  paid(parts: number): void {
    this.#owed -= parts;
    this.#pump();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { settle } of [...this.#begun.splice(0), ...this.#fresh.splice(0)]) settle({ kind: "closed" });
  }

  /** The whole window may be told that it was too fast: that is one time, and not ten. */
  #throttle(atMs: number): void {
    const now = performance.now();
    if (atMs <= this.#pausedAt || this.#isClosed) return;
    const { firstPauseMs, maxPauseMs } = this.#options.times;
    this.#pausedUntil = now + Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(this.#pauses, 20));
    this.#pausedAt = now;
    this.#pauses += 1;
    this.#rate.cut(now);
    this.#options.changed();
  }

  #pump(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    if (!this.#options.isOurs()) return this.#standBack();
    const waitMs = this.#admit();
    const turnMs = this.#endTurns();
    if (waitMs !== undefined || turnMs !== undefined) this.#pumpAfter(Math.min(waitMs ?? Infinity, turnMs ?? Infinity));
  }

  /** Lets in whoever may; returns after how long there may be more, where time decides that. */
  #admit(): number | undefined {
    while (this.#session?.isOpen === true && this.#inFlight < this.#options.window) {
      if (this.isPaused) return this.pauseMs;
      const queue = this.#begun.length > 0 ? this.#begun : this.#fresh;
      const [next] = queue;
      if (next === undefined || !this.#mayBegin(next.parts)) return undefined;
      const waitMs = this.#rate.take(performance.now());
      if (waitMs > 0) return waitMs;
      queue.shift();
      this.#inFlight += 1;
      this.#owed += next.parts;
      next.settle({ kind: "entered", session: this.#session, atMs: performance.now() });
    }
    return undefined;
  }

  /** A message that cannot end in time would be left half sent. */
  #mayBegin(parts: number): boolean {
    const { perSecond } = this.#rate;
    return parts === 0 || perSecond === null || this.#owed === 0 || this.#owed + parts <= (perSecond * this.#options.times.begunMs) / 1_000;
  }

  /** Who has waited for too long is sent away; returns when the next one will have. */
  #endTurns(): number | undefined {
    const { turnMs } = this.#options.times;
    const now = performance.now();
    const late = this.#fresh.findIndex(({ sinceMs }) => now - sinceMs < turnMs);
    this.#sendAway(this.#fresh, late === -1 ? this.#fresh.length : late);
    const [oldest] = this.#fresh;
    return oldest === undefined ? undefined : Math.max(1, Math.ceil(oldest.sinceMs + turnMs - now));
  }

  /** The link may be another node's: what has not begun is given back. The rest waits until that is known, which ends with the
   *  link closed, or ours again. */
  #standBack(): void {
    this.#sendAway(this.#fresh);
    if (this.#begun.length > 0) this.#pumpAfter(STAND_BACK_MS);
  }

  #sendAway(waiters: Waiter[], count = waiters.length): void {
    for (const { settle } of waiters.splice(0, count)) settle({ kind: "unbound" });
  }

  #pumpAfter(ms: number): void {
    const wasPaused = this.isPaused;
    this.#timer = setTimeout(() => {
      if (wasPaused && !this.isPaused) this.#options.changed();
      this.#pump();
    }, ms);
  }
}
