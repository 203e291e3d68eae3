/** The lines of an export: every record that names a person, read in pages. */
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
import { listEntries, type EntryRow } from "../events/queries.ts";
import { toTimelineEntry } from "../events/timeline.ts";
import { encodeId } from "../model/id.ts";
import { isoTime } from "../lib/time.ts";
import { MAX_UUID, NIL_UUID, type Uuid } from "../lib/uuid.ts";
import { messageRecord, type Message } from "../messages/message.ts";
import { listInbound, listMessages } from "../messages/queries.ts";
import type { Database } from "../database/database.ts";
import type { ListPage } from "../database/scan-page.ts";
import { listVerifications } from "../verifications/queries.ts";
import { verificationRecord } from "../verifications/verification.ts";
import type { Person } from "./queries.ts";

/** A record as one line of JSON. */
export type ExportLine = { object: string; text: string };

/** Runs the query of a page when it is its turn. Throws when the export has to end. */
export type ReadPage = <T>(query: (db: Database) => Promise<T>) => Promise<T>;

const PAGE = 25;
const ENTRIES = 100;

const NO_FILTER = { from: NIL_UUID, clientReference: null, status: null, channel: null, batchId: null, errorCode: null };

/** All lines of an export but the last one. */
export async function* exportLines(person: Person, read: ReadPage, nowMs: () => number): AsyncGenerator<ExportLine> {
  const { recipient } = person;
  const outbound = (before: Uuid) =>
    read((db) => listMessages(db, person, { ...NO_FILTER, before, recipient, direction: "outbound" }, PAGE));
  const inbound = (before: Uuid) => read((db) => listInbound(db, person, { sender: recipient, before }, PAGE));
  for (const list of [outbound, inbound]) for await (const message of itemsOf(list)) yield* messageLines(message, read);
  for (const isActive of [true, false]) {
    const filter = { recipient, sender: null, isActive };
    const suppressions = itemsOf((before) => read((db) => listSuppressions(db, person, { ...filter, before }, PAGE)));
    for await (const suppression of suppressions) yield* suppressionLines(suppression, read);
  }
  const optOuts = (after: string | null) => read((db) => listErasedOptOuts(db, person, { recipient, after }, ENTRIES));
  for await (const each of bySender(optOuts)) yield optOutLine(each);
  const windows = (after: string | null) => read((db) => listWindows(db, person, { recipient, after }, ENTRIES));
  for await (const each of bySender(windows)) yield windowLine(each);
  const verifications = (before: Uuid) => read((db) => listVerifications(db, person, { recipient, before }, ENTRIES));
  for await (const each of rowsOf(verifications)) yield toLine(verificationRecord(each, nowMs()));
}

async function* messageLines(message: Message, read: ReadPage): AsyncGenerator<ExportLine> {
  yield toLine(messageRecord(message));
  for await (const entry of rowsOf((before) => read((db) => listEntries(db, message, before, ENTRIES)))) yield entryLine(message, entry);
}

/** An entry of the timeline, with the record of the message at that moment. The record is JSON already. */
function entryLine({ id }: Message, entry: EntryRow): ExportLine {
  const fields = JSON.stringify({ ...toTimelineEntry(entry), message_id: encodeId("msg", id) });
  return { object: "timeline_entry", text: `${fields.slice(0, -1)},"message":${entry.record ?? "null"}}` };
}

async function* suppressionLines(suppression: Suppression, read: ReadPage): AsyncGenerator<ExportLine> {
  yield toLine(suppressionRecord(suppression));
  const suppressionId = encodeId("sup", suppression.id);
  for await (const change of rowsOf((before) => read((db) => listChanges(db, suppression, before, ENTRIES))))
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

/** The rows of a list in the order of their senders. */
async function* bySender<T extends { sender: string }>(list: (after: string | null) => Promise<T[]>): AsyncGenerator<T> {
  for (let after: string | null = null; ;) {
    const rows: T[] = await list(after);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < ENTRIES) return;
    after = last.sender;
  }
}

/** The items of a list with cursors, page by page. */
async function* itemsOf<T>(list: (before: Uuid) => Promise<ListPage<T>>): AsyncGenerator<T> {
  for (let before: Uuid | null = MAX_UUID; before !== null;) {
    const { items, next }: ListPage<T> = await list(before);
    yield* items;
    before = next;
  }
}

/** The rows of a list that returns full pages until its end. */
async function* rowsOf<T extends { id: Uuid }>(list: (before: Uuid) => Promise<T[]>): AsyncGenerator<T> {
  for (let before: Uuid = MAX_UUID; ;) {
    const rows: T[] = await list(before);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < ENTRIES) return;
    before = last.id;
  }
}
