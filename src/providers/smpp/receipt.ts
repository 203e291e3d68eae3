/** Delivery receipts in a deliver_sm: first its optional parameters, then its text, whose form is a convention and not a standard. */
import type { Receipt, ReceiptStatus } from "../provider.ts";
import { TLV, type ShortMessage, type Tlvs } from "./pdu.ts";

// The bits of esm_class with the message type.
const MESSAGE_TYPE_BITS = 0x3c;
const RECEIPT = 0x04;
const INTERMEDIATE = 0x20;

type State = "enroute" | "delivered" | "expired" | "deleted" | "undeliverable" | "accepted" | "unknown" | "rejected" | "blocked";

/** The values of message_state, with those of version 5: 0 is scheduled, 9 is skipped. */
const STATES_BY_NUMBER: readonly State[] = [
  "enroute",
  "enroute",
  "delivered",
  "expired",
  "deleted",
  "undeliverable",
  "accepted",
  "unknown",
  "rejected",
  "undeliverable",
];

/** The standard's names have seven letters. Some carriers write longer ones, and names of their own. */
const STATES_BY_PREFIX: readonly (readonly [prefix: string, state: State])[] = [
  ["EXPIR", "expired"],
  ["DELET", "deleted"],
  ["UNDEL", "undeliverable"],
  ["SKIP", "undeliverable"],
  ["REJ", "rejected"],
  ["UNKN", "unknown"],
  ["NOTDELIV", "undeliverable"],
  ["NONDELIV", "undeliverable"],
  ["ABSENT", "undeliverable"],
  ["ERROR", "undeliverable"],
  ["INVALID", "undeliverable"],
  ["CANCEL", "deleted"],
  ["BLOCK", "blocked"],
  ["BARRED", "blocked"],
  ["SPAM", "blocked"],
];

/** The carrier's own words and codes, in capitals: the status of each word in `stat`, and our code for each error in `err` or in the
 *  network's parameter. */
export type ReceiptSettings = {
  receiptWords: Readonly<Record<string, WordStatus>>;
  receiptErrors: Readonly<Record<string, string>>;
};

export const WORD_STATUSES = ["sent", "delivered", "undelivered", "expired"] as const satisfies readonly ReceiptStatus[];
type WordStatus = (typeof WORD_STATUSES)[number];

const STATES_OF_WORDS: Readonly<Record<WordStatus, State>> = {
  sent: "accepted",
  delivered: "delivered",
  undelivered: "undeliverable",
  expired: "expired",
};

type Meaning = { status: ReceiptStatus; code: string; message: string };
const MEANINGS: Readonly<Record<State, Meaning>> = {
  enroute: { status: "sent", code: "", message: "" },
  accepted: { status: "sent", code: "", message: "" },
  delivered: { status: "delivered", code: "", message: "" },
  expired: { status: "expired", code: "expired_at_carrier", message: "The carrier could not deliver the message in time" },
  deleted: { status: "undelivered", code: "deleted_by_carrier", message: "The message was deleted at the carrier" },
  undeliverable: { status: "undelivered", code: "undeliverable", message: "The carrier could not deliver the message" },
  unknown: { status: "undelivered", code: "lost_by_carrier", message: "The carrier does not know whether the message was delivered" },
  rejected: { status: "undelivered", code: "rejected_by_carrier", message: "The network rejected the message" },
  blocked: { status: "undelivered", code: "blocked_by_carrier", message: "The network blocked the message" },
};

/** The settings with the words and codes in capitals, as they are looked up. */
export const inCapitals = <T>(table: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(table).map(([word, value]) => [word.toUpperCase(), value]));

/** Returns the faults of words and codes that differ in small and capital letters only. */
export const findReceiptFaults = ({ receiptWords, receiptErrors }: ReceiptSettings): string[] =>
  Object.entries({ receipt_words: receiptWords, receipt_errors: receiptErrors }).flatMap(([name, table]) =>
    Object.keys(table).length === Object.keys(inCapitals<string>(table)).length
      ? []
      : [`${name}: has a word twice, in small and capital letters`],
  );

