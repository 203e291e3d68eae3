/** Erased messages: the number of the person, the texts, the metadata and the references are removed from a message and from the entries of its
 *  timeline. The rest stays, so that lists, counts and late receipts are not affected. */
import type { EntryRow } from "../events/queries.ts";
import { eraseDetail, type StoredDetail } from "../events/detail.ts";
import type { MediaRecord } from "../media/media.ts";
import { eraseCompact, isCompact } from "../model/message-record.ts";
import { ERASED } from "../model/phone-number.ts";
import type { Change } from "./change.ts";
import type { Message, MessageError, MessageRecord } from "./message.ts";

/** The message without the data of the person that it was sent to, or that sent it. */
export function eraseMessage(message: Message, nowMs: number): Message {
  const { direction, recipient, sender, template, error, provider, updatedAtMs } = message;
  const isInbound = direction === "inbound";
  return {
    ...message,
    recipient: isInbound ? recipient : ERASED,
    sender: isInbound ? ERASED : sender,
    body: null,
    content: null,
    template: template && { ...template, variables: null },
    error: eraseError(error),
    clientReference: null,
    metadata: {},
    carrierOptions: null,
    // The ids of some carriers contain the number.
    provider: provider && { ...provider, messageId: null },
    trace: null,
    isRedacted: true,
    updatedAtMs: Math.max(nowMs, updatedAtMs + 1),
  };
}

/** Carriers name the recipient in their errors. The codes stay. */
const eraseError = (error: MessageError | null): MessageError | null => error && { ...error, message: ERASED };

/** An entry of a timeline without the data of the person. */
export const eraseEntry = ({ id, record, detail }: Pick<EntryRow, "id" | "record" | "detail">) => ({
  id,
  record: record && eraseRecordText(record),
  detail: detail === null ? null : JSON.stringify(eraseDetail(detail)),
});

function eraseRecordText(text: string): string {
  if (isCompact(text)) return eraseCompact(text);
  const record = JSON.parse(text) as MessageRecord | MediaRecord;
  return JSON.stringify(record.object === "media" ? eraseMediaRecord(record) : eraseRecord(record));
}

/** The record of a file of the message without what identifies the file. */
export const eraseMediaRecord = (record: MediaRecord): MediaRecord => ({ ...record, file_name: null, sha256: null });

function eraseRecord(record: MessageRecord): MessageRecord {
  const { direction, recipient, sender, error, provider } = record;
  const isInbound = direction === "inbound";
  return {
    ...record,
    recipient: isInbound ? recipient : ERASED,
    sender: isInbound ? ERASED : sender,
    body: null,
    content: null,
    template_variables: null,
    error: eraseError(error),
    client_reference: null,
    metadata: {},
    provider: provider && { ...provider, message_id: null },
  };
}

/** A change of an erased message without the data of the person: the words of a carrier name the recipient, and some carrier ids contain the
 *  number. */
export function eraseChange(change: Change): Change {
  const { entry, after } = change;
  const { record, detail } = eraseEntry({ ...entry, detail: entry.detail === null ? null : (JSON.parse(entry.detail) as StoredDetail) });
  return {
    ...change,
    after: { ...eraseMessage(after, after.updatedAtMs), updatedAtMs: after.updatedAtMs },
    entry: { ...entry, record, detail },
  };
}
