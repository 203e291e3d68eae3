/** Automatic replies: ordinary messages to a person who wrote an opt-out word, an opt-in word or a request for help, accepted in the transaction
 *  of the inbound message. They leave on its link, from the number that the person wrote to. */
import type { ConsentSettings } from "../consent/consent-settings.ts";
import type { OptKind } from "../consent/opt-out-words.ts";
import { newId } from "../model/id.ts";
import { RECIPIENT_PATTERN } from "../model/phone-number.ts";
import { NO_RECIPIENT } from "../links/address.ts";
import type { Link } from "../links/link.ts";
import type { Tx } from "../database/database.ts";
import { storeAcceptances } from "./accept-statement.ts";
import { toAcceptance, type Acceptance } from "./acceptance.ts";
import { fromRequest } from "./compose.ts";
import type { Message } from "./message.ts";
import { hasHelpReply } from "./queries.ts";

// The rule of the FCC allows one confirmation of an opt-out within five minutes. A late reply would confuse more than help.
const TTL_SECONDS = 300;

// A short code or a name may belong to a machine that answers each reply.
const person = new RegExp(RECIPIENT_PATTERN);

const TEXTS = { out: "opt_out", in: "opt_in", help: "help" } as const satisfies Record<OptKind, keyof ConsentSettings["replies"]>;

export type ReplyContext = { kind: OptKind; settings: ConsentSettings; link: Link; nowMs: number };

/** Accepts the reply to an inbound message. Returns undefined if there is none: the account has set no text, the person cannot be replied to,
 *  got the same help in the last 24 hours, or is suppressed for all senders. The caller has made sure that the consent changed. */
export async function acceptReply(tx: Tx, inbound: Message, context: ReplyContext): Promise<Acceptance | undefined> {
  const { kind, settings, link } = context;
  const text = settings.replies[TEXTS[kind]];
  const { sender: recipient } = inbound;
  if (text === null || recipient === null || !person.test(recipient)) return undefined;
  if (kind === "help" && (await hasHelpReply(tx, inbound, text, context.nowMs))) return undefined;
  const acceptance = toAcceptance({ message: toReply(inbound, text, context), link, steps: [], secret: null });
  const { refused } = await storeAcceptances(tx, [acceptance]);
  return refused.size === 0 ? acceptance : undefined;
}

function toReply(inbound: Message, body: string, { kind, link, nowMs }: ReplyContext): Message {
  // The writer of the inbound message is the recipient of the reply, and the account's number its sender.
  const { channel, sender: recipient } = inbound;
  // If the carrier does not name the number that the person wrote to, it chooses the number of the reply as well.
  const sender = inbound.recipient === NO_RECIPIENT ? null : inbound.recipient;
  const request = {
    recipient: recipient as Message["recipient"],
    channel,
    body,
    priority: "high",
    ttl_seconds: TTL_SECONDS,
  } as const;
  const message = fromRequest({
    request,
    owner: inbound,
    id: newId("msg", nowMs),
    nowMs,
    content: { body, template: null },
    shown: null,
    link,
    linkReason: "reply",
    sender,
    senderReason: sender === null ? null : "reply",
  });
  return { ...message, inReplyTo: inbound.id, isOptOutReply: kind === "out" ? true : null };
}
