/** Reads the parameters of a sendsms request in the order in which Kannel checks them, and with its texts. A parameter that this service cannot
 *  honor is refused in the same form. */
import { isUtf8 } from "node:buffer";
import { textFault } from "../http/validate.ts";
import { E164_PATTERN, isPossibleNumber } from "../model/phone-number.ts";
import { DENIED, escapeHtml, Refusal, SENDER_MISSING } from "./answers.ts";
import { parseCallbackUrl } from "./callback-url.ts";
import { parsePrefixes, type KannelSettings, type Prefixes } from "./kannel.ts";
import { asUtf8, type Parameters } from "./parameters.ts";

export type SendSms = {
  /** The receivers as numbers of E.164, with the numbers as the client wrote them. */
  receivers: readonly { number: string; written: string }[];
  denied: readonly string[];
  sender: string;
  /** The sender as the client wrote it. */
  from: string;
  text: string;
  priority: "normal" | "high" | null;
  validityMinutes: number | null;
  deferredMinutes: number | null;
  dlrMask: number;
  dlrUrl: string;
  account: string;
  metaData: string;
};

// More do not fit into the query of a usual client.
export const MAX_RECEIVERS = 100;
const ACCOUNT_MAX_LENGTH = 64;
const NUMBER_CHARACTERS = /^[\d +-]+$/;
const DEFAULT_PREFIXES: Prefixes = [{ official: "+", others: ["00"] }];
const LEAST_NUMBER_DIGITS = 7;
const MAX_DEFERRED_MINUTES = 35 * 24 * 60;
const MAX_VALIDITY_MINUTES = 48 * 60;
const e164 = new RegExp(E164_PATTERN);

/** The body of a POST, with the type and the charset of its `Content-Type`. */
export type PostedText = { bytes: Buffer; type: string; charset: string };

export function readSendSms(parameters: Parameters, settings: KannelSettings, posted: PostedText | undefined): SendSms {
  const to = parameters.get("to");
  if (to === undefined)
    throw new Refusal(posted === undefined ? "Missing receiver number, rejected" : "Missing receiver(s) number(s), rejected");
  if (to === "") throw new Refusal("Empty receiver number not allowed, rejected");
  const udh = parameters.get("udh") ?? "";
  if (udh !== "") checkUdh(udh);
  const { receivers, denied } = readReceivers(to, settings);
  if (receivers.length === 0) throw new Refusal(DENIED);
  if (receivers.length + denied.length > MAX_RECEIVERS) throw new Refusal(`More than ${MAX_RECEIVERS} receiver numbers, rejected`);
  const from = (settings["faked-sender"] ?? (parameters.get("from") || settings["default-sender"]) ?? "").trim();
  if (from === "") throw new Refusal(SENDER_MISSING);
  const account = asUtf8(parameters.get("account") ?? "");
  if (account.length > ACCOUNT_MAX_LENGTH || /[[\]\n\r]/.test(account)) throw new Refusal("Account field misformed or too long, rejected");
  const dlrUrlBytes = parameters.get("dlr-url") ?? parameters.get("dlrurl") ?? "";
  const dlrUrl = asUtf8(dlrUrlBytes);
  if (!isUtf8(Buffer.from(dlrUrlBytes, "latin1"))) throw new Refusal("DLR-URL field misformed, rejected");
  if (dlrUrl !== "" && parseCallbackUrl(dlrUrl) === undefined) throw new Refusal("DLR-URL field misformed, rejected");
  const number = (name: string, least: number, most: number, title: string): number => {
    const value = integerOf(parameters.get(name));
    if (value < least || value > most) throw new Refusal(`${title} field misformed, rejected`);
    return value;
  };
  const dlrMask = number(parameters.has("dlr-mask") ? "dlr-mask" : "dlrmask", -1, 66, "DLR-Mask");
  const mclass = number("mclass", -1, 3, "MClass");
  const pid = number("pid", -1, 255, "PID");
  const rpi = number("rpi", -1, 2, "RPI");
  const altDcs = number("alt-dcs", -1, 1, "Alt-DCS");
  const mwi = number("mwi", -1, 7, "MWI");
  const coding = number("coding", -1, 2, "Coding");
  const compress = number("compress", -1, 1, "Compress");
  const validity = number("validity", -1, Infinity, "Validity");
  if (validity === 0 || validity > MAX_VALIDITY_MINUTES)
    throw new Refusal(`Validity must be 1 to ${MAX_VALIDITY_MINUTES} minutes, rejected`);
  const deferred = number("deferred", -1, Infinity, "Deferred");
  if (deferred > MAX_DEFERRED_MINUTES) throw new Refusal("Deferred must be at most 35 days ahead, rejected");
  const priority = number("priority", -1, 3, "Priority");
  const smsc = parameters.get("smsc") ?? "";
  if (smsc !== "" && settings["forced-smsc"] === undefined) unsupported("SMSC-ID");
  const kind = coding === -1 && posted?.type === "application/octet-stream" ? BINARY : coding;
  refuseUnsupported({ udh, mclass, pid, rpi, altDcs, mwi, compress, coding: kind, binfo: parameters.get("binfo") ?? "" });
  const metaData = asUtf8(parameters.get("meta-data") ?? "");
  if (/\?smpp\?/i.test(metaData)) unsupported("Meta-Data");
  const bytes = posted?.bytes ?? Buffer.from(parameters.get("text") ?? "", "latin1");
  const text = readText(bytes, posted?.charset ?? parameters.get("charset") ?? "", kind);
  if (text === "") throw new Refusal("Text is empty, rejected");
  for (const each of [text, account, metaData, from, dlrUrl])
    if (textFault(each) !== undefined) throw new Refusal("Charset or body misformed, rejected");
  return {
    receivers,
    denied,
    sender: senderOf(from, prefixesOf(settings)),
    from,
    text,
    priority: priority === -1 ? null : priority >= 2 ? "high" : "normal",
    validityMinutes: validity === -1 ? null : validity,
    deferredMinutes: deferred === -1 ? null : deferred,
    dlrMask: Math.max(0, dlrMask),
    dlrUrl,
    account,
    metaData,
  };
}

