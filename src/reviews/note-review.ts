/** Puts on record what a desk says of a template, and what that makes of the template, in one transaction with its event. The
 *  template is locked first, always: of two desks that speak at once the second sees what the first one said. */
import type { Clock } from "../storage/database-clock.ts";
import type { Tx } from "../storage/database.ts";
import type { TemplateChanger } from "../templates/change-template.ts";
import type { Template } from "../templates/template.ts";
import { REVIEWED, type BusinessAccounts } from "./business-accounts.ts";
import { readReviews, storeReview } from "./queries.ts";
import { isCurrent, verdictOf, type Review } from "./review.ts";

export type NoteParts = { changer: TemplateChanger; businessAccounts: BusinessAccounts; clock: Clock };
type Key = Pick<Review, "accountId" | "environment" | "templateId" | "businessAccount">;

/** What to write of the template as it is, given what is known; undefined: nothing. */
type Write = (template: Template, before: Review | undefined) => Review | undefined;

/** Returns what is on record now; undefined when nothing was written. */
export async function writeReview({ changer, businessAccounts }: NoteParts, key: Key, write: Write): Promise<Review | undefined> {
  let written: Review | undefined;
  await changer.decide(key, key.templateId, async (tx: Tx, template: Template) => {
    // It may have become one for sms alone, of which nobody is asked.
    if (!template.channels.includes(REVIEWED)) return undefined;
    const reviews = await readReviews(tx, key, template.id);
    const others = reviews.filter(({ businessAccount }) => businessAccount !== key.businessAccount);
    written = write(
      template,
      reviews.find(({ businessAccount }) => businessAccount === key.businessAccount),
    );
    if (written === undefined) return undefined;
    await storeReview(tx, written);
    return verdictOf(template, [...others, written], businessAccounts.reviewersFor(key));
  });
  return written;
}

export type Told = Pick<Review, "status" | "reason"> & { carrierId?: string };

/** The same as is known is no news: a reason is not put in other words each time. */
export const noteReview = (parts: NoteParts, key: Key, told: Told, isMeant: (review: Review) => boolean = () => true) =>
  writeReview(parts, key, (template, before) => {
    if (before === undefined || !isCurrent(template, before) || !isMeant(before)) return undefined;
    const { status, reason, carrierId = before.carrierId } = told;
    if (status === before.status) return { ...before, carrierId };
    return { ...before, carrierId, status, reason, notedAtMs: parts.clock.now(), wasApproved: before.wasApproved || status === "approved" };
  });
