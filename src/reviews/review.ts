/** A review: the decision of one business account about one template. And the status that all reviews of a template add up to. */
import type { AccountId, TemplateId } from "../model/id.ts";
import type { CarrierTemplateStatus } from "../providers/business-account.ts";
import type { ReviewDecision } from "../templates/change-template.ts";
import type { Category, Template } from "../templates/template.ts";

/** `asked`: submitted, and no response is stored. `refused`: the carrier did not accept the submission. */
export type ReviewStatus = "asked" | "refused" | "pending" | "approved" | "rejected" | "paused";

export type Review = {
  accountId: AccountId;
  environment: Template["environment"];
  templateId: TemplateId;
  businessAccount: string;
  version: number;
  language: string;
  category: Category;
  /** When the client submitted the template. */
  askedForMs: number;
  askedAtMs: number;
  name: string;
  /** The carrier's code of the language. */
  code: string;
  carrierId: string | null;
  status: ReviewStatus;
  reason: string | null;
  /** When the status was stored. */
  notedAtMs: number;
  /** This service submitted the template; otherwise the carrier had it before. */
  isOurs: boolean;
  wasApproved: boolean;
};

/** Whether the review is about the current template. For a pending template a review of an earlier submission does not count. */
export const isCurrent = (template: Template, review: Review): boolean =>
  review.version === template.version &&
  review.language === template.language &&
  review.category === template.category &&
  (template.status !== "pending" || review.askedForMs === template.updatedAtMs);

/** A template that the carrier deleted counts as rejected, so that it can be submitted again. */
export const reviewStatus = (status: CarrierTemplateStatus): ReviewStatus => (status === "deleted" ? "rejected" : status);

/** A business account that reviews a template, with the name of a link to it for people. */
export type Reviewer = { businessAccount: string; link: string };

/** Returns the status that the reviews of a template add up to; undefined while that is open. The worst review counts. A template that
 *  can be sent is stopped only by a business account that had approved it: neither a new link, nor an account that never accepted the
 *  template, ends what works elsewhere. */
export function combineReviews(template: Template, reviews: readonly Review[], reviewers: readonly Reviewer[]): ReviewDecision | undefined {
  const isSendable = template.status === "approved" || template.status === "paused";
  const found = reviewers.flatMap(({ businessAccount, link }) => {
    const review = reviews.find((each) => each.businessAccount === businessAccount && isCurrent(template, each));
    if (isSendable && review?.wasApproved !== true) return [];
    return [{ link, status: review?.status ?? "asked", reason: review?.reason ?? null }];
  });
  const words = ({ link, reason }: { link: string; reason: string | null }): string | null =>
    reason !== null && reviewers.length > 1 ? `${link}: ${reason}` : reason;
  const no = found.find(({ status }) => status === "rejected" || status === "refused");
  if (no !== undefined) return { status: "rejected", reason: words(no) };
  const pause = found.find(({ status }) => status === "paused");
  if (pause !== undefined) return { status: "paused", reason: words(pause) };
  return found.length > 0 && found.every(({ status }) => status === "approved") ? { status: "approved", reason: null } : undefined;
}
