/** A deliver_sm that speaks of a message of ours: its optional parameters first, then its text, which carriers write by a custom
 *  and not by a standard. */
import type { Receipt, ReceiptStatus } from "../provider.ts";
import { TLV, type Short, type Tlvs } from "./pdu.ts";

// The bits of esm_class that say what kind of message it is.
const KIND = 0x3c;
const RECEIPT = 0x04;
const INTERMEDIATE = 0x20;

type State = "enroute" | "delivered" | "expired" | "deleted" | "undeliverable" | "accepted" | "unknown" | "rejected";

/** message_state in numbers. Those of version 5 are there too: 0 is scheduled, 9 is skipped. */
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

/** The words of the standard have seven letters; not all carriers cut them off. */
const STATES_BY_WORD: readonly (readonly [begin: string, state: State])[] = [
  ["DELIV", "delivered"],
  ["EXPIR", "expired"],
  ["DELET", "deleted"],
  ["UNDEL", "undeliverable"],
  ["FAIL", "undeliverable"],
  ["SKIP", "undeliverable"],
  ["REJ", "rejected"],
  ["UNKN", "unknown"],
];

type Meaning = { status: ReceiptStatus; code: string; message: string };
const MEANINGS: Readonly<Record<State, Meaning>> = {
  enroute: { status: "sent", code: "", message: "" },
  accepted: { status: "sent", code: "", message: "" },
  delivered: { status: "delivered", code: "", message: "" },
  expired: { status: "expired", code: "expired_at_carrier", message: "The carrier could not deliver the message in its time" },
  deleted: { status: "undelivered", code: "deleted_by_carrier", message: "The message was deleted at the carrier" },
  undeliverable: { status: "undelivered", code: "undeliverable", message: "The carrier could not deliver the message" },
  unknown: { status: "undelivered", code: "lost_by_carrier", message: "The carrier does not know what became of the message" },
  rejected: { status: "undelivered", code: "rejected_by_carrier", message: "The network rejected the message" },
};

/** Undefined: it is a message that someone wrote. `unreadable`: a receipt that names no message. */
export function receiptOf(short: Short): Receipt | "unreadable" | undefined {
  const kind = short.esmClass & KIND;
  const fields = fieldsOf(asText(short));
  const isFlagged = kind === RECEIPT || kind === INTERMEDIATE;
  if (!isFlagged && !(kind === 0 && isUnmistakable(short.tlvs, fields))) return undefined;
  const id = idOf(short.tlvs) ?? fields.get("id");
  if (id === undefined) return "unreadable";
  return assemble(id, stateOf(short.tlvs, fields, kind === INTERMEDIATE), short, fields);
}

/** Some carriers forget the flag. People do not write like this, and nobody but a carrier adds the parameters. */
const isUnmistakable = (tlvs: Tlvs, fields: Fields): boolean =>
  (tlvs.has(TLV.receiptedMessageId) && tlvs.has(TLV.messageState)) ||
  (fields.has("id") && fields.has("stat") && (fields.has("done date") || fields.has("dlvrd")));

/** An intermediate word is not the last, unless it is the best there can be. */
function stateOf(tlvs: Tlvs, fields: Fields, isIntermediate: boolean): State {
  const byNumber = STATES_BY_NUMBER[tlvs.get(TLV.messageState)?.at(0) ?? -1];
  const state = byNumber ?? stateOfWord(fields.get("stat") ?? "");
  return isIntermediate && state !== "delivered" ? "enroute" : state;
}

/** A word that nobody knows decides nothing. */
function stateOfWord(word: string): State {
  if (/^\d$/.test(word)) return STATES_BY_NUMBER[Number(word)] ?? "enroute";
  const upper = word.toUpperCase();
  return STATES_BY_WORD.find(([begin]) => upper.startsWith(begin))?.[1] ?? "enroute";
}

function assemble(id: string, state: State, { tlvs }: Short, fields: Fields): Receipt {
  const { status, code, message } = MEANINGS[state];
  const providerCode = networkErrorOf(tlvs) ?? fields.get("err") ?? null;
  const words = Object.fromEntries(
    RAW_FIELDS.flatMap((name) => (fields.has(name) ? [[name.replace(" ", "_"), fields.get(name) ?? ""]] : [])),
  );
  const number = tlvs.get(TLV.messageState)?.at(0);
  const network = networkErrorOf(tlvs);
  return {
    providerMessageId: id,
    reference: null,
    status,
    error: code === "" ? null : { code, message, providerCode, isPermanent: state !== "expired" },
    raw: {
      ...words,
      id,
      ...(number === undefined ? {} : { message_state: String(number) }),
      ...(network === null ? {} : { network_error: network }),
    },
  };
}

// 64 and a zero by the standard; carriers that write more are few, and nobody writes this much.
const MAX_ID = 255;

function idOf(tlvs: Tlvs): string | undefined {
  const bytes = tlvs.get(TLV.receiptedMessageId);
  const id = bytes?.toString("latin1").replace(/\0.*$/s, "").trim();
  return id === undefined || id === "" || id.length > MAX_ID ? undefined : id;
}

/** The kind of network in one byte, its code in two. */
function networkErrorOf(tlvs: Tlvs): string | null {
  const bytes = tlvs.get(TLV.networkError);
  return bytes?.length === 3 ? `${bytes.readUInt8(0)}:${bytes.readUInt16BE(1)}` : null;
}

type Fields = ReadonlyMap<string, string>;

const RAW_FIELDS = ["sub", "dlvrd", "submit date", "done date", "stat", "err"] as const;
const NAMED = /(?<![^\s;,|&])(id|sub|dlvrd|submit[ _]?date|done[ _]?date|stat|err|text)\s?:\s?/gi;
const VALUE = /^[^\s;,|&]{1,255}/;

/** Each field's first value, in whatever order they stand. What the message said comes last by custom: when the id and the state
 *  were there before it, nothing in it is a field. */
function fieldsOf(text: string): Fields {
  const fields = new Map<string, string>();
  for (const found of text.matchAll(NAMED)) {
    const name = (found[1] ?? "").toLowerCase().replace(/[ _]?date$/, " date");
    if (name === "text") {
      if (fields.has("id") && fields.has("stat")) break;
      continue;
    }
    const value = VALUE.exec(text.slice(found.index + found[0].length))?.[0];
    if (value !== undefined && !fields.has(name) && isPlausible(name, value)) fields.set(name, value);
  }
  return fields;
}

/** Dates have ten digits, or twelve with the seconds; some carriers write the century too. */
const isPlausible = (name: string, value: string): boolean => !name.endsWith(" date") || /^\d{10,14}$/.test(value);

/** ASCII whatever the data coding says, but where every other byte is zero. */
const asText = ({ text }: Short): string =>
  text.length % 2 === 0 && text[0] === 0 ? Buffer.from(text).swap16().toString("utf16le") : text.toString("latin1");
