/** The examples of suppressions, of consent settings and of the data of a person. */
import type { OperationExample } from "../document.ts";
import type { SuppressionRecord } from "../../../src/consent/suppression.ts";
import { deliveredMessage, onePage, RECIPIENT } from "./messages.ts";
import { SENDER } from "./setup.ts";

const SUPPRESSION_ID = "sup_01m6eqxwj7exqtwrm6z12seq4v";
const OPTED_OUT = "+14155550125";

const suppression: SuppressionRecord = {
  id: SUPPRESSION_ID,
  object: "suppression",
  environment: "live",
  recipient: OPTED_OUT,
  sender: SENDER,
  status: "active",
  source: "keyword",
  keyword: "STOP",
  message_id: "msg_01m6eqxwh7enz93er2dbt1ng1j",
  note: null,
  created_at: "2026-11-02T18:21:44.903Z",
  updated_at: "2026-11-02T18:21:44.903Z",
  created_by: "system",
};

const requested: SuppressionRecord = {
  ...suppression,
  sender: null,
  source: "api",
  keyword: null,
  message_id: null,
  note: "Asked by phone",
};

const LIFTED_AT = "2026-11-09T08:03:12.450Z";
const lifted: SuppressionRecord = {
  ...suppression,
  status: "lifted",
  source: "api",
  keyword: null,
  message_id: null,
  updated_at: LIFTED_AT,
};

const history = [
  {
    id: "evt_01m6znaay2e4x8wvbg26xxj0r5",
    status: "lifted",
    source: "api",
    keyword: null,
    message_id: null,
    note: null,
    at: LIFTED_AT,
  },
  {
    id: "evt_01m6eqxwj7exrawnysrzgxby8w",
    status: "active",
    source: "keyword",
    keyword: "STOP",
    message_id: suppression.message_id,
    note: null,
    at: suppression.created_at,
  },
];

const settings = {
  object: "consent_settings",
  environment: "live",
  languages: ["es"],
  opt_out_words: ["Remove me"],
  opt_in_words: [],
  help_words: [],
  replies: { opt_out: "You will receive no more messages from Acme. Reply START to subscribe again.", opt_in: null, help: null },
  updated_at: "2026-11-16T14:25:00.815Z",
};

const erasure = {
  object: "erasure",
  environment: "live",
  erased: {
    messages: 3,
    events: 12,
    fallbacks: 0,
    webhook_deliveries: 12,
    verifications: 1,
    suppressions: 0,
    stored_responses: 1,
  },
  canceled: 1,
  unfinished: 0,
  has_more: false,
};

const exported = [deliveredMessage, { object: "export_end", environment: "live", counts: { message: 1 } }];

export const recipientExamples: Readonly<Record<string, OperationExample>> = {
  "POST /v1/suppressions": { request: { recipient: OPTED_OUT, note: "Asked by phone" }, response: { ...requested, in_flight: 0 } },
  "GET /v1/suppressions": { query: { limit: 20, recipient: OPTED_OUT }, response: onePage(suppression) },
  "POST /v1/suppressions/import": {
    request: { entries: [{ recipient: OPTED_OUT }, { recipient: "+14155550126", note: "From the previous provider" }] },
    response: {
      object: "suppression_import",
      added: 1,
      already_active: 1,
      in_flight: 0,
      suppression_ids: [SUPPRESSION_ID, "sup_01m6eqxwj7exqtwrm6z12seq4w"],
    },
  },
  "GET /v1/suppressions/{id}": { path: { id: SUPPRESSION_ID }, response: suppression },
  "GET /v1/suppressions/{id}/history": { path: { id: SUPPRESSION_ID }, response: onePage(...history) },
  "DELETE /v1/suppressions/{id}": { path: { id: SUPPRESSION_ID }, response: lifted },
  "GET /v1/consent_settings": { response: settings },
  "PATCH /v1/consent_settings": {
    request: { languages: ["es"], opt_out_words: ["Remove me"], replies: { opt_out: settings.replies.opt_out } },
    response: settings,
  },
  "POST /v1/recipients/erase": { request: { recipient: RECIPIENT }, response: erasure },
  "POST /v1/recipients/export": {
    request: { recipient: RECIPIENT },
    response: exported.map((line) => `${JSON.stringify(line)}\n`).join(""),
  },
};
