/** The HTTP routes of endpoints and of their deliveries. */
import { requireScope, type Credential } from "../access/authenticate.ts";
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, pageFrom, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Type, oneOf, optional } from "../http/schema.ts";
import { decodeId } from "../model/id.ts";
import type { Database } from "../database/database.ts";
import { findEvent } from "../events/queries.ts";
import { Problem } from "../http/problem.ts";
import { EndpointParams, findOwnEndpoint, type EndpointChanger } from "./change-endpoint.ts";
import { listEndpoints } from "./endpoint-queries.ts";
import { EndpointRecord, EndpointWithSecret, endpointRecord } from "./endpoint.ts";
import { checkEndpoint, EditEndpointBody, NewEndpointBody, RecoverBody } from "./new-endpoint.ts";
import { DELIVERY_STATUSES, DeliveryRecord, deliveryRecord } from "./delivery-record.ts";
import { deliveriesOfEvent, findDelivery, listDeliveries } from "./queries.ts";

const PageQuery = Type.Object({ ...pageQuery }, { additionalProperties: false });

const Deleted = Type.Object(
  {
    id: Type.String({ description: "The id of the deleted endpoint." }),
    object: Type.Literal("webhook_endpoint"),
    deleted: Type.Literal(true),
  },
  { title: "DeletedWebhookEndpoint", description: "The confirmation that an endpoint was deleted." },
);
const TestEvent = Type.Object(
  { event_id: Type.String({ description: "The id of the test event." }) },
  { title: "TestEvent", description: "A test event." },
);

const DeliveryParams = Type.Object({
  ...EndpointParams.properties,
  delivery_id: Type.String({ description: "The id of the delivery." }),
});
const EventParams = Type.Object({ id: Type.String({ description: "The id of the event." }) });
const DeliveryQuery = Type.Object(
  { ...pageQuery, status: optional(oneOf(DELIVERY_STATUSES, { description: "Only deliveries with this status." })) },
  { additionalProperties: false },
);

const READ = { tag: "Webhooks", scope: "webhooks:read", isIdempotent: false } as const;
const WRITE = { tag: "Webhooks", scope: "webhooks:write", isIdempotent: true } as const;

