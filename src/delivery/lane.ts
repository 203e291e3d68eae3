/** The lane of one link: what this process has in hand for it, from the claim to the carrier's answer. Lanes know nothing of
 *  each other, so a slow or throttled link delays no other.
 *
 *  Bounded by the link's window. The lower priorities may fill only a part of it, so that a verification code finds room
 *  beside a campaign of any size. */
import { errorFields, type Log } from "../lib/log.ts";
import type { EventOf } from "../lib/log-events.ts";
import { backoffMs } from "../lib/backoff.ts";
import { poll } from "../lib/wait.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { LinkError } from "../links/report-states.ts";
import type { Change } from "../messages/change.ts";
import type { Reservation } from "../messages/handover.ts";
import { PRIORITIES, type Message, type Priority } from "../messages/message.ts";
import { claimDue, dropRows, renewLeases, type Claim, type Claimed } from "./queue.ts";
import type { Connection, SendOutcome } from "../providers/provider.ts";
import type { Link } from "../links/link.ts";
import type { Database } from "../storage/database.ts";
import type { Attempts } from "./attempt.ts";
import { WaitingAccounts } from "./waiting-accounts.ts";
import { throttleMs } from "./settle.ts";

// What may be in hand besides the window: claimed ahead, or answered and not yet on record.
const AHEAD = 100;
// How much of the room each priority may fill.
const SHARE: Readonly<Record<Priority, number>> = { high: 1, normal: 0.9, bulk: 0.7 };
// A claim is worth a statement when it can take this many, or all that fits.
const WORTHWHILE = 32;
// Small, and only while little waits to be stored: what is claimed is soon handed over, and who comes next need not wait long.
const MAX_CLAIM = 50;
const MAX_PENDING = 64;
const TURN_MS = 100;
const TURN_ROWS = 16;
// So long after the last message of higher priority, a campaign goes at a part of its speed.
const CALM_MS = 1_000;
const BULK_BESIDE = 16;
const BULK_BESIDE_EVERY_MS = 25;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const CLAIM_AGAIN_MS = 500;

// By then its row is there for all to see, or is not.
const WITHDRAWN_MS = 1_000;

/** The step to `sending` that is on record already; and, where it does not leave after all, what stands for the carrier's answer. */
type Birth = { written: Change; held: SendOutcome | undefined };

const notLeft = (scope: "link" | "recipient", retryAfterMs: number): SendOutcome => ({
  kind: "throttled",
  scope,
  retryAfterMs,
  providerCode: null,
});

export type LaneParts = {
  db: Database;
  link: Link;
  connection: Connection;
  attempts: Attempts;
  /** The database's time. */
  now: () => number;
  /** How long a claim holds. */
  leaseMs: number;
  log: Log;
};

export class Lane {
  readonly #parts: LaneParts;
  /** Everything in hand, by id, with the moment it was taken or its lease renewed. */
  readonly #inHand = new Map<string, { id: Uuid; leasedAt: number }>();
  readonly #waiting: Record<Priority, Claimed[]> = { high: [], normal: [], bulk: [] };
  /** Places kept for messages that are being stored. */
  #reserved = 0;
  /** Messages between the first byte that may leave and the answer. */
  #atCarrier = 0;
  #isClaiming = false;
  /** Something is in the queue that was not there, or not taken, when it was last looked at. */
  #hasMore = true;
  /** Someone wants it looked at now, however little room there is. */
  #isWoken = false;
  readonly #accounts = new WaitingAccounts();
  #pausedUntil = 0;
  /** When a message was last seen that should not wait for a campaign. */
  #urgentAt = -CALM_MS;
  #nextBulkAt = 0;
  #claimedAt = 0;
  #pauses = 0;
  #isStopping = false;
  #lastError: LinkError | null = null;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #renewEveryMs: number;
  readonly #renewing: NodeJS.Timeout;

  constructor(parts: LaneParts) {
    this.#parts = parts;
    // Two renewals may fail before the lease ends.
    this.#renewEveryMs = parts.leaseMs / 3;
    this.#renewing = setInterval(() => void this.#renew(), this.#renewEveryMs);
  }

  get link(): Link {
    return this.#parts.link;
  }

  get connection(): Connection {
    return this.#parts.connection;
  }

  /** What a carrier last refused or failed to do, and when; null when nothing. */
  get lastError(): LinkError | null {
    return this.#lastError;
  }

  get inHand(): number {
    return this.#inHand.size;
  }

  get isPaused(): boolean {
    return performance.now() < this.#pausedUntil;
  }

