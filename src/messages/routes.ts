/** The HTTP routes of messages. */
import type { Credential } from "../access/authenticate.ts";
import { DEFAULT_LIMIT, idParameter, idRange, pageOf, pageQuery, pageFrom, toPage } from "../api/paging.ts";
import { route, toResponse, type Route, type Urgency } from "../api/route.ts";
import { listEntries } from "../events/queries.ts";
import { TimelineEntry, toTimelineEntry } from "../events/timeline.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Problem } from "../http/problem.ts";
import { oneOf, optional, timeParameter, Type, type Static } from "../http/schema.ts";
import { decodeId, NO_ID } from "../model/id.ts";
import { recipientParameter, senderParameter } from "../links/address.ts";
import { CHANNELS } from "../links/channel.ts";
import type { Database } from "../database/database.ts";
import type { Acceptor } from "./accept.ts";
import type { MessageChanger } from "./change-message.ts";
import type { Composer } from "./compose.ts";
import { checkEditMessage, EditMessageBody } from "./edit-message.ts";
import { DIRECTIONS, MessageRecord, messageRecord, type Message } from "./message.ts";
import { checkNewMessage, NewMessageBody } from "./new-message.ts";
import { listParts, PartRecord } from "./parts.ts";
import { findMessage, listMessages, type MessageFilter } from "./queries.ts";
import { STATUSES } from "./states.ts";
import { MessageValidation, validateMessage } from "./validate-message.ts";

const ListQuery = Type.Object(
  {
    ...pageQuery,
    status: optional(oneOf(STATUSES, { description: "Only messages with this status." })),
    channel: optional(oneOf(CHANNELS, { description: "Only messages of this channel." })),
    direction: optional(oneOf(DIRECTIONS, { description: "Only messages that were sent (`outbound`) or received (`inbound`)." })),
    recipient: optional(recipientParameter),
    sender: optional(senderParameter),
    client_reference: optional(Type.String({ minLength: 1, maxLength: 128, description: "Only messages with this reference of yours." })),
    batch_id: idParameter("batch", "Only messages of this batch."),
    error_code: optional(
      Type.String({ minLength: 1, maxLength: 64, description: "Only messages with this error code, such as `invalid_destination`." }),
    ),
    created_after: timeParameter("Only messages created after this time."),
    created_before: timeParameter("Only messages created before this time."),
  },
  { additionalProperties: false },
);

const IdParams = Type.Object({ id: Type.String({ description: "The id of the message." }) });

const TimelineQuery = Type.Object({ ...pageQuery }, { additionalProperties: false });

const SEND_PROBLEMS = [
  "no_route",
  "destination_not_permitted",
  "sender_not_allowed",
  "max_segments_exceeded",
  "template_not_found",
  "template_not_approved",
  "template_channel_mismatch",
  "template_variables_mismatch",
  "template_text_too_long",
  "recipient_opted_out",
  "service_window_closed",
] as const;

const URGENCIES: Readonly<Record<string, Urgency>> = { high: "urgent", bulk: "bulk" };
const urgencyOf = (body: unknown): Urgency => URGENCIES[(body as { priority?: string }).priority ?? ""] ?? "usual";

const READ = { tag: "Messages", scope: "messages:read", isIdempotent: false } as const;
const SEND = { tag: "Messages", scope: "messages:send", isIdempotent: true, body: NewMessageBody, check: checkNewMessage } as const;
const CHANGE = { tag: "Messages", scope: "messages:send", isIdempotent: true, params: IdParams } as const;

export type MessageRouteParts = { db: Database; acceptor: Acceptor; composer: Composer; changer: MessageChanger };

