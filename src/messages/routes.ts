/** The HTTP routes of messages. */
import type { Credential } from "../access/authenticate.ts";
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, toResponse, type Call, type Route, type Urgency } from "../api/route.ts";
import { listEntries } from "../events/queries.ts";
import { TimelineEntry, toTimelineEntry } from "../events/timeline.ts";
import { Problem } from "../http/problem.ts";
import { oneOf, optional, timeParameter, Type, type Static } from "../http/schema.ts";
import { decodeId, NO_ID } from "../lib/id.ts";
import { recipientParameter } from "../links/address.ts";
import { CHANNELS } from "../links/channel.ts";
import type { Database } from "../storage/database.ts";
import type { Acceptor } from "./accept.ts";
import type { ChangeCall, MessageChanger } from "./change-message.ts";
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
    status: optional(oneOf(STATUSES)),
    channel: optional(oneOf(CHANNELS)),
    direction: optional(oneOf(DIRECTIONS)),
    recipient: optional(recipientParameter),
    client_reference: optional(Type.String({ minLength: 1, maxLength: 128 })),
    batch_id: optional(Type.String({ minLength: 1, maxLength: 64 })),
    error_code: optional(Type.String({ minLength: 1, maxLength: 64 })),
    created_after: timeParameter("Only messages created later than this."),
    created_before: timeParameter("Only messages created earlier than this."),
  },
  { additionalProperties: false },
);

const IdParams = Type.Object({ id: Type.String({ description: "The message's id." }) });

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

export type MessageRouteParts = { db: Database; acceptor: Acceptor; composer: Composer; changer: MessageChanger };

