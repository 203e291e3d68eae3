/** The cause of an entry of a timeline, and how the database stores it. Most causes repeat the compact record beside them: the link, the carrier id of
 *  the message and the number of the attempt. Such a cause is stored as a number, or as an array with the rest, and completed from the record
 *  when it is read. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import type { LinkWeight } from "../links/strategy.ts";
import { isCompact, LINK_IN_RECORD, providerIn, type RecordFields } from "../model/message-record.ts";

const ATTEMPT_OUTCOMES = ["written", "accepted", "refused", "throttled", "unknown"] as const;

export const Attempt = Type.Object(
  {
    number: Type.Integer({ description: "The number of the attempt, from one." }),
    link: Type.String({ description: "The link that was used." }),
    outcome: openEnum(ATTEMPT_OUTCOMES, "The outcome. `written`: the message may have left from now on. `unknown`: there was no response."),
    provider_message_id: nullable(Type.String({ description: "The carrier id of the message." })),
    provider_code: nullable(Type.String({ description: "The code of the carrier." })),
    detail: nullable(Type.String({ description: "The text of the carrier, or an explanation." })),
    retry_at: nullable(timestamp("The time of the next attempt, if there is one.")),
  },
  { title: "Attempt", description: "One attempt to submit the message to a carrier." },
);
type Attempt = Static<typeof Attempt>;

export const ReceiptEntry = Type.Object(
  {
    link: Type.String({ description: "The link that received the receipt." }),
    status: Type.String({ description: "The status that the receipt means." }),
    part: nullable(Type.Integer({ description: "The part that the receipt reports, for a message of several parts." })),
    provider_message_id: nullable(Type.String({ description: "The carrier id in the receipt." })),
    error_code: nullable(Type.String({ description: "The error code that the receipt means." })),
    provider_code: nullable(Type.String({ description: "The code of the carrier." })),
    raw: Type.Record(Type.String(), { description: "The fields of the receipt as the carrier sent them." }),
  },
  { title: "Receipt", description: "A delivery receipt of a carrier." },
);
type ReceiptEntry = Static<typeof ReceiptEntry>;

/** The cause of an entry. Null members are left out, because most are null in every entry of every message. */
export type Detail = {
  attempt?: Partial<Attempt> & Pick<Attempt, "number" | "link" | "outcome">;
  receipt?: Partial<ReceiptEntry> & Pick<ReceiptEntry, "link" | "status" | "raw">;
  reason?: string;
  fallback_message_id?: string;
  links?: readonly LinkWeight[];
};

/** An attempt with the link, the number and the carrier id of the record. */
const SHORT_ATTEMPTS = { 1: "written", 2: "accepted" } as const;
type ShortAttempt = keyof typeof SHORT_ATTEMPTS;

/** The fields of a receipt `delivered` with the link and the carrier id of the record. */
type ShortReceipt = [raw: ReceiptEntry["raw"]];

export type StoredDetail = Detail | ShortAttempt | ShortReceipt;

/** The text of a cause. `record` is the stored record of the same entry, of the message `after` the change. */
export const detailToStore = (detail: Detail, record: string | null, after: RecordFields): string =>
  JSON.stringify(record !== null && isCompact(record) ? shorten(detail, after) : detail);

function shorten(detail: Detail, after: RecordFields): StoredDetail {
  const { attempt, receipt } = detail;
  const { provider, attempts } = after;
  if (provider === null || Object.keys(detail).length !== 1) return detail;
  if (attempt !== undefined) {
    const { number, link, outcome, provider_message_id: id = null, provider_code, detail: text, retry_at } = attempt;
    const isOfRecord = number === attempts && link === provider.link && id === provider.messageId;
    if (!isOfRecord || (provider_code ?? text ?? retry_at) !== undefined) return detail;
    return outcome === "written" ? 1 : outcome === "accepted" ? 2 : detail;
  }
  if (receipt === undefined) return detail;
  const { link, status, provider_message_id: id = null, raw, part, error_code, provider_code } = receipt;
  const isOfRecord = status === "delivered" && status === after.status && link === provider.link && id === provider.messageId;
  return isOfRecord && (part ?? error_code ?? provider_code) === undefined ? [raw] : detail;
}

/** The cause of an entry that was read with its stored record. */
export function completeDetail(stored: StoredDetail | null, record: string | null): Detail {
  if (stored === null) return {};
  if (typeof stored === "object" && !Array.isArray(stored)) return stored;
  const { link, messageId, attempts } = providerIn(record ?? "[]");
  const id = messageId === null ? {} : { provider_message_id: messageId };
  return typeof stored === "number"
    ? { attempt: { number: attempts, link, outcome: SHORT_ATTEMPTS[stored], ...id } }
    : { receipt: { link, status: "delivered", ...id, raw: stored[0] } };
}

/** A cause without the data of the person. The carrier id of a short one is in the record. */
export function eraseDetail(stored: StoredDetail): StoredDetail {
  if (typeof stored === "number") return stored;
  if (Array.isArray(stored)) return [{}];
  const { attempt, receipt } = stored;
  const erased: Detail = { ...stored };
  if (attempt !== undefined) erased.attempt = { ...attempt, provider_message_id: null, detail: null };
  if (receipt !== undefined) erased.receipt = { ...receipt, provider_message_id: null, raw: {} };
  return erased;
}

/** The link of the attempt of an entry `e`, as SQL; null for an entry that is no attempt. */
export const LINK_OF_ATTEMPT = `
  coalesce(e.detail -> 'attempt' ->> 'link', case when json_typeof(e.detail) = 'number' then e.record::json ->> ${LINK_IN_RECORD} end)`;
