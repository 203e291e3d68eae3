/** Recipients for whom the carrier asked for fewer messages. All messages to such a recipient wait, not only the throttled one. The
 *  count of throttled responses in a row lets the provider prolong the wait. */
import { BoundedMap } from "../lib/bounded-map.ts";

type Throttled = { count: number; untilMs: number };

// Far more than are ever throttled at a time. A recipient that is dropped is throttled by the carrier again.
const MAX_RECIPIENTS = 10_000;

export class RecipientThrottle {
  readonly #throttled = new BoundedMap<string, Throttled>(MAX_RECIPIENTS);

  /** How long messages to this recipient have to wait. */
  waitMs(recipient: string, nowMs: number): number {
    return Math.max(0, Math.ceil((this.#throttled.get(recipient)?.untilMs ?? 0) - nowMs));
  }

  /** The number of throttled responses in a row, if the next one is throttled too. */
  nextCount(recipient: string): number {
    return (this.#throttled.get(recipient)?.count ?? 0) + 1;
  }

  throttle(recipient: string, untilMs: number): void {
    this.#throttled.renew(recipient, { count: this.nextCount(recipient), untilMs });
  }

  /** Ends the throttling, since the carrier accepted a message to the recipient. */
  clear(recipient: string): void {
    this.#throttled.delete(recipient);
  }
}
