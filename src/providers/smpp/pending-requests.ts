/** Requests to the carrier that wait for their responses, by sequence number. */
import { BoundedMap } from "../../lib/bounded-map.ts";
import { MAX_SEQUENCE, type Pdu } from "./pdu.ts";

export type RequestOutcome =
  /** A response, or a generic_nack in place of one. */
  | { kind: "response"; pdu: Pdu }
  /** The request was never written. */
  | { kind: "unsent" }
  /** Bytes may have left, and no definite response came. */
  | { kind: "timeout" | "disconnected" | "unreadable" | "aborted"; detail: string };

export type RequestLimits = {
  limitMs: number;
  signal?: AbortSignal;
  /** Called with a response that comes after the request has ended with `timeout` or `aborted`. */
  onLateResponse?: (pdu: Pdu) => void;
};

// Ended requests whose responses may still come.
const MAX_LATE = 1_000;

export class PendingRequests {
  readonly #pending = new Map<number, (outcome: RequestOutcome) => void>();
  readonly #late = new BoundedMap<number, (pdu: Pdu) => void>(MAX_LATE);
  readonly #maxTimeouts: number;
  readonly #onTimeouts: () => void;
  #sequence: number;
  #timeouts = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  /** Calls `onTimeouts` after `maxTimeouts` requests in a row without a response. `sequence` is the number before the first. */
  constructor(maxTimeouts: number, onTimeouts: () => void, sequence = 0) {
    this.#sequence = sequence;
    this.#maxTimeouts = maxTimeouts;
    this.#onTimeouts = onTimeouts;
  }

  begin({ limitMs, signal, onLateResponse }: RequestLimits, write: (sequence: number) => void): Promise<RequestOutcome> {
    if (signal?.aborted === true) return Promise.resolve({ kind: "unsent" });
    const sequence = this.#nextSequence();
    return new Promise((resolve) => {
      const settle = (outcome: RequestOutcome): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        this.#remove(sequence);
        resolve(outcome);
      };
      const stopWaiting = (outcome: RequestOutcome): void => {
        this.#expectLate(sequence, onLateResponse);
        settle(outcome);
      };
      const abort = (): void => stopWaiting({ kind: "aborted", detail: "the time limit passed before the carrier's response" });
      const timer = setTimeout(() => {
        stopWaiting({ kind: "timeout", detail: "the carrier did not answer in time" });
        this.#timeouts += 1;
        if (this.#timeouts >= this.#maxTimeouts) this.#onTimeouts();
      }, limitMs);
      signal?.addEventListener("abort", abort, { once: true });
      this.#pending.set(sequence, settle);
      write(sequence);
    });
  }

  /** Settles the request of a response. Returns false when there is no such request. */
  receive(pdu: Pdu): boolean {
    const settle = this.#pending.get(pdu.sequence);
    const late = this.#late.get(pdu.sequence);
    if (settle === undefined && late === undefined) return false;
    this.#timeouts = 0;
    this.#late.delete(pdu.sequence);
    settle?.({ kind: "response", pdu });
    late?.(pdu);
    return true;
  }

  /** Settles the request of a response that cannot be read. */
  receiveUnreadable(sequence: number, detail: string): void {
    this.#late.delete(sequence);
    this.#pending.get(sequence)?.({ kind: "unreadable", detail });
  }

  /** Settles all requests, since the connection has ended. */
  disconnect(reason: string): void {
    this.#late.clear();
    for (const settle of this.#pending.values()) settle({ kind: "disconnected", detail: `the connection ended: ${reason}` });
  }

  /** Resolves when no request is pending. */
  async drained(): Promise<void> {
    if (this.#pending.size === 0) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  #remove(sequence: number): void {
    this.#pending.delete(sequence);
    if (this.#pending.size > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  #expectLate(sequence: number, onLateResponse: ((pdu: Pdu) => void) | undefined): void {
    this.#late.set(sequence, onLateResponse ?? (() => undefined));
  }

  /** The next number that is not in use. Numbers start again after the largest. */
  #nextSequence(): number {
    do this.#sequence = this.#sequence >= MAX_SEQUENCE ? 1 : this.#sequence + 1;
    while (this.#pending.has(this.#sequence) || this.#late.has(this.#sequence));
    return this.#sequence;
  }
}
