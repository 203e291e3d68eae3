/** What was asked of the carrier and not answered yet, by sequence number. */
import { MAX_SEQUENCE, type Pdu } from "./pdu.ts";

export type Answer =
  /** A response, or a generic_nack in place of one. */
  | { kind: "answer"; pdu: Pdu }
  /** It was never written. */
  | { kind: "unsent" }
  /** Bytes may have left, and nothing definite came back. */
  | { kind: "silence" | "lost" | "garbled" | "given up"; detail: string };

export type Waiting = {
  limitMs: number;
  signal?: AbortSignal;
  /** The answer, when it comes after all to somebody who no longer waits. */
  late?: (pdu: Pdu) => void;
};

type Open = { settle: (answer: Answer) => void };

// Answers that nobody waits for any more, and may still come.
const MAX_LATE = 1_000;

export class Requests {
  readonly #open = new Map<number, Open>();
  readonly #late = new Map<number, (pdu: Pdu) => void>();
  readonly #maxSilences: number;
  readonly #onSilence: () => void;
  #sequence: number;
  #silences = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  /** `onSilence` when so many, one after the other, were not answered. `sequence` is the number before the first. */
  constructor(maxSilences: number, onSilence: () => void, sequence = 0) {
    this.#sequence = sequence;
    this.#maxSilences = maxSilences;
    this.#onSilence = onSilence;
  }

  begin({ limitMs, signal, late }: Waiting, write: (sequence: number) => void): Promise<Answer> {
    if (signal?.aborted === true) return Promise.resolve({ kind: "unsent" });
    const sequence = this.#nextSequence();
    return new Promise((resolve) => {
      const settle = (answer: Answer): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", giveUp);
        this.#close(sequence);
        resolve(answer);
      };
      const stopWaiting = (answer: Answer): void => {
        this.#keepLate(sequence, late);
        settle(answer);
      };
      const giveUp = (): void => stopWaiting({ kind: "given up", detail: "given up before the carrier's answer came" });
      const timer = setTimeout(() => {
        stopWaiting({ kind: "silence", detail: "the carrier did not answer in time" });
        this.#silences += 1;
        if (this.#silences >= this.#maxSilences) this.#onSilence();
      }, limitMs);
      signal?.addEventListener("abort", giveUp, { once: true });
      this.#open.set(sequence, { settle });
      write(sequence);
    });
  }

  /** False when nobody asked. */
  answer(pdu: Pdu): boolean {
    const open = this.#open.get(pdu.sequence);
    const late = this.#late.get(pdu.sequence);
    if (open === undefined && late === undefined) return false;
    this.#silences = 0;
    this.#late.delete(pdu.sequence);
    open?.settle({ kind: "answer", pdu });
    late?.(pdu);
    return true;
  }

  /** An answer came, and nobody knows what it says. */
  garble(sequence: number, detail: string): void {
    this.#late.delete(sequence);
    this.#open.get(sequence)?.settle({ kind: "garbled", detail });
  }

  /** No answer will come any more. */
  lose(reason: string): void {
    this.#late.clear();
    for (const { settle } of Array.from(this.#open.values())) settle({ kind: "lost", detail: `the connection ended: ${reason}` });
  }

  /** Resolves when nobody waits. */
  async settled(): Promise<void> {
    if (this.#open.size === 0) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  #close(sequence: number): void {
    this.#open.delete(sequence);
    if (this.#open.size > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  #keepLate(sequence: number, late: ((pdu: Pdu) => void) | undefined): void {
    if (this.#late.size >= MAX_LATE) for (const oldest of this.#late.keys().take(1)) this.#late.delete(oldest);
    this.#late.set(sequence, late ?? (() => undefined));
  }

  /** Round and round, past those in use. */
  #nextSequence(): number {
    do this.#sequence = this.#sequence >= MAX_SEQUENCE ? 1 : this.#sequence + 1;
    while (this.#open.has(this.#sequence) || this.#late.has(this.#sequence));
    return this.#sequence;
  }
}
