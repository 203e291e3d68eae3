/** The same key twice is the same answer: what happens to a request whose key is running, finished, or new. */
import { Problem } from "../http/problem.ts";
import type { Environment } from "../access/environment.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Database } from "../storage/database.ts";
import type { KeyClaim } from "./key.ts";
import { findAnswer } from "./queries.ts";

export type Owner = { accountId: Uuid; environment: Environment };
export type Replay = { kind: "replay"; status: number; location: string | null; body: string };

/** The keys whose first request is being executed by this process. An advisory lock would not tell two requests of one
 *  session apart, and most duplicates need not go to the database's locks at all. */
export class Once {
  readonly #db: Database;
  readonly #running = new Set<string>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Runs the work as the only holder of the key in this process. The work answers "taken" when the database says that
   *  the key is another's; then, as when it runs here already, the stored answer is replayed, or there is none yet: 409. */
  run<T>(owner: Owner, claim: KeyClaim | undefined, work: () => Promise<T | "taken">): Promise<T | Replay> {
    if (claim === undefined) return work() as Promise<T>;
    if (this.#running.has(claim.name)) return this.#replay(owner, claim);
    this.#running.add(claim.name);
    return this.#runAlone(owner, claim, work);
  }

  async #runAlone<T>(owner: Owner, claim: KeyClaim, work: () => Promise<T | "taken">): Promise<T | Replay> {
    let outcome: T | "taken";
    try {
      outcome = await work();
    } finally {
      this.#running.delete(claim.name);
    }
    return outcome === "taken" ? this.#replay(owner, claim) : outcome;
  }

  /** Whether this very answer is stored: it names its request, so no other has the same bytes. */
  async holds({ accountId, environment }: Owner, { key }: KeyClaim, body: string | null): Promise<boolean> {
    const [stored] = await findAnswer(this.#db, accountId, environment, key);
    return stored !== undefined && stored.body === body;
  }

  async #replay({ accountId, environment }: Owner, { key, fingerprint }: KeyClaim): Promise<Replay> {
    const [stored] = await findAnswer(this.#db, accountId, environment, key);
    if (stored === undefined) throw new Problem("idempotency_conflict", { headers: { "retry-after": "1" } });
    if (!stored.fingerprint.equals(fingerprint))
      throw new Problem("idempotency_key_reused", { detail: "this key was first used with another method, path or body" });
    return { kind: "replay", status: stored.status, location: stored.location, body: stored.body };
  }
}
