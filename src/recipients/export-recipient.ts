/** Exports the data of a person as a stream of lines, at the pace of the client. An export is recorded in the audit log before its first byte. */
import type { Credential } from "../access/authenticate.ts";
import type { Limiter } from "../access/limiter.ts";
import type { HashRecipient } from "../access/recipient-hash.ts";
import { recordChange } from "../audit/record-change.ts";
import { Problem } from "../http/problem.ts";
import { idKey, encodeId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import type { Recipient } from "../model/phone-number.ts";
import { pause } from "../lib/wait.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { DatabaseReader, Standby } from "../database/standby.ts";
import { recordText, type RecordRow } from "../database/stored-record.ts";
import {
  ANY_SENDER,
  listChanges,
  listErasedOptOuts,
  listSuppressions,
  listWindows,
  type ErasedOptOut,
  type ServiceWindow,
} from "../consent/queries.ts";
import { changeRecord, suppressionRecord, type Suppression } from "../consent/suppression.ts";
import { listEntriesWithRecords, type EntryRow } from "../events/queries.ts";
import { toTimelineEntry } from "../events/timeline.ts";
import { isoTime } from "../lib/time.ts";
import { MAX_UUID, NIL_UUID, type Uuid } from "../lib/uuid.ts";
import { mediaRecord } from "../media/media.ts";
import { listMediaOf } from "../media/queries.ts";
import { messageRecord, type Message } from "../messages/message.ts";
import { listInbound, listMessages } from "../messages/queries.ts";
import type { ListPage } from "../database/scan-page.ts";
import { listVerifications } from "../verifications/queries.ts";
import { verificationRecord } from "../verifications/verification.ts";
import type { Person } from "./queries.ts";

// A slow client keeps its export open, which costs a page of memory.
const MAX_EXPORTS = 20;
const MAX_EXPORTS_EACH = 2;
// A page of messages, or as many pages of entries of timelines, cost one request of the quota.
const READS_PER_CHARGE = 30;
const QUOTA_PAUSE_MS = 250;
const CHECK_EVERY_MS = 5_000;

type RecipientExporterParts = {
  db: Database;
  standby: Standby | undefined;
  clock: Clock;
  hashRecipient: HashRecipient;
  limiter: Pick<Limiter, "take">;
  /** Runs the query of a page when it is the account's turn. */
  readInTurn: <T>(owner: Credential, work: () => Promise<T>) => Promise<T>;
};

type ExportCall = {
  credential: Credential;
  origin: () => ChangeOrigin;
  /** Whether the credential is still valid. */
  isAdmitted: () => Promise<boolean>;
  /** Aborted when the client disconnects or the service stops. */
  gone: () => AbortSignal;
};

/** Ends an export early. The client sees it by the missing last line. */
class ExportEnded extends Error {
  override name = "ExportEnded";
}

export class RecipientExporter {
  readonly #parts: RecipientExporterParts;
  /** The open exports of each account. */
  readonly #open = new Map<string, number>();

  constructor(parts: RecipientExporterParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#open.values().reduce((sum, each) => sum + each, 0);
  }

  /** Resolves when the export is recorded. Throws when there are too many exports. */
  async open(call: ExportCall, recipient: Recipient): Promise<AsyncGenerator<string>> {
    const account = idKey(call.credential.accountId);
    const mine = this.#open.get(account) ?? 0;
    if (mine >= MAX_EXPORTS_EACH) throw tooManyExports("this account");
    if (this.count >= MAX_EXPORTS) throw tooManyExports("this server");
    this.#open.set(account, mine + 1);
    try {
      await this.#record(call, recipient);
      return this.#frames(call, recipient, await this.#openReader());
    } catch (error) {
      this.#close(account);
      throw error;
    }
  }

  #close(account: string): void {
    const left = (this.#open.get(account) ?? 1) - 1;
    if (left === 0) this.#open.delete(account);
    else this.#open.set(account, left);
  }

  #record({ credential, origin }: ExportCall, recipient: Recipient): Promise<void> {
    const { db, clock, hashRecipient } = this.#parts;
    const target = { type: "recipient", id: hashRecipient(credential.accountId, recipient) } as const;
    return db.transaction((tx) =>
      recordChange(tx, clock.now(), { ...credential, origin: origin() }, { action: "recipient.exported", target }),
    );
  }

  /** An export has everything that was committed before it began. */
  async #openReader(): Promise<DatabaseReader> {
    const { db, standby } = this.#parts;
    return standby === undefined ? (read) => read(db) : standby.openReader();
  }

  async *#frames(call: ExportCall, recipient: Recipient, reader: DatabaseReader): AsyncGenerator<string> {
    const { accountId, environment } = call.credential;
    const counts: Record<string, number> = {};
    try {
      const lines = exportLines({ accountId, environment, recipient }, this.#paced(call, reader), () => this.#parts.clock.now());
      for await (const { object, text } of lines) {
        counts[object] = (counts[object] ?? 0) + 1;
        yield `${text}\n`;
      }
      yield `${JSON.stringify({ object: "export_end", environment, counts })}\n`;
    } catch (error) {
      if (!(error instanceof ExportEnded)) throw error;
    } finally {
      this.#close(idKey(accountId));
    }
  }

  /** Reads pages, at the pace that the quota and the turns of accounts allow. */
  #paced(call: ExportCall, reader: DatabaseReader): ReadPage {
    const signal = call.gone();
    let reads = 0;
    let checkedAt = performance.now();
    return async (query) => {
      if (performance.now() - checkedAt > CHECK_EVERY_MS) {
        if (!(await call.isAdmitted())) throw new ExportEnded();
        checkedAt = performance.now();
      }
      // The request itself has paid for the first reads.
      if (reads > 0 && reads % READS_PER_CHARGE === 0) await this.#charge(call, signal);
      reads += 1;
      if (signal.aborted) throw new ExportEnded();
      return this.#parts.readInTurn(call.credential, () => reader(query));
    };
  }

  /** Waits until the quota has a request left for this export. */
  async #charge({ credential }: ExportCall, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.#parts.limiter.take(credential))?.isAdmitted === false) await pause(QUOTA_PAUSE_MS, signal);
  }
}

