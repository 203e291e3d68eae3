/** Messages that people wrote and that may be stored without the carrier knowing it: their commit took too long, or the connection
 *  ended before the answer. The carrier brings them again, under no name, and once is enough. People do write the same thing
 *  twice: so only what is awaited is taken for a repetition, and each once. */
import type { InboundMessage } from "../provider.ts";

// Carriers bring again what was not acknowledged when they are bound again, or within minutes.
const AWAITED_MS = 600_000;
const MAX_AWAITED = 1_000;

type Awaited = { isCommitted: Promise<boolean>; untilMs: number };

const keyOf = ({ from, to, text }: InboundMessage): string => JSON.stringify([from, to, text]);

export class Repeats {
  readonly #awaited = new Map<string, Awaited>();

  /** It is to come again, though it may be stored: `isCommitted` tells. */
  expect(message: InboundMessage, isCommitted: Promise<boolean>, nowMs: number): void {
    if (this.#awaited.size >= MAX_AWAITED) for (const oldest of this.#awaited.keys().take(1)) this.#awaited.delete(oldest);
    this.#awaited.set(keyOf(message), { isCommitted, untilMs: nowMs + AWAITED_MS });
  }

  /** Whether what has come is stored already, where it was awaited; undefined where it was not. */
  take(message: InboundMessage, nowMs: number): Promise<boolean> | undefined {
    const key = keyOf(message);
    const found = this.#awaited.get(key);
    this.#awaited.delete(key);
    return found !== undefined && nowMs < found.untilMs ? found.isCommitted : undefined;
  }
}