export const messageRoutes = ({ db, acceptor, composer, changer }: MessageRouteParts): Route[] => [
  route({
    method: "POST",
    path: "/v1/messages",
    weight: "send",
    urgency: urgencyOf,
    summary: "Send a message",
    description:
      "Accepts a message and answers once it is durable. Send an `Idempotency-Key` and the request can be repeated safely: the same key and body get the same answer for 24 hours, and one message is sent.",
    tag: "Messages",
    scope: "messages:send",
    isIdempotent: true,
    keepsTrace: true,
    body: NewMessageBody,
    check: checkNewMessage,
    reply: { status: 202, description: "Accepted. The record as it was stored.", schema: MessageRecord, hasLocation: true },
    problems: SEND_PROBLEMS,
    handle: async (call) => {
      const { kind, status, location, body } = await acceptor.accept(call.body, call);
      return { status, location, body, isReplay: kind === "replay" };
    },
  }),
  route({
    method: "POST",
    path: "/v1/messages/validate",
    summary: "Validate a message",
    description:
      "Sends nothing. Tells what a request to send would become: the text, its parts and encoding, every character that forces UCS-2, the route, and all that is wrong with it, faults of form included.",
    tag: "Messages",
    scope: "messages:send",
    isIdempotent: false,
    body: NewMessageBody,
    check: checkNewMessage,
    reportsFaults: true,
    reply: { status: 200, description: "What it would become.", schema: MessageValidation },
    problems: [],
    handle: async ({ body, faults, credential }) => ({
      status: 200,
      body: JSON.stringify(await validateMessage(db, composer, { request: body, owner: credential, faults })),
    }),
  }),
  route({
    method: "GET",
    path: "/v1/messages/{id}",
    summary: "Read a message",
    description: "The message as it is now.",
    tag: "Messages",
    scope: "messages:read",
    isIdempotent: false,
    params: IdParams,
    reply: { status: 200, description: "The record.", schema: MessageRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => {
      const message = await findOwn(db, credential, params.id);
      return { status: 200, body: JSON.stringify(messageRecord(message)) };
    },
  }),
  route({
    method: "GET",
    path: "/v1/messages",
    weight: "heavy",
    summary: "List messages",
    description:
      "Newest first. Filters combine. A filter that would look at very many messages may return a short page with `has_more: true`: go on with `next_cursor`.",
    tag: "Messages",
    scope: "messages:read",
    isIdempotent: false,
    query: ListQuery,
    reply: { status: 200, description: "A page of records.", schema: pageOf("MessagePage", MessageRecord) },
    problems: [],
    handle: async ({ query, credential }) => ({ status: 200, body: JSON.stringify(await listPage(db, credential, query)) }),
  }),
  route({
    method: "PATCH",
    path: "/v1/messages/{id}",
    summary: "Edit a scheduled message",
    description: "Changes what is named, as long as the message is `scheduled`. `ttl_seconds` counts from `send_at`.",
    tag: "Messages",
    scope: "messages:send",
    isIdempotent: true,
    params: IdParams,
    body: EditMessageBody,
    check: checkEditMessage,
    reply: { status: 200, description: "The record after the change.", schema: MessageRecord },
    problems: [
      "not_found",
      "message_not_editable",
      "max_segments_exceeded",
      "template_not_found",
      "template_variables_mismatch",
      "template_text_too_long",
    ],
    handle: async (call) => toResponse(await changer.edit(toChangeCall(call), call.body)),
  }),
  route({
    method: "POST",
    path: "/v1/messages/{id}/cancel",
    summary: "Cancel a message",
    description: "Works while the message is `scheduled` or `queued`. Once it is `sending` it may have left.",
    tag: "Messages",
    scope: "messages:send",
    isIdempotent: true,
    params: IdParams,
    reply: { status: 200, description: "The record after the change.", schema: MessageRecord },
    problems: ["not_found", "message_not_cancelable"],
    handle: async (call) => toResponse(await changer.cancel(toChangeCall(call))),
  }),
  route({
    method: "POST",
    path: "/v1/messages/{id}/redact",
    summary: "Redact a message",
    description:
      "Takes the text, the template's variables and the metadata out of a message that has come to its end, out of its events, and out of answers stored for idempotency keys. What was sent to webhooks stays where it was sent.",
    tag: "Messages",
    scope: "messages:send",
    isIdempotent: true,
    params: IdParams,
    reply: { status: 200, description: "The record after the change.", schema: MessageRecord },
    problems: ["not_found", "message_not_redactable"],
    handle: async (call) => toResponse(await changer.redact(toChangeCall(call))),
  }),
  route({
    method: "GET",
    path: "/v1/messages/{id}/events",
    summary: "Read a message's timeline",
    description:
      "Newest first: its events with what led to them, the tries at carriers, and what carriers said that moved nothing (`ignored`).",
    tag: "Messages",
    scope: "messages:read",
    isIdempotent: false,
    params: IdParams,
    query: TimelineQuery,
    reply: { status: 200, description: "A page of entries.", schema: pageOf("TimelinePage", TimelineEntry) },
    problems: ["not_found"],
    handle: async ({ params, query, credential }) => {
      const message = await findOwn(db, credential, params.id);
      const limit = query.limit ?? DEFAULT_LIMIT;
      const { before } = idRange(query);
      const entries = await listEntries(db, message, before, limit + 1);
      const page = entries.slice(0, limit);
      const next = entries.length > limit ? (page.at(-1)?.id ?? null) : null;
      return { status: 200, body: JSON.stringify(toPage(page.map(toTimelineEntry), next)) };
    },
  }),
  route({
    method: "GET",
    path: "/v1/messages/{id}/parts",
    summary: "Read a message's parts",
    description:
      "The parts of an SMS on the wire, in their order, on one page: each with its name at the carrier and what became of it. One for a message that went in one piece, or that the carrier splits itself. None before a carrier has taken the message, none on channels without parts, and none for an inbound message.",
    tag: "Messages",
    scope: "messages:read",
    isIdempotent: false,
    params: IdParams,
    reply: { status: 200, description: "The parts.", schema: pageOf("MessagePartPage", PartRecord) },
    problems: ["not_found"],
    handle: async ({ params, credential }) => {
      const parts = await listParts(db, await findOwn(db, credential, params.id));
      return { status: 200, body: JSON.stringify(toPage(parts, null)) };
    },
  }),
];

async function findOwn(db: Database, { accountId, environment }: Credential, text: string): Promise<Message> {
  const id = decodeId("msg", text);
  const message = id && (await findMessage(db, accountId, environment, id));
  if (message === undefined) throw new Problem("not_found", { detail: "no such message in this environment" });
  return message;
}

const toChangeCall = ({ credential, origin, params, claim, writeProblem }: Call<unknown, unknown, { id: string }>): ChangeCall => ({
  credential,
  origin,
  id: decodeId("msg", params.id),
  claim,
  writeProblem,
});

async function listPage(db: Database, credential: Credential, query: Static<typeof ListQuery>): Promise<object> {
  const { items, next } = await listMessages(db, credential, toFilter(query), query.limit ?? DEFAULT_LIMIT);
  return toPage(items.map(messageRecord), next);
}

function toFilter(query: Static<typeof ListQuery>): MessageFilter {
  return {
    ...idRange(query),
    recipient: query.recipient ?? null,
    clientReference: query.client_reference ?? null,
    status: query.status ?? null,
    channel: query.channel ?? null,
    direction: query.direction ?? null,
    // A text that is not a batch id matches no message.
    batchId: typeof query.batch_id === "string" ? (decodeId("batch", query.batch_id) ?? NO_ID) : null,
    errorCode: query.error_code ?? null,
  };
}
