/** Ids: a type for each noun, and their public form: a prefix for the noun, and a UUID in TypeID form (`msg_01k…`, Crockford base 32).
 *  The published package is not used, since it creates ids with its own clock and as strings: our ids have the database's time and stay
 *  bytes until the edge. A test checks the format with the published TypeID vectors. */
import { MAX_AHEAD_MS, newUuid, NIL_UUID, uuidFromBytes, uuidSequence, type Uuid } from "../lib/uuid.ts";

export type IdPrefix =
  | "msg"
  | "evt"
  | "acct"
  | "batch"
  | "key"
  | "req"
  | "whe"
  | "dlv"
  | "tmpl"
  | "sup"
  | "ver"
  | "aud"
  | "inb"
  | "lnk"
  | "snd"
  | "rte"
  | "media";

/** The UUID of one kind of record. The compiler refuses it where the id of another kind is expected. */
export type Id<P extends IdPrefix> = Uuid & { readonly noun: { readonly [Noun in P]: true } };

export type AccountId = Id<"acct">;
export type AuditEventId = Id<"aud">;
export type BatchId = Id<"batch">;
export type DeliveryId = Id<"dlv">;
export type EndpointId = Id<"whe">;
export type EventId = Id<"evt">;
export type KeptInboundId = Id<"inb">;
export type KeyId = Id<"key">;
export type LinkId = Id<"lnk">;
export type MediaId = Id<"media">;
export type MessageId = Id<"msg">;
export type RequestId = Id<"req">;
export type RouteId = Id<"rte">;
export type SenderId = Id<"snd">;
export type SuppressionId = Id<"sup">;
export type TemplateId = Id<"tmpl">;
export type VerificationId = Id<"ver">;

/** The public form of an id. */
type IdText<P extends IdPrefix> = `${P}_${string}`;

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const SUFFIX_LENGTH = 26;

const ENCODE = Buffer.from(ALPHABET, "latin1");
const INVALID = 0xff;
const DECODE = new Uint8Array(128).fill(INVALID);
for (let value = 0; value < ENCODE.length; value += 1) DECODE[ENCODE.readUInt8(value)] = value;

const scratch = Buffer.alloc(SUFFIX_LENGTH);

/** The id of no record, of any kind. Smaller than every other id. */
export const NO_ID = NIL_UUID as Id<IdPrefix>;

/** Declares the kind of record that a UUID belongs to. */
export const toId = <P extends IdPrefix>(_prefix: P, uuid: Uuid): Id<P> => uuid as Id<P>;

/** Creates the id of a record with the database's time, larger than the ids before it. A record that a request creates gets the second half of
 *  the request's id. */
export const newId = <P extends IdPrefix>(prefix: P, nowMs: number, requestId?: RequestId): Id<P> =>
  toId(prefix, newUuid(nowMs, requestId));

/** Creates an id of now, or right after `beforeMs` if that is later: a record may have been changed by a node whose clock was ahead. An
 *  id that is far ahead is not taken from the sequence of the process, and moves no later id there. */
export function newIdAfter<P extends IdPrefix>(prefix: P, beforeMs: number, nowMs: number): Id<P> {
  const atMs = Math.max(nowMs, beforeMs + 1);
  return atMs - nowMs <= MAX_AHEAD_MS ? newId(prefix, atMs) : toId(prefix, uuidSequence()(atMs));
}

/** The first event of a message or suppression has the id of its record, so that it can be found from the record. */
export const firstEventId = (id: MessageId | SuppressionId): EventId => toId("evt", id);

/** The id as the key of a Map or a Set, which compare buffers by identity. */
export const idKey = (id: Uuid): string => id.toString("latin1");

/** Encodes 128 bits as 26 digits of five bits. The first digit has only three bits, so it is at most 7. */
export function encodeId<P extends IdPrefix>(prefix: P, id: Id<NoInfer<P>>): IdText<P> {
  const first = id.readUInt8(0);
  scratch[0] = digit(first >> 5);
  scratch[1] = digit(first);
  encodeFive(id, 1, scratch, 2);
  encodeFive(id, 6, scratch, 10);
  encodeFive(id, 11, scratch, 18);
  return `${prefix}_${scratch.toString("latin1")}`;
}

