/** A review: what one desk, an account at a carrier, makes of one template. And what all of them together come to. */
import type { AccountId, TemplateId } from "../lib/id.ts";
import type { DeskStatus } from "../providers/template-desk.ts";
import type { Verdict } from "../templates/decide.ts";
import type { Category, Template } from "../templates/template.ts";

/** `asked`: on its way, and no answer is on record. `refused`: the carrier did not even take it. */
export type ReviewStatus = "asked" | "refused" | "pending" | "approved" | "rejected" | "paused";

export type Review = {
  accountId: AccountId;
  environment: Template["environment"];
  templateId: TemplateId;
  businessAccount: string;
  version: number;
  language: string;
  category: Category;
  /** When the template was submitted here. */
  askedForMs: number;
  askedAtMs: number;
  name: string;
  /** The carrier's word for the language. */
  code: string;
  carrierId: string | null;
  status: ReviewStatus;
  reason: string | null;
  /** When that was said. */
  notedAtMs: number;
  /** Handed in from here; otherwise it was there before. */
  isOurs: boolean;
  wasApproved: boolean;
};

/** Whether it is about the template as it is. One that waits was submitted at a certain time: what was said of it before is over. */
export const isCurrent = (template: Template, review: Review): boolean =>
  review.version === template.version &&
  review.language === template.language &&
  review.category === template.category &&
  (template.status !== "pending" || review.askedForMs === template.updatedAtMs);

/** What is deleted there can be submitted again here. */
export const reviewStatus = (status: DeskStatus): ReviewStatus => (status === "deleted" ? "rejected" : status);

/** Where a template is sent, and what that desk is called for people: by a link to it. */
export type Reviewer = { businessAccount: string; link: string };

/** What the reviews of a template make of it; undefined while that is open. It is as good as its worst review. Once it can be sent,
 *  only a desk that had approved it can stop it: neither a link that is new, nor one that never took it, ends what works elsewhere. */
export function verdictOf(template: Template, reviews: readonly Review[], reviewers: readonly Reviewer[]): Verdict | undefined {
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
