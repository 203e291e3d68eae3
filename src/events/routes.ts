/** The HTTP routes of events. */
import type { Credential } from "../access/authenticate.ts";
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, type Route } from "../api/route.ts";
import { Problem } from "../http/problem.ts";
import { HINT, optional, timeParameter, Type } from "../http/schema.ts";
import { decodeId, NO_ID, type EventId } from "../lib/id.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Database } from "../storage/database.ts";
import { Event, eventText } from "./event.ts";
import { findEvent, listEvents } from "./queries.ts";
import type { EventStreams } from "./stream.ts";

const typeParameter = optional(
  Type.String({
    pattern: "^(\\*|[a-z_]{1,32}\\.(\\*|[a-z_]{1,32}))$",
    [HINT]: "must be a type such as message.sent, or message.* for all of a kind",
    description: "Only events of this type; `message.*` for all of a kind.",
  }),
);

const ListQuery = Type.Object(
  {
    ...pageQuery,
    type: typeParameter,
    message_id: optional(Type.String({ minLength: 1, maxLength: 64, description: "Only events of this message." })),
    created_after: timeParameter("Only events later than this."),
    created_before: timeParameter("Only events earlier than this."),
  },
  { additionalProperties: false },
);

const StreamQuery = Type.Object({ type: typeParameter }, { additionalProperties: false });
const IdParams = Type.Object({ id: Type.String({ description: "The event's id." }) });

export const eventRoutes = (db: Database, streams: EventStreams): Route[] => [
  route({
    method: "GET",
    path: "/v1/events",
    weight: "heavy",
    summary: "List events",
    description:
      "Newest first. Filters combine. A filter that would look at very many events may return a short page with `has_more: true`: go on with `next_cursor`.",
    tag: "Events",
    scope: "events:read",
    isIdempotent: false,
    query: ListQuery,
    reply: { status: 200, description: "A page of events.", schema: pageOf("EventPage", Event) },
    problems: [],
    handle: async ({ query, credential }) => {
      const messageId = typeof query.message_id === "string" ? (decodeId("msg", query.message_id) ?? NO_ID) : null;
      const filter = { ...idRange(query), type: query.type ?? "*", messageId };
      const { items, next } = await listEvents(db, credential, filter, query.limit ?? DEFAULT_LIMIT);
      return { status: 200, body: pageText(items.map(eventText), next) };
    },
  }),
  route({
    method: "GET",
    path: "/v1/events/stream",
    summary: "Follow events as they happen",
    description:
      "Server-Sent Events (`text/event-stream`): `id` is the event's id, `event` its type, `data` the event. Events come in the order of their commits. Send the last id you saw as `Last-Event-ID` to get exactly what you missed, however late it was committed. The first frame has an id too and no event. Lines that begin with a colon keep the connection alive.",
    tag: "Events",
    scope: "events:read",
    isIdempotent: false,
    query: StreamQuery,
    reply: { status: 200, description: "Events, without an end.", schema: Type.String(), contentType: "text/event-stream" },
    problems: [],
    handle: async ({ query, credential, header, isAdmitted, gone }) => ({
      status: 200,
      contentType: "text/event-stream; charset=utf-8",
      frames: streams.open({
        owner: credential,
        after: lastEventId(header("last-event-id")),
        type: query.type ?? "*",
        isAdmitted,
        signal: gone(),
      }),
    }),
  }),
  route({
    method: "GET",
    path: "/v1/events/{id}",
    summary: "Read an event",
    description: "The event as it was told. What was redacted since then is gone from it.",
    tag: "Events",
    scope: "events:read",
    isIdempotent: false,
    params: IdParams,
    reply: { status: 200, description: "The event.", schema: Event },
    problems: ["not_found"],
    handle: async ({ params, credential }) => ({ status: 200, body: await readEvent(db, credential, params.id) }),
  }),
];

async function readEvent(db: Database, { accountId, environment }: Credential, text: string): Promise<string> {
  const id = decodeId("evt", text);
  const [event] = id === undefined ? [] : await findEvent(db, accountId, environment, id);
  if (event === undefined) throw new Problem("not_found", { detail: "no such event in this environment" });
  return eventText(event);
}

/** Joins events, which are JSON already, into a page. */
const pageText = (events: readonly string[], next: Uuid | null): string => {
  const { has_more: hasMore, next_cursor: cursor } = toPage([], next);
  return `{"data":[${events.join(",")}],"has_more":${hasMore},"next_cursor":${JSON.stringify(cursor)}}`;
};

function lastEventId(text: string | undefined): EventId | undefined {
  if (text === undefined || text === "") return undefined;
  const id = decodeId("evt", text);
  if (id !== undefined) return id;
  throw new Problem("invalid_request_payload", {
    errors: [{ header: "Last-Event-ID", code: "invalid_format", detail: "must be an event's id such as evt_01k9zs3v8mf4tb2xg1qj6n0d5c" }],
  });
}
