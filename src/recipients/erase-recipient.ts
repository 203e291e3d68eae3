/** Erases the data of a person on request: first in pages, each in its own transaction, then the rest in the transaction that stores the
 *  response, the audit entry and the opt-outs. */
import type { Credential } from "../access/authenticate.ts";
import type { RecipientHasher } from "../access/recipient-hash.ts";
import { recordChange } from "../audit/record-change.ts";
import { eraseConsent } from "../consent/erase-consent.ts";
import { Once, type AuditedCall, type Executed, type Replay, type WriteResponse } from "../idempotency/once.ts";
import type { Recipient } from "../model/phone-number.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import { lockOwner, OWNER_LOCKS } from "../database/locks.ts";
import { PersonErasure } from "./erase-pages.ts";
import { erasedSince, erasureRecord } from "./erasure.ts";
import type { Person } from "./queries.ts";

export type EraserParts = { db: Database; clock: Clock; hasher: RecipientHasher; wakeWebhooks: () => void };

type EraseCall = Pick<AuditedCall, "claim" | "origin"> & { credential: Credential };

export class RecipientEraser {
  readonly #parts: EraserParts;
  readonly #once: Once;

  constructor(parts: EraserParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock);
  }

  async erase(call: EraseCall, recipient: Recipient): Promise<Executed | Replay> {
    const { credential, claim } = call;
    const { accountId, environment } = credential;
    const person = { accountId, environment, recipient };
    // Each transaction has its entry in the audit log: a request that is interrupted has erased its first pages.
    const record = (tx: Tx, changes: Record<string, unknown>): Promise<void> => this.#recordErasure(tx, call, recipient, changes);
    const erasure = new PersonErasure({ ...this.#parts, record }, person);
    const { counts } = erasure;
    let isNearlyDone = false;
    const admit = async <T>(commit: () => Promise<T>): Promise<T> => {
      // A replay erases nothing of what was added since the first request.
      if (!(await this.#once.isExecuted(credential, claim))) isNearlyDone = await erasure.run();
      return commit();
    };
    const finish = async (tx: Tx): Promise<WriteResponse> => {
      const before = { ...counts };
      const isDone = isNearlyDone && (await this.#finish(tx, erasure, person));
      await record(tx, { ...erasedSince(before, counts), has_more: !isDone });
      return { status: 200, location: null, body: JSON.stringify(erasureRecord(environment, counts, !isDone)), eventId: null };
    };
    const response = await this.#once.transaction(credential, claim, finish, admit);
    if (response.kind === "executed") this.#parts.wakeWebhooks();
    return response;
  }

  /** Erases the rest. Returns false if too much has been added meanwhile. */
  async #finish(tx: Tx, erasure: PersonErasure, person: Person): Promise<boolean> {
    // An opt-out would lose its suppression otherwise, and keep its event.
    await lockOwner(tx, OWNER_LOCKS.consentChanges, person);
    const isLast = await erasure.finish(tx);
    if (isLast) erasure.counts.suppressions += (await eraseConsent(tx, person, person.recipient, this.#parts.clock.now())).suppressions;
    return isLast;
  }

  #recordErasure(tx: Tx, { credential, origin }: EraseCall, recipient: Recipient, changes: Record<string, unknown>): Promise<void> {
    const { clock, hasher } = this.#parts;
    const target = { type: "recipient", id: hasher.hash(credential.accountId, recipient) } as const;
    return recordChange(tx, clock.now(), { ...credential, origin: origin() }, { action: "recipient.erased", target, changes });
  }
}