export const webhookRoutes = (db: Database, changer: EndpointChanger): Route[] => [
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/webhook_endpoints",
    operationId: "createWebhookEndpoint",
    summary: "Create a webhook endpoint",
    description:
      "Registers a URL that receives events from now on, signed according to Standard Webhooks 1.0. The response contains the secret for verifying signatures, and only this response does: store it. Send an `Idempotency-Key`: a repeated request with the same key returns the same response, with the secret, for 24 hours. To receive events on your own machine, use [`godwit listen`](/docs/webhooks#develop-on-your-machine). See [Webhooks](/docs/webhooks).",
    body: NewEndpointBody,
    check: checkEndpoint,
    reply: { status: 201, description: "The endpoint was created.", schema: EndpointWithSecret, hasLocation: true },
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
    operationId: "listWebhookEndpoints",
    weight: "heavy",
    summary: "List webhook endpoints",
    description:
      "Returns the webhook endpoints of the environment, newest first, without their secrets. `failing_since` shows which of them fail. See [Webhooks](/docs/webhooks).",
    query: PageQuery,
    reply: { status: 200, description: "A page of endpoints.", schema: pageOf("WebhookEndpointPage", EndpointRecord) },
    problems: [],
    handle: async ({ query, credential }) =>
      jsonResponse(await pageFrom(query, (before, limit) => listEndpoints(db, credential, before, limit), endpointRecord)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/webhook_endpoints/{id}",
    operationId: "getWebhookEndpoint",
    summary: "Retrieve a webhook endpoint",
    description: "Returns a webhook endpoint with its current status, without its secret. See [Webhooks](/docs/webhooks).",
    params: EndpointParams,
    reply: { status: 200, description: "The endpoint.", schema: EndpointRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => jsonResponse(endpointRecord(await findOwnEndpoint(db, credential, params.id))),
  }),
  route({
    ...WRITE,
    method: "PATCH",
    path: "/v1/webhook_endpoints/{id}",
    operationId: "updateWebhookEndpoint",
    summary: "Update a webhook endpoint",
    description:
      "Changes the given fields; fields that are absent or null stay unchanged. A disabled endpoint receives nothing, and its waiting deliveries are dropped. After you enable it again, `POST /v1/webhook_endpoints/{id}/recover` delivers the events that it missed. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Webhooks](/docs/webhooks).",
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
    operationId: "deleteWebhookEndpoint",
    summary: "Delete a webhook endpoint",
    description:
      "Deletes a webhook endpoint together with the records of its deliveries. It receives no further events. To stop deliveries for a while, update it with `status: disabled` instead. See [Webhooks](/docs/webhooks).",
    params: EndpointParams,
    reply: { status: 200, description: "The endpoint was deleted.", schema: Deleted },
    problems: ["not_found"],
    handle: async (call) => {
      await changer.delete(call, decodeId("whe", call.params.id));
      return jsonResponse({ id: call.params.id, object: "webhook_endpoint", deleted: true });
    },
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/webhook_endpoints/{id}/rotate_secret",
    operationId: "rotateWebhookEndpointSecret",
    summary: "Rotate the secret of a webhook endpoint",
    description:
      "Creates a new secret. Only this response contains it. For 24 hours, deliveries are signed with both secrets, so that you can change your endpoint without losing an event. Send an `Idempotency-Key`, so that a repeated request returns the same secret. See [Rotate a secret](/docs/webhooks#rotate-a-secret).",
    params: EndpointParams,
    reply: { status: 200, description: "The endpoint with its new secret.", schema: EndpointWithSecret },
    problems: ["not_found"],
    handle: async (call) => toResponse(await changer.rotateSecret(call, decodeId("whe", call.params.id))),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/webhook_endpoints/{id}/test",
    operationId: "testWebhookEndpoint",
    summary: "Send a test event",
    description:
      "Sends an event of the type `webhook.test` to this endpoint, whatever types it subscribes to. Use it to check the URL and the verification of signatures. The deliveries of the endpoint show the outcome. Send an `Idempotency-Key`, so that a repeated request sends no second event. See [Webhooks](/docs/webhooks).",
    params: EndpointParams,
    reply: { status: 202, description: "The test event is being delivered.", schema: TestEvent },
    problems: ["not_found", "endpoint_disabled"],
    handle: async (call) => toResponse(await changer.test(call, decodeId("whe", call.params.id))),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/webhook_endpoints/{id}/deliveries",
    operationId: "listWebhookDeliveries",
    weight: "heavy",
    summary: "List the deliveries of a webhook endpoint",
    description:
      "Returns the deliveries of an endpoint with all their attempts, newest event first. A delivery appears after its first attempt. A filter that would have to read very many deliveries may return a short page with `has_more: true`: continue with `next_cursor`. See [Webhooks](/docs/webhooks).",
    params: EndpointParams,
    query: DeliveryQuery,
    reply: { status: 200, description: "A page of deliveries.", schema: pageOf("WebhookDeliveryPage", DeliveryRecord) },
    problems: ["not_found"],
    handle: async ({ params, query, credential }) => {
      const endpoint = await findOwnEndpoint(db, credential, params.id);
      const filter = { before: idRange(query).before, status: query.status ?? null };
      const { items, next } = await listDeliveries(db, endpoint, filter, query.limit ?? DEFAULT_LIMIT);
      return jsonResponse(toPage(items.map(deliveryRecord), next));
    },
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/webhook_endpoints/{id}/deliveries/{delivery_id}",
    operationId: "getWebhookDelivery",
    summary: "Retrieve a delivery",
    description:
      "Returns the delivery of one event to this endpoint, with all its attempts and responses. Use it to find out why an event did not arrive. See [Webhooks](/docs/webhooks).",
    params: DeliveryParams,
    reply: { status: 200, description: "The delivery.", schema: DeliveryRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => {
      const endpoint = await findOwnEndpoint(db, credential, params.id);
      const id = decodeId("dlv", params.delivery_id);
      const [delivery] = id === undefined ? [] : await findDelivery(db, endpoint, id);
      if (delivery === undefined) throw new Problem("not_found", { detail: "no such delivery of this endpoint" });
      return jsonResponse(deliveryRecord(delivery));
    },
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/webhook_endpoints/{id}/deliveries/{delivery_id}/retry",
    operationId: "retryWebhookDelivery",
    summary: "Retry a delivery",
    description:
      "Starts another attempt of a delivery now, whatever its status. Use it after you have corrected your endpoint; for many deliveries, use `POST /v1/webhook_endpoints/{id}/recover`. Send an `Idempotency-Key`, so that a repeated request starts no second attempt. See [Webhooks](/docs/webhooks).",
    params: DeliveryParams,
    reply: { status: 202, description: "The delivery, with its next attempt now.", schema: DeliveryRecord },
    problems: ["not_found", "endpoint_disabled"],
    handle: async (call) =>
      toResponse(await changer.retry(call, decodeId("whe", call.params.id), decodeId("dlv", call.params.delivery_id))),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/webhook_endpoints/{id}/recover",
    operationId: "recoverWebhookEndpoint",
    weight: "heavy",
    summary: "Recover missed events",
    description:
      "Delivers again every event since the given time that the endpoint subscribes to and has not acknowledged: failed deliveries, and events from a time when it was disabled or did not exist. `recovery` of the endpoint shows the progress. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Webhooks](/docs/webhooks).",
    params: EndpointParams,
    body: RecoverBody,
    reply: { status: 202, description: "The endpoint, with its recovery under way.", schema: EndpointRecord },
    problems: ["not_found", "endpoint_disabled"],
    handle: async (call) => toResponse(await changer.recover(call, decodeId("whe", call.params.id), Date.parse(call.body.since))),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/events/{id}/deliveries",
    operationId: "listEventDeliveries",
    summary: "List the deliveries of an event",
    description:
      "Returns the webhook deliveries of one event, one for each endpoint with at least one attempt, all on one page. Use it to find out whether your endpoints received an event. See [Webhooks](/docs/webhooks).",
    tag: "Events",
    params: EventParams,
    reply: { status: 200, description: "The deliveries.", schema: pageOf("WebhookDeliveryPage", DeliveryRecord) },
    problems: ["not_found"],
    handle: async ({ params, credential }) => {
      const id = decodeId("evt", params.id);
      const [event] = id === undefined ? [] : await findEvent(db, credential.accountId, credential.environment, id);
      if (event === undefined) throw new Problem("not_found", { detail: "no such event in this environment" });
      const rows = await deliveriesOfEvent(db, credential, event.id);
      return jsonResponse(toPage(rows.map(deliveryRecord), null));
    },
  }),
];

/** An endpoint that receives the audit log shows it to its owner, which needs the scope of the log. */
function requireAuditScope(credential: Credential, eventTypes: readonly string[] | null | undefined): void {
  if (eventTypes?.some((type) => type.startsWith("audit.")) === true) requireScope(credential, "audit:read");
}
