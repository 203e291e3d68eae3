/** The progress of a long command on the standard error: one line that changes at a terminal, and otherwise a line every ten seconds. */
const TERMINAL_MS = 200;
const LOG_MS = 10_000;
const CLEAR_LINE = "\r\u001b[K";

export class ProgressLine {
  readonly #isTerminal = process.stderr.isTTY;
  #shownAt = performance.now();
  #isOpen = false;

  show(line: () => string): void {
    const now = performance.now();
    if (now - this.#shownAt < (this.#isTerminal ? TERMINAL_MS : LOG_MS)) return;
    this.#shownAt = now;
    process.stderr.write(this.#isTerminal ? `${CLEAR_LINE}${line()}` : `${line()}\n`);
    this.#isOpen = this.#isTerminal;
  }

  /** Makes room for other lines. */
  end(): void {
    if (this.#isOpen) process.stderr.write(CLEAR_LINE);
    this.#isOpen = false;
  }
}
