/** The HTTP routes of webhook deliveries. */
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { findEvent } from "../events/queries.ts";
import { Problem } from "../http/problem.ts";
import { oneOf, optional, Type } from "../http/schema.ts";
import { decodeId } from "../model/id.ts";
import type { Database } from "../database/database.ts";
import { beginRecovery, RecoverBody, retryDelivery } from "./redeliver.ts";
import { EndpointParams, findOwnEndpoint, type EndpointChanger } from "./change-endpoint.ts";
import { DELIVERY_STATUSES, DeliveryRecord, deliveryRecord } from "./delivery-record.ts";
import { EndpointRecord } from "./endpoint.ts";
import { deliveriesOfEvent, findDelivery, listDeliveries } from "./queries.ts";

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
    ...READ,
    method: "GET",
    path: "/v1/webhook_endpoints/{id}/deliveries",
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
      return { status: 200, body: JSON.stringify(toPage(items.map(deliveryRecord), next)) };
    },
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/webhook_endpoints/{id}/deliveries/{delivery_id}",
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
      return { status: 200, body: JSON.stringify(deliveryRecord(delivery)) };
    },
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/webhook_endpoints/{id}/deliveries/{delivery_id}/retry",
    summary: "Retry a delivery",
    description:
      "Starts another attempt of a delivery now, whatever its status. Use it after you have corrected your endpoint; for many deliveries, use `POST /v1/webhook_endpoints/{id}/recover`. Send an `Idempotency-Key`, so that a repeated request starts no second attempt. See [Webhooks](/docs/webhooks).",
    params: DeliveryParams,
    reply: { status: 202, description: "The delivery, with its next attempt now.", schema: DeliveryRecord },
    problems: ["not_found", "endpoint_disabled"],
    handle: async (call) =>
      toResponse(
        await retryDelivery(changer, call, {
          endpointId: decodeId("whe", call.params.id),
          deliveryId: decodeId("dlv", call.params.delivery_id),
        }),
      ),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/webhook_endpoints/{id}/recover",
    weight: "heavy",
    summary: "Recover missed events",
    description:
      "Delivers again every event since the given time that the endpoint subscribes to and has not acknowledged: failed deliveries, and events from a time when it was disabled or did not exist. `recovery` of the endpoint shows the progress. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Webhooks](/docs/webhooks).",
    params: EndpointParams,
    body: RecoverBody,
    reply: { status: 202, description: "The endpoint, with its recovery under way.", schema: EndpointRecord },
    problems: ["not_found", "endpoint_disabled"],
    handle: async (call) => toResponse(await beginRecovery(changer, call, decodeId("whe", call.params.id), Date.parse(call.body.since))),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/events/{id}/deliveries",
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
      return { status: 200, body: JSON.stringify(toPage(rows.map(deliveryRecord), null)) };
    },
  }),
];
