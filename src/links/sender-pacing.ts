/** When each sender with a rate has had its turns for the messages that this node has given it. */

/** The messages a second that a sender may send on a link. */
type RateOf = (link: string, sender: string) => number | undefined;

export class SenderPacing {
  readonly #rateOf: RateOf;
  readonly #busyUntil = new Map<string, number>();

  constructor(rateOf: RateOf) {
    this.#rateOf = rateOf;
  }

  /** Takes note of a message of this node, so that the senders of a pool get messages in proportion to their rates. */
  assigned(link: string, sender: string): void {
    const rate = this.#rateOf(link, sender);
    if (rate === undefined) return;
    const key = `${link} ${sender}`;
    this.#busyUntil.set(key, Math.max(performance.now(), this.#busyUntil.get(key) ?? 0) + 1_000 / rate);
  }

  /** How long a sender has to wait for its turn, in milliseconds. */
  readonly waitOf = ({ link, number }: { link: string; number: string }): number =>
    Math.max(0, (this.#busyUntil.get(`${link} ${number}`) ?? 0) - performance.now());
}
