/** Keeps the rates of senders on one link: gives each message of a sender with a rate a turn. A message that must wait leaves its place to
 *  messages of other senders, and comes back at its turn. */
import { BoundedMap } from "../lib/bounded-map.ts";
import { idKey } from "../model/id.ts";
import type { Message } from "../messages/message.ts";
import type { Claimed } from "./queue.ts";

// A message further back in the line comes back after this time without a turn. A change of the rate, or of the link, then reaches it.
const MAX_WAIT_MS = 300_000;
// A message that comes so late to its turn does not delay the turns after it: timers are late on a busy machine.
const MAX_LATE_MS = 50;
// Messages with a turn. They are those of the next minutes; a message that is dropped gets another turn.
const MAX_TURNS = 100_000;

type Line = {
  /** When the sender may send again. */
  nextAt: number;
  /** The ends of two lines: of urgent messages and messages that missed their turn, and behind it of all others. */
  frontEnd: number;
  backEnd: number;
};

export class SenderTurns {
  readonly #rateOf: (sender: string) => number | undefined;
  readonly #lines = new Map<string, Line>();
  /** The turns that messages have been given. */
  readonly #turns = new BoundedMap<string, number>(MAX_TURNS);

  constructor(rateOf: (sender: string) => number | undefined) {
    this.#rateOf = rateOf;
  }

  /** Takes the turn of a message and returns 0, or returns after how many milliseconds its turn comes. */
  waitMs({ id, sender, priority }: Pick<Message, "id" | "sender" | "priority">, now: number): number {
    const rate = sender === null ? undefined : this.#rateOf(sender);
    if (sender === null || rate === undefined) return 0;
    const key = idKey(id);
    const given = this.#turns.get(key);
    if (given !== undefined && given > now) return Math.ceil(given - now);
    const line = this.#lines.get(sender) ?? { nextAt: 0, frontEnd: 0, backEnd: 0 };
    this.#lines.set(sender, line);
    const isInFront = given !== undefined || priority === "high";
    const at = Math.max(now, line.nextAt, line.frontEnd, isInFront ? 0 : line.backEnd);
    // A message whose turn has come does not wait for messages with later turns.
    if (now >= line.nextAt && (at <= now || given !== undefined)) {
      this.#turns.delete(key);
      line.nextAt = Math.max(given ?? now, now - MAX_LATE_MS) + 1_000 / rate;
      return 0;
    }
    if (at - now > MAX_WAIT_MS) return MAX_WAIT_MS;
    line[isInFront ? "frontEnd" : "backEnd"] = at + 1_000 / rate;
    this.#turns.renew(key, at);
    return Math.ceil(at - now);
  }
}

export type TurnWaitsParts = {
  /** The turn of a message has come. */
  resume: (claimed: Claimed) => void;
  /** Returns a message to the queue, where it is due after this time. */
  putBack: (message: Message, afterMs: number) => void;
  /** A message that was put back is due. */
  due: (message: Message) => void;
};

// A message waits this long in memory without regard to others.
const SHORT_MS = 200;
// The longest wait in memory. These messages fill at most half of the window, since they take places from other senders.
const MAX_HELD_MS = 1_000;
// Messages come back from the queue in groups, and early enough to be claimed before their turn.
const GROUP_MS = 100;
const AHEAD_MS = 300;
// A message with a later turn comes back this long before it, when a scan of the queue finds it. It then goes back for the rest of the time.
const FAR_MS = 10_000;
const FAR_AHEAD_MS = 2_000;
// Groups beyond these are found by a scan of the queue as well.
const MAX_GROUPS = 1_000;

/** The messages of a lane that wait for the turns of their senders: in memory shortly before their turn, and in the queue until then. */
export class TurnWaits {
  readonly #parts: TurnWaitsParts;
  readonly #held = new Set<NodeJS.Timeout>();
  /** The groups that come back, by time, account and priority. */
  readonly #groups = new Map<string, NodeJS.Timeout>();

  constructor(parts: TurnWaitsParts) {
    this.#parts = parts;
  }

  wait(claimed: Claimed, waitMs: number, window: number): void {
    if (waitMs <= SHORT_MS || (waitMs <= MAX_HELD_MS && this.#held.size < window / 2)) this.#hold(claimed, waitMs);
    else if (waitMs > FAR_MS) this.#parts.putBack(claimed.message, waitMs - FAR_AHEAD_MS);
    else this.#putBack(claimed.message, waitMs - AHEAD_MS);
  }

  stop(): void {
    for (const timer of [...this.#held, ...this.#groups.values()]) clearTimeout(timer);
  }

  #hold(claimed: Claimed, waitMs: number): void {
    const timer = setTimeout(() => {
      this.#held.delete(timer);
      this.#parts.resume(claimed);
    }, waitMs);
    this.#held.add(timer);
  }

  #putBack(message: Message, afterMs: number): void {
    const now = performance.now();
    const group = Math.ceil((now + Math.max(1, afterMs)) / GROUP_MS);
    const groupAfterMs = Math.ceil(group * GROUP_MS - now);
    this.#parts.putBack(message, groupAfterMs);
    const key = `${group} ${message.priority} ${idKey(message.accountId)}`;
    if (this.#groups.has(key) || this.#groups.size >= MAX_GROUPS) return;
    const wake = (): void => {
      this.#groups.delete(key);
      this.#parts.due(message);
    };
    // The due time has whole milliseconds, and must have passed by then.
    this.#groups.set(key, setTimeout(wake, groupAfterMs + 2));
  }
}