const ownIn = <T>(table: Readonly<Record<string, T>>, word: string | null | undefined): T | undefined =>
  word && Object.hasOwn(table, word.toUpperCase()) ? table[word.toUpperCase()] : undefined;

const NO_SETTINGS: ReceiptSettings = { receiptWords: {}, receiptErrors: {} };

/** Parses a receipt. Undefined: an inbound message. `unreadable`: a receipt without a carrier id. A person may have written the text of a receipt
 *  without a mark of the carrier. */
export function parseReceipt(short: ShortMessage, settings = NO_SETTINGS): Receipt | "unreadable" | undefined {
  const kind = short.esmClass & MESSAGE_TYPE_BITS;
  const fields = parseFields(toText(short));
  const isMarked = kind === RECEIPT || kind === INTERMEDIATE || (kind === 0 && hasReceiptTlvs(short.tlvs));
  if (!isMarked && !(kind === 0 && looksLikeReceipt(fields))) return undefined;
  const id = receiptedMessageId(short.tlvs) ?? fields.get("id");
  if (id === undefined) return "unreadable";
  const state = parseState(short.tlvs, fields, settings);
  // An intermediate notification is not final, unless it reports the delivery.
  const receipt = toReceipt(id, kind === INTERMEDIATE && state !== "delivered" ? "enroute" : state, short, fields, settings);
  const addresses = [short.source.text, short.destination.text];
  return { ...receipt, ...(isMarked ? { addresses } : { unmarkedFrom: addresses }) };
}

/** Some carriers forget the flag. Only carriers add these parameters. */
const hasReceiptTlvs = (tlvs: Tlvs): boolean => tlvs.has(TLV.receiptedMessageId) && tlvs.has(TLV.messageState);

const looksLikeReceipt = (fields: Fields): boolean =>
  fields.has("id") && fields.has("stat") && (fields.has("done date") || fields.has("dlvrd"));

function parseState(tlvs: Tlvs, fields: Fields, { receiptWords }: ReceiptSettings): State {
  const word = fields.get("stat") ?? "";
  const configured = ownIn(receiptWords, word);
  if (configured !== undefined) return STATES_OF_WORDS[configured];
  return STATES_BY_NUMBER[tlvs.get(TLV.messageState)?.at(0) ?? -1] ?? parseStateName(word);
}

/** Only these names report a delivery: a longer word may deny it, such as `DELIVERY_FAILED`. */
const DELIVERED = /^DELIV(?:RD|ERD|ERED)?(?:TO[A-Z]*)?$/;

/** An unknown name decides nothing. */
function parseStateName(name: string): State {
  if (/^\d$/.test(name)) return STATES_BY_NUMBER[Number(name)] ?? "enroute";
  const upper = name.toUpperCase().replaceAll(/[-_]/g, "");
  if (DELIVERED.test(upper)) return "delivered";
  if (upper.includes("FAIL")) return "undeliverable";
  return STATES_BY_PREFIX.find(([prefix]) => upper.startsWith(prefix))?.[1] ?? "enroute";
}

function toReceipt(id: string, state: State, { tlvs }: ShortMessage, fields: Fields, { receiptErrors }: ReceiptSettings): Receipt {
  const { status, code, message } = MEANINGS[state];
  const providerCode = networkError(tlvs) ?? fields.get("err") ?? null;
  const configured = ownIn(receiptErrors, networkError(tlvs)) ?? ownIn(receiptErrors, fields.get("err"));
  const raw = Object.fromEntries(
    RAW_FIELDS.flatMap((name) => (fields.has(name) ? [[name.replace(" ", "_"), fields.get(name) ?? ""]] : [])),
  );
  const number = tlvs.get(TLV.messageState)?.at(0);
  const network = networkError(tlvs);
  return {
    providerMessageId: id,
    reference: null,
    status,
    error: code === "" ? null : { code: configured ?? code, message, providerCode, isPermanent: state !== "expired" },
    raw: {
      ...raw,
      id,
      ...(number === undefined ? {} : { message_state: String(number) }),
      ...(network === null ? {} : { network_error: network }),
      ...furtherTlvs(tlvs),
    },
  };
}

