/** The lane of one link on this node. It takes messages from the API and from the queue, submits them within the link's window, and
 *  renews their leases until they are settled. Lanes share nothing, so a slow or throttled link delays no other link.
 *
 *  `lane-load.ts` holds the messages and the limits, `claim-pace.ts` decides when to claim, and `waiting-accounts.ts` keeps the turns of
 *  the accounts. */
import { backoffMs } from "../lib/backoff.ts";
import type { MessageId } from "../model/id.ts";
import type { EventOf } from "../model/log-events.ts";
import { errorFields, type Log } from "../model/log.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { poll } from "../lib/wait.ts";
import type { Link } from "../links/link.ts";
import type { LinkError } from "../links/report-states.ts";
import type { Message } from "../messages/message.ts";
import type { Connection, SendOutcome } from "../providers/provider.ts";
import type { Database } from "../database/database.ts";
import type { Attempts } from "./attempt.ts";
import { LaneBacklog, type Backlog } from "./backlog.ts";
import { ClaimPace, type PlannedClaim } from "./claim-pace.ts";
import { LaneLoad } from "./lane-load.ts";
import { claimDue, deleteRows, setDueTimes, type Claimed, type QueuedAccount } from "./queue.ts";
import { SenderTurns } from "./sender-turns.ts";
import { errorOf, throttleMs } from "./settle.ts";
import type { SlowedAccounts } from "./slowed-accounts.ts";
import { TurnWaits } from "./turn-waits.ts";
import { WaitingAccounts } from "./waiting-accounts.ts";
import { PRIORITY_RANK } from "../messages/queue-entry.ts";

export type LaneParts = {
  db: Database;
  link: Link;
  connection: Connection;
  attempts: Attempts;
  /** The database's time. */
  now: () => number;
  /** How long a claim lasts. */
  leaseMs: number;
  /** The messages a second that a sender may send on the link, where it has a limit of its own. */
  rateOf: (sender: string) => number | undefined;
  backlog: Backlog;
  slowed: SlowedAccounts;
  /** Whether somebody has paused the link. */
  isHalted: () => boolean;
  /** Tells other nodes that a message of this lane is due. */
  announce: (message: Message, dueAtMs: number) => void;
  /** Hands a message to another lane, where it is due at this time. */
  passOn: (lane: string, message: Message, dueAtMs: number) => void;
  log: Log;
};

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const CLAIM_AGAIN_MS = 500;
// The lane is woken every second in any case, so a few precise timers are enough.
const MAX_TIMERS = 50;

export class Lane {
  readonly #parts: LaneParts;
  readonly #load: LaneLoad;
  readonly #pace = new ClaimPace();
  readonly #accounts: WaitingAccounts;
  readonly #senderTurns: SenderTurns;
  readonly #turnWaits: TurnWaits;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #renewEveryMs: number;
  readonly #renewing: NodeJS.Timeout;
  #pausedUntilMs = 0;
  /** Pauses since the last message that the carrier accepted. */
  #pauses = 0;
  #lastError: LinkError | null = null;
  /** Messages that go back to the queue, and the statement that takes them there. */
  readonly #unsent: { id: MessageId; dueAtMs: number }[] = [];
  #returning: Promise<void> | undefined;
  #isStopping = false;

