/** The lane of one link on this node. It takes messages from the API and from the queue, submits them within the link's window, and
 *  renews their leases until they are settled. Lanes share nothing, so a slow or throttled link delays no other link.
 *
 *  `lane-claims.ts` claims from the queue, and `lane-load.ts` holds the messages that wait for the window, and the leases. */
import { backoffMs } from "../lib/backoff.ts";
import type { EventOf } from "../model/log-events.ts";
import { errorFields } from "../model/log.ts";
import { encodeId } from "../model/id.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { poll } from "../lib/wait.ts";
import type { Link } from "../links/link.ts";
import type { LinkError } from "../links/report-states.ts";
import type { Advancer } from "../messages/advance.ts";
import type { LanePlace } from "../messages/handover.ts";
import type { Message, Priority } from "../messages/message.ts";
import type { Connection, SendOutcome } from "../providers/provider.ts";
import type { DueGroup } from "../queue/waiting-groups.ts";
import { announceDue } from "./announcements.ts";
import type { Attempts } from "./attempt.ts";
import type { DeliveryContext } from "./context.ts";
import { LaneClaims } from "./lane-claims.ts";
import { LaneLeases, LaneLoad } from "./lane-load.ts";
import { deleteRow, type Claimed, type WaitingAccount } from "./queue.ts";
import { SenderTurns, TurnWaits } from "./sender-turns.ts";
import { errorOf, throttleMs } from "./settle.ts";
import type { SlowedAccounts } from "./slowed-accounts.ts";

export type LaneParts = DeliveryContext & {
  link: Link;
  connection: Connection;
  attempts: Attempts;
  advancer: Advancer;
  /** How long a claim lasts. */
  leaseMs: number;
  slowed: SlowedAccounts;
  /** Hands a message to another lane, where it is due at this time. */
  passOn: (lane: string, message: Message, dueAtMs: number) => void;
};

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
// The due times of messages that come back together differ by less than this.
const GROUP_SPREAD_MS = 500;
// The lane is woken every second in any case, so a few precise timers are enough.
const MAX_TIMERS = 50;

export class Lane implements LanePlace {
  readonly link: Link;
  readonly connection: Connection;
  readonly #parts: LaneParts;
  readonly #leases: LaneLeases;
  readonly #load: LaneLoad;
  readonly #claims: LaneClaims;
  readonly #senderTurns: SenderTurns;
  readonly #turnWaits: TurnWaits;
  readonly #timers = new Set<NodeJS.Timeout>();
  #pausedUntilMs = 0;
  /** Pauses since the last message that the carrier accepted. */
  #pauses = 0;
  #lastError: LinkError | null = null;
  #isStopping = false;