  /** A place for a message that is about to be stored; none while others of its account wait in the queue, who came first. */
  reserve(message: Message): Reservation | undefined {
    if (message.priority !== "bulk") this.#urgentAt = performance.now();
    if (!this.#mayWork() || this.#accounts.has(message)) return undefined;
    if (this.#room(message.priority) <= 0) {
      this.#accounts.add(message);
      return undefined;
    }
    this.#reserved += 1;
    const { attempts, link } = this.#parts;
    const written = this.#isNext(message.priority) ? attempts.written(message, link) : undefined;
    if (written !== undefined) this.#atCarrier += 1;
    return { written: written ?? null };
  }

  release({ written }: Reservation): void {
    this.#reserved -= 1;
    if (written === null) return;
    this.#atCarrier -= 1;
    this.#start();
  }

  /** A message that was stored with its place kept. */
  take(message: Message, { written }: Reservation): void {
    this.#reserved -= 1;
    const claimed: Claimed = { message, state: "waiting", share: 0, sealedContent: null };
    if (written !== null) {
      this.#hold(message.id);
      // It is on record that bytes may leave; also when the lane is stopping, which waits for it.
      const held = this.isPaused ? notLeft("link", Math.ceil(this.#pausedUntil - performance.now())) : undefined;
      void this.#deliver(claimed, { written, held });
      return;
    }
    if (this.#isStopping) return void this.#giveBack([message.id]);
    this.#keep(claimed);
    this.#start();
  }

  /** A message of which nobody knows whether it was stored. It does not leave: back to the queue with it, if it is there. */
  withdraw(message: Message, { written }: Reservation): void {
    this.#reserved -= 1;
    if (written === null) return;
    this.#hold(message.id);
    void this.#deliver({ message, state: "waiting", share: 0, sealedContent: null }, { written, held: notLeft("recipient", WITHDRAWN_MS) });
  }

  /** Whether a message of this priority would go to the carrier at once. */
  #isNext(priority: Priority): boolean {
    return this.#atCarrier < this.#most(priority) && PRIORITIES.every((each) => this.#waiting[each].length === 0);
  }

  /** A message was stored that waits in the queue. */
  queued(): void {
    this.#hasMore = true;
    this.#claim();
  }

  /** Others may have queued something, its time may have come, or the link may be able to go on. */
  wake(): void {
    this.#isWoken = true;
    // Another node may have the link now, or another link take the messages: they are not kept from them.
    if (this.isPaused || !this.#parts.connection.isReady) void this.#giveBack(this.#putDown());
    this.#start();
    this.#claim();
  }

  /** There will be work at that time. */
  wakeAfter(ms: number): void {
    if (this.#isStopping || this.#timers.size >= MAX_CLAIM) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.wake();
    }, ms);
    this.#timers.add(timer);
  }

  /** No new work: what was only claimed goes back to the queue, what may have left is waited for. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    await this.#giveBack(this.#putDown());
    await poll(async () => (this.#inHand.size === 0 && this.#reserved === 0 && !this.#isClaiming ? true : undefined), {
      timeoutMs,
      everyMs: 20,
    });
  }

  /** What was only claimed is in hand no more. */
  #putDown(): Uuid[] {
    const back = PRIORITIES.flatMap((priority) => this.#waiting[priority].splice(0)).map(({ message }) => message.id);
    for (const id of back) this.#inHand.delete(id.toString("latin1"));
    return back;
  }

  /** Anybody may have these at once. */
  async #giveBack(ids: readonly Uuid[]): Promise<void> {
    if (ids.length > 0)
      await renewLeases(this.#parts.db, ids, 0).catch((error: unknown) =>
        this.#logError("delivery.release_failed", "claimed messages could not be returned to the queue", error),
      );
  }

  async close(): Promise<void> {
    clearInterval(this.#renewing);
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#parts.connection.close();
  }

  #mayWork(): boolean {
    return !this.#isStopping && !this.isPaused && this.#parts.connection.isReady;
  }

  #capacity(priority: Priority): number {
    const { window } = this.#parts.connection;
    return Math.ceil((window + Math.min(window, AHEAD)) * SHARE[priority]);
  }

  #room(priority: Priority): number {
    return this.#capacity(priority) - this.#inHand.size - this.#reserved;
  }

