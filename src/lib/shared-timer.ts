/** One timer for many checks. A timer for each would cost more than what it watches, if most of them end before their first check. */
export class SharedTimer {
  readonly #everyMs: number;
  readonly #checks = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** Calls the check once in each interval until it is deleted. */
  add(check: () => void): void {
    this.#checks.add(check);
    this.#timer ??= setInterval(() => this.#turn(), this.#everyMs).unref();
  }

  delete(check: () => void): void {
    this.#checks.delete(check);
  }

  #turn(): void {
    for (const check of this.#checks) check();
    if (this.#checks.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
