/** The lease of a link that accepts only one connection for all nodes together. The lease is a row with an expiry, which the holder
 *  renews. Another node can take the lease seconds after the holder is gone. */
import { randomBytes } from "node:crypto";
import { within } from "../lib/wait.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Queryable } from "../database/database.ts";
import { dropLease, takeLease } from "./queries.ts";

export type LinkLeaseParts = {
  db: Queryable;
  clock: Clock;
  link: string;
  node: string;
  leaseMs: number;
  /** Called for the first failure until the database responds again. */
  onError?: (error: unknown) => void;
};

export class LinkLease {
  readonly #parts: LinkLeaseParts;
  /** The node and the connection. A connection that is opened again does not inherit the lease of the one before it. */
  readonly #holder: string;
  /** A lease that cannot be renewed is given up this long before another node can take it: closing a connection takes time, and the
   *  clocks of two nodes differ by up to half a second while they follow a correction of the database's clock. A renewal takes no longer:
   *  after it, the holder must check again whether the lease is still valid. */
  readonly #marginMs: number;
  /** On the monotonic clock of this process, counted from the moment before the request to the database. */
  #heldUntil = 0;
  #isFailing = false;

  constructor(parts: LinkLeaseParts) {
    this.#parts = parts;
    this.#holder = `${parts.node}/${randomBytes(4).toString("hex")}`;
    this.#marginMs = parts.leaseMs / 6;
  }

  /** The interval at which the holder renews the lease, and at which another node tries to take it. */
  get renewEveryMs(): number {
    return this.#parts.leaseMs / 4;
  }

  /** Whether this node certainly holds the lease, so that no other node can take it now. */
  get isHeld(): boolean {
    return this.leftMs > 0;
  }

  /** The time for which this node certainly holds the lease without a renewal. */
  get leftMs(): number {
    return Math.max(0, this.#heldUntil - performance.now());
  }

  /** Takes or renews the lease. Returns false when another node holds it, and when it has expired and the database does not respond. */
  async hold(): Promise<boolean> {
    const startedAt = performance.now();
    // The wait ends with the lease at the latest, since the caller has to close the link by then.
    const isHolder = await within(this.#take(), this.isHeld ? Math.min(this.#marginMs, this.leftMs) : this.#marginMs);
    // Without a response of the database, a lease that this node holds stays valid until it expires.
    if (isHolder !== undefined) this.#heldUntil = isHolder ? startedAt + this.#parts.leaseMs - this.#marginMs : 0;
    return this.isHeld;
  }

  async drop(): Promise<void> {
    this.#heldUntil = 0;
    await dropLease(this.#parts.db, this.#parts.link, this.#holder);
  }

  /** Undefined when the database does not respond. */
  async #take(): Promise<boolean | undefined> {
    const { db, clock, link, leaseMs, onError } = this.#parts;
    try {
      const isHolder = await takeLease(db, link, this.#holder, { nowMs: clock.now(), leaseMs });
      this.#isFailing = false;
      return isHolder;
    } catch (error) {
      if (!this.#isFailing) onError?.(error);
      this.#isFailing = true;
      return undefined;
    }
  }
}