const tooManyExports = (whose: string): Problem =>
  new Problem("rate_limit_exceeded", { detail: `${whose} has reached its limit of open exports`, headers: { "retry-after": "10" } });

/** A record as one line of JSON. */
type ExportLine = { object: string; text: string };

/** Runs the query of a page when it is its turn. Throws when the export has to end. */
type ReadPage = <T>(query: (db: Database) => Promise<T>) => Promise<T>;

const PAGE = 25;
const ENTRIES = 100;

const NO_FILTER = { from: NIL_UUID, sender: null, clientReference: null, status: null, channel: null, batchId: null, errorCode: null };

/** All lines of an export but the last one. */
async function* exportLines(person: Person, read: ReadPage, nowMs: () => number): AsyncGenerator<ExportLine> {
  const { recipient } = person;
  const outbound = (before: Uuid) =>
    read((db) => listMessages(db, person, { ...NO_FILTER, before, recipient, direction: "outbound" }, PAGE));
  const inbound = (before: Uuid) => read((db) => listInbound(db, person, { sender: recipient, before }, PAGE));
  for (const list of [outbound, inbound]) for await (const message of itemsOf(list)) yield* messageLines(message, read);
  for (const isActive of [true, false]) {
    const filter = { from: NIL_UUID, recipient, sender: null, isActive };
    const suppressions = itemsOf((before) => read((db) => listSuppressions(db, person, { ...filter, before }, PAGE)));
    for await (const suppression of suppressions) yield* suppressionLines(suppression, read);
  }
  const optOuts = (after: string | null) => read((db) => listErasedOptOuts(db, person, after, ENTRIES));
  for await (const each of bySender(optOuts)) yield optOutLine(each);
  const windows = (after: string | null) => read((db) => listWindows(db, person, after, ENTRIES));
  for await (const each of bySender(windows)) yield windowLine(each);
  const media = (before: Uuid) => read((db) => listMediaOf(db, person, recipient, before, ENTRIES));
  for await (const each of byId(media)) yield toLine(mediaRecord(each));
  const verifications = (before: Uuid) => read((db) => listVerifications(db, person, before, ENTRIES));
  for await (const each of byId(verifications)) yield toLine(verificationRecord(each, nowMs()));
}

async function* messageLines(message: Message, read: ReadPage): AsyncGenerator<ExportLine> {
  yield toLine(messageRecord(message));
  for await (const entry of byId((before) => read((db) => listEntriesWithRecords(db, message, before, ENTRIES))))
    yield entryLine(message, entry);
}

/** An entry of the timeline, with the record of the message at that moment. The record is JSON already. */
function entryLine({ id }: Message, entry: EntryRow & RecordRow): ExportLine {
  const fields = JSON.stringify({ ...toTimelineEntry(entry), message_id: encodeId("msg", id) });
  return { object: "timeline_entry", text: `${fields.slice(0, -1)},"message":${recordText(entry) ?? "null"}}` };
}

async function* suppressionLines(suppression: Suppression, read: ReadPage): AsyncGenerator<ExportLine> {
  yield toLine(suppressionRecord(suppression));
  const suppressionId = encodeId("sup", suppression.id);
  for await (const change of byId((before) => read((db) => listChanges(db, suppression, before, ENTRIES))))
    yield toLine({ object: "suppression_change", suppression_id: suppressionId, ...changeRecord(change) });
}

const senderOf = ({ sender }: { sender: string }): string | null => (sender === ANY_SENDER ? null : sender);

const optOutLine = (row: ErasedOptOut): ExportLine =>
  toLine({ object: "erased_opt_out", sender: senderOf(row), created_at: isoTime(row.created_at.getTime()) });

const windowLine = (row: ServiceWindow): ExportLine =>
  toLine({ object: "service_window", sender: senderOf(row), opened_at: isoTime(row.opened_at.getTime()) });

const toLine = (record: { object: string } & Readonly<Record<string, unknown>>): ExportLine => ({
  object: record.object,
  text: JSON.stringify(record),
});

/** The items of a list with cursors, page by page. */
async function* itemsOf<T>(list: (before: Uuid) => Promise<ListPage<T>>): AsyncGenerator<T> {
  for (let before: Uuid | null = MAX_UUID; before !== null;) {
    const { items, next }: ListPage<T> = await list(before);
    yield* items;
    before = next;
  }
}

/** The rows of a list that returns full pages until its end. `placeOf` is the place after which the next page begins. */
async function* rowsOf<T, P>(list: (place: P) => Promise<T[]>, start: P, placeOf: (row: T) => P): AsyncGenerator<T> {
  for (let place = start; ;) {
    const rows: T[] = await list(place);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < ENTRIES) return;
    place = placeOf(last);
  }
}

const bySender = <T extends { sender: string }>(list: (after: string | null) => Promise<T[]>) => rowsOf(list, null, (row) => row.sender);
const byId = <T extends { id: Uuid }>(list: (before: Uuid) => Promise<T[]>) => rowsOf(list, MAX_UUID, (row): Uuid => row.id);
