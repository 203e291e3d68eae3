/** Stores an inbound message with its event, in the caller's transaction. Opens the service window of its sender, applies opt-out words, also
 *  for accounts that do not get the message, and accepts the automatic reply to them. */
import { optIn, optOut, openWindow, type Cause } from "../consent/change-consent.ts";
import { readSettings } from "../consent/change-settings.ts";
import type { ConsentDefaults } from "../consent/consent-defaults.ts";
import { optWordsOf } from "../consent/consent-settings.ts";
import { findOptWord, type OptKind } from "../consent/opt-out-words.ts";
import type { Pair } from "../consent/suppression.ts";
import { addPendingMedia, type InboundFile } from "../media/inbound-media.ts";
import type { CarriedContent } from "../model/content.ts";
import { newId, type MessageId } from "../model/id.ts";
import { carrierOrigin } from "../model/origin.ts";
import type { Recipient } from "../model/phone-number.ts";
import { segmentsOf } from "../model/segments.ts";
import { NO_RECIPIENT } from "../links/address.ts";
import type { Channel } from "../links/channel.ts";
import type { Link } from "../links/link.ts";
import type { Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import type { Acceptance } from "./acceptance.ts";
import { fitContent, identifyContent, TRUNCATED } from "./inbound-content.ts";
import { MAX_RECORD_BYTES, messageRecord, newMessage, type Message } from "./message.ts";
import { storeReceived } from "./queries.ts";
import { acceptReply } from "./reply.ts";

/** A pair whose consent an opt-out word changes. `isOfNumber`: it is about the number that the word was sent to, or a number of the same pool,
 *  and not only about messages that the person got. */
export type WordPair = Pair & { isOfNumber: boolean };

/** An inbound message as its carrier delivers it. */
type Received = {
  channel: Channel;
  /** The person who wrote the message. Empty if the carrier does not name the person. */
  sender: Recipient;
  /** The account's number. Empty if it is not known. */
  recipient: Recipient;
  text: string;
  inReplyTo: MessageId | null;
  /** The meaning of the text that the carrier reports, in place of our own lists of words. */
  reported?: OptKind | undefined;
  isToGroup?: boolean | undefined;
  /** When the person wrote the message. If it is absent, the message was written when it arrived. */
  writtenAtMs?: number | undefined;
  content?: CarriedContent | undefined;
  /** Facts that neither the text nor the content has, by their names. */
  details?: Readonly<Record<string, string>> | undefined;
  provider: { name: string; link: string; messageId: string | null };
  /** No sender, reply or route led to the account: its event is `message.unrouted`. */
  isUnrouted: boolean;
  pairs: readonly WordPair[];
};

/** A message as the carrier delivers it, before its owner is known. */
export type Unowned = Omit<Received, "inReplyTo" | "isUnrouted" | "pairs">;

type Arrival = { nowMs: number; owner: Owner; received: Received };

/** `replyLink`: the link of the message, if an automatic reply may be sent. `mediaRetentionMs`: how long its files are kept. */
type ReceiveContext = { defaults: ConsentDefaults; replyLink: Link | undefined; mediaRetentionMs: number };

/** Returns the stored message, and the automatic reply if there is one. */
export async function receiveMessage(
  tx: Tx,
  { nowMs, owner, received }: Arrival,
  { defaults, replyLink, mediaRetentionMs }: ReceiveContext,
): Promise<{ message: Message; reply: Acceptance | undefined; hasFiles: boolean }> {
  const { message: read, files } = fromInbound(nowMs, owner, received);
  const message = truncate(read);
  const type = received.isUnrouted ? "message.unrouted" : "message.received";
  await storeReceived(tx, message, { type, record: JSON.stringify(messageRecord(message)) });
  const { channel, sender, recipient, reported, writtenAtMs = nowMs } = received;
  await addPendingMedia(tx, owner, files, {
    messageId: message.id,
    link: received.provider.link,
    person: message.sender,
    nowMs,
    keepUntilMs: nowMs + mediaRetentionMs,
  });
  const hasFiles = files.length > 0;
  // Consent is stored for outbound messages: the writer of this message is their recipient, and the account's number their sender.
  const pair = { ...owner, recipient: sender, sender: recipient };
  if (channel === "whatsapp" && isWrittenToUs(received) && sender !== NO_RECIPIENT)
    await openWindow(tx, pair, Math.min(writtenAtMs, nowMs));
  const kind = await applyOptWord(tx, nowMs, received, { defaults, message });
  // If the carrier reports the meaning of a text, it has replied itself.
  if (kind === undefined || replyLink === undefined || reported !== undefined) return { message, reply: undefined, hasFiles };
  const settings = await readSettings(tx, defaults, owner);
  return { message, reply: await acceptReply(tx, message, { kind, settings, link: replyLink, nowMs }), hasFiles };
}

/** A message to a group, and a notice of the channel, say nothing about what the person wants of this number. */
const isWrittenToUs = ({ isToGroup, content }: Pick<Received, "isToGroup" | "content">): boolean =>
  isToGroup !== true && content?.type !== "system";

type WordUse = Pick<Received, "text" | "reported" | "isToGroup" | "content" | "pairs" | "provider">;
/** `message` is the stored message; null if no account gets it. */
type WordContext = { defaults: ConsentDefaults; message: Message | null };

/** Applies the opt-out word of a message to the pairs, each by the words of its account. Returns the kind of the word for the account of the
 *  message, except for an opt-out or an opt-in that changes nothing. */
export async function applyOptWord(tx: Tx, nowMs: number, use: WordUse, { defaults, message }: WordContext): Promise<OptKind | undefined> {
  if (!isWrittenToUs(use)) return undefined;
  let own: OptKind | undefined;
  for (const pair of use.pairs) {
    const word = findOptWord(use.text, optWordsOf(await readSettings(tx, defaults, pair)));
    const kind = use.reported ?? word?.kind;
    if (kind === undefined) continue;
    // An account sees no id of a message that another account got.
    const isOwn = message?.accountId.equals(pair.accountId) === true && message.environment === pair.environment;
    const cause = {
      source: use.reported === undefined ? "keyword" : "carrier",
      keyword: word?.word ?? null,
      messageId: isOwn ? message.id : null,
      origin: carrierOrigin(use.provider.link),
    } as const;
    const isChanged = await applyTo(tx, nowMs, pair, { kind, cause });
    if (isOwn && isChanged) own = kind;
  }
  return own;
}

/** Applies a word to one pair. Returns whether there is something to reply to. */
async function applyTo(tx: Tx, nowMs: number, pair: WordPair, { kind, cause }: { kind: OptKind; cause: Cause }): Promise<boolean> {
  if (kind === "help") return true;
  if (kind === "out") return (await optOut(tx, nowMs, pair, cause)).isChanged;
  // START is about the number that it was sent to. STOP to an unknown number reaches further.
  return pair.isOfNumber && (await optIn(tx, nowMs, pair, cause)) !== undefined;
}

function fromInbound(nowMs: number, owner: Owner, received: Received): { message: Message; files: readonly InboundFile[] } {
  const { channel, sender, recipient, inReplyTo, provider, details } = received;
  const body = storable(received.text);
  const fitted = received.content && fitContent(received.content);
  const { content, files } = fitted ? identifyContent(fitted.content, inReplyTo, nowMs) : { content: null, files: [] };
  const message = newMessage(owner, newId("msg", nowMs), {
    direction: "inbound",
    channel,
    recipient,
    sender: sender === NO_RECIPIENT ? null : sender,
    body,
    content,
    status: "received",
    segments: channel === "sms" ? segmentsOf(body) : null,
    provider,
    inReplyTo,
    metadata: { ...toMetadata(details), ...(fitted?.isCut === true ? TRUNCATED : {}) },
    updatedAtMs: nowMs,
  });
  return { message, files };
}

// A quarter of the record, so that the text has room.
const MAX_DETAILS_BYTES = 4_096;

/** Keeps the details that fit into the record, and marks a message whose details do not. Half of a value would be of no use. */
export function toMetadata(details: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept: [string, string][] = [];
  let bytes = 0;
  for (const [name, text] of Object.entries(details)) {
    const size = Buffer.byteLength(JSON.stringify([name, text]));
    if (bytes + size > MAX_DETAILS_BYTES) continue;
    bytes += size;
    kept.push([name, storable(text)]);
  }
  return { ...Object.fromEntries(kept), ...(kept.length < Object.keys(details).length ? TRUNCATED : {}) };
}

/** Replaces characters that PostgreSQL cannot store: unpaired surrogates and the null character. */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\uFFFD");

const SURROGATE_AT_END = /[\ud800-\udbff]$/;

/** Truncates a text that is too large for an event, and marks the message as truncated. No carrier should deliver such a text. */
function truncate(message: Message): Message {
  let fitted = message;
  while (fitted.body && Buffer.byteLength(JSON.stringify(messageRecord(fitted))) > MAX_RECORD_BYTES) {
    const length = Math.min(MAX_RECORD_BYTES, Math.floor(fitted.body.length * 0.9));
    const body = fitted.body.slice(0, length).replace(SURROGATE_AT_END, "");
    fitted = { ...message, body, segments: message.segments && segmentsOf(body), metadata: { ...message.metadata, ...TRUNCATED } };
  }
  return fitted;
}
