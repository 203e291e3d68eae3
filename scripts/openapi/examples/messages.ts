/** The examples of messages and batches. All examples tell one story: the ids contain the times of their records. */
import type { OperationExample } from "../document.ts";
import type { AcceptedBatch, BatchRecord } from "../../../src/batches/batch.ts";
import type { MessageRecord } from "../../../src/messages/message.ts";
import { LINK_ID, SENDER } from "./setup.ts";

export const RECIPIENT = "+14155550123";
export const MESSAGE_ID = "msg_01m7mdf0hvevp9kk1czjdf62qb";
const BATCH_ID = "batch_01m7me1aktemk8n07w1jaenscv";

const newMessage = {
  recipient: RECIPIENT,
  channel: "sms",
  body: "Hello Ada, your order 1815 is on its way.",
  client_reference: "order-1815",
  metadata: { customer: "cus_42" },
};

const queued: MessageRecord = {
  id: MESSAGE_ID,
  object: "message",
  environment: "live",
  direction: "outbound",
  channel: "sms",
  recipient: RECIPIENT,
  sender: SENDER,
  sender_reason: "only_sender",
  link_reason: "only_link",
  body: newMessage.body,
  template_id: null,
  template_version: null,
  template_variables: null,
  status: "queued",
  sequence: 1,
  error: null,
  segments: { count: 1, encoding: "gsm7", characters: 41 },
  priority: "normal",
  client_reference: newMessage.client_reference,
  metadata: newMessage.metadata,
  send_at: null,
  expires_at: "2026-11-19T09:30:00.123Z",
  provider: null,
  fallback_of: null,
  in_reply_to: null,
  batch_id: null,
  created_at: "2026-11-17T09:30:00.123Z",
  updated_at: "2026-11-17T09:30:00.123Z",
  sent_at: null,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  canceled_at: null,
};

export const deliveredMessage: MessageRecord = {
  ...queued,
  status: "delivered",
  sequence: 4,
  provider: { name: "smpp", link: LINK_ID, message_id: "7b2f01c9", attempts: 1 },
  updated_at: "2026-11-17T09:30:02.410Z",
  sent_at: "2026-11-17T09:30:00.164Z",
  delivered_at: "2026-11-17T09:30:02.410Z",
};

const SCHEDULED_ID = "msg_01m7mdh4spekda3tm608tg9czz";
const scheduled: MessageRecord = {
  ...queued,
  id: SCHEDULED_ID,
  status: "scheduled",
  send_at: "2026-11-18T08:00:00.000Z",
  expires_at: "2026-11-20T08:00:00.000Z",
  created_at: "2026-11-17T09:31:10.006Z",
  updated_at: "2026-11-17T09:31:10.006Z",
};

/** The entry of a timeline without a cause. */
const entry = {
  object: "timeline_entry",
  ignored: false,
  attempt: null,
  receipt: null,
  reason: null,
  fallback_message_id: null,
} as const;

const timeline = [
  {
    ...entry,
    id: "evt_01m7mdf2saekya7xknw7jhm73s",
    type: "message.delivered",
    previous_status: "sent",
    status: "delivered",
    sequence: 4,
    receipt: {
      link: LINK_ID,
      status: "delivered",
      part: null,
      provider_message_id: "7b2f01c9",
      error_code: null,
      provider_code: "000",
      raw: { id: "7b2f01c9", stat: "DELIVRD", err: "000" },
    },
    created_at: "2026-11-17T09:30:02.410Z",
  },
  {
    ...entry,
    id: "evt_01m7mdf0k4ew9as41ryxh790r3",
    type: "message.sent",
    previous_status: "sending",
    status: "sent",
    sequence: 3,
    attempt: {
      number: 1,
      link: LINK_ID,
      outcome: "accepted",
      provider_message_id: "7b2f01c9",
      provider_code: null,
      detail: null,
      retry_at: null,
    },
    created_at: "2026-11-17T09:30:00.164Z",
  },
  {
    ...entry,
    id: "evt_01m7mdf0j3ef1vaw5tpkdk0004",
    type: "message.sending",
    previous_status: "queued",
    status: "sending",
    sequence: 2,
    attempt: {
      number: 1,
      link: LINK_ID,
      outcome: "written",
      provider_message_id: null,
      provider_code: null,
      detail: null,
      retry_at: null,
    },
    created_at: "2026-11-17T09:30:00.131Z",
  },
  {
    ...entry,
    id: "evt_01m7mdf0hvevpvw6wtr1jmfqgg",
    type: "message.queued",
    previous_status: null,
    status: "queued",
    sequence: 1,
    created_at: "2026-11-17T09:30:00.123Z",
  },
];

