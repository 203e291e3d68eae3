/** The door for what carriers say of templates by themselves. It comes to any node, more than once, in any order; what is in doubt is
 *  asked after. */
import type { Log } from "../lib/log.ts";
import type { TemplateVerdict } from "../providers/template-desk.ts";
import type { Queryable } from "../storage/database.ts";
import type { SyncRequests } from "./ask-sync.ts";
import { noteReview, type NoteParts } from "./note-review.ts";
import { findNamed } from "./queries.ts";
import { reviewStatus, type Review } from "./review.ts";

export type VerdictParts = NoteParts & { db: Queryable; requests: SyncRequests; log: Log };

/** Resolves when all of them are committed, or known to be about nothing of ours. */
export async function hearVerdicts(parts: VerdictParts, verdicts: readonly TemplateVerdict[]): Promise<void> {
  const { businessAccounts, log } = parts;
  const known = new Set(businessAccounts.all.map(({ name }) => name));
  for (const verdict of verdicts) {
    if (known.has(verdict.account)) await hearVerdict(parts, verdict);
    else log.info({ account: verdict.account }, "a carrier reported on a template of a business account that no link has");
  }
}

async function hearVerdict(parts: VerdictParts, { account, name, code, status, reason, atMs }: TemplateVerdict): Promise<void> {
  const reviews = await findNamed(parts.db, account, { name, code });
  // What was decided before it was handed in is about what was there before; of what the carrier did not take it says nothing.
  const isMeant = (review: Review): boolean => review.status !== "refused" && (atMs === null || atMs >= review.askedAtMs);
  let isClear = reviews.length > 0 && status !== null;
  if (status !== null)
    for (const review of reviews) {
      const told = { status: reviewStatus(status), reason };
      isClear = (await noteReview(parts, review, told, isMeant)) !== undefined && isClear;
    }
  if (!isClear) parts.requests.doubtAccount(account);
}
