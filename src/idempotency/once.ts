/** The same key twice is the same answer: what happens to a request whose key is running, finished, or new. */
import { Problem, unavailable } from "../http/problem.ts";
import { assert } from "../lib/assert.ts";
import type { EventId } from "../lib/id.ts";
import { isSealed, type SecretBox } from "../lib/secret-box.ts";
import type { Trace } from "../lib/trace.ts";
import { ConnectionLost, type Database, type Tx } from "../storage/database.ts";
import { findOut } from "../storage/find-out.ts";
import type { IdempotencyClaim } from "./key.ts";
import { beginClaim, findResponse, storeResponse, transactionStatus } from "./queries.ts";
import type { Owner } from "../storage/owner.ts";

export type Replay = { kind: "replay"; status: number; location: string | null; body: string };

/** What a write answers, and what is stored of it: the bytes, or the event whose record they are. */
export type WriteResponse = {
  status: number;
  location: string | null;
  body: string;
  eventId: EventId | null;
  /** The bytes show a secret, and are not stored readable. */
  isSecret?: true;
};
export type Executed = WriteResponse & { kind: "executed" };

/** Who asks, with which key, how a refusal is written for them, and the trace that they named. */
export type WriteCall = {
  credential: Owner;
  claim: IdempotencyClaim | undefined;
  writeProblem: (problem: Problem) => string;
  trace?: Trace | undefined;
};

type Admit = <T>(commit: () => Promise<T>) => Promise<T>;

// The answer is the same whether a lost session could be ended or not: worth a moment, not a long wait.
const END_SESSION_MS = 2_000;

/** The key is another request's: found inside the transaction, which then has nothing to do. */
class Taken extends Error {
  override name = "Taken";
}

/** The keys whose first request is being executed by this process. An advisory lock would not tell two requests of one
 *  session apart, and most duplicates need not go to the database's locks at all. */
export class Once {
  readonly #db: Database;
  readonly #box: SecretBox | undefined;
  readonly #running = new Set<string>();

  /** Answers that show secrets are sealed by the box. */
  constructor(db: Database, box?: SecretBox) {
    this.#db = db;
    this.#box = box;
  }

  /** Runs the work as the only holder of the key in this process. The work answers "taken" when the database says that
   *  the key is another's; then, as when it runs here already, the stored answer is replayed, or there is none yet: 409. */
  run<T>(owner: Owner, claim: IdempotencyClaim | undefined, work: () => Promise<T | "taken">): Promise<T | Replay> {
    if (claim === undefined) return work() as Promise<T>;
    if (this.#running.has(claim.scopedKey)) return this.#replay(owner, claim);
    this.#running.add(claim.scopedKey);
    return this.#runAlone(owner, claim, work);
  }

  async #runAlone<T>(owner: Owner, claim: IdempotencyClaim, work: () => Promise<T | "taken">): Promise<T | Replay> {
    let outcome: T | "taken";
    try {
      outcome = await work();
    } finally {
      this.#running.delete(claim.scopedKey);
    }
    return outcome === "taken" ? this.#replay(owner, claim) : outcome;
  }

  /** Runs a write in one transaction with its key and its stored answer. What the work throws rolls everything back, and the
   *  same key may try again; a refusal that is to be remembered is returned. `admit` may let the transaction wait: whoever repeats
   *  the request meanwhile does not. */
  transaction(
    owner: Owner,
    claim: IdempotencyClaim | undefined,
    work: (tx: Tx) => Promise<WriteResponse>,
    admit: Admit = (commit) => commit(),
  ): Promise<Executed | Replay> {
    return this.run(owner, claim, () => admit(() => this.#commit(owner, claim, work)));
  }

  /** As `transaction`. A problem that the work returns is remembered as its answer; one that it throws undoes everything. */
  write({ credential, claim, writeProblem }: WriteCall, work: (tx: Tx) => Promise<WriteResponse | Problem>): Promise<Executed | Replay> {
    return this.transaction(credential, claim, async (tx) => {
      const done = await work(tx);
      return done instanceof Problem ? { status: done.status, location: null, body: writeProblem(done), eventId: null } : done;
    });
  }

  async #commit(owner: Owner, claim: IdempotencyClaim | undefined, work: (tx: Tx) => Promise<WriteResponse>): Promise<Executed | "taken"> {
    let transaction: string | undefined;
    let written: WriteResponse | undefined;
    try {
      await this.#db.transaction(async (tx) => {
        const [begun] = await beginClaim(tx, claim?.lock ?? null);
        if (begun?.is_locked !== true) throw new Taken();
        // A statement of its own, whose snapshot is newer than the lock.
        if (claim !== undefined && (await findResponse(tx, owner.accountId, owner.environment, claim.key)).length > 0) throw new Taken();
        transaction = begun.transaction;
        written = await work(tx);
        if (claim !== undefined) await storeResponse(tx, { ...owner, ...claim }, { ...written, body: this.#toStore(written, claim) });
      });
    } catch (error) {
      if (error instanceof Taken) return "taken";
      if (!(error instanceof ConnectionLost)) throw error;
      await this.#assertCommitted(error, written === undefined ? undefined : transaction);
    }
    return { kind: "executed", ...(written as unknown as WriteResponse) };
  }

  #toStore({ body, eventId, isSecret }: WriteResponse, claim: IdempotencyClaim): string | null {
    if (eventId !== null) return null;
    return isSecret === true ? this.#secretBox().seal(body, sealContext(claim)) : body;
  }

  #secretBox(): SecretBox {
    assert(this.#box !== undefined, "answers that show secrets need a box for them");
    return this.#box;
  }

  /** The connection died, perhaps in mid-commit: only what was certainly not done is answered as such. */
  async #assertCommitted(lost: ConnectionLost, transaction: string | undefined): Promise<void> {
    if (transaction === undefined) {
      // It can never commit. But it may still hold the key and what it wanted to change: a retry should find both free.
      await findOut(this.#db, lost, async () => true, END_SESSION_MS);
      throw unavailable("the database connection was lost before anything was done");
    }
    const name = transaction;
    const found = await findOut(this.#db, lost, async () => (await transactionStatus(this.#db, name))[0]?.status ?? "forgotten");
    if (found === "committed") return;
    if (found === "aborted") throw unavailable("the database connection was lost before anything was done");
    throw new Problem("internal_server_error", {
      cause: new Error("whether the request was executed could not be found out", { cause: lost }),
    });
  }

  /** Whether this very answer is stored: it names its request, so no other has the same bytes. */
  async holds({ accountId, environment }: Owner, { key }: IdempotencyClaim, body: string | null): Promise<boolean> {
    const [stored] = await findResponse(this.#db, accountId, environment, key);
    return stored !== undefined && stored.body === body;
  }

  async #replay({ accountId, environment }: Owner, { key, scopedKey, fingerprint }: IdempotencyClaim): Promise<Replay> {
    const [stored] = await findResponse(this.#db, accountId, environment, key);
    if (stored === undefined) throw new Problem("idempotency_conflict", { headers: { "retry-after": "1" } });
    if (!stored.fingerprint.equals(fingerprint))
      throw new Problem("idempotency_key_reused", { detail: "this key was first used with another method, path or body" });
    const body = isSealed(stored.body) ? this.#secretBox().open(stored.body, sealContext({ scopedKey })) : stored.body;
    return { kind: "replay", status: stored.status, location: stored.location, body };
  }
}

const sealContext = ({ scopedKey }: Pick<IdempotencyClaim, "scopedKey">): string => `answer ${scopedKey}`;
