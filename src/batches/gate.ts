/** Lets so many through at a time; the others wait their turn, up to a number of them. */
export class Gate {
  readonly #most: number;
  readonly #mostWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(most: number, mostWaiting: number) {
    this.#most = most;
    this.#mostWaiting = mostWaiting;
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#mostWaiting;
  }

  async through<T>(work: () => Promise<T>): Promise<T> {
    // Whoever leaves hands their place on, so nobody who comes later is before those who wait.
    if (this.#inside >= this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#inside += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#inside -= 1;
      else next();
    }
  }
}