  #hold(id: Uuid): void {
    this.#inHand.set(id.toString("latin1"), { id, leasedAt: performance.now() });
  }

  #keep(claimed: Claimed): void {
    this.#hold(claimed.message.id);
    this.#waiting[claimed.message.priority].push(claimed);
  }

  /** How much of the window messages of a priority may fill. */
  #most(priority: Priority): number {
    return Math.ceil(this.#parts.connection.window * SHARE[priority]);
  }

  /** Hands over what fits into the window, the urgent first. */
  #start(): void {
    if (!this.#mayWork()) return;
    for (const priority of PRIORITIES) {
      while (this.#atCarrier < this.#most(priority)) {
        const next = this.#waiting[priority].shift();
        if (next === undefined) break;
        this.#atCarrier += 1;
        void this.#deliver(next);
      }
    }
  }

  /** Has its place in the window. */
  async #deliver({ message, state, sealedContent }: Claimed, birth?: Birth): Promise<void> {
    const { attempts, link, connection } = this.#parts;
    let isAtCarrier = true;
    const answered = (outcome?: SendOutcome): void => {
      const code = errorOf(outcome);
      if (code !== null) this.#lastError = { code, atMs: this.#parts.now() };
      // At once, and not when it is on record: nobody else should run into it meanwhile.
      if (outcome?.kind === "throttled" && outcome.scope === "link") this.#pause(outcome.retryAfterMs);
      if (isAtCarrier) this.#atCarrier -= 1;
      isAtCarrier = false;
      this.#start();
    };
    try {
      const work = { message, state, sealedContent, link, connection, answered };
      const next = await (birth === undefined ? attempts.run(work) : attempts.runWritten(work, birth.written, birth.held));
      if (next.kind === "orphan") await dropRows(this.#parts.db, [message.id]);
      // It is in the queue again, and will be looked for when the pause is over.
      if (next.kind === "throttled") this.#isWoken = true;
      else if (next.kind === "accepted") this.#pauses = 0;
      else if (next.kind === "later") this.wakeAfter(next.afterMs);
    } catch (error) {
      // Its lease runs out, and it is found again as what it then is: not written, or of unknown outcome.
      this.#logError("delivery.attempt_failed", "an attempt failed", error);
    } finally {
      answered();
      this.#inHand.delete(message.id.toString("latin1"));
      this.#claim();
    }
  }

  #pause(retryAfterMs: number | null): void {
    if (this.isPaused) return;
    this.#pauses += 1;
    const ms = throttleMs(retryAfterMs) ?? backoffMs(this.#pauses, FIRST_PAUSE_MS, MAX_PAUSE_MS);
    this.#pausedUntil = performance.now() + ms;
    this.#parts.log.warn({ event: "delivery.link_throttled", link: this.#parts.link.name, ms }, "the link is throttled");
    this.wakeAfter(ms + 1);
  }

  /** One claim at a time: when somebody asked for it, or when it can take enough to be worth a statement. */
  #claim(): void {
    if (this.#isClaiming || !this.#mayWork()) return;
    const room = Math.min(MAX_CLAIM, this.#room("high"), this.#allowance());
    const isWorthwhile = this.#hasMore && this.#room("bulk") >= Math.min(WORTHWHILE, this.#capacity("bulk") / 2);
    if (room <= 0 || !(this.#isWoken || isWorthwhile)) return;
    this.#isClaiming = true;
    this.#isWoken = false;
    this.#hasMore = false;
    this.#claimedAt = performance.now();
    void this.#claimUpTo(room)
      .catch((error: unknown) => {
        this.#logError("delivery.claim_failed", "a claim of due messages failed", error);
        this.wakeAfter(CLAIM_AGAIN_MS);
      })
      .finally(() => {
        this.#isClaiming = false;
        this.#claim();
      });
  }

  /** Beside more urgent messages a campaign goes in small steps, and the machine has time for them in between. */
  #bulkAllowance(): number {
    const now = performance.now();
    if (now - this.#urgentAt > CALM_MS) return MAX_CLAIM;
    if (now < this.#nextBulkAt) {
      this.wakeAfter(this.#nextBulkAt - now);
      return 0;
    }
    this.#nextBulkAt = now + BULK_BESIDE_EVERY_MS;
    return BULK_BESIDE;
  }

  /** However much new messages keep the database busy, those in the queue have their turn. */
  #allowance(): number {
    const isTheirTurn = performance.now() - this.#claimedAt > TURN_MS;
    return Math.max(MAX_PENDING - this.#parts.attempts.pending, isTheirTurn ? TURN_ROWS : 0);
  }

  async #claimUpTo(room: number): Promise<void> {
    const { db, link, leaseMs } = this.#parts;
    const most = (priority: Priority): number => Math.max(0, Math.min(room, this.#room(priority)));
    const bulk = Math.min(most("bulk"), this.#bulkAllowance());
    const request: Claim = { lane: link.name, most: [room, most("normal"), bulk], leaseMs, after: this.#accounts.after };
    const claimed = await claimDue(db, request);
    if (this.#accounts.update(claimed, request)) this.#hasMore = true;
    if (this.#isStopping) return this.#giveBack(claimed.map(({ message }) => message.id));
    for (const each of claimed) this.#keep(each);
    if (claimed.some(({ message }) => message.priority !== "bulk")) this.#urgentAt = performance.now();
    this.#start();
  }

  async #renew(): Promise<void> {
    const now = performance.now();
    const due = [...this.#inHand.values()].filter(({ leasedAt }) => now - leasedAt > this.#renewEveryMs);
    if (due.length === 0) return;
    try {
      await renewLeases(
        this.#parts.db,
        due.map(({ id }) => id),
        this.#parts.leaseMs,
      );
      for (const each of due) each.leasedAt = now;
    } catch (error) {
      this.#logError("delivery.lease_renewal_failed", "the leases of messages in hand could not be renewed", error);
    }
  }

  #logError(event: EventOf<"error">, message: string, error: unknown): void {
    this.#parts.log.error({ event, link: this.#parts.link.name, ...errorFields(error) }, message);
  }
}

/** For those who watch the link. */
const errorOf = (outcome: SendOutcome | undefined): string | null => {
  if (outcome === undefined || outcome.kind === "accepted") return null;
  if (outcome.kind === "unknown") return "outcome_unknown";
  return outcome.kind === "throttled" ? `throttled${outcome.providerCode === null ? "" : ` (${outcome.providerCode})`}` : outcome.code;
};
