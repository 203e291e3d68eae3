/** Credentials that this process has looked up, and those that it has refused. */
import { BoundedMap } from "../lib/bounded-map.ts";

// A revoked key must be refused "within a second or so" on every node, so a result is trusted for no longer than that.
export const TRUST_MS = 1_000;
// A credential in use is looked up again before its result expires, so that its requests do not wait for the database.
const REFRESH_SHARE = 0.75;
const MAX_CACHED = 10_000;

/** The result of a lookup. `isUnissued`: the credential is invented, and is not cached, because a client can invent any number. `trustMs`: for
 *  how long the result may be trusted at most. */
export type Lookup<Found> = { credential?: Found | undefined; isUnissued?: true; trustMs?: number };

type Cached<Found> = { credential: Found; refreshAt: number; until: number };

export class CredentialCache<Input, Found extends { environmentKey: string }> {
  readonly #now: () => number;
  readonly #lookUp: (key: string, input: Input) => Promise<Lookup<Found>>;
  /** By the credential itself: hashing it for each request would cost more than all other work of admission. */
  readonly #cached = new BoundedMap<string, Cached<Found>>(MAX_CACHED);
  /** Refused credentials, such as revoked keys. Clients that keep using one do not reach the database each time. */
  readonly #refusedUntil = new BoundedMap<string, number>(MAX_CACHED);
  readonly #lookups = new Map<string, Promise<Found | undefined>>();
  #forgotten = 0;

  constructor(lookUp: (key: string, input: Input) => Promise<Lookup<Found>>, now = () => performance.now()) {
    this.#lookUp = lookUp;
    this.#now = now;
  }

  /** Returns the credential while its result is fresh. */
  fresh(key: string, input: Input): Found | undefined {
    const cached = this.#cached.get(key);
    if (cached === undefined) return undefined;
    const now = this.#now();
    if (now >= cached.until) return undefined;
    // A failure shows when the result has expired.
    if (now >= cached.refreshAt) this.find(key, input).catch(() => undefined);
    return cached.credential;
  }

  isRefused(key: string): boolean {
    return this.#now() < (this.#refusedUntil.get(key) ?? 0);
  }

  /** Looks the credential up. Concurrent requests share one lookup. */
  find(key: string, input: Input): Promise<Found | undefined> {
    const running = this.#lookups.get(key);
    if (running !== undefined) return running;
    const lookup = this.#find(key, input).finally(() => {
      if (this.#lookups.get(key) === lookup) this.#lookups.delete(key);
    });
    this.#lookups.set(key, lookup);
    return lookup;
  }

  /** Whether the process has seen the credential before. */
  has(key: string): boolean {
    return this.#cached.has(key);
  }

  /** The environment of a credential when it was last looked up, however long ago. It decides whose budget a request uses while the
   *  credential is looked up again, and never whether the request may run. */
  lastEnvironmentOf(key: string): string | undefined {
    return this.#cached.get(key)?.credential.environmentKey;
  }

  /** Ends the trust in all results, also of lookups that run, after a key was revoked on this node. */
  forget(): void {
    this.#forgotten += 1;
    this.#lookups.clear();
    for (const cached of this.#cached.values()) cached.until = 0;
  }

  async #find(key: string, input: Input): Promise<Found | undefined> {
    const startedAt = this.#now();
    const forgotten = this.#forgotten;
    const { credential, isUnissued, trustMs = TRUST_MS } = await this.#lookUp(key, input);
    if (isUnissued === true) return undefined;
    const lasts = forgotten === this.#forgotten ? Math.min(TRUST_MS, trustMs) : 0;
    this.#cached.delete(key);
    if (credential === undefined) this.#refusedUntil.renew(key, startedAt + lasts);
    else this.#cached.set(key, { credential, refreshAt: startedAt + lasts * REFRESH_SHARE, until: startedAt + lasts });
    return credential;
  }
}
