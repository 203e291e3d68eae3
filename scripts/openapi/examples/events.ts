/** The examples of events, webhook endpoints and deliveries. */
import type { OperationExample } from "../document.ts";
import type { DeliveryRecord } from "../../../src/webhooks/delivery-record.ts";
import type { EndpointRecord } from "../../../src/webhooks/endpoint.ts";
import { KEY_ID } from "./access.ts";
import { deliveredMessage, MESSAGE_ID, onePage } from "./messages.ts";

const EVENT_ID = "evt_01m7mdf2saekya7xknw7jhm73s";
const TEST_EVENT_ID = "evt_01m7mekmmde0n8hxhpc28xf6q3";
const ENDPOINT_ID = "whe_01m48j7vzje36s7f9zgdqtkstw";
const DELIVERY_ID = "dlv_01m7mdf2saekyr4q460jwast7t";

/** The event of a delivered message, which the description of webhooks shows as well. */
export const eventExample = {
  id: EVENT_ID,
  type: "message.delivered",
  timestamp: "2026-11-17T09:30:02.410Z",
  environment: "live",
  data: { message: deliveredMessage, previous_status: "sent", sequence: 4 },
};

const endpoint: EndpointRecord = {
  id: ENDPOINT_ID,
  object: "webhook_endpoint",
  environment: "live",
  url: "https://example.com/hooks/godwit",
  description: "Order service",
  event_types: ["message.*"],
  status: "enabled",
  disabled_reason: null,
  failing_since: null,
  previous_secret_until: null,
  recovery: null,
  created_at: "2026-10-06T12:15:30.290Z",
  updated_at: "2026-10-06T12:15:30.290Z",
  created_by: KEY_ID,
};

const delivery: DeliveryRecord = {
  id: DELIVERY_ID,
  object: "webhook_delivery",
  endpoint_id: ENDPOINT_ID,
  event_id: EVENT_ID,
  event_type: "message.delivered",
  status: "succeeded",
  attempts: [
    {
      attempted_at: "2026-11-17T09:30:02.420Z",
      duration_ms: 212,
      response_status: 503,
      response_body: "Service Unavailable",
      error: null,
    },
    { attempted_at: "2026-11-17T09:30:07.388Z", duration_ms: 41, response_status: 204, response_body: "", error: null },
  ],
  next_attempt_at: null,
  created_at: "2026-11-17T09:30:02.410Z",
  updated_at: "2026-11-17T09:30:07.429Z",
};

const ROTATED_AT = "2026-11-17T09:52:00.610Z";
const RECOVERED_AT = "2026-11-17T09:55:00.480Z";

export const eventExamples: Readonly<Record<string, OperationExample>> = {
  "GET /v1/events": { query: { limit: 20, type: "message.*", message_id: MESSAGE_ID }, response: onePage(eventExample) },
  "GET /v1/events/stream": {
    query: { type: "message.*" },
    response: `id: evt_01m7mdf0k4ew9as41ryxh790r3\n\nid: ${EVENT_ID}\nevent: message.delivered\ndata: ${JSON.stringify(eventExample)}\n\n`,
  },
  "GET /v1/events/{id}": { path: { id: EVENT_ID }, response: eventExample },
  "GET /v1/events/{id}/deliveries": { path: { id: EVENT_ID }, response: onePage(delivery) },
  "POST /v1/webhook_endpoints": {
    request: { url: endpoint.url, event_types: ["message.*"], description: "Order service" },
    response: { ...endpoint, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
  },
  "GET /v1/webhook_endpoints": { query: { limit: 20 }, response: onePage(endpoint) },
  "GET /v1/webhook_endpoints/{id}": { path: { id: ENDPOINT_ID }, response: endpoint },
  "PATCH /v1/webhook_endpoints/{id}": {
    path: { id: ENDPOINT_ID },
    request: { event_types: ["message.delivered", "message.failed"] },
    response: { ...endpoint, event_types: ["message.delivered", "message.failed"], updated_at: ROTATED_AT },
  },
  "DELETE /v1/webhook_endpoints/{id}": {
    path: { id: ENDPOINT_ID },
    response: { id: ENDPOINT_ID, object: "webhook_endpoint", deleted: true },
  },
  "POST /v1/webhook_endpoints/{id}/rotate_secret": {
    path: { id: ENDPOINT_ID },
    response: {
      ...endpoint,
      previous_secret_until: "2026-11-18T09:52:00.610Z",
      updated_at: ROTATED_AT,
      secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    },
  },
  "POST /v1/webhook_endpoints/{id}/test": { path: { id: ENDPOINT_ID }, response: { event_id: TEST_EVENT_ID } },
  "GET /v1/webhook_endpoints/{id}/deliveries": {
    path: { id: ENDPOINT_ID },
    query: { limit: 20, status: "succeeded" },
    response: onePage(delivery),
  },
  "GET /v1/webhook_endpoints/{id}/deliveries/{delivery_id}": {
    path: { id: ENDPOINT_ID, delivery_id: DELIVERY_ID },
    response: delivery,
  },
  "POST /v1/webhook_endpoints/{id}/deliveries/{delivery_id}/retry": {
    path: { id: ENDPOINT_ID, delivery_id: DELIVERY_ID },
    response: { ...delivery, status: "pending", next_attempt_at: RECOVERED_AT, updated_at: RECOVERED_AT },
  },
  "POST /v1/webhook_endpoints/{id}/recover": {
    path: { id: ENDPOINT_ID },
    request: { since: "2026-11-17T00:00:00Z" },
    response: {
      ...endpoint,
      recovery: { reached: "2026-11-17T00:00:00.000Z", until: "2026-11-17T09:55:00.481Z" },
      updated_at: RECOVERED_AT,
    },
  },
};