  constructor(parts: LaneParts) {
    const { link, connection, linkDirectory } = parts;
    this.link = link;
    this.connection = connection;
    this.#parts = parts;
    this.#leases = new LaneLeases({ ...parts, onError: (event, message, error) => this.#logError(event, message, error) });
    this.#load = new LaneLoad({ window: () => connection.window, owned: () => this.#leases.size });
    this.#claims = new LaneClaims({
      ...parts,
      lane: link.name,
      load: this.#load,
      mayWork: () => this.isWorking,
      onClaimed: (claimed) => this.#addAll(claimed),
      onError: (error) => this.#logError("delivery.claim_failed", "a claim of due messages failed", error),
    });
    this.#senderTurns = new SenderTurns((sender) => linkDirectory.current.rateOf(link.name, sender));
    this.#turnWaits = new TurnWaits({
      resume: (claimed) => this.#addAll([claimed]),
      putBack: (message, afterMs) => void this.#putBack(message, afterMs),
      due: (message) => this.expect(message, parts.clock.now() - GROUP_SPREAD_MS),
    });
  }

  /** The last refusal or failure of the carrier, and its time; null if there was none. */
  get lastError(): LinkError | null {
    return this.#lastError;
  }

  /** The number of messages that this node owns in the lane. */
  get ownedCount(): number {
    return this.#leases.size;
  }

  /** The link is connected, and neither throttled nor paused. */
  readonly #isReady = (): boolean => {
    const { current } = this.#parts.linkDirectory;
    return !this.isPaused && this.connection.isReady && (current.hold ?? current.pauseOf(this.link.name)) === undefined;
  };
  get isPaused(): boolean {
    return performance.now() < this.#pausedUntilMs;
  }

  /** Whether the lane submits messages. */
  get isWorking(): boolean {
    return !this.#isStopping && this.#isReady();
  }

  /** Reserves a place for a message that is about to be stored. Returns false if the message must wait in the queue: the lane has no
   *  room, or older messages of the account wait there. */
  reserve(message: Message): boolean {
    if (this.#claims.mustWait(message) || !this.isWorking) return false;
    if (this.#load.room(message.priority) <= 0) {
      this.#claims.expect(message, message.updatedAtMs);
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
    this.#addAll([{ message, state: "waiting", sealedContent: null, dueAtMs: message.updatedAtMs }]);
  }

  /** Takes a message that another worker of this machine has stored with a lease, so long ago. Without its link the lane returns it to the
   *  queue when it is woken. */
  receive(message: Message, ageMs: number): void {
    if (this.#leases.has(message.id)) return;
    this.#claims.saw(message);
    this.#addAll([{ message, state: "waiting", sealedContent: null, dueAtMs: message.updatedAtMs }], ageMs);
  }

  /** How many messages other workers may pass to the lane, by rank of priority. None pass while older ones wait in the queue. */
  get roomForPeers(): readonly [number, number, number] {
    if (!this.isWorking) return [0, 0, 0];
    const room = (priority: Priority): number => (this.#claims.mayAnyWait(priority) ? 0 : this.#load.room(priority));
    return [room("high"), room("normal"), room("bulk")];
  }

  /** A message of this node was stored in the queue. */
  queued(message: Message, dueAtMs: number): void {
    this.#claims.expect(message, dueAtMs);
    this.#claims.claim();
  }

  /** Another node has stored messages in the queue. */
  announced(account: DueGroup<WaitingAccount>): void {
    this.#claims.add(account);
    this.wake();
  }

  /** The queue was scanned: these accounts have messages in the lane. */
  scanned(found: readonly DueGroup<WaitingAccount>[]): void {
    this.#claims.refresh(found);
    this.wake();
  }

  /** A message of the lane is due at this time. */
  expect(message: Message, dueAtMs: number): void {
    this.#claims.expect(message, dueAtMs);
    this.wakeAfter(Math.max(0, dueAtMs - this.#parts.clock.now()));
  }

  /** Claims now: messages may have become due, or the link may work again. */
  wake(): void {
    // Another node may have the link now, or another link may take the messages. Both need their leases to end.
    if (!this.#isReady()) void this.#returnWaiting();
    this.#submitWaiting();
    this.#claims.wake();
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
    void this.#claims.stop();
    await this.#returnWaiting();
    await poll(async () => (this.#load.isEmpty && !this.#claims.isClaiming ? true : undefined), { timeoutMs, everyMs: 20 });
  }

  async close(): Promise<void> {
    this.#leases.stop();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#turnWaits.stop();
    await this.connection.close();
  }

  /** Adds messages that this node has leased. A lane that stops returns them to the queue. */
  #addAll(claimed: readonly Claimed[], ageMs = 0): void {
    for (const each of claimed) {
      this.#leases.own(each.message.id, ageMs);
      this.#load.add(each);
    }
    if (this.#isStopping) void this.#returnWaiting();
    else this.#submitWaiting();
  }

  /** Submits the waiting messages that fit into the window, the most urgent first. */
  #submitWaiting(): void {
    if (!this.isWorking) return;
    for (let next = this.#load.next(); next !== undefined; next = this.#load.next()) {
      const waitMs = next.message.status === "queued" ? this.#senderTurns.waitMs(next.message, performance.now()) : 0;
      if (waitMs === 0) void this.#attempt(next);
      else {
        this.#load.leaveWindow();
        this.#turnWaits.wait(next, waitMs, this.connection.window);
      }
    }
  }

  async #putBack(message: Message, afterMs: number): Promise<void> {
    const dueAtMs = this.#parts.clock.now() + afterMs;
    await this.#leases.putBack(message.id, dueAtMs);
    this.#leases.disown(message.id);
    this.#claims.expect(message, dueAtMs);
    this.#claims.claim();
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
      if (next.kind === "orphan") await deleteRow(this.#parts.db, message.id);
      else if (next.kind === "accepted") this.#pauses = 0;
      else if (next.kind === "not_begun") {
        await this.#returnUnsent(message, next.outcome);
        this.#claims.wake();
      } else if (next.kind === "later") {
        if (next.lane === undefined) this.expect(message, next.dueAtMs);
        else this.#parts.passOn(next.lane, message, next.dueAtMs);
      }
    } catch (error) {
      // After its lease the message is claimed again, with the status that it then has: `queued`, or `sending` with an unknown outcome.
      this.#logError("delivery.attempt_failed", "an attempt failed", error, message);
    } finally {
      responded();
      this.#leases.disown(message.id);
      this.#claims.claim();
    }
  }

  /** Returns a message to the queue for which the link had no turn: to its place in the lane, or for as long as its recipient is throttled. */
  async #returnUnsent(message: Message, outcome: SendOutcome): Promise<void> {
    const waitMs = outcome.kind === "throttled" ? throttleMs(outcome.retryAfterMs) : null;
    const isLink = outcome.kind === "throttled" && outcome.scope === "link";
    const nowMs = this.#parts.clock.now();
    // The id of a message from a wrong clock may be in the future.
    const dueAtMs = isLink ? Math.min(nowMs, uuidTimeMs(message.id)) : nowMs + (waitMs ?? FIRST_PAUSE_MS);
    await this.#leases.putBack(message.id, dueAtMs);
    // A claim that came before would find the message leased, and would not look for it again.
    this.expect(message, dueAtMs);
  }

  /** Takes note of an error, and pauses a throttled link at once: other messages must not be submitted while the outcome is stored. */
  #observe(outcome: SendOutcome): void {
    const code = errorOf(outcome);
    if (code !== null) this.#lastError = { code, atMs: this.#parts.clock.now() };
    if (outcome.kind === "throttled" && outcome.scope === "link") this.#pause(outcome.retryAfterMs);
  }

  #pause(retryAfterMs: number | null): void {
    if (this.isPaused) return;
    this.#pauses += 1;
    const ms = throttleMs(retryAfterMs) ?? backoffMs(this.#pauses, FIRST_PAUSE_MS, MAX_PAUSE_MS);
    this.#pausedUntilMs = performance.now() + ms;
    this.#parts.log.warn({ event: "delivery.link_throttled", link: this.link.name, ms }, "the link is throttled");
    this.wakeAfter(ms + 1);
  }

  /** Ends the leases of the messages that only wait, so that any node can claim them at once. */
  async #returnWaiting(): Promise<void> {
    const messages = this.#load.removeWaiting().map(({ message }) => message);
    const dueAtMs = this.#parts.clock.now();
    for (const { id } of messages) this.#leases.disown(id);
    await Promise.all(messages.map(({ id }) => this.#leases.putBack(id, dueAtMs)));
    for (const message of messages) {
      this.#claims.expect(message, dueAtMs);
      announceDue(this.#parts.announcer, this.link.name, message, dueAtMs);
    }
  }

  #logError(event: EventOf<"error">, text: string, error: unknown, message?: Message): void {
    const about = message === undefined ? {} : { message_id: encodeId("msg", message.id) };
    this.#parts.log.error({ event, link: this.link.name, ...about, ...errorFields(error) }, text);
  }
}
