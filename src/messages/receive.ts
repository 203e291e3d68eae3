/** A message that someone wrote to us: stored with its event, and with what its words and its channel mean for whether its
 *  writer may be written to. All in the transaction of whoever brings it. */
import { optIn, optOut, openWindow } from "../consent/change-consent.ts";
import { optWord } from "../consent/opt-out-words.ts";
import type { Channel } from "../links/channel.ts";
import type { Tx } from "../storage/database.ts";
import { MAX_RECORD_BYTES, messageRecord, newMessage, type Message } from "./message.ts";
import { storeReceived } from "./queries.ts";
import { newId, type MessageId } from "../lib/id.ts";
import type { Recipient } from "../lib/phone-number.ts";
import { segmentsOf } from "../lib/segments.ts";
import type { Owner } from "../storage/owner.ts";

/** What was written, by whom, to which number of ours, and how it came. */
export type Received = {
  channel: Channel;
  /** Who wrote it. */
  sender: Recipient;
  /** The number of ours it was written to. */
  recipient: Recipient;
  text: string;
  inReplyTo: MessageId | null;
  provider: { name: string; link: string; messageId: string | null };
};

export async function receiveMessage(tx: Tx, nowMs: number, owner: Owner, received: Received): Promise<Message> {
  const message = fitting(fromInbound(nowMs, owner, received));
  await storeReceived(tx, message, JSON.stringify(messageRecord(message)));
  const { channel, sender, recipient, text } = received;
  // Whoever writes to us is the recipient of what we send, and the number they wrote to is its sender.
  const pair = { ...owner, recipient: sender, sender: recipient };
  if (channel === "whatsapp") await openWindow(tx, pair, nowMs);
  const word = optWord(text);
  const cause = { source: "keyword", keyword: word?.word ?? null, messageId: message.id, note: null } as const;
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

/** A carrier may bring what no text can hold here: halves of characters, and the one character that PostgreSQL refuses. */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\uFFFD");

const HALF_AT_END = /[\ud800-\udbff]$/;

/** Longer than any carrier's message would be, and still to be kept: cut, and marked as cut. */
function fitting(message: Message): Message {
  let fitted = message;
  while (fitted.body && Buffer.byteLength(JSON.stringify(messageRecord(fitted))) > MAX_RECORD_BYTES) {
    const length = Math.min(MAX_RECORD_BYTES, Math.floor(fitted.body.length * 0.9));
    const body = fitted.body.slice(0, length).replace(HALF_AT_END, "");
    fitted = { ...message, body, segments: message.segments && segmentsOf(body), metadata: { truncated: "true" } };
  }
  return fitted;
}
