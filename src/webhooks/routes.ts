/** The HTTP routes of webhook deliveries. */
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { findEvent } from "../events/queries.ts";
import { Problem } from "../http/problem.ts";
import { oneOf, optional, Type } from "../http/schema.ts";
import { decodeId } from "../lib/id.ts";
import type { Database } from "../storage/database.ts";
import { beginRecovery, RecoverBody, retryDelivery } from "./redeliver.ts";
import { EndpointParams, findOwnEndpoint, type EndpointChanger } from "./change-endpoint.ts";
import { DELIVERY_STATUSES, DeliveryRecord, deliveryRecord } from "./delivery-record.ts";
import { EndpointRecord } from "./endpoint.ts";
import { deliveriesOfEvent, findDelivery, listDeliveries } from "./queries.ts";

const DeliveryParams = Type.Object({
  ...EndpointParams.properties,
  delivery_id: Type.String({ description: "The delivery's id." }),
});
const EventParams = Type.Object({ id: Type.String({ description: "The event's id." }) });
const DeliveryQuery = Type.Object({ ...pageQuery, status: optional(oneOf(DELIVERY_STATUSES)) }, { additionalProperties: false });

const READ = { tag: "Webhooks", scope: "webhooks:read", isIdempotent: false } as const;
const WRITE = { tag: "Webhooks", scope: "webhooks:write", isIdempotent: true } as const;

export const webhookRoutes = (db: Database, changer: EndpointChanger): Route[] => [
  route({
    ...READ,
    method: "GET",
    path: "/v1/webhook_endpoints/{id}/deliveries",
    weight: "heavy",
    summary: "List an endpoint's deliveries",
    description:
      "Newest event first, from the first try on. A filter that would look at very many may return a short page with `has_more: true`: go on with `next_cursor`.",
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
    summary: "Read a delivery",
    description: "One event for this endpoint, with its tries.",
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
    description: "Tries it once more now, whatever became of it before.",
    params: DeliveryParams,
    reply: { status: 202, description: "On its way.", schema: DeliveryRecord },
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
    summary: "Recover what an endpoint missed",
    description:
      "Delivers every event since then that the endpoint wants and has not acknowledged: those that were given up, and those of a time when it was disabled or not there. `recovery` of the endpoint shows how far it is.",
    params: EndpointParams,
    body: RecoverBody,
    reply: { status: 202, description: "Under way.", schema: EndpointRecord },
    problems: ["not_found", "endpoint_disabled"],
    handle: async (call) => toResponse(await beginRecovery(changer, call, decodeId("whe", call.params.id), Date.parse(call.body.since))),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/events/{id}/deliveries",
    summary: "Read what became of an event",
    description: "Its deliveries, one for each endpoint that was tried, on one page.",
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