const validation = {
  object: "message_validation",
  valid: true,
  channel: "sms",
  body: "Your order “1815” is on its way.",
  segments: { count: 1, encoding: "ucs2", characters: 32 },
  ucs2_characters: [
    { character: "“", position: 11, alternative: '"' },
    { character: "”", position: 16, alternative: '"' },
  ],
  fallback: [],
  route: { provider: "smpp", link: LINK_ID, link_reason: "only_link", sender: SENDER, sender_reason: "only_sender" },
  errors: [],
};

const part = {
  object: "part",
  number: 1,
  provider_message_id: "7b2f01c9",
  status: "delivered",
  error: null,
  updated_at: "2026-11-17T09:30:02.410Z",
};

const batch: BatchRecord = {
  id: BATCH_ID,
  object: "batch",
  environment: "live",
  status: "completed",
  total: 3,
  accepted: 2,
  refused: 1,
  created_at: "2026-11-17T09:40:00.250Z",
  completed_at: "2026-11-17T09:40:04.902Z",
  statuses: { delivered: 2 },
};

const { statuses: _, ...batchFields } = batch;
const acceptedBatch: AcceptedBatch = {
  ...batchFields,
  status: "processing",
  completed_at: null,
  results: [
    { index: 0, status: "accepted", message_id: "msg_01m7me1akve5w9jzgcysdb3xvr", error: null },
    { index: 1, status: "accepted", message_id: "msg_01m7me1akwedh9rgkyjnmdggks", error: null },
    {
      index: 2,
      status: "refused",
      message_id: null,
      error: {
        code: "recipient_opted_out",
        detail: "items/2/recipient: has opted out of messages from this sender",
        errors: [{ pointer: "/items/2/recipient", code: "recipient_opted_out", detail: "has opted out of messages from this sender" }],
      },
    },
  ],
};

/** One page with these records. */
export const onePage = (...data: readonly object[]): object => ({ data, has_more: false, next_cursor: null });

export const messageExamples: Readonly<Record<string, OperationExample>> = {
  "POST /v1/messages": { request: newMessage, response: queued },
  "POST /v1/messages/validate": {
    request: { recipient: RECIPIENT, channel: "sms", body: validation.body },
    response: validation,
  },
  "GET /v1/messages": { query: { limit: 20, status: "delivered" }, response: onePage(deliveredMessage) },
  "GET /v1/messages/{id}": { path: { id: MESSAGE_ID }, response: deliveredMessage },
  "PATCH /v1/messages/{id}": {
    path: { id: SCHEDULED_ID },
    request: { send_at: "2026-11-18T10:00:00Z" },
    response: {
      ...scheduled,
      sequence: 2,
      send_at: "2026-11-18T10:00:00.000Z",
      expires_at: "2026-11-20T10:00:00.000Z",
      updated_at: "2026-11-17T09:32:44.518Z",
    },
  },
  "POST /v1/messages/{id}/cancel": {
    path: { id: SCHEDULED_ID },
    response: {
      ...scheduled,
      status: "canceled",
      sequence: 2,
      updated_at: "2026-11-17T09:33:20.702Z",
      canceled_at: "2026-11-17T09:33:20.702Z",
    },
  },
  "POST /v1/messages/{id}/redact": {
    path: { id: MESSAGE_ID },
    response: { ...deliveredMessage, body: null, metadata: {}, updated_at: "2026-11-17T09:35:00.090Z" },
  },
  "GET /v1/messages/{id}/events": { path: { id: MESSAGE_ID }, response: onePage(...timeline) },
  "GET /v1/messages/{id}/parts": { path: { id: MESSAGE_ID }, response: onePage(part) },
  "POST /v1/batches": {
    request: {
      defaults: { channel: "sms", body: "Your parcel arrives today." },
      items: [{ recipient: RECIPIENT }, { recipient: "+14155550124" }, { recipient: "+14155550125" }],
    },
    response: acceptedBatch,
  },
  "GET /v1/batches/{id}": { path: { id: BATCH_ID }, response: batch },
};
