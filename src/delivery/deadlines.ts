/** A time limit for every call of a provider. Calls that begin in the same second share one signal: with thousands of calls per second,
 *  a timer for each would cost more than the calls. */
import type { SendOutcome } from "../providers/provider.ts";

const SLICE_MS = 1_000;
// A call that ignores its signal is abandoned after this additional time.
const GRACE_MS = 5_000;

type Slice = { controller: AbortController; giveUps: Set<() => void>; abort: NodeJS.Timeout; end: NodeJS.Timeout; openedAt: number };

export class Deadlines {
  readonly #limitMs: number;
  readonly #slices = new Set<Slice>();
  #current: Slice | undefined;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** Returns the outcome of the call. The outcome is `unknown` when the call throws, or does not end in time: bytes may have left. An
   *  outcome that arrives after the call was abandoned goes to `late`. `renew` starts the time of the call anew and returns its new signal:
   *  a message in parts may take long, as long as the carrier responds to each part. */
  within(
    call: (signal: AbortSignal, renew: () => AbortSignal) => Promise<SendOutcome>,
    late: (outcome: SendOutcome) => void,
  ): Promise<SendOutcome> {
    let slice = this.#slice();
    return new Promise((resolve) => {
      let isSettled = false;
      const renew = (): AbortSignal => {
        if (isSettled || slice.controller.signal.aborted) return slice.controller.signal;
        slice.giveUps.delete(giveUp);
        slice = this.#slice();
        slice.giveUps.add(giveUp);
        return slice.controller.signal;
      };
      const settle = (outcome: SendOutcome): void => {
        slice.giveUps.delete(giveUp);
        if (isSettled) late(outcome);
        isSettled = true;
        resolve(outcome);
      };
      const giveUp = (): void => settle({ kind: "unknown", detail: "no response in time" });
      slice.giveUps.add(giveUp);
      call(slice.controller.signal, renew).then(settle, (error: unknown) => settle({ kind: "unknown", detail: String(error) }));
    });
  }

  abortAll(): void {
    for (const slice of this.#slices) slice.controller.abort();
  }

  stop(): void {
    for (const slice of this.#slices) this.#end(slice);
  }

  #slice(): Slice {
    const now = performance.now();
    if (this.#current !== undefined && now - this.#current.openedAt < SLICE_MS && !this.#current.controller.signal.aborted)
      return this.#current;
    const controller = new AbortController();
    const slice: Slice = {
      controller,
      giveUps: new Set(),
      openedAt: now,
      abort: setTimeout(() => controller.abort(), this.#limitMs + SLICE_MS),
      end: setTimeout(() => this.#end(slice), this.#limitMs + SLICE_MS + GRACE_MS),
    };
    this.#slices.add(slice);
    this.#current = slice;
    return slice;
  }

  #end(slice: Slice): void {
    clearTimeout(slice.abort);
    clearTimeout(slice.end);
    slice.controller.abort();
    this.#slices.delete(slice);
    for (const giveUp of slice.giveUps) giveUp();
  }
}