/** Parameters that are read above, and the text of the message, which is not kept. */
const READ_TAGS: ReadonlySet<number> = new Set([TLV.receiptedMessageId, TLV.messageState, TLV.networkError, TLV.messagePayload]);
// Carriers add the network, the price and the like. More, or longer ones, would be something else.
const MAX_FURTHER_TLVS = 20;
const MAX_FURTHER_BYTES = 255;

/** The carrier's own parameters, such as `tlv_1403: "310410"`: a text, or bytes in hexadecimal. */
const furtherTlvs = (tlvs: Tlvs): Record<string, string> =>
  Object.fromEntries(
    [...tlvs]
      .filter(([tag, value]) => !READ_TAGS.has(tag) && value.length <= MAX_FURTHER_BYTES)
      .slice(0, MAX_FURTHER_TLVS)
      .map(([tag, value]) => [`tlv_${tag.toString(16).padStart(4, "0")}`, printable(value)]),
  );

function printable(value: Buffer): string {
  const text = value.toString("latin1").replace(/\0$/, "");
  return /^[ -~]+$/.test(text) ? text : value.toString("hex");
}

// The standard allows 64 characters. Some carriers write more, but none as many as this.
const MAX_ID = 255;

function receiptedMessageId(tlvs: Tlvs): string | undefined {
  const bytes = tlvs.get(TLV.receiptedMessageId);
  const id = bytes?.toString("latin1").split("\0", 1)[0]?.trim();
  return id === undefined || id === "" || id.length > MAX_ID ? undefined : id;
}

/** The type of network has one byte, the error code two. */
function networkError(tlvs: Tlvs): string | null {
  const bytes = tlvs.get(TLV.networkError);
  return bytes?.length === 3 ? `${bytes.readUInt8(0)}:${bytes.readUInt16BE(1)}` : null;
}

type Fields = ReadonlyMap<string, string>;

const RAW_FIELDS = ["sub", "dlvrd", "submit date", "done date", "stat", "err"] as const;
const FIELD_NAME =
  /(?<![^\s;,|&])((?:(?:msg|message)[ _]?)?id|sub|dlvrd|submit[ _]?date|done[ _]?date|stat(?:us|e)?|err(?:or)?|text)\s?:\s?/gi;
const FIELD_VALUE = /^(?:"([^"]{1,255})"|'([^']{1,255})'|([^\s;,|&]{1,255}))/;

/** The standard's name of a field. */
const standardName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[ _]?date$/, " date")
    .replace(/^.*id$/, "id")
    .replace(/^stat.*$/, "stat")
    .replace(/^err.*$/, "err");

/** The first value of each field, in any order. The text of the message comes last by convention: when id and state precede it, it
 *  contains no fields. */
function parseFields(text: string): Fields {
  const fields = new Map<string, string>();
  for (const found of text.matchAll(FIELD_NAME)) {
    const name = standardName(found[1] ?? "");
    if (name === "text") {
      if (fields.has("id") && fields.has("stat")) break;
      continue;
    }
    const quoted = FIELD_VALUE.exec(text.slice(found.index + found[0].length));
    const value = (quoted?.[1] ?? quoted?.[2] ?? quoted?.[3])?.trim();
    if (value !== undefined && !fields.has(name) && isPlausible(name, value)) fields.set(name, value);
  }
  return fields;
}

/** Dates have ten digits, or twelve with seconds. Some carriers also write the century. */
const isPlausible = (name: string, value: string): boolean => !name.endsWith(" date") || /^\d{10,14}$/.test(value);

/** The text is ASCII, whatever the data coding, unless it starts with a zero byte: then it is UTF-16. Some carriers end it with a zero byte, as other
 *  fields of a PDU end. */
const toText = ({ text }: ShortMessage): string => {
  const isUtf16 = text.length % 2 === 0 && text[0] === 0;
  return (isUtf16 ? Buffer.from(text).swap16().toString("utf16le") : text.toString("latin1")).replaceAll("\0", " ");
};