export const messageRoutes = ({ db, acceptor, composer, changer }: MessageRouteParts): Route[] => [
  route({
    ...SEND,
    method: "POST",
    path: "/v1/messages",
    operationId: "sendMessage",
    weight: "send",
    urgency: urgencyOf,
    summary: "Send a message",
    description:
      "Accepts a message for delivery and responds with 202 as soon as it is stored durably. The message is then sent in the background: follow its `status` with [webhooks](/docs/webhooks), the event stream or `GET /v1/messages/{id}`. Send an `Idempotency-Key`: a repeated request with the same key and body returns the first response for 24 hours, and the message is sent once. See [Send a message](/docs/sending).",
    keepsTrace: true,
    reply: { status: 202, description: "The message was accepted. The body is its record.", schema: MessageRecord, hasLocation: true },
    problems: SEND_PROBLEMS,
    handle: async (call) => toResponse(await acceptor.accept(call.body, call)),
  }),
  route({
    ...SEND,
    method: "POST",
    path: "/v1/messages/validate",
    operationId: "validateMessage",
    summary: "Validate a message",
    description:
      "Checks a message without sending it. The response contains the final text, its segments and encoding, every character that forces UCS-2, the link and sender that would be used, and all faults. Use it while a person writes a text, or to find out why a message is refused. A message with faults is still a 200 response, with `valid: false`. See [Validate a message](/docs/sending#validate-a-message-without-sending).",
    isIdempotent: false,
    isReadOnly: true,
    reportsFaults: true,
    reply: { status: 200, description: "The result of the validation.", schema: MessageValidation },
    problems: [],
    handle: async ({ body, faults, credential }) =>
      jsonResponse(await validateMessage(db, composer, { request: body, owner: credential, faults })),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/messages/{id}",
    operationId: "getMessage",
    summary: "Retrieve a message",
    description:
      "Returns a message with its current status. To be informed about changes without polling, use [webhooks](/docs/webhooks) or the event stream. See [Message statuses](/docs/states).",
    params: IdParams,
    reply: { status: 200, description: "The message.", schema: MessageRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => jsonResponse(messageRecord(await findOwn(db, credential, params.id))),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/messages",
    operationId: "listMessages",
    weight: "heavy",
    mayLag: true,
    summary: "List messages",
    description:
      "Returns outbound and inbound messages, newest first. Filters can be combined. A filter that would have to read very many messages may return a short page with `has_more: true`: continue with `next_cursor`. See [List and search messages](/docs/sending#list-and-search-messages).",
    query: ListQuery,
    reply: { status: 200, description: "A page of messages.", schema: pageOf("MessagePage", MessageRecord) },
    problems: [],
    handle: async ({ query, credential }) => {
      const { items, next } = await listMessages(db, credential, toFilter(query), query.limit ?? DEFAULT_LIMIT);
      return jsonResponse(toPage(items.map(messageRecord), next));
    },
  }),
  route({
    ...CHANGE,
    method: "PATCH",
    path: "/v1/messages/{id}",
    operationId: "editMessage",
    summary: "Edit a scheduled message",
    description:
      "Changes the given fields of a message that is `scheduled`; fields that are absent or null stay unchanged. `ttl_seconds` counts from `send_at`. A message that is already queued or sent is refused with `message_not_editable`. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Edit a scheduled message](/docs/sending#edit-a-scheduled-message).",
    body: EditMessageBody,
    check: checkEditMessage,
    reply: { status: 200, description: "The message after the change.", schema: MessageRecord },
    problems: [
      "not_found",
      "message_not_editable",
      "max_segments_exceeded",
      "template_not_found",
      "template_variables_mismatch",
      "template_text_too_long",
    ],
    handle: async (call) => toResponse(await changer.edit(call, decodeId("msg", call.params.id), call.body)),
  }),
  route({
    ...CHANGE,
    method: "POST",
    path: "/v1/messages/{id}/cancel",
    operationId: "cancelMessage",
    summary: "Cancel a message",
    description:
      "Cancels a message that is `scheduled` or `queued`. A message that is `sending` may already have left, and is refused with `message_not_cancelable`. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Cancel a message](/docs/sending#cancel-a-message).",
    reply: { status: 200, description: "The canceled message.", schema: MessageRecord },
    problems: ["not_found", "message_not_cancelable"],
    handle: async (call) => toResponse(await changer.cancel(call, decodeId("msg", call.params.id))),
  }),
  route({
    ...CHANGE,
    method: "POST",
    path: "/v1/messages/{id}/redact",
    operationId: "redactMessage",
    summary: "Redact a message",
    description:
      "Removes the text, the template variables and the metadata of a message with a final status, also from its events and from the responses that are stored for idempotency keys. Data that was already sent to webhook endpoints is not affected. Send an `Idempotency-Key`, so that you can repeat the request safely. To remove all data of a person, use `POST /v1/recipients/erase`. See [Redact a message](/docs/sending#redact-a-message).",
    reply: { status: 200, description: "The redacted message.", schema: MessageRecord },
    problems: ["not_found", "message_not_redactable"],
    handle: async (call) => toResponse(await changer.redact(call, decodeId("msg", call.params.id))),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/messages/{id}/events",
    operationId: "listMessageEvents",
    summary: "List the timeline of a message",
    description:
      "Returns the history of one message, newest first: its events with their causes, the attempts to submit it, and the signals of carriers that changed nothing (`ignored`). Use it to find out why a message has its status. See [Message statuses](/docs/states).",
    params: IdParams,
    query: TimelineQuery,
    reply: { status: 200, description: "A page of entries.", schema: pageOf("TimelinePage", TimelineEntry) },
    problems: ["not_found"],
    handle: async ({ params, query, credential }) => {
      const message = await findOwn(db, credential, params.id);
      const page = await pageFrom(query, (before, limit) => listEntries(db, message, before, limit), toTimelineEntry);
      return jsonResponse(page);
    },
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/messages/{id}/parts",
    operationId: "listMessageParts",
    summary: "List the parts of a message",
    description:
      "Returns the transmitted parts of an SMS in order, each with its carrier id and its status. There is one part for a message that was transmitted whole, or that the carrier splits itself. The list is empty before a carrier has accepted the message, for inbound messages, and on channels without parts. See [Parts](/docs/states#parts).",
    params: IdParams,
    reply: { status: 200, description: "The parts, all on one page.", schema: pageOf("MessagePartPage", PartRecord) },
    problems: ["not_found"],
    handle: async ({ params, credential }) => jsonResponse(toPage(await listParts(db, await findOwn(db, credential, params.id)), null)),
  }),
];

async function findOwn(db: Database, { accountId, environment }: Credential, text: string): Promise<Message> {
  const id = decodeId("msg", text);
  const message = id && (await findMessage(db, accountId, environment, id));
  if (message === undefined) throw new Problem("not_found", { detail: "no such message in this environment" });
  return message;
}

function toFilter(query: Static<typeof ListQuery>): MessageFilter {
  return {
    ...idRange(query),
    recipient: query.recipient ?? null,
    sender: query.sender ?? null,
    clientReference: query.client_reference ?? null,
    status: query.status ?? null,
    channel: query.channel ?? null,
    direction: query.direction ?? null,
    batchId: typeof query.batch_id === "string" ? (decodeId("batch", query.batch_id) ?? NO_ID) : null,
    errorCode: query.error_code ?? null,
  };
}
