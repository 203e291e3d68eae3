import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../http/problem.ts";
import { NO_ID, toId } from "../model/id.ts";
import { firstUuidAt } from "../lib/uuid.ts";
import type { Channel } from "../links/channel.ts";
import type { Environment } from "../model/owner.ts";
import { applyEdit, statusOnSubmission } from "./edit-template.ts";
import type { EditTemplate } from "./new-template.ts";
import type { Template } from "./template.ts";

const MADE_MS = 1_900_000_000_000;
const NOW_MS = MADE_MS + 1_000;

const template = (fields: Partial<Template> = {}): Template => ({
  accountId: NO_ID,
  environment: "live",
  id: toId("tmpl", firstUuidAt(MADE_MS)),
  name: "order",
  language: "en",
  category: "utility",
  channels: ["sms", "whatsapp"],
  status: "approved",
  statusReason: null,
  version: 3,
  body: "Hello {{name}}, {{order}}",
  header: "For {{name}}",
  headerMedia: null,
  footer: "Bye",
  buttons: [{ type: "quick_reply", text: "Yes", url: null, phone_number: null }],
  examples: { name: "Ada", order: "7" },
  updatedAtMs: MADE_MS,
  createdBy: null,
  ...fields,
});

const SMS: Partial<Template> = { channels: ["sms"], header: null, footer: null, buttons: null };
const REVIEWED = { status: "pending" } as const;
const VERSION = { version: 4 } as const;

/** In live, where a review of whatsapp is pending: what was reviewed shows. */
const ROWS: readonly (readonly [what: string, before: Partial<Template>, request: EditTemplate, after: Partial<Template>])[] = [
  ["the body", {}, { body: "{{name}}{{order}}" }, { body: "{{name}}{{order}}", ...VERSION, ...REVIEWED }],
  ["a variable away, which takes its example along", {}, { body: "x" }, { body: "x", examples: { name: "Ada" }, ...VERSION, ...REVIEWED }],
  ["the header", {}, { header: "{{name}}!" }, { header: "{{name}}!", ...VERSION, ...REVIEWED }],
  ["the header away", {}, { header: "" }, { header: null, ...VERSION, ...REVIEWED }],
  ["the footer", {}, { footer: "Ciao" }, { footer: "Ciao", ...VERSION, ...REVIEWED }],
  ["the footer away", {}, { footer: "" }, { footer: null, ...VERSION, ...REVIEWED }],
  [
    "the buttons",
    {},
    { buttons: [{ type: "url", text: "Open", url: "https://example.com" }] },
    { buttons: [{ type: "url", text: "Open", url: "https://example.com", phone_number: null }], ...VERSION, ...REVIEWED },
  ],
  ["the buttons away", {}, { buttons: [] }, { buttons: null, ...VERSION, ...REVIEWED }],
  ["the examples, whole", {}, { examples: { order: "8" } }, { examples: { order: "8" }, ...VERSION, ...REVIEWED }],
  ["the examples away", {}, { examples: {} }, { examples: {}, ...VERSION, ...REVIEWED }],
  [
    "what is not said for a new version of a draft",
    { status: "draft" },
    { body: "{{name}}{{order}}" },
    { body: "{{name}}{{order}}", ...VERSION },
  ],
  ["a draft, submitted", { status: "draft" }, { status: "pending" }, REVIEWED],
  [
    "a draft, written anew and submitted",
    { status: "draft" },
    { footer: "x", status: "pending" },
    { footer: "x", ...VERSION, ...REVIEWED },
  ],
  [
    "a rejected one, submitted again as it was",
    { status: "rejected", statusReason: "no" },
    { status: "pending" },
    { ...REVIEWED, statusReason: null },
  ],
  [
    "a rejected one, written anew",
    { status: "rejected", statusReason: "no" },
    { footer: "x" },
    { footer: "x", ...VERSION, ...REVIEWED, statusReason: null },
  ],
  [
    "a paused one, written anew",
    { status: "paused", statusReason: "no" },
    { footer: "x", status: "pending" },
    { footer: "x", ...VERSION, ...REVIEWED, statusReason: null },
  ],
  ["the language, which is looked at again", {}, { language: "de" }, { language: "de", ...REVIEWED }],
  ["the category, which is looked at again", {}, { category: "marketing" }, { category: "marketing", ...REVIEWED }],
  [
    "language and category of a template without a review",
    SMS,
    { language: "de", category: "marketing" },
    { language: "de", category: "marketing" },
  ],
  ["sms to both, which is looked at", SMS, { channels: ["sms", "whatsapp"] }, { channels: ["sms", "whatsapp"], ...REVIEWED }],
  ["both to whatsapp, which was looked at", {}, { channels: ["whatsapp"] }, { channels: ["whatsapp"] }],
  [
    "both to sms, which has no review",
    { status: "pending" },
    { channels: ["sms"], header: "", footer: "", buttons: [] },
    { ...SMS, ...VERSION, status: "approved" },
  ],
  ["the body of a template without a review", { ...SMS, examples: {} }, { body: "x" }, { body: "x", ...VERSION, status: "approved" }],
];

