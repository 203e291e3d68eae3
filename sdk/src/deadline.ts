/** Limits a wait by time and by the caller's signal. */
import { TimeoutError } from "./errors.ts";

export class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onOuter = (): void => this.#controller.abort(this.#outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal | undefined) {
    this.#outer = outer;
    if (outer?.aborted === true) this.#onOuter();
    else outer?.addEventListener("abort", this.#onOuter, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the time limit now and replaces an earlier one. `what` names the work in the error. */
  set(timeoutMs: number, what: string): void {
    clearTimeout(this.#timer);
    const message = `${what} took longer than ${Math.round(timeoutMs)} ms`;
    this.#timer = setTimeout(() => this.#controller.abort(new TimeoutError(message)), timeoutMs);
  }

  /** Stops the time limit while the caller processes the result. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Removes the limits, and aborts the work in case it still runs. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onOuter);
    this.#controller.abort();
  }

  /** Returns the result of the work, or rejects with the signal's reason, even if the work ignores the signal. */
  limit<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    return new Promise<T>((resolve, reject) => {
      const giveUp = (): void => reject(signal.reason as Error);
      if (signal.aborted) giveUp();
      else signal.addEventListener("abort", giveUp, { once: true });
      const settled = (): void => signal.removeEventListener("abort", giveUp);
      void work.then(resolve, reject).then(settled, settled);
    });
  }
}

/** Waits for the time. Rejects with the signal's reason if the signal aborts first. */
export async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
