/** The examples of templates and verifications. */
import type { OperationExample } from "../document.ts";
import type { TemplateRecord } from "../../../src/templates/template.ts";
import type { VerificationRecord } from "../../../src/verifications/verification.ts";
import { KEY_ID } from "./access.ts";
import { onePage, RECIPIENT } from "./messages.ts";

const TEMPLATE_ID = "tmpl_01m4an5jynej6am5atsxn3g7qb";
const VERIFICATION_ID = "ver_01m7meag0wecpsqbz3d8h932ys";
const CHANGED_AT = "2026-11-16T14:30:00.027Z";

const template: TemplateRecord = {
  id: TEMPLATE_ID,
  object: "template",
  environment: "live",
  name: "order_shipped",
  language: "en-US",
  category: "utility",
  channels: ["sms"],
  body: "Hello {{name}}, your order {{order}} is on its way.",
  header: null,
  footer: null,
  buttons: null,
  variables: [
    { name: "name", example: "Ada" },
    { name: "order", example: "1815" },
  ],
  status: "approved",
  status_reason: null,
  version: 1,
  created_at: "2026-10-07T07:45:10.101Z",
  updated_at: "2026-10-07T07:45:10.101Z",
  created_by: KEY_ID,
};

const verification: VerificationRecord = {
  id: VERIFICATION_ID,
  object: "verification",
  environment: "live",
  recipient: RECIPIENT,
  channels: ["sms"],
  code_length: 6,
  status: "pending",
  attempts: 0,
  attempts_left: 5,
  message_id: "msg_01m7meag0xejfaw421q3jmjg4g",
  created_at: "2026-11-17T09:45:00.700Z",
  expires_at: "2026-11-17T09:55:00.700Z",
  verified_at: null,
  updated_at: "2026-11-17T09:45:00.700Z",
};

const VERIFIED_AT = "2026-11-17T09:45:31.266Z";

export const templateExamples: Readonly<Record<string, OperationExample>> = {
  "POST /v1/templates": {
    request: {
      name: template.name,
      language: template.language,
      category: template.category,
      channels: template.channels,
      body: template.body,
      examples: { name: "Ada", order: "1815" },
    },
    response: template,
  },
  "GET /v1/templates": { query: { limit: 20, status: "approved" }, response: onePage(template) },
  "GET /v1/templates/{id}": { path: { id: "order_shipped" }, response: template },
  "PATCH /v1/templates/{id}": {
    path: { id: TEMPLATE_ID },
    request: { body: "Hi {{name}}, your order {{order}} is on its way." },
    response: { ...template, body: "Hi {{name}}, your order {{order}} is on its way.", version: 2, updated_at: CHANGED_AT },
  },
  "DELETE /v1/templates/{id}": {
    path: { id: TEMPLATE_ID },
    response: { ...template, status: "archived", updated_at: CHANGED_AT },
  },
  "POST /v1/templates/{id}/preview": {
    path: { id: TEMPLATE_ID },
    request: { template_variables: { name: "Ada", order: "1815" } },
    response: {
      object: "template_preview",
      template_id: TEMPLATE_ID,
      version: 1,
      channel: "sms",
      body: "Hello Ada, your order 1815 is on its way.",
      header: null,
      footer: null,
      segments: { count: 1, encoding: "gsm7", characters: 41 },
    },
  },
  "POST /v1/verifications": { request: { recipient: RECIPIENT, channel: "sms" }, response: verification },
  "POST /v1/verifications/{id}/check": {
    path: { id: VERIFICATION_ID },
    request: { code: "123456" },
    response: {
      ...verification,
      status: "approved",
      attempts_left: 0,
      verified_at: VERIFIED_AT,
      updated_at: VERIFIED_AT,
      valid: true,
    },
  },
  "POST /v1/verifications/{id}/cancel": {
    path: { id: VERIFICATION_ID },
    response: { ...verification, status: "canceled", attempts_left: 0, updated_at: "2026-11-17T09:46:10.939Z" },
  },
  "GET /v1/verifications/{id}": { path: { id: VERIFICATION_ID }, response: verification },
};