for (const [what, fields, request, changes] of ROWS) {
  test(`changes ${what}`, () => {
    const before = template(fields);
    const { template: after, isChanged, isNewVersion } = applyEdit(before, request, NOW_MS);
    assert.deepEqual(after, { ...before, ...changes, updatedAtMs: NOW_MS });
    assert.equal(isChanged, true);
    assert.equal(isNewVersion, after.version > before.version);
  });
}

const { language, category, channels, body, header, footer, buttons } = template();
const SAME: readonly (readonly [what: string, request: EditTemplate])[] = [
  ["nothing", {}],
  [
    "null",
    { language: null, category: null, channels: null, body: null, header: null, footer: null, buttons: null, examples: null, status: null },
  ],
  ["what is there", { language, category, channels: [...channels], body, header, footer, buttons, examples: { order: "7", name: "Ada" } }],
];

for (const [what, request] of SAME) {
  test(`an edit with ${what} changes nothing`, () => {
    const before = template();
    assert.deepEqual(applyEdit(before, request, NOW_MS), { template: before, isChanged: false, isNewVersion: false, isReviewed: false });
  });
}

test("a pending template may be submitted again", () => {
  const before = template({ status: "pending" });
  assert.equal(applyEdit(before, { status: "pending" }, NOW_MS).isChanged, false);
});

for (const status of ["approved", "paused"] as const) {
  test(`a template that is ${status} cannot be submitted unchanged`, () => {
    assert.throws(
      () => applyEdit(template({ status }), { status: "pending" }, NOW_MS),
      (error) =>
        error instanceof Problem &&
        error.code === "invalid_request_payload" &&
        error.detail.startsWith(`status: the template is ${status}`),
    );
  });
}

const SMS_ONLY: readonly Channel[] = ["sms"];
const BOTH: readonly Channel[] = ["sms", "whatsapp"];
const WHATSAPP_ONLY: readonly Channel[] = ["whatsapp"];

const SUBMISSIONS: readonly (readonly [environment: Environment, channels: readonly Channel[], name: string, status: string])[] = [
  ["test", SMS_ONLY, "order", "approved"],
  ["live", SMS_ONLY, "order", "approved"],
  ["test", SMS_ONLY, "simulate_rejected", "approved"],
  ["live", SMS_ONLY, "simulate_rejected", "approved"],
  ["test", BOTH, "order", "approved"],
  ["test", WHATSAPP_ONLY, "order", "approved"],
  ["test", WHATSAPP_ONLY, "simulate_rejected", "rejected"],
  ["test", BOTH, "simulate_rejected_twice", "rejected"],
  ["test", WHATSAPP_ONLY, "simulate_paused", "paused"],
  ["test", BOTH, "simulate_paused_2", "paused"],
  ["test", WHATSAPP_ONLY, "simulate_pending", "pending"],
  ["test", BOTH, "simulate_pending_for_long", "pending"],
  ["test", BOTH, "not_simulate_rejected", "approved"],
  ["test", BOTH, "simulate_", "approved"],
  ["live", BOTH, "order", "pending"],
  ["live", WHATSAPP_ONLY, "simulate_rejected", "pending"],
  ["live", WHATSAPP_ONLY, "simulate_paused", "pending"],
];

for (const [environment, submitted, name, status] of SUBMISSIONS) {
  test(`in ${environment}, ${name} for ${submitted.join(" and ")} is ${status}`, () => {
    const { status: found, statusReason } = statusOnSubmission({ environment, channels: submitted, name });
    assert.equal(found, status);
    assert.equal(statusReason !== null, status === "rejected" || status === "paused");
  });
}
