/** The HTTP routes of the request log. */
import { DEFAULT_LIMIT, idParameter, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, type Route } from "../api/route.ts";
import type { Database } from "../database/database.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Problem } from "../http/problem.ts";
import { oneOf, optional, timeParameter, Type } from "../http/schema.ts";
import { decodeId, NO_ID, type Id, type IdPrefix } from "../model/id.ts";
import { RequestRecord, requestRecord } from "./logged-request.ts";
import { findRequest, listRequests } from "./queries.ts";

const text = (description: string) => optional(Type.String({ minLength: 1, maxLength: 64, description }));

const ListQuery = Type.Object(
  {
    ...pageQuery,
    status: optional(
      Type.String({
        pattern: "^[1-5](xx|\\d\\d)$",
        "x-hint": "a status such as 404, or a kind such as 4xx",
        description: "Only responses with this status, such as `404`, or of a kind, such as `4xx`.",
      }),
    ),
    method: optional(oneOf(["GET", "POST", "PUT", "PATCH", "DELETE"], { description: "Only requests with this method." })),
    operation: text("Only requests for this operation, such as `sendMessage`."),
    code: text("Only requests that were refused with this error code."),
    key_id: idParameter("key", "Only requests with this key, or with an access token of it."),
    message_id: idParameter("msg", "Only requests that created or named this message."),
    created_after: timeParameter("Only requests after this time."),
    created_before: timeParameter("Only requests before this time."),
  },
  { additionalProperties: false },
);

const IdParams = Type.Object({ id: Type.String({ description: "The id of the request." }) });

const READ = { method: "GET", tag: "Request log", scope: "audit:read", isIdempotent: false, isUnlogged: true } as const;

export const requestLogRoutes = (db: Database): Route[] => [
  route({
    ...READ,
    path: "/v1/requests",
    operationId: "listRequests",
    weight: "heavy",
    mayLag: true,
    summary: "List requests",
    description:
      "Returns the API requests of the last seven days in this environment, newest first. Filters can be combined. A request appears about a second after its response, and a busy environment has a sample of its requests in the log. Recipients, texts and other values are masked. See [Request log](/docs/http#request-log).",
    query: ListQuery,
    reply: { status: 200, description: "A page of requests.", schema: pageOf("RequestPage", RequestRecord) },
    problems: [],
    handle: async ({ query, credential }) => {
      const { status, method = null, operation = null, code = null, limit } = query;
      const filter = {
        ...idRange(query),
        method,
        operation,
        code,
        statuses: typeof status === "string" ? statusRange(status) : null,
        keyId: idOf("key", query.key_id),
        messageId: idOf("msg", query.message_id),
      };
      const { items, next } = await listRequests(db, credential, filter, limit ?? DEFAULT_LIMIT);
      return jsonResponse(toPage(items.map(requestRecord), next));
    },
  }),
  route({
    ...READ,
    path: "/v1/requests/{id}",
    operationId: "getRequest",
    summary: "Retrieve a request",
    description:
      "Returns a request of the last seven days by its id, which every response has in the header `X-Request-Id`. See [Request log](/docs/http#request-log).",
    params: IdParams,
    reply: { status: 200, description: "The request.", schema: RequestRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => {
      const id = decodeId("req", params.id);
      const found = id && (await findRequest(db, credential, id));
      if (found === undefined) throw new Problem("not_found", { detail: "no such request in the log of this environment" });
      return jsonResponse(requestRecord(found));
    },
  }),
];

/** A parameter that is no id finds nothing. */
const idOf = <P extends IdPrefix>(prefix: P, value: string | null | undefined): Id<P> | null =>
  typeof value === "string" ? (decodeId(prefix, value) ?? NO_ID) : null;

function statusRange(status: string): readonly [number, number] {
  const first = Number(status.replace("xx", "00"));
  return [first, status.endsWith("xx") ? first + 99 : first];
}
