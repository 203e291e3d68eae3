/** Receives the reports of carriers about templates. They arrive at any node, repeatedly and in any order; a report that is not clear
 *  requests a sync. */
import type { Log } from "../model/log.ts";
import type { ReviewUpdate } from "../providers/business-account.ts";
import type { Queryable } from "../database/database.ts";
import type { SyncRequests } from "./sync-requests.ts";
import { noteReview, type ReviewParts } from "./note-review.ts";
import { findReviewsByName } from "./queries.ts";
import { reviewStatus, type Review } from "./review.ts";

export type UpdateParts = ReviewParts & { db: Queryable; requests: SyncRequests; log: Log };

/** Resolves when all reports are committed, or known to concern none of our templates. */
export async function applyUpdates(parts: UpdateParts, updates: readonly ReviewUpdate[]): Promise<void> {
  const { businessAccounts, log } = parts;
  const known = new Set(businessAccounts.all.map(({ name }) => name));
  for (const update of updates) {
    if (known.has(update.account)) await applyUpdate(parts, update);
    else log.info({ account: update.account }, "a carrier reported on a template of a business account that no link has");
  }
}

async function applyUpdate(parts: UpdateParts, { account, name, code, status, reason, atMs }: ReviewUpdate): Promise<void> {
  const reviews = await findReviewsByName(parts.db, account, { name, code });
  // A decision from before the submission concerns the previous template. A refused submission is not in review.
  const applies = (review: Review): boolean => review.status !== "refused" && (atMs === null || atMs >= review.askedAtMs);
  let isClear = reviews.length > 0 && status !== null;
  if (status !== null)
    for (const review of reviews) {
      const update = { status: reviewStatus(status), reason };
      isClear = (await noteReview(parts, review, update, applies)) !== undefined && isClear;
    }
  if (!isClear) parts.requests.doubtAccount(account);
}
