/** The claims of a queue or of one lane: one at a time, and only if a group with room has due rows (`waiting-groups.ts`). */
import { pause } from "../lib/wait.ts";

export type ClaimLoopParts = {
  /** Whether a claim would find rows. */
  isAnyDue: () => boolean;
  /** Begins a claim; returns undefined if the claim has to wait for more room. `isWoken`: a claim is wanted as soon as one row fits;
   *  otherwise the claim may wait until it is worth a statement. */
  begin: (isWoken: boolean) => Promise<void> | undefined;
  onError: (error: unknown) => void;
  /** A claim waits this long, so that events which come together are followed by one claim. */
  delayMs?: number;
};

// The pause after a failed claim. Most failures are a database that does not respond.
const AFTER_ERROR_MS = 500;

export class ClaimLoop {
  readonly #parts: ClaimLoopParts;
  readonly #stopping = new AbortController();
  /** A wake-up arrived after the last claim began. */
  #isWoken = false;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ClaimLoopParts) {
    this.#parts = parts;
  }

  get isClaiming(): boolean {
    return this.#running !== undefined;
  }

  /** Rows were queued that this node does not own, or the link works again: claims as soon as one row fits. */
  wake(): void {
    this.#isWoken = true;
    this.claim();
  }

  /** Rows were queued, or there is more room: claims if that is worth a statement. */
  claim(): void {
    const { delayMs } = this.#parts;
    if (delayMs === undefined) return this.#begin();
    if (this.isClaiming || this.#stopping.signal.aborted) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#begin();
    }, delayMs);
  }

  /** Begins no further claim, and waits for the one that is running. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  #begin(): void {
    if (this.isClaiming || this.#stopping.signal.aborted) return;
    if (!this.#parts.isAnyDue()) this.#isWoken = false;
    else {
      const claim = this.#parts.begin(this.#isWoken);
      if (claim === undefined) return;
      this.#isWoken = false;
      this.#running = this.#finish(claim);
    }
  }

  async #finish(claim: Promise<void>): Promise<void> {
    try {
      await claim;
    } catch (error) {
      this.#parts.onError(error);
      await pause(AFTER_ERROR_MS, this.#stopping.signal);
    }
    this.#running = undefined;
    this.claim();
  }
}
