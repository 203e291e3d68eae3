/** Keeps the rates of senders on one link: gives each message of a sender with a rate a turn. A message that must wait leaves its place to
 *  messages of other senders, and comes back at its turn. */
import { BoundedMap } from "../lib/bounded-map.ts";
import { idKey } from "../model/id.ts";
import type { Message } from "../messages/message.ts";

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
