/** Stores an inbound message with its event, in the caller's transaction. Opens the service window of its sender, and applies opt-out
 *  words. */
import { optIn, optOut, openWindow } from "../consent/change-consent.ts";
import { optWord } from "../consent/opt-out-words.ts";
import { newId, type MessageId } from "../lib/id.ts";
import { carrierOrigin } from "../lib/origin.ts";
import type { Recipient } from "../lib/phone-number.ts";
import { segmentsOf } from "../lib/segments.ts";
import type { Channel } from "../links/channel.ts";
import type { Tx } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { MAX_RECORD_BYTES, messageRecord, newMessage, type Message } from "./message.ts";
import { storeReceived } from "./queries.ts";

/** An inbound message as its carrier delivers it. */
export type Received = {
  channel: Channel;
  /** The person who wrote the message. */
  sender: Recipient;
  /** The account's number. */
  recipient: Recipient;
  text: string;
  inReplyTo: MessageId | null;
  provider: { name: string; link: string; messageId: string | null };
};

export async function receiveMessage(tx: Tx, nowMs: number, owner: Owner, received: Received): Promise<Message> {
  const message = truncate(fromInbound(nowMs, owner, received));
  await storeReceived(tx, message, JSON.stringify(messageRecord(message)));
  const { channel, sender, recipient, text } = received;
  // Consent is stored for outbound messages: the writer of this message is their recipient, and the account's number their sender.
  const pair = { ...owner, recipient: sender, sender: recipient };
  if (channel === "whatsapp") await openWindow(tx, pair, nowMs);
  const word = optWord(text);
  const origin = carrierOrigin(received.provider.link);
  const cause = { source: "keyword", keyword: word?.word ?? null, messageId: message.id, note: null, origin } as const;
  if (word?.kind === "out") await optOut(tx, nowMs, pair, cause);
  if (word?.kind === "in") await optIn(tx, nowMs, pair, cause);
  return message;
}

/** The message that a carrier brings. */
function fromInbound(nowMs: number, owner: Owner, received: Received): Message {
  const { channel, sender, recipient, inReplyTo, provider } = received;
  const body = storable(received.text);
  return newMessage(owner, newId("msg", nowMs), {
    direction: "inbound",
    channel,
    recipient,
    sender,
    body,
    status: "received",
    segments: channel === "sms" ? segmentsOf(body) : null,
    provider,
    inReplyTo,
    updatedAtMs: nowMs,
  });
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
    fitted = { ...message, body, segments: message.segments && segmentsOf(body), metadata: { truncated: "true" } };
  }
  return fitted;
}
