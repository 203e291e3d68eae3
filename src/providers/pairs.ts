/** Recipients whom a carrier wants to be sent less for a while. All their messages wait, not only the one that was told so, and the
 *  more often in a row it is said, the longer. */

type Held = { times: number; untilMs: number };

// Far more than are ever held at a time: what is forgotten is told by the carrier again.
const MAX_HELD = 10_000;

export class Pairs {
  readonly #held = new Map<string, Held>();

  /** How long this recipient is to be left alone. */
  heldMs(recipient: string, nowMs: number): number {
    return Math.max(0, Math.ceil((this.#held.get(recipient)?.untilMs ?? 0) - nowMs));
  }

  /** How often it would be in a row, were it said once more. */
  next(recipient: string): number {
    return (this.#held.get(recipient)?.times ?? 0) + 1;
  }

  hold(recipient: string, untilMs: number): void {
    const times = this.next(recipient);
    this.#held.delete(recipient);
    if (this.#held.size >= MAX_HELD) for (const oldest of this.#held.keys().take(1)) this.#held.delete(oldest);
    this.#held.set(recipient, { times, untilMs });
  }

  /** One of its messages was taken. */
  release(recipient: string): void {
    this.#held.delete(recipient);
  }
}
