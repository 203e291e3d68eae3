/** The examples of keys, of the credential, of the audit log and of usage. */
import type { CredentialRecord } from "../../../src/access/credential.ts";
import type { KeyRecord } from "../../../src/access/key-record.ts";
import type { OperationExample } from "../document.ts";
import type { AuditEventRecord } from "../../../src/audit/audit-event.ts";

/** The key that creates the other records. */
export const KEY_ID = "key_01m45h7agjehebgkswz3pfcn77";
const NEW_KEY_ID = "key_01m7jb6srgexzrywnhp4jfaytz";
const ROTATED_KEY_ID = "key_01m7mgaj5cep7855nwsp5v2cv2";
const ACCOUNT_ID = "acct_01m45h7ag0ed98pw5pdnb2sp3e";

const key: KeyRecord = {
  id: NEW_KEY_ID,
  object: "key",
  account_id: ACCOUNT_ID,
  environment: "live",
  name: "shop",
  hint: "gw_live_Ab3x…",
  scopes: ["messages:send", "messages:read"],
  created_at: "2026-11-16T14:12:05.008Z",
  expires_at: null,
  revoked_at: null,
  last_used_at: "2026-11-17T09:30:00.000Z",
  allowed_ips: null,
  created_by: KEY_ID,
};

const rotatedKey: KeyRecord = {
  ...key,
  id: ROTATED_KEY_ID,
  hint: "gw_live_Qm7t…",
  created_at: "2026-11-17T10:20:00.044Z",
  last_used_at: null,
};

const credential: CredentialRecord = {
  object: "credential",
  type: "api_key",
  key_id: NEW_KEY_ID,
  account_id: ACCOUNT_ID,
  environment: "live",
  name: "shop",
  scopes: ["messages:send", "messages:read"],
  tier: { name: "standard", requests_per_second: 200, burst: 400 },
  expires_at: null,
};

const auditEvent: AuditEventRecord = {
  id: "aud_01m7mgaj5depbayc0rw318zh05",
  object: "audit_event",
  environment: "live",
  actor: { type: "key", id: KEY_ID, name: "admin" },
  action: "key.rotated",
  target: { type: "key", id: NEW_KEY_ID },
  changes: { new_key_id: ROTATED_KEY_ID, overlap_seconds: 3_600 },
  peer: "192.0.2.7",
  request_id: "req_01m7mgaj58ef6vgsr9hjg9m3f2",
  created_at: "2026-11-17T10:20:00.045Z",
  hash: "9f2c1d7e5ab04c63f8e1a2907bd4c6351e0f9a8876c2d4b1530e6f7a8b9c0d1e",
};

const TOTALS = {
  messages: 1_000,
  segments: 1_180,
  by_status: { delivered: 985, undelivered: 15 },
  by_error_code: { blocked_by_carrier: 15 },
  delivery_rate: 0.985,
  time_to_delivered_ms: { p50: 2_300, p95: 7_900 },
};
const START = "2026-11-16T00:00:00.000Z";

const usage = {
  object: "usage",
  environment: "live",
  interval: "day",
  from: START,
  to: "2026-11-17T00:00:00.000Z",
  data: [
    {
      start: START,
      channel: "sms",
      status: "delivered",
      error_code: null,
      messages: 985,
      segments: 1_160,
      time_to_delivered_ms: TOTALS.time_to_delivered_ms,
    },
    {
      start: START,
      channel: "sms",
      status: "undelivered",
      error_code: "blocked_by_carrier",
      messages: 15,
      segments: 20,
      time_to_delivered_ms: null,
    },
  ],
  intervals: [{ start: START, ...TOTALS }],
  totals: TOTALS,
};

const queue = {
  object: "queue",
  environment: "live",
  scheduled: 12,
  queued: 3,
  sending: 1,
  oldest_due_at: "2026-11-17T09:30:00.123Z",
  oldest_due_seconds: 1,
};

export const accessExamples: Readonly<Record<string, OperationExample>> = {
  "POST /v1/keys": {
    request: { name: "shop", scopes: ["messages:send", "messages:read"] },
    response: { key: "gw_live_Ab3x…", ...key, last_used_at: null },
  },
  "GET /v1/keys": { query: { limit: 20 }, response: { data: [key], has_more: false, next_cursor: null } },
  "GET /v1/keys/{id}": { path: { id: NEW_KEY_ID }, response: key },
  "POST /v1/keys/{id}/rotate": {
    path: { id: NEW_KEY_ID },
    request: { overlap_seconds: 3_600 },
    response: { key: "gw_live_Qm7t…", ...rotatedKey },
  },
  "DELETE /v1/keys/{id}": { path: { id: NEW_KEY_ID }, response: { ...key, revoked_at: "2026-11-17T11:20:00.310Z" } },
  "GET /v1/credential": { response: credential },
  "GET /v1/audit_events": {
    query: { limit: 20, action: "key.*" },
    response: { data: [auditEvent], has_more: false, next_cursor: null },
  },
  "GET /v1/usage": {
    query: { created_after: "2026-11-16T00:00:00Z", created_before: "2026-11-17T00:00:00Z", interval: "day" },
    response: usage,
  },
  "GET /v1/queue": { response: queue },
};
