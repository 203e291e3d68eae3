/** The messages of a lane that wait for the turns of their senders: in memory shortly before their turn, and in the queue until then. */
import { idKey } from "../model/id.ts";
import type { Message } from "../messages/message.ts";
import type { Claimed } from "./queue.ts";

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
