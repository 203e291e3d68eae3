/** Stores the review of a business account and the resulting status of the template, in one transaction with the event. The template is
 *  always locked first: of two accounts that decide at the same time, the second sees the decision of the first. */
import type { Clock } from "../database/database-clock.ts";
import type { Tx } from "../database/database.ts";
import type { TemplateChanger } from "../templates/change-template.ts";
import type { Template } from "../templates/template.ts";
import { REVIEWED_CHANNEL, type BusinessAccounts } from "./business-accounts.ts";
import { readReviews, storeReview } from "./queries.ts";
import { isCurrent, combineReviews, type Review } from "./review.ts";

export type ReviewParts = { changer: TemplateChanger; businessAccounts: BusinessAccounts; clock: Clock };
type Key = Pick<Review, "accountId" | "environment" | "templateId" | "businessAccount">;

/** Returns the review to store for the locked template, given the stored one; undefined to store nothing. */
type Write = (template: Template, before: Review | undefined) => Review | undefined;

/** Returns the stored review; undefined when nothing was stored. */
export async function writeReview({ changer, businessAccounts }: ReviewParts, key: Key, write: Write): Promise<Review | undefined> {
  let written: Review | undefined;
  await changer.decide(key, key.templateId, async (tx: Tx, template: Template) => {
    // The template may have become one for only SMS, which needs no review.
    if (!template.channels.includes(REVIEWED_CHANNEL)) return undefined;
    const reviews = await readReviews(tx, key, template.id);
    const others = reviews.filter(({ businessAccount }) => businessAccount !== key.businessAccount);
    written = write(
      template,
      reviews.find(({ businessAccount }) => businessAccount === key.businessAccount),
    );
    if (written === undefined) return undefined;
    await storeReview(tx, written);
    return combineReviews(template, [...others, written], businessAccounts.reviewersFor(key));
  });
  return written;
}

export type ReviewChange = Pick<Review, "status" | "reason"> & { carrierId?: string };

/** Updates a current review. An unchanged status keeps its reason, which carriers may word differently each time. */
export const noteReview = (parts: ReviewParts, key: Key, update: ReviewChange, applies: (review: Review) => boolean = () => true) =>
  writeReview(parts, key, (template, before) => {
    if (before === undefined || !isCurrent(template, before) || !applies(before)) return undefined;
    const { status, reason, carrierId = before.carrierId } = update;
    if (status === before.status) return { ...before, carrierId };
    return { ...before, carrierId, status, reason, notedAtMs: parts.clock.now(), wasApproved: before.wasApproved || status === "approved" };
  });