function unsupported(field: string): never {
  throw new Refusal(`${field} field not supported, rejected`);
}

/** Refuses what has an effect on the message that this service cannot have. The default of each is accepted. */
function refuseUnsupported(
  given: Readonly<Record<"mclass" | "pid" | "rpi" | "altDcs" | "mwi" | "compress" | "coding", number>> & { udh: string; binfo: string },
): void {
  if (given.udh !== "") unsupported("UDH");
  if (given.mclass !== -1 && given.mclass !== MEMORY_CLASS) unsupported("MClass");
  if (given.pid > 0) unsupported("PID");
  if (given.rpi > 0) unsupported("RPI");
  if (given.altDcs > 0) unsupported("Alt-DCS");
  if (given.mwi !== -1) unsupported("MWI");
  if (given.compress > 0) unsupported("Compress");
  if (given.coding === BINARY) unsupported("Coding");
  if (given.binfo !== "") unsupported("BInfo");
}

/** The first byte of a header is its length. */
function checkUdh(udh: string): void {
  if (udh.length !== udh.charCodeAt(0) + 1) throw new Refusal("UDH field misformed, rejected");
  if (udh.length > 140) throw new Refusal("UDH field is too long, rejected");
}

/** Reads a number as C's `sscanf("%d")` does: what follows it is ignored, and no number is the same as no parameter. */
const integerOf = (text: string | undefined): number => {
  const digits = /^\s*([+-]?\d{1,12})/.exec(text ?? "")?.[1];
  return digits === undefined ? -1 : Number(digits);
};

const prefixesOf = (settings: KannelSettings): Prefixes =>
  settings["unified-prefix"] === undefined ? DEFAULT_PREFIXES : (parsePrefixes(settings["unified-prefix"]) ?? DEFAULT_PREFIXES);

/** Splits the receivers at white space, to which a plus sign of the query decodes. */
function readReceivers(to: string, settings: KannelSettings): Pick<SendSms, "receivers" | "denied"> {
  const prefixes = prefixesOf(settings);
  const receivers = new Map<string, string>();
  const denied: string[] = [];
  for (const written of to.split(/[\s+]+/)) {
    if (written === "") continue;
    const number = NUMBER_CHARACTERS.test(written) ? unify(written.replaceAll("-", ""), prefixes) : undefined;
    if (number !== undefined && e164.test(number) && isPossibleNumber(number)) receivers.set(number, written);
    else denied.push(escapeHtml(written));
  }
  return { receivers: Array.from(receivers, ([number, written]) => ({ number, written })), denied };
}

/** The number with its country code. Clients write it with a plus sign, which the query turns into a space, with another prefix, or without. */
function unify(digits: string, prefixes: Prefixes): string {
  for (const { official, others } of prefixes)
    for (const other of others) if (other !== "" && digits.startsWith(other)) return official + digits.slice(other.length);
  return digits.startsWith("+") ? digits : `+${digits}`;
}

/** A sender of seven digits or more is a number, one of fewer a short code. */
function senderOf(from: string, prefixes: Prefixes): string {
  const digits = from.replaceAll(/[\s-]/g, "");
  return /^\+?\d+$/.test(digits) && digits.replace("+", "").length >= LEAST_NUMBER_DIGITS ? unify(digits, prefixes) : asUtf8(from);
}

const BINARY = 1;
// The class of messages that the phone keeps in its memory, which it does with messages without a class as well.
const MEMORY_CLASS = 1;
const UCS2 = 2;
const UTF16 = /^(?:utf-?16(?:be)?|ucs-?2(?:be)?|iso-10646-ucs-2)$/i;

/** The text of the bytes. Without a charset it is UTF-8, or UTF-16 where the coding is UCS-2. */
function readText(buffer: Buffer, charset: string, coding: number): string {
  try {
    if (charset === "" ? coding === UCS2 : UTF16.test(charset)) return new TextDecoder("utf-16be", { fatal: true }).decode(buffer);
    return new TextDecoder(charset === "" ? "utf-8" : charset.toLowerCase(), { fatal: true, ignoreBOM: true }).decode(buffer);
  } catch {
    throw new Refusal("Charset or body misformed, rejected");
  }
}
