/** Executes a request with an idempotency key once. A repeated request gets the stored response, or 409 while the first one runs. */
import { Problem, unavailable } from "../http/problem.ts";
import { assert } from "../lib/assert.ts";
import type { EventId, KeyId, RequestId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import type { Recipient } from "../model/phone-number.ts";
import { isSealed, type SecretBox } from "../lib/secret-box.ts";
import type { Trace } from "../lib/trace.ts";
import { newUuid } from "../lib/uuid.ts";
import type { Clock } from "../database/database-clock.ts";
import { ConnectionLost, type Database, type Tx } from "../database/database.ts";
import { findOut } from "../database/find-out.ts";
import type { Owner } from "../model/owner.ts";
import type { IdempotencyClaim, IdempotencyKey } from "./key.ts";
import { findResponse, lockKey, storeMark, storeResponse } from "./queries.ts";

export type Replay = { kind: "replay"; status: number; location: string | null; body: string };

/** The response of a write. The body is stored, or only the id of the event whose record is the body. */
export type WriteResponse = {
  status: number;
  location?: string | null;
  body: string;
  eventId?: EventId | null;
  /** The body contains a secret and is stored encrypted. */
  isSecret?: true;
  /** The recipient that the body names, by which an erasure finds the stored body. */
  recipient?: Recipient;
  /** Headers of this response that its replays do not have. */
  headers?: Problem["headers"];
};
export type Executed<R extends WriteResponse = WriteResponse> = R & { kind: "executed"; location: string | null };

/** The owner of a request, and the API key that it was made with. */
type Requester = Owner & { keyId?: KeyId };

/** A write request: its credential, its id, its claim, the writer of problem bodies for its client, and the trace that it names. */
export type WriteCall = {
  credential: Requester;
  requestId?: RequestId;
  claim: IdempotencyClaim | undefined;
  writeProblem: (problem: Problem) => string;
  trace?: Trace | undefined;
};

/** A write request whose change is recorded in the audit log. */
export type AuditedCall = WriteCall & { origin: () => ChangeOrigin };

/** Whether a transaction that requested its commit was committed. */
type IsCommitted = () => Promise<boolean>;

type Admit = <T>(commit: () => Promise<T>) => Promise<T>;

// The response is the same whether the lost session can be ended or not, so the wait is short.
const END_SESSION_MS = 2_000;

/** Another request has claimed the key. Thrown inside the transaction, which then does nothing. */
class Taken extends Error {
  override name = "Taken";
}

/** Tracks the keys whose first request this process executes. An advisory lock does not distinguish two requests of one session, and
 *  most duplicates are found without the locks of the database. */
export class Once {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #box: SecretBox | undefined;
  readonly #onExecuted: (() => void) | undefined;
  readonly #running = new Set<string>();

  /** The box encrypts stored responses that contain secrets. `onExecuted` is called after a transaction, and not for a replay. */
  constructor(db: Database, clock: Clock, box?: SecretBox, onExecuted?: () => void) {
    this.#db = db;
    this.#clock = clock;
    this.#box = box;
    this.#onExecuted = onExecuted;
  }

  /** Runs the work as the only holder of the key in this process. The work returns "taken" when the database finds that another
   *  request has claimed the key. Then, and when the key already runs in this process, the stored response is replayed; without one
   *  the response is 409. */
  run<T>(owner: Requester, claim: IdempotencyClaim | undefined, work: () => Promise<T | "taken">): Promise<T | Replay> {
    if (claim === undefined) return work() as Promise<T>;
    if (this.#running.has(claim.scopedKey)) return this.#replay(owner, claim);
    this.#running.add(claim.scopedKey);
    return this.#runExclusively(owner, claim, work);
  }

  async #runExclusively<T>(owner: Requester, claim: IdempotencyClaim, work: () => Promise<T | "taken">): Promise<T | Replay> {
    let outcome: T | "taken";
    try {
      outcome = await work();
    } finally {
      this.#running.delete(claim.scopedKey);
    }
    return outcome === "taken" ? this.#replay(owner, claim) : outcome;
  }

  /** Runs a write in one transaction with its key and its stored response. An error that the work throws rolls everything back, and
   *  the same key can be used again; a refusal that must be stored is returned. `admit` may delay the transaction; a repeated request
   *  does not wait meanwhile. */
  transaction<R extends WriteResponse>(
    owner: Requester,
    claim: IdempotencyClaim | undefined,
    work: (tx: Tx) => Promise<R>,
    admit: Admit = (commit) => commit(),
  ): Promise<Executed<R> | Replay> {
    return this.run(owner, claim, () => admit(() => this.commit(owner, claim, work)));
  }

  /** Like `transaction`. A problem that the work returns is stored as the response; a problem that it throws rolls everything back. */
  write({ credential, claim, writeProblem }: WriteCall, work: (tx: Tx) => Promise<WriteResponse | Problem>): Promise<Executed | Replay> {
    return this.transaction(credential, claim, async (tx) => {
      const done = await work(tx);
      return done instanceof Problem ? { status: done.status, body: writeProblem(done), headers: done.headers } : done;
    });
  }

  /** Commits a write of the request that runs with the key in this process. */
  async commit<R extends WriteResponse>(
    owner: Requester,
    claim: IdempotencyClaim | undefined,
    work: (tx: Tx) => Promise<R>,
  ): Promise<Executed<R> | "taken"> {
    let response: R | undefined;
    let isCommitted: IsCommitted | undefined;
    try {
      await this.#db.transaction(async (tx) => {
        if (claim === undefined) {
          response = await work(tx);
          const key = newUuid(this.#clock.now()) as IdempotencyKey;
          await storeMark(tx, owner, key, this.#clock.now());
          isCommitted = async () => (await findResponse(this.#db, owner, key, this.#clock.now())).length > 0;
          return;
        }
        if (!(await lockKey(tx, claim.lock))) throw new Taken();
        // A separate statement, so that its snapshot is newer than the lock.
        if ((await findResponse(tx, owner, claim.key, this.#clock.now())).length > 0) throw new Taken();
        const done = (response = await work(tx));
        const body = this.#bodyToStore(done, sealContext(claim, owner));
        if ((await storeResponse(tx, { ...owner, ...claim }, { ...done, body }, this.#clock.now())).length === 0) throw new Taken();
        isCommitted = () => this.#holds(owner, claim, body ?? done.body);
      });
    } catch (error) {
      if (error instanceof Taken) return "taken";
      if (!(error instanceof ConnectionLost)) throw error;
      await this.#assertCommitted(error, isCommitted);
    }
    const done = response as unknown as R;
    this.#onExecuted?.();
    return { kind: "executed", ...done, location: done.location ?? null };
  }

  #bodyToStore({ body, eventId, isSecret }: WriteResponse, context: string): string | null {
    if (eventId) return null;
    return isSecret === true ? this.#secretBox().seal(body, context) : body;
  }

  /** Opens a response that contains a secret. Only the key whose request was executed can see it again. */
  #openBody(sealed: string, context: string): string {
    try {
      return this.#secretBox().open(sealed, context);
    } catch {
      throw new Problem("idempotency_key_reused", {
        detail: "another credential used this key first, for a response that contains a secret",
      });
    }
  }

  #secretBox(): SecretBox {
    assert(this.#box !== undefined, "responses that contain secrets need a secret box");
    return this.#box;
  }

  /** Finds out whether the transaction committed after its connection was lost. Throws 503 only if it certainly did not commit. Without
   *  `isCommitted` the commit was not requested. */
  async #assertCommitted(lost: ConnectionLost, isCommitted: IsCommitted | undefined): Promise<void> {
    if (isCommitted === undefined) {
      // The transaction can never commit, but it may still hold its locks. A retry should find them free.
      await findOut(this.#db, lost, async () => true, END_SESSION_MS);
      throw unavailable("the database connection was lost before anything was done");
    }
    const found = await findOut(this.#db, lost, isCommitted);
    if (found === true) return;
    if (found === false) throw unavailable("the database connection was lost before anything was done");
    throw new Problem("internal_server_error", {
      cause: new Error("whether the request was executed could not be found out", { cause: lost }),
    });
  }

  /** Whether a response is stored for the key, so that the request must not be executed. */
  async isExecuted(owner: Requester, claim: IdempotencyClaim | undefined): Promise<boolean> {
    return claim !== undefined && (await findResponse(this.#db, owner, claim.key, this.#clock.now())).length > 0;
  }

  /** Whether exactly this response is stored. The body contains the id of its request, so no other request has the same bytes. */
  async #holds(owner: Requester, { key }: IdempotencyClaim, body: string | null): Promise<boolean> {
    const [stored] = await findResponse(this.#db, owner, key, this.#clock.now());
    return stored !== undefined && stored.body === body;
  }

  async #replay(owner: Requester, { key, scopedKey, fingerprint }: IdempotencyClaim): Promise<Replay> {
    const [stored] = await findResponse(this.#db, owner, key, this.#clock.now());
    if (stored === undefined) throw new Problem("idempotency_conflict", { headers: { "retry-after": "1" } });
    if (!stored.fingerprint.equals(fingerprint))
      throw new Problem("idempotency_key_reused", {
        detail: "this key was first used with another method, path, query or body: use a new key for a new request",
      });
    assert(stored.body !== null, "the event of a stored response is kept for longer than its key");
    await this.#db.confirmRead();
    const body = isSealed(stored.body) ? this.#openBody(stored.body, sealContext({ scopedKey }, owner)) : stored.body;
    return { kind: "replay", status: stored.status, location: stored.location, body };
  }
}

/** Binds an encrypted body to its idempotency key and to the API key of its request. */
const sealContext = ({ scopedKey }: Pick<IdempotencyClaim, "scopedKey">, { keyId }: Requester): string =>
  `response ${scopedKey} ${keyId?.toString("hex") ?? ""}`;