  constructor(parts: LaneParts) {
    this.#parts = parts;
    this.#load = new LaneLoad(() => parts.connection.window);
    this.#accounts = new WaitingAccounts(new LaneBacklog(parts.backlog));
    this.#senderTurns = new SenderTurns(parts.rateOf);
    this.#turnWaits = new TurnWaits({
      resume: (claimed) => this.#resume(claimed),
      putBack: (message, afterMs) => void this.#putBack(message, afterMs),
      // The due times of a group differ by some milliseconds.
      due: (message) => this.expect(message, parts.now() - CLAIM_AGAIN_MS),
    });
    // Two renewals may fail before the lease ends.
    this.#renewEveryMs = parts.leaseMs / 3;
    this.#renewing = setInterval(() => void this.#renewLeases(), this.#renewEveryMs);
  }

  get link(): Link {
    return this.#parts.link;
  }

  get connection(): Connection {
    return this.#parts.connection;
  }

  /** The last refusal or failure of the carrier, and its time; null where there was none. */
  get lastError(): LinkError | null {
    return this.#lastError;
  }

  /** The number of messages that this node owns in the lane. */
  get ownedCount(): number {
    return this.#load.size;
  }

  readonly #isReady = (): boolean => !this.isPaused && this.#parts.connection.isReady && !this.#parts.isHalted();
  get isPaused(): boolean {
    return performance.now() < this.#pausedUntilMs;
  }

  /** Reserves a place for a message that is about to be stored. Returns false where the message must wait in the queue: the lane has no
   *  room, or older messages of the account wait there. */
  reserve(message: Message): boolean {
    if (message.priority !== "bulk") this.#pace.sawUrgent(performance.now());
    if (!this.#mayWork() || this.#accounts.has(message, this.#parts.now())) return false;
    if (this.#load.room(message.priority) <= 0) {
      this.#accounts.add(PRIORITY_RANK[message.priority], message.accountId, message.updatedAtMs);
      return false;
    }
    this.#load.reserve();
    return true;
  }

  /** Frees a reserved place whose message does not come. */
  release(): void {
    this.#load.unreserve();
  }

  /** Takes a message that was stored with a reservation. */
  take(message: Message): void {
    this.#load.unreserve();
    if (this.#isStopping) return void this.#returnToQueue([message]);
    this.#load.add({ message, state: "waiting", sealedContent: null, dueAtMs: message.updatedAtMs }, performance.now());
    this.#submitWaiting();
  }

  /** A message of this node was stored in the queue. */
  queued(message: Message, dueAtMs: number): void {
    this.#accounts.add(PRIORITY_RANK[message.priority], message.accountId, dueAtMs);
    if (this.#mayWork()) this.#accounts.count(message);
    this.#pace.queued();
    this.#claim();
  }

  /** Another node has stored messages in the queue. */
  announced({ rank, accountId, dueAtMs }: Omit<QueuedAccount, "lane">): void {
    this.#accounts.add(rank, accountId, dueAtMs);
    this.wake();
  }

  /** The queue was scanned: these accounts have messages in the lane. */
  scanned(found: readonly QueuedAccount[]): void {
    this.#accounts.refresh(found, this.#parts.now());
    this.wake();
  }

  /** A message of the lane is due at this time. */
  expect(message: Message, dueAtMs: number): void {
    this.#accounts.add(PRIORITY_RANK[message.priority], message.accountId, dueAtMs);
    this.wakeAfter(Math.max(0, dueAtMs - this.#parts.now()));
  }

  /** Claims now: messages may have become due, or the link may work again. */
  wake(): void {
    this.#pace.wake();
    if (!this.#isReady()) this.#stall();
    this.#submitWaiting();
    this.#claim();
  }

  /** Another node may have the link now, or another link may take the messages. Both need their leases to end. */
  #stall(): void {
    this.#accounts.clearCounts();
    void this.#returnToQueue(this.#load.removeWaiting());
  }

  wakeAfter(ms: number): void {
    if (this.#isStopping || this.#timers.size >= MAX_TIMERS) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.wake();
    }, ms);
    this.#timers.add(timer);
  }

  /** Stops new work. Returns claimed messages to the queue, and waits for the outcome of submitted ones. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    await this.#returnToQueue(this.#load.removeWaiting());
    await poll(async () => (this.#load.isEmpty && !this.#pace.isClaiming ? true : undefined), { timeoutMs, everyMs: 20 });
  }

  async close(): Promise<void> {
    this.#accounts.clearCounts();
    clearInterval(this.#renewing);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#turnWaits.stop();
    await this.#parts.connection.close();
  }

  #mayWork(): boolean {
    return !this.#isStopping && this.#isReady();
  }

  /** Claims where the pace says so. One claim runs at a time. */
  #claim(): void {
    if (!this.#mayWork()) return;
    const load = this.#load;
    const room = { high: load.room("high"), normal: load.room("normal"), bulk: load.room("bulk") };
    const { pending } = this.#parts.attempts;
    const planned = this.#pace.begin({ room, bulkCapacity: load.capacity("bulk"), pending }, performance.now());
    if (planned !== undefined) void this.#runClaim(planned);
  }

  async #runClaim({ most, bulkAfterMs }: PlannedClaim): Promise<void> {
    if (bulkAfterMs !== null) this.wakeAfter(bulkAfterMs);
    let hasMore = false;
    try {
      hasMore = await this.#claimDue(most);
    } catch (error) {
      this.#logError("delivery.claim_failed", "a claim of due messages failed", error);
      this.wakeAfter(CLAIM_AGAIN_MS);
    }
    this.#pace.end(hasMore);
    this.#claim();
  }

  /** Returns whether the queue may have more. */
  async #claimDue(most: PlannedClaim["most"]): Promise<boolean> {
    const { db, link, leaseMs } = this.#parts;
    const nowDbMs = this.#parts.now();
    const shares = this.#accounts.plan(most, nowDbMs);
    if (shares.length === 0) return false;
    let claimed: Claimed[];
    try {
      claimed = await claimDue(db, { lane: link.name, shares, most: most[0], nowMs: nowDbMs, leaseMs });
    } catch (error) {
      this.#accounts.giveBack(shares);
      throw error;
    }
    const hasMore = this.#accounts.end(shares, claimed, most[0]);
    if (this.#isStopping) {
      await this.#returnToQueue(claimed.map(({ message }) => message));
      return hasMore;
    }
    const nowMs = performance.now();
    if (hasMore && this.#parts.attempts.isBusy) this.#parts.slowed.slowDown(claimed, nowDbMs);
    for (const each of claimed) this.#load.add(each, nowMs);
    if (claimed.some(({ message }) => message.priority !== "bulk")) this.#pace.sawUrgent(nowMs);
    this.#submitWaiting();
    return hasMore;
  }

  /** Submits the waiting messages that fit into the window, the most urgent first. */
  #submitWaiting(): void {
    if (!this.#mayWork()) return;
    for (let next = this.#load.next(); next !== undefined; next = this.#load.next()) {
      const waitMs = next.message.status === "queued" ? this.#senderTurns.waitMs(next.message, performance.now()) : 0;
      if (waitMs === 0) void this.#attempt(next);
      else {
        this.#load.leaveWindow();
        this.#turnWaits.wait(next, waitMs, this.#parts.connection.window);
      }
    }
  }

  /** Takes a message whose sender has its turn. */
  #resume(claimed: Claimed): void {
    this.#load.add(claimed, performance.now());
    if (this.#isStopping) void this.#returnToQueue(this.#load.removeWaiting());
    else this.#submitWaiting();
  }

  async #putBack(message: Message, afterMs: number): Promise<void> {
    const dueAtMs = this.#parts.now() + afterMs;
    await this.#storeDue(message, dueAtMs);
    this.#load.disown(message.id);
    this.#accounts.add(PRIORITY_RANK[message.priority], message.accountId, dueAtMs);
    this.#claim();
  }

  /** Makes one attempt of a message that is in the window. */
  async #attempt({ message, state, sealedContent }: Claimed): Promise<void> {
    const { attempts, link, connection } = this.#parts;
    let isInWindow = true;
    const responded = (outcome?: SendOutcome): void => {
      if (outcome !== undefined) this.#observe(outcome);
      if (isInWindow) this.#load.leaveWindow();
      isInWindow = false;
      this.#submitWaiting();
    };
    try {
      const next = await attempts.run({ message, state, sealedContent, link, connection, responded });
      if (next.kind === "orphan") await deleteRows(this.#parts.db, [message.id]);
      else if (next.kind === "accepted") this.#pauses = 0;
      else if (next.kind === "not_begun") {
        await this.#returnUnsent(message, next.outcome);
        this.#pace.wake();
      } else if (next.kind === "later") {
        if (next.lane === undefined) this.expect(message, next.dueAtMs);
        else this.#parts.passOn(next.lane, message, next.dueAtMs);
      }
    } catch (error) {
      // After its lease the message is claimed again, with the status that it then has: `queued`, or `sending` with an unknown outcome.
      this.#logError("delivery.attempt_failed", "an attempt failed", error);
    } finally {
      responded();
      this.#load.disown(message.id);
      this.#claim();
    }
  }

  /** Returns a message to the queue for which the link had no turn: to its place in the lane, or for as long as its recipient is throttled.
   *  Many messages come back at once when a link closes, and share a statement. */
  async #returnUnsent(message: Message, outcome: SendOutcome): Promise<void> {
    const waitMs = outcome.kind === "throttled" ? throttleMs(outcome.retryAfterMs) : null;
    const isLink = outcome.kind === "throttled" && outcome.scope === "link";
    const nowMs = this.#parts.now();
    // The id of a message from a wrong clock may be in the future.
    const dueAtMs = isLink ? Math.min(nowMs, uuidTimeMs(message.id)) : nowMs + (waitMs ?? FIRST_PAUSE_MS);
    await this.#storeDue(message, dueAtMs);
    // A claim that came before would find the message leased, and would not look for it again.
    this.expect(message, dueAtMs);
  }

  /** Stores the due time of a message that returns to the queue. */
  async #storeDue(message: Message, dueAtMs: number): Promise<void> {
    this.#unsent.push({ id: message.id, dueAtMs });
    await (this.#returning ??= this.#flushUnsent());
  }

  async #flushUnsent(): Promise<void> {
    await new Promise(setImmediate);
    this.#returning = undefined;
    // A message that cannot be returned is claimed again after its lease.
    await setDueTimes(this.#parts.db, this.#unsent.splice(0)).catch((error: unknown) =>
      this.#logError("delivery.release_failed", "claimed messages could not be returned to the queue", error),
    );
  }

  /** Takes note of an error, and pauses a throttled link at once: other messages must not be submitted while the outcome is stored. */
  #observe(outcome: SendOutcome): void {
    const code = errorOf(outcome);
    if (code !== null) this.#lastError = { code, atMs: this.#parts.now() };
    if (outcome.kind === "throttled" && outcome.scope === "link") this.#pause(outcome.retryAfterMs);
  }

  #pause(retryAfterMs: number | null): void {
    if (this.isPaused) return;
    this.#pauses += 1;
    const ms = throttleMs(retryAfterMs) ?? backoffMs(this.#pauses, FIRST_PAUSE_MS, MAX_PAUSE_MS);
    this.#pausedUntilMs = performance.now() + ms;
    this.#parts.log.warn({ event: "delivery.link_throttled", link: this.#parts.link.name, ms }, "the link is throttled");
    this.wakeAfter(ms + 1);
  }

  /** Ends the leases, so that any node can claim the messages at once. */
  async #returnToQueue(messages: readonly Message[]): Promise<void> {
    if (messages.length === 0) return;
    const dueAtMs = this.#parts.now();
    const times = messages.map(({ id }) => ({ id, dueAtMs }));
    await setDueTimes(this.#parts.db, times).catch((error: unknown) =>
      this.#logError("delivery.release_failed", "claimed messages could not be returned to the queue", error),
    );
    for (const message of messages) {
      this.#accounts.add(PRIORITY_RANK[message.priority], message.accountId, dueAtMs);
      this.#parts.announce(message, dueAtMs);
    }
  }

  async #renewLeases(): Promise<void> {
    const nowMs = performance.now();
    const due = this.#load.leasedBefore(nowMs - this.#renewEveryMs);
    if (due.length === 0) return;
    const dueAtMs = this.#parts.now() + this.#parts.leaseMs;
    try {
      await setDueTimes(
        this.#parts.db,
        due.map(({ id }) => ({ id, dueAtMs })),
      );
      for (const lease of due) lease.leasedAtMs = nowMs;
    } catch (error) {
      this.#logError("delivery.lease_renewal_failed", "the leases of messages in hand could not be renewed", error);
    }
  }

  #logError(event: EventOf<"error">, message: string, error: unknown): void {
    this.#parts.log.error({ event, link: this.#parts.link.name, ...errorFields(error) }, message);
  }
}
