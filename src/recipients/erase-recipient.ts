/** Erases the data of a person on request: first in pages, each in its own transaction, then the rest in the transaction that stores the
 *  response, the audit entry and the opt-outs. A page finds its rows by the number, which it removes from them. So a page that is repeated
 *  finds nothing, and an erasure that was interrupted is continued by the next one. */
import type { Credential } from "../access/authenticate.ts";
import type { HashRecipient } from "../access/recipient-hash.ts";
import { recordChange } from "../audit/record-change.ts";
import { eraseConsent } from "../consent/change-consent.ts";
import { Once, type AuditedCall, type Executed, type Replay, type WriteResponse } from "../idempotency/once.ts";
import { jsonResponse } from "../http/json-response.ts";
import { ERASED, type Recipient } from "../model/phone-number.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import { lockOwner, OWNER_LOCKS } from "../database/locks.ts";
import { eraseMediaOf } from "../media/delete-media.ts";
import { advanceLocked } from "../messages/advance.ts";
import { changeBy, type Change } from "../messages/change.ts";
import { eraseEntry, eraseMessage } from "../messages/erased.ts";
import type { Message } from "../messages/message.ts";
import { isFinished } from "../messages/states.ts";
import { NIL_UUID, type Uuid } from "../lib/uuid.ts";
import { encodeId, type EventId, type MessageId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import { erasedSince, erasureRecord, noCounts, type ErasureCounts } from "./erasure-record.ts";
import {
  deleteFallbacks,
  eraseResponses,
  eraseVerifications,
  listCalledEndpoints,
  listEntrySizes,
  lockMessages,
  lockStoredBodies,
  readEntries,
  scanMessages,
  storeErased,
  storeErasedBodies,
  storeErasedEntries,
  takeConsentChanges,
  voidAttempts,
  type Person,
  type EntrySize,
  type ScannedMessage,
  type StoredEntry,
} from "./queries.ts";

type EraserParts = { db: Database; clock: Clock; hashRecipient: HashRecipient; wakeWebhooks: () => void };

type EraseCall = Pick<AuditedCall, "claim" | "origin"> & { credential: Credential };

export class RecipientEraser {
  readonly #parts: EraserParts;
  readonly #once: Once;

  constructor(parts: EraserParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock, undefined, parts.wakeWebhooks);
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
      return jsonResponse(erasureRecord(environment, counts, !isDone));
    };
    return this.#once.transaction(credential, claim, finish, admit);
  }

  /** Erases one finished message and its timeline. The message stays as a record without the data of the person, like those of an erasure.
   *  Returns false if the message is with a carrier, or has not been sent yet. */
  async eraseMessage(call: EraseCall, { id, accountId, environment, direction, recipient, sender }: Message): Promise<boolean> {
    const person = { accountId, environment, recipient: (direction === "inbound" ? (sender ?? "") : recipient) as Recipient };
    const record = (tx: Tx, changes: Record<string, unknown>): Promise<void> => {
      const target = { type: "message", id: encodeId("msg", id) } as const;
      const origin = call.origin();
      return recordChange(tx, this.#parts.clock.now(), { ...person, origin }, { action: "recipient.erased", target, changes });
    };
    return new PersonErasure({ ...this.#parts, record }, person).eraseFinished(id);
  }

  /** Erases the rest. Returns false if too much has been added meanwhile. */
  async #finish(tx: Tx, erasure: PersonErasure, person: Person): Promise<boolean> {
    // An opt-out would lose its suppression otherwise, and keep its event.
    await lockOwner(tx, OWNER_LOCKS.consentChanges, person);
    const isLast = await erasure.erasePage(tx);
    if (isLast) erasure.counts.suppressions += await eraseConsent(tx, person, person.recipient, this.#parts.clock.now());
    return isLast;
  }

  #recordErasure(tx: Tx, { credential, origin }: EraseCall, recipient: Recipient, changes: Record<string, unknown>): Promise<void> {
    const { clock, hashRecipient } = this.#parts;
    const target = { type: "recipient", id: hashRecipient(credential.accountId, recipient) } as const;
    return recordChange(tx, clock.now(), { ...credential, origin: origin() }, { action: "recipient.erased", target, changes });
  }
}

// A page locks its messages, and delays readers of the event stream, for some tens of milliseconds. It looks for the deliveries of each
// event to each endpoint that was ever called, so a page is smaller if there are many.
const PAGE = 100;
const MAX_LOOKS = 2_000;
const SMALL_PAGE = 500;
// Some seconds of work.
const MAX_PAGES = 20;
// Messages that are left: unfinished ones, and those to a number of the account itself. Few persons have that many.
const MAX_SCANNED = 100_000;
const SCAN = 1_000;
// Entries are parsed on the main thread. A megabyte takes about ten milliseconds.
const MAX_GROUP_BYTES = 524_288;
const MAX_GROUP = 200;

type EraseEntry = (entry: StoredEntry) => { id: EventId; record: string | null; detail: string | null };

type PageParts = {
  db: Database;
  clock: Clock;
  /** Stores in the transaction of a page what the page has erased. */
  record: (tx: Tx, changes: Record<string, number>) => Promise<void>;
};

class PersonErasure {
  readonly #parts: PageParts;
  readonly #person: Person;
  readonly counts: ErasureCounts = noCounts();
  #pageSize = PAGE;

  constructor(parts: PageParts, person: Person) {
    this.#parts = parts;
    this.#person = person;
  }

  /** Erases as much as one request may. Returns whether only the last pages are left, which `erasePage` erases. */
  async run(): Promise<boolean> {
    this.#pageSize = pageSizeFor((await listCalledEndpoints(this.#parts.db, this.#person)).length);
    if (!(await this.#eraseOutbound()) || !(await this.#eraseMessages("inbound"))) return false;
    for (let page = 0; page < MAX_PAGES; page += 1) if (await this.#inPage((tx) => this.erasePage(tx))) return true;
    return false;
  }

  /** Erases a message of the person, unless it is not finished. */
  eraseFinished(id: MessageId): Promise<boolean> {
    return this.#inPage(async (tx) => {
      const [message] = await lockMessages(tx, withOwner(this.#person, [{ id }]));
      if (message === undefined || !isFinished(message.status)) return false;
      await this.#eraseMessagePage(tx, [message]);
      return true;
    });
  }

  /** Runs a page in a transaction of its own, with its entry in the audit log. */
  #inPage<T>(page: (tx: Tx) => Promise<T>): Promise<T> {
    const before = { ...this.counts };
    return this.#parts.db.transaction(async (tx) => {
      const result = await page(tx);
      const erased = erasedSince(before, this.counts);
      if (Object.keys(erased).length > 0) await this.#parts.record(tx, erased);
      return result;
    });
  }

  /** Reads the messages again until nothing was left to erase: a fallback may have begun while its message was being erased. */
  async #eraseOutbound(): Promise<boolean> {
    for (let before = -1; before < this.counts.messages;) {
      before = this.counts.messages;
      this.counts.unfinished = 0;
      if (!(await this.#eraseMessages("outbound"))) return false;
    }
    return true;
  }

  /** Erases a page of everything but messages. Returns whether it was the last one. */
  async erasePage(tx: Tx): Promise<boolean> {
    const nowMs = this.#parts.clock.now();
    const verifications = await eraseVerifications(tx, this.#person, { nowMs, most: SMALL_PAGE });
    const responses = await this.#eraseStoredResponses(tx);
    const { recipient, ...owner } = this.#person;
    const media = await eraseMediaOf(tx, owner, recipient, PAGE);
    const changes = await takeConsentChanges(tx, this.#person, SMALL_PAGE);
    await this.#eraseEvents(
      tx,
      changes.map(({ id }) => ({ id, bytes: 0 })),
      eraseSuppressionEvent,
    );
    this.counts.verifications += verifications;
    this.counts.stored_responses += responses;
    this.counts.media += media;
    return media < PAGE && Math.max(verifications, responses, changes.length) < SMALL_PAGE;
  }

  /** Returns false at the limit of one request. */
  async #eraseMessages(direction: Message["direction"]): Promise<boolean> {
    let after: Uuid = NIL_UUID;
    for (let scanned = 0; scanned < MAX_SCANNED; scanned += SCAN) {
      const found = await scanMessages(this.#parts.db, this.#person, { direction, after, limit: SCAN });
      const theirs = found.filter((each) => each.is_theirs);
      for (let at = 0; at < theirs.length; at += this.#pageSize) {
        if (this.counts.messages >= MAX_PAGES * this.#pageSize) return false;
        await this.#inPage((tx) => this.#eraseMessagePage(tx, theirs.slice(at, at + this.#pageSize)));
      }
      const last = found.at(-1);
      if (last === undefined || found.length < SCAN) return true;
      after = last.id;
    }
    return false;
  }

  async #eraseMessagePage(tx: Tx, page: readonly Pick<ScannedMessage, "id">[]): Promise<void> {
    const { recipient, ...owner } = this.#person;
    const locked = await lockMessages(tx, withOwner(owner, page));
    // Another erasure may have erased some of them meanwhile.
    const messages = locked.filter((message) => message[message.direction === "inbound" ? "sender" : "recipient"] === recipient);
    if (messages.length === 0) return;
    // No further message is sent in place of one that was not delivered, also of one that is with its carrier.
    this.counts.fallbacks += await deleteFallbacks(tx, messages);
    const over = messages.filter(isErasable);
    this.counts.unfinished += messages.length - over.length;
    if (over.length === 0) return;
    await this.#eraseEvents(tx, await listEntrySizes(tx, over), eraseEntry);
    const nowMs = this.#parts.clock.now();
    const erased = over.map((message) => eraseMessage(message, nowMs));
    await storeErased(tx, erased);
    await this.#cancel(tx, erased);
    this.counts.messages += erased.length;
  }

  /** Cancels those that were not sent yet. They are erased already, so their events have no data of the person. */
  async #cancel(tx: Tx, erased: readonly Message[]): Promise<void> {
    const changes = erased.filter(({ status }) => !isFinished(status)).map((message) => cancellation(message, this.#parts.clock.now()));
    if (changes.length === 0) return;
    await advanceLocked(tx, changes);
    this.counts.canceled += changes.length;
  }

  async #eraseEvents(tx: Tx, entries: readonly EntrySize[], erase: EraseEntry): Promise<void> {
    if (entries.length === 0) return;
    const { recipient: _, ...owner } = this.#person;
    for (const group of groupsOf(entries)) {
      const stored = await readEntries(tx, withOwner(owner, group));
      await storeErasedEntries(
        tx,
        stored.map((entry) => ({ ...owner, ...erase(entry) })),
      );
      this.counts.events += stored.length;
    }
    await this.#eraseDeliveries(tx, withOwner(owner, entries));
  }

  async #eraseDeliveries(tx: Tx, events: readonly (Owner & { id: EventId })[]): Promise<void> {
    await voidAttempts(tx, events, this.#parts.clock.now());
    const endpoints = await listCalledEndpoints(tx, this.#person);
    for (const { id: endpointId } of endpoints)
      this.counts.webhook_deliveries += await eraseResponses(
        tx,
        events.map((event) => ({ ...event, endpointId })),
      );
  }

  async #eraseStoredResponses(tx: Tx): Promise<number> {
    const stored = await lockStoredBodies(tx, this.#person, SMALL_PAGE);
    const erased = stored.map(({ key, body }) => ({ key, body: body && eraseSuppressionText(body) }));
    await storeErasedBodies(tx, this.#person, erased);
    return stored.length;
  }
}

const pageSizeFor = (endpoints: number): number => Math.min(PAGE, Math.max(1, Math.floor(MAX_LOOKS / Math.max(1, endpoints))));

const withOwner = <T>(owner: Owner, items: readonly { id: T }[]): (Owner & { id: T })[] => items.map(({ id }) => ({ ...owner, id }));

/** A message that is with a carrier is left: its outcome and its receipts are still to come. */
const isErasable = ({ status }: Message): boolean => isFinished(status) || status === "scheduled" || status === "queued";

function cancellation(message: Message, nowMs: number): Change {
  const change = changeBy(message, { status: "canceled", detail: { reason: "erased by request" }, move: { kind: "leave" } }, nowMs);
  if (change === undefined) throw new Error(`a message that is ${message.status} cannot be canceled`);
  return change;
}

/** The record of a suppression, or of a verification, without the data of the person. */
function eraseSuppressionText(text: string): string {
  const record = JSON.parse(text) as Record<string, unknown>;
  return JSON.stringify({ ...record, recipient: ERASED, ...("note" in record ? { note: null } : {}) });
}

const eraseSuppressionEvent: EraseEntry = ({ id, record, detail }) => ({
  id,
  record: record === null ? null : eraseSuppressionText(record),
  detail: detail === null ? null : JSON.stringify(detail),
});

/** Groups that are small enough to be parsed in one turn of the event loop. */
function groupsOf(entries: readonly EntrySize[]): EntrySize[][] {
  const groups: EntrySize[][] = [];
  let bytes = Infinity;
  for (const entry of entries) {
    const last = groups.at(-1);
    if (last === undefined || last.length >= MAX_GROUP || bytes + entry.bytes > MAX_GROUP_BYTES) {
      groups.push([entry]);
      bytes = entry.bytes;
    } else {
      last.push(entry);
      bytes += entry.bytes;
    }
  }
  return groups;
}
