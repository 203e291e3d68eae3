/** A message that was just accepted as JSON text, for another process of this machine. Fields that a new message does not have yet are left out. */
import { uuidFromText, uuidToText, type Uuid } from "../lib/uuid.ts";
import { toId } from "../model/id.ts";
import { newMessage, type Message } from "./message.ts";

/** The values in the order of `valuesOf`. Ids are UUIDs as text. */
export type MessageValues = ReturnType<typeof valuesOf>;

export const valuesOf = (message: Message) =>
  [
    uuidToText(message.accountId),
    message.environment,
    uuidToText(message.id),
    message.updatedAtMs,
    message.channel,
    message.recipient,
    message.sender,
    message.senderReason,
    message.linkReason,
    message.body,
    message.segments,
    message.priority,
    message.clientReference,
    message.metadata,
    message.expiresAtMs,
    message.hasFallback,
    message.trace,
    message.template,
    message.maxSegments,
    message.carrierOptions,
    message.sendAtMs,
    textOrNull(message.fallbackOf),
    textOrNull(message.inReplyTo),
    message.isOptOutReply,
    textOrNull(message.batchId),
    message.content,
    message.source,
  ] as const;

/** Makes the message of values that JSON has carried. */
export function messageOfValues(values: MessageValues): Message {
  const [accountId, environment, id, updatedAtMs, channel, recipient, sender, senderReason, linkReason, body, segments, ...more] = values;
  const [priority, clientReference, metadata, expiresAtMs, hasFallback, trace, template, maxSegments, carrierOptions, ...rare] = more;
  const [sendAtMs, fallbackOf, inReplyTo, isOptOutReply, batchId, content, source] = rare;
  return newMessage({ accountId: toId("acct", uuidFromText(accountId)), environment }, toId("msg", uuidFromText(id)), {
    direction: "outbound",
    status: "queued",
    updatedAtMs,
    channel,
    recipient,
    sender,
    senderReason,
    linkReason,
    body,
    segments,
    priority,
    clientReference,
    metadata,
    expiresAtMs,
    hasFallback,
    trace,
    template,
    maxSegments,
    carrierOptions,
    sendAtMs,
    fallbackOf: fallbackOf === null ? null : toId("msg", uuidFromText(fallbackOf)),
    inReplyTo: inReplyTo === null ? null : toId("msg", uuidFromText(inReplyTo)),
    isOptOutReply,
    batchId: batchId === null ? null : toId("batch", uuidFromText(batchId)),
    content,
    source,
  });
}

const textOrNull = (id: Uuid | null): string | null => (id === null ? null : uuidToText(id));
