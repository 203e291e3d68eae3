import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newId } from "../model/id.ts";
import type { CarrierTemplate, CarrierTemplateStatus } from "../providers/business-account.ts";
import { isSame } from "../providers/whatsapp/components.ts";
import type { Template } from "../templates/template.ts";
import { nextStep, type StepInput } from "./next-step.ts";
import type { Review } from "./review.ts";

const NOW = 1_750_000_000_000;
const HOUR = 3_600_000;
const OWNER = { accountId: newId("acct", NOW), environment: "live" as const };

const ours = (fields: Partial<Template> = {}): Template => ({
  ...OWNER,
  id: newId("tmpl", NOW),
  name: "order",
  language: "en",
  category: "utility",
  channels: ["whatsapp"],
  status: "pending",
  statusReason: null,
  version: 2,
  body: "Hello",
  header: null,
  headerMedia: null,
  footer: null,
  buttons: null,
  examples: {},
  updatedAtMs: NOW - HOUR,
  createdBy: null,
  ...fields,
});

const theirs = (status: CarrierTemplateStatus, fields: { body?: string; id?: string } = {}): CarrierTemplate => ({
  id: fields.id ?? "7",
  name: "order",
  code: "en",
  status,
  reason: null,
  template: { ...ours(), body: fields.body ?? "Hello" },
});
const OTHER = { body: "Something else" };

const review = (template: Template, fields: Partial<Review> = {}): Review => ({
  ...OWNER,
  templateId: template.id,
  businessAccount: "account",
  version: template.version,
  language: template.language,
  category: template.category,
  askedForMs: template.updatedAtMs,
  askedAtMs: NOW - HOUR,
  notedAtMs: NOW - HOUR,
  name: "order",
  code: "en",
  carrierId: "7",
  status: "pending",
  reason: null,
  isOurs: true,
  wasApproved: false,
  ...fields,
});

const said = (known: Omit<Partial<StepInput>, "template"> & { template: Template }): string => {
  const step = nextStep({ review: undefined, theirs: undefined, isSame, isComplete: true, nowMs: NOW, ...known });
  return step.kind === "submit" ? `submit${step.before === undefined ? "" : " in place"}` : step.kind;
};

describe("a template without a submission", () => {
  const CASES: readonly (readonly [status: Template["status"], has: CarrierTemplate | undefined, step: string])[] = [
    ["pending", undefined, "submit"],
    ["approved", undefined, "submit"],
    ["rejected", undefined, "none"],
    ["paused", undefined, "none"],
    ["pending", theirs("deleted"), "submit"],
    ["pending", theirs("approved"), "take over"],
    ["pending", theirs("pending"), "take over"],
    ["pending", theirs("paused"), "take over"],
    ["pending", theirs("rejected"), "submit in place"],
    ["approved", theirs("rejected"), "take over"],
    ["pending", theirs("approved", OTHER), "submit in place"],
    ["pending", theirs("rejected", OTHER), "submit in place"],
    ["pending", theirs("pending", OTHER), "none"],
    ["approved", theirs("approved", OTHER), "none"],
    ["pending", { ...theirs("approved"), template: undefined }, "submit in place"],
    ["approved", { ...theirs("approved"), template: undefined }, "none"],
  ];
  for (const [status, has, step] of CASES)
    test(`${status} here, ${has === undefined ? "not there" : `${has.status} there${has.template?.body === "Hello" ? "" : " with other words"}`}: ${step}`, () => {
      const template = ours({ status });
      assert.equal(said({ template, theirs: has }), step);
      // A review of another version, or of another time, is none.
      assert.equal(said({ template, theirs: has, review: review(template, { version: 1, carrierId: null }) }), step);
      if (status === "pending") assert.equal(said({ template, theirs: has, review: review(template, { askedForMs: 1 }) }), step);
    });
});

describe("a submission without a stored response", () => {
  const template = ours();
  const asked = review(template, { status: "asked", carrierId: null });
  test("is taken over when the carrier has the template", () =>
    assert.equal(said({ template, review: asked, theirs: theirs("pending") }), "take over"));
  test("is repeated when the carrier does not have the template", () => assert.equal(said({ template, review: asked }), "submit"));
});

describe("a submitted template", () => {
  const template = ours();
  test("gets the status of the carrier", () =>
    assert.equal(said({ template, review: review(template), theirs: theirs("approved") }), "note"));
  test("that was refused is not the template of that name at the carrier", () =>
    assert.equal(said({ template, review: review(template, { status: "refused" }), theirs: theirs("approved") }), "none"));
  test("may be listed with its previous text for a while", () => {
    const fresh = review(template, { askedAtMs: NOW - 5_000 });
    assert.equal(said({ template, review: fresh, theirs: theirs("approved", OTHER) }), "none");
    assert.equal(said({ template, review: fresh, theirs: theirs("approved") }), "note");
    assert.equal(said({ template, review: review(template), theirs: theirs("approved", OTHER) }), "note");
  });
  test("that is missing from a complete list counts as deleted after an hour", () => {
    const old = review(template, { askedAtMs: NOW - 2 * HOUR });
    assert.equal(said({ template, review: old }), "gone");
    assert.equal(said({ template, review: old, isComplete: false }), "none");
    assert.equal(said({ template, review: review(template, { askedAtMs: NOW - 60_000 }) }), "none");
  });
  test("with another id at the carrier is another template", () => {
    assert.equal(said({ template, review: review(template), theirs: theirs("approved", { id: "8" }) }), "take over");
    assert.equal(said({ template, review: review(template), theirs: theirs("approved", { ...OTHER, id: "8" }) }), "submit in place");
  });
});
