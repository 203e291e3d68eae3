/** Work that is done again and again, one turn after the other, until it is stopped. */

type Turn = () => Promise<number>;

const AFTER_TROUBLE_MS = 1_000;

export class Turns {
  readonly #onError: (error: unknown) => void;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #running = new Set<Promise<void>>();
  #isStopped = false;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** The turn tells after how many milliseconds it wants to be run again. */
  every(turn: Turn): void {
    if (this.#isStopped) return;
    const running = turn()
      .catch((error: unknown) => {
        this.#onError(error);
        return AFTER_TROUBLE_MS;
      })
      .then((pauseMs) => this.#again(turn, pauseMs))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Waits for the turns under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(this.#running);
  }

  #again(turn: Turn, pauseMs: number): void {
    if (this.#isStopped) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.every(turn);
    }, pauseMs);
    this.#timers.add(timer);
  }
}