/** The texts that `encodeId` writes for a prefix, as a regular expression. */
export const idPattern = (prefix: IdPrefix): string => `^${prefix}_[0-7][${ALPHABET}]{${SUFFIX_LENGTH - 1}}$`;

/** Undefined for any text that `encodeId` does not write for that prefix. */
export function decodeId<P extends IdPrefix>(prefix: P, text: string): Id<P> | undefined {
  const start = prefix.length + 1;
  if (text.length !== start + SUFFIX_LENGTH || !text.startsWith(`${prefix}_`)) return undefined;
  const bytes = Buffer.alloc(16);
  let bits = 0;
  let held = 0;
  let at = 0;
  for (let index = 0; index < SUFFIX_LENGTH; index += 1) {
    const value = DECODE[text.charCodeAt(start + index)] ?? INVALID;
    if (value === INVALID || (index === 0 && value > 7)) return undefined;
    // The first digit has three bits, all others have five.
    bits = ((bits << 5) | value) & 0xfff;
    held += index === 0 ? 3 : 5;
    if (held >= 8) {
      held -= 8;
      bytes[at] = (bits >> held) & 0xff;
      at += 1;
    }
  }
  return toId(prefix, uuidFromBytes(bytes));
}

/** The records that ids name, for error texts. */
const NOUNS: ReadonlyMap<string, string> = new Map([
  ["msg", "a message"],
  ["evt", "an event"],
  ["acct", "an account"],
  ["batch", "a batch"],
  ["key", "a key"],
  ["req", "a request"],
  ["whe", "an endpoint"],
  ["dlv", "a delivery"],
  ["tmpl", "a template"],
  ["sup", "a suppression"],
  ["ver", "a verification"],
  ["lnk", "a link"],
  ["snd", "a sender"],
  ["rte", "a route"],
  ["media", "a media file"],
]);

const FORM = `${SUFFIX_LENGTH} lower-case letters and digits`;
const isNamed = (text: string, prefix: string): boolean => NOUNS.has(prefix) && decodeId(prefix as IdPrefix, text) !== undefined;

/** Says why a text is not the id of that kind of record. */
export function explainId(wanted: IdPrefix, text: string): string {
  const prefix = text.split("_", 1)[0] ?? "";
  const form = `must be the id of ${NOUNS.get(wanted)}: ${wanted}_ and ${FORM}`;
  return prefix !== wanted && isNamed(text, prefix) ? `${form}; ${prefix}_… is the id of ${NOUNS.get(prefix)}` : form;
}

/** Says what an id names that was not found as a record of the kind that `missing` names. Undefined where that explains nothing: links and
 *  templates also have names, and the id of a credential is that of a key. */
export function explainMissing(text: string, missing: string): string | undefined {
  const [prefix = "", suffix] = text.split("_", 2);
  const noun = NOUNS.get(prefix);
  if (noun === undefined || suffix === undefined) return undefined;
  const isKind = noun.split(" ").some((word) => word !== "a" && word !== "an" && missing.includes(word)) || missing.includes("credential");
  if (isNamed(text, prefix)) return isKind ? undefined : `${prefix}_… is the id of ${noun}`;
  return isKind ? `an id is ${prefix}_ and ${FORM}` : undefined;
}

const digit = (value: number): number => ENCODE[value & 0x1f] as number;

/** Encodes five bytes as eight base-32 digits. */
function encodeFive(bytes: Buffer, from: number, out: Buffer, to: number): void {
  const high = bytes.readUInt16BE(from);
  const low = bytes.readUIntBE(from + 2, 3);
  out[to] = digit(high >> 11);
  out[to + 1] = digit(high >> 6);
  out[to + 2] = digit(high >> 1);
  out[to + 3] = digit((high << 4) | (low >> 20));
  out[to + 4] = digit(low >> 15);
  out[to + 5] = digit(low >> 10);
  out[to + 6] = digit(low >> 5);
  out[to + 7] = digit(low);
}
