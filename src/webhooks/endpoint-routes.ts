/** The HTTP routes of endpoints. */
import { requireScope, type Credential } from "../access/authenticate.ts";
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { Type } from "../http/schema.ts";
import { decodeId } from "../lib/id.ts";
import type { Database } from "../storage/database.ts";
import { EndpointParams, findOwnEndpoint, noSuchEndpoint, type EndpointChanger } from "./change-endpoint.ts";
import { listEndpoints } from "./endpoint-queries.ts";
import { EndpointRecord, EndpointWithSecret, endpointRecord } from "./endpoint.ts";
import { checkEndpoint, EditEndpointBody, NewEndpointBody } from "./new-endpoint.ts";

const PageQuery = Type.Object({ ...pageQuery }, { additionalProperties: false });

const Deleted = Type.Object(
  { id: Type.String(), object: Type.Literal("webhook_endpoint"), deleted: Type.Literal(true) },
  { title: "DeletedWebhookEndpoint" },
);
const TestEvent = Type.Object({ event_id: Type.String({ description: "The event that is on its way." }) }, { title: "TestEvent" });

const READ = { tag: "Webhooks", scope: "webhooks:read", isIdempotent: false } as const;
const WRITE = { tag: "Webhooks", scope: "webhooks:write", isIdempotent: true } as const;

export const endpointRoutes = (db: Database, changer: EndpointChanger): Route[] => [
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/webhook_endpoints",
    summary: "Create an endpoint",
    description:
      "A URL that is told of events from now on, signed as Standard Webhooks 1.0 says. The answer shows its secret, this once; a repetition with the same idempotency key shows it again within 24 hours.",
    body: NewEndpointBody,
    check: checkEndpoint,
    reply: { status: 201, description: "Created.", schema: EndpointWithSecret, hasLocation: true },
    problems: ["endpoint_url_refused", "too_many_endpoints"],
    handle: async (call) => {
      requireAuditScope(call.credential, call.body.event_types);
      return toResponse(await changer.create(call, call.body));
    },
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/webhook_endpoints",
    weight: "heavy",
    summary: "List endpoints",
    description: "Newest first.",
    query: PageQuery,
    reply: { status: 200, description: "A page of endpoints.", schema: pageOf("WebhookEndpointPage", EndpointRecord) },
    problems: [],
    handle: async ({ query, credential }) => {
      const limit = query.limit ?? DEFAULT_LIMIT;
      const found = await listEndpoints(db, credential, idRange(query).before, limit + 1);
      const page = found.slice(0, limit);
      return {
        status: 200,
        body: JSON.stringify(toPage(page.map(endpointRecord), found.length > limit ? (page.at(-1)?.id ?? null) : null)),
      };
    },
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/webhook_endpoints/{id}",
    summary: "Read an endpoint",
    description: "The endpoint as it is now, without its secret.",
    params: EndpointParams,
    reply: { status: 200, description: "The endpoint.", schema: EndpointRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => ({
      status: 200,
      body: JSON.stringify(endpointRecord(await findOwnEndpoint(db, credential, params.id))),
    }),
  }),
  route({
    ...WRITE,
    method: "PATCH",
    path: "/v1/webhook_endpoints/{id}",
    summary: "Change an endpoint",
    description:
      "Changes what is named. A disabled endpoint is told nothing, and what waited for it is given up; once enabled again, `recover` brings what it missed.",
    params: EndpointParams,
    body: EditEndpointBody,
    check: checkEndpoint,
    reply: { status: 200, description: "The endpoint after the change.", schema: EndpointRecord },
    problems: ["not_found", "endpoint_url_refused"],
    handle: async (call) => {
      requireAuditScope(call.credential, call.body.event_types);
      return toResponse(await changer.edit(call, decodeId("whe", call.params.id), call.body));
    },
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "DELETE",
    path: "/v1/webhook_endpoints/{id}",
    summary: "Delete an endpoint",
    description: "It is told nothing more. What is known of its deliveries goes with it.",
    params: EndpointParams,
    reply: { status: 200, description: "Deleted.", schema: Deleted },
    problems: ["not_found"],
    handle: async (call) => {
      const id = decodeId("whe", call.params.id);
      if (id === undefined || !(await changer.delete(call, id))) throw noSuchEndpoint();
      return { status: 200, body: JSON.stringify({ id: call.params.id, object: "webhook_endpoint", deleted: true }) };
    },
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/webhook_endpoints/{id}/rotate_secret",
    summary: "Rotate an endpoint's secret",
    description:
      "The answer shows the new secret, this once. For 24 hours deliveries are signed by both, so that the receiver can change over.",
    params: EndpointParams,
    reply: { status: 200, description: "The endpoint with its new secret.", schema: EndpointWithSecret },
    problems: ["not_found"],
    handle: async (call) => toResponse(await changer.rotateSecret(call, decodeId("whe", call.params.id))),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/webhook_endpoints/{id}/test",
    summary: "Send a test event",
    description: "A `webhook.test` event for this endpoint alone, whatever types it asks for. What became of it is in its deliveries.",
    params: EndpointParams,
    reply: { status: 202, description: "On its way.", schema: TestEvent },
    problems: ["not_found", "endpoint_disabled"],
    handle: async (call) => toResponse(await changer.test(call, decodeId("whe", call.params.id))),
  }),
];

/** An endpoint that receives the audit log shows it to its owner, which needs the scope of the log. */
function requireAuditScope(credential: Credential, eventTypes: readonly string[] | null | undefined): void {
  if (eventTypes?.some((type) => type.startsWith("audit.")) === true) requireScope(credential, "audit:read");
}
