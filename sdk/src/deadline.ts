/** A limit for whatever is waited for: a time, and the signal of the caller. */
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

  /** From now, in place of the time that was set before. */
  set(timeoutMs: number, what: string): void {
    clearTimeout(this.#timer);
    const message = `${what} took longer than ${Math.round(timeoutMs)} ms`;
    this.#timer = setTimeout(() => this.#controller.abort(new TimeoutError(message)), timeoutMs);
  }

  /** No limit while somebody else takes time. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the work itself, when nobody waits for it any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onOuter);
    this.#controller.abort();
  }

  /** The result, or the reason why it is not waited for any longer, also when the work does not heed the signal. */
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

/** Rejected with the signal's reason when that comes first. */
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
