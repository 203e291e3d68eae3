/** The examples of links, senders and routes. */
import type { OperationExample } from "../document.ts";
import type { LinkRecord } from "../../../src/links/link-record.ts";
import type { LinkTestResult } from "../../../src/links/link-test.ts";
import { KEY_ID } from "./access.ts";

export const LINK_ID = "lnk_01m4d1k051e0hrja327ndt5vw5";
export const SENDER = "+14155550100";
const SENDER_ID = "snd_01m4d1p0a0e19tbjtxkxt9mchx";
const ROUTE_ID = "rte_01m4d1tz8qe2h9vyzagerwadjc";

const newLink = {
  name: "Acme",
  provider: "smpp",
  rate: 50,
  settings: { host: "smpp.acme.example", port: 2776, tls: true, system_id: "godwit", password: "s3cret" },
};

const link: LinkRecord = {
  id: LINK_ID,
  object: "link",
  name: "Acme",
  source: "api",
  provider: "smpp",
  carrier: null,
  channels: ["sms"],
  state: "connected",
  reason: null,
  reason_detail: null,
  paused: false,
  sender: null,
  country: null,
  rate: 50,
  window: null,
  in_flight: 0,
  receipt_ids: "learn",
  settings: { host: "smpp.acme.example", port: 2776, tls: true, system_id: "godwit" },
  secrets: ["password"],
  callback_path: null,
  last_error: null,
  last_error_at: null,
  nodes: [],
  created_at: "2026-10-08T06:00:41.377Z",
  updated_at: "2026-10-08T06:00:41.377Z",
  created_by: KEY_ID,
};

const linkTest: LinkTestResult = {
  object: "link_test",
  link_id: LINK_ID,
  ok: true,
  step: null,
  detail: "The carrier accepted the bind.",
  tested_at: "2026-10-08T06:01:12.480Z",
};

const sender = {
  id: SENDER_ID,
  object: "sender",
  source: "api",
  number: SENDER,
  link_id: LINK_ID,
  countries: ["US"],
  pool: null,
  preference: null,
  rate: null,
  created_at: "2026-10-08T06:02:19.840Z",
  updated_at: "2026-10-08T06:02:19.840Z",
  created_by: KEY_ID,
};

const route = {
  id: ROUTE_ID,
  object: "route",
  source: "api",
  channel: "sms",
  links: [LINK_ID],
  countries: ["US"],
  prefixes: null,
  priority: 0,
  weights: null,
  created_at: "2026-10-08T06:05:02.615Z",
  updated_at: "2026-10-08T06:05:02.615Z",
  created_by: KEY_ID,
};

const CHANGED_AT = "2026-11-16T14:20:00.250Z";
const deleted = (id: string, object: string): object => ({ id, object, deleted: true });

export const setupExamples: Readonly<Record<string, OperationExample>> = {
  "GET /v1/links": { response: { data: [link] } },
  "POST /v1/links": { request: newLink, response: { ...link, state: "connecting", reason: "carrier_unreachable" } },
  "GET /v1/links/{id}": { path: { id: LINK_ID }, response: link },
  "PATCH /v1/links/{id}": {
    path: { id: LINK_ID },
    request: { rate: 100 },
    response: { ...link, rate: 100, updated_at: CHANGED_AT },
  },
  "DELETE /v1/links/{id}": { path: { id: LINK_ID }, response: deleted(LINK_ID, "link") },
  "POST /v1/links/{id}/test": { path: { id: LINK_ID }, response: linkTest },
  "GET /v1/senders": { response: { data: [sender] } },
  "POST /v1/senders": { request: { number: SENDER, link_id: LINK_ID, countries: ["US"] }, response: sender },
  "GET /v1/senders/{id}": { path: { id: SENDER_ID }, response: sender },
  "PATCH /v1/senders/{id}": {
    path: { id: SENDER_ID },
    request: { countries: ["US", "CA"] },
    response: { ...sender, countries: ["US", "CA"], updated_at: CHANGED_AT },
  },
  "DELETE /v1/senders/{id}": { path: { id: SENDER_ID }, response: deleted(SENDER_ID, "sender") },
  "GET /v1/routes": { response: { data: [route] } },
  "POST /v1/routes": { request: { channel: "sms", links: [LINK_ID], countries: ["US"] }, response: route },
  "GET /v1/routes/{id}": { path: { id: ROUTE_ID }, response: route },
  "PATCH /v1/routes/{id}": {
    path: { id: ROUTE_ID },
    request: { priority: 10 },
    response: { ...route, priority: 10, updated_at: CHANGED_AT },
  },
  "DELETE /v1/routes/{id}": { path: { id: ROUTE_ID }, response: deleted(ROUTE_ID, "route") },
};
