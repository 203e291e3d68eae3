/** Who may open a link that takes one connection for all nodes together. Held by a row with an end, renewed while the node lives;
 *  another node has it seconds after this one is gone. */
import { randomBytes } from "node:crypto";
import { within } from "../lib/wait.ts";
import type { Queryable } from "../storage/database.ts";
import { dropLease, takeLease } from "./queries.ts";

export type LinkLeaseParts = {
  db: Queryable;
  link: string;
  node: string;
  leaseMs: number;
  /** Called for the first failure until the database responds again. */
  onError?: (error: unknown) => void;
};

export class LinkLease {
  readonly #db: Queryable;
  readonly #link: string;
  readonly #leaseMs: number;
  /** A lease that cannot be renewed is given up so long before another node can have it: a carrier's goodbye takes a moment. */
  readonly #marginMs: number;
  /** A database that needs longer says nothing in time, and a look at the clock is due again. */
  readonly #askMs: number;
  /** The node, and which of its connections: one that is being opened anew does not have what the one before it had. */
  readonly #holder: string;
  /** On this process's own steady clock, counted from before it asked. */
  #heldUntil = 0;
  readonly #onError: (error: unknown) => void;
  #isFailing = false;

  constructor({ db, link, node, leaseMs, onError = () => undefined }: LinkLeaseParts) {
    this.#db = db;
    this.#link = link;
    this.#leaseMs = leaseMs;
    this.#marginMs = leaseMs / 6;
    this.#askMs = leaseMs / 6;
    this.#holder = `${node}/${randomBytes(4).toString("hex")}`;
    this.#onError = onError;
  }

  /** How often a holder renews it, and another node asks for it. */
  get renewEveryMs(): number {
    return this.#leaseMs / 4;
  }

  /** Certainly ours: whoever asks the database now is told so. */
  get isHeld(): boolean {
    return this.leftMs > 0;
  }

  /** For how long it is certainly ours, if nobody renews it. */
  get leftMs(): number {
    return Math.max(0, this.#heldUntil - performance.now());
  }

  /** Takes it, or holds it for longer; false when it is another's, or nobody can tell. */
  async hold(): Promise<boolean> {
    const askedAt = performance.now();
    // Not beyond what is left: whoever waits for the answer has to close the link by then.
    const isOurs = await within(this.#take(), this.isHeld ? Math.min(this.#askMs, this.leftMs) : this.#askMs);
    // The database is away: what we had we have until its time is over.
    if (isOurs !== undefined) this.#heldUntil = isOurs ? askedAt + this.#leaseMs - this.#marginMs : 0;
    return this.isHeld;
  }

  async drop(): Promise<void> {
    this.#heldUntil = 0;
    await dropLease(this.#db, this.#link, this.#holder);
  }

  /** Undefined when nobody can tell. */
  async #take(): Promise<boolean | undefined> {
    try {
      const isOurs = await takeLease(this.#db, this.#link, this.#holder, this.#leaseMs);
      this.#isFailing = false;
      return isOurs;
    } catch (error) {
      if (!this.#isFailing) this.#onError(error);
      this.#isFailing = true;
      return undefined;
    }
  }
}
