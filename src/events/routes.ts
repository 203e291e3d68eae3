/** The HTTP routes of events. */
import type { Credential } from "../access/authenticate.ts";
import { DEFAULT_LIMIT, idParameter, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, type Route } from "../api/route.ts";
import { Problem } from "../http/problem.ts";
import { oneOf, optional, timeParameter, Type } from "../http/schema.ts";
import { decodeId, NO_ID, type EventId } from "../model/id.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Database } from "../database/database.ts";
import { Event, storedEventText, TYPE_PATTERNS } from "./event.ts";
import { findEvent, listEvents } from "./queries.ts";
import type { EventStreams } from "./stream.ts";

const typeParameter = optional(
  oneOf(TYPE_PATTERNS, { description: "Only events of this type, such as `message.delivered`, or all of a kind with `message.*`." }),
);

const ListQuery = Type.Object(
  {
    ...pageQuery,
    type: typeParameter,
    message_id: idParameter("msg", "Only events of this message."),
    created_after: timeParameter("Only events after this time."),
    created_before: timeParameter("Only events before this time."),
  },
  { additionalProperties: false },
);

const StreamQuery = Type.Object({ type: typeParameter }, { additionalProperties: false });
const StreamHeaders = Type.Object({
  "Last-Event-ID": Type.String({
    pattern: "^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$",
    description: "The id of the last event that you received. The stream continues after it.",
  }),
});
const IdParams = Type.Object({ id: Type.String({ description: "The id of the event." }) });

const READ = { method: "GET", tag: "Events", scope: "events:read", isIdempotent: false } as const;

export const eventRoutes = (db: Database, streams: EventStreams): Route[] => [
  route({
    ...READ,
    path: "/v1/events",
    operationId: "listEvents",
    weight: "heavy",
    mayLag: true,
    summary: "List events",
    description:
      "Returns the events of the environment, newest first. Filters can be combined. Use the list to look up past events, and [webhooks](/docs/webhooks) or the event stream to receive new ones. A filter that would have to read very many events may return a short page with `has_more: true`: continue with `next_cursor`.",
    query: ListQuery,
    reply: { status: 200, description: "A page of events.", schema: pageOf("EventPage", Event) },
    problems: [],
    handle: async ({ query, credential }) => {
      const messageId = typeof query.message_id === "string" ? (decodeId("msg", query.message_id) ?? NO_ID) : null;
      const filter = { ...idRange(query), type: query.type ?? "*", messageId };
      const { items, next } = await listEvents(db, credential, filter, query.limit ?? DEFAULT_LIMIT);
      return { status: 200, body: pageText(items.map(storedEventText), next) };
    },
  }),
  route({
    ...READ,
    path: "/v1/events/stream",
    operationId: "streamEvents",
    summary: "Stream events",
    description:
      "Returns events as they happen, as Server-Sent Events: `id` is the id of the event, `event` its type, and `data` the event. Use it if you cannot expose a URL for webhooks. To continue after a lost connection, send the last id that you received as `Last-Event-ID`: the stream then continues without a gap, in the order of the commits. The first frame has an id but no event; lines that begin with a colon keep the connection open. See [Webhooks](/docs/webhooks).",
    query: StreamQuery,
    headers: StreamHeaders,
    reply: { status: 200, description: "A stream of events, which does not end.", schema: Type.String(), contentType: "text/event-stream" },
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
    ...READ,
    path: "/v1/events/{id}",
    operationId: "getEvent",
    summary: "Retrieve an event",
    description:
      "Returns an event as it was delivered. Data that was redacted or erased since then is missing. See [Events](/docs/webhooks#events).",
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
  return storedEventText(event);
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
