import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newId } from "../model/id.ts";
import type { Template, TemplateStatus } from "../templates/template.ts";
import { combineReviews, type Review, type ReviewStatus } from "./review.ts";

const OWNER = { accountId: newId("acct", 1), environment: "live" as const };

const template = (status: TemplateStatus): Template => ({
  ...OWNER,
  id: newId("tmpl", 1),
  name: "order",
  language: "en",
  category: "utility",
  channels: ["whatsapp"],
  status,
  statusReason: null,
  version: 3,
  body: "Hello",
  header: null,
  headerMedia: null,
  footer: null,
  buttons: null,
  examples: {},
  updatedAtMs: 1,
  createdBy: null,
});

const review = (businessAccount: string, status: ReviewStatus, fields: Partial<Review> = {}): Review => ({
  ...OWNER,
  templateId: newId("tmpl", 1),
  businessAccount,
  version: 3,
  language: "en",
  category: "utility",
  askedForMs: 1,
  askedAtMs: 1,
  notedAtMs: 1,
  name: "order",
  code: "en",
  carrierId: "7",
  status,
  reason: status === "rejected" || status === "paused" || status === "refused" ? `why ${businessAccount}` : null,
  isOurs: true,
  wasApproved: status === "approved" || status === "paused",
  ...fields,
});

const ONE = [{ businessAccount: "a", link: "wa" }];
const TWO = [...ONE, { businessAccount: "b", link: "wb" }];

const CASES: readonly (readonly [what: string, status: TemplateStatus, reviews: Review[], decision: string | undefined])[] = [
  ["approved by both", "pending", [review("a", "approved"), review("b", "approved")], "approved null"],
  ["approved by one, and open at the other", "pending", [review("a", "approved"), review("b", "pending")], undefined],
  ["approved by one, and on its way to the other", "pending", [review("a", "approved"), review("b", "asked")], undefined],
  ["approved by one, and unknown to the other", "pending", [review("a", "approved")], undefined],
  ["rejected by one", "pending", [review("a", "approved"), review("b", "rejected")], "rejected wb: why b"],
  ["not even taken by one", "pending", [review("a", "refused"), review("b", "approved")], "rejected wa: why a"],
  ["paused by one, rejected by the other", "pending", [review("a", "paused"), review("b", "rejected")], "rejected wb: why b"],
  ["paused by one", "approved", [review("a", "paused"), review("b", "approved")], "paused wa: why a"],
  ["of another version", "pending", [review("a", "approved", { version: 2 }), review("b", "approved")], undefined],
  ["of another language", "pending", [review("a", "approved", { language: "de" }), review("b", "approved")], undefined],
  ["of another category", "pending", [review("a", "approved", { category: "marketing" }), review("b", "approved")], undefined],
  ["of another time that it waited", "pending", [review("a", "rejected", { askedForMs: 0 }), review("b", "approved")], undefined],
  [
    "of a business account that is asked no more",
    "pending",
    [review("a", "approved"), review("b", "approved"), review("c", "rejected")],
    "approved null",
  ],
  ["sendable, and rejected by one that never had it", "approved", [review("a", "approved"), review("b", "rejected")], "approved null"],
  ["sendable, and not taken by the only one", "approved", [review("a", "refused")], undefined],
  [
    "sendable, and rejected by one that had approved it",
    "approved",
    [review("a", "rejected", { wasApproved: true })],
    "rejected wa: why a",
  ],
  ["paused, and approved again where it was", "paused", [review("a", "approved"), review("b", "rejected")], "approved null"],
];

describe("the status that reviews add up to", () => {
  for (const [what, status, reviews, decision] of CASES)
    test(`${status}, ${what}: ${decision ?? "open"}`, () => {
      const found = combineReviews(template(status), reviews, TWO);
      assert.equal(found && `${found.status} ${found.reason}`, decision);
    });

  test("the reason names the link when there are several business accounts", () =>
    assert.deepEqual(combineReviews(template("pending"), [review("a", "rejected")], ONE), { status: "rejected", reason: "why a" }));

  test("without a business account nothing is decided", () =>
    assert.equal(combineReviews(template("pending"), [review("a", "approved")], []), undefined));
});
