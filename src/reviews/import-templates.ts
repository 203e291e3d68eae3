/** Imports the templates of a carrier that no account here has, as far as our templates can express them. Templates that were written
 *  here stay unchanged. */
import type { CarrierTemplate, ReviewableTemplate } from "../providers/business-account.ts";
import type { Owner } from "../model/owner.ts";
import { readTemplates } from "../templates/find-template.ts";
import { readImport, type NewTemplate } from "../templates/new-template.ts";
import type { TemplateStatus } from "../templates/template.ts";
import { REVIEWED_CHANNEL } from "./business-accounts.ts";
import { findReviewsByName, storeReview } from "./queries.ts";
import { reviewStatus } from "./review.ts";
import { newReview, type TemplateSync } from "./sync.ts";

/** Returns false when the claim of the business account was lost. */
export async function importTemplates(sync: TemplateSync, owner: Owner): Promise<boolean> {
  const { listed, businessAccount, db, tally } = sync;
  const names = new Set((await readTemplates(db, owner)).map(({ name }) => name));
  const byName = Map.groupBy(listed.values(), ({ name }) => name);
  for (const [name, [theirs, ...others]] of byName) {
    if (theirs === undefined || names.has(name) || theirs.status === "deleted") continue;
    if (!sync.isHeld()) return false;
    // An account here has the template, or had it: an archived template must not come back.
    if ((await findReviewsByName(db, businessAccount.name, theirs)).length > 0) continue;
    const request = others.length > 0 || theirs.template === undefined ? undefined : readImport(toRequest(theirs.template));
    const isImported = request !== undefined && (await importOne(sync, owner, theirs, request));
    if (isImported) tally.imported += 1;
    else tally.skipped += 1;
  }
  return true;
}

/** The template as a request, so that the rules of requests apply to it. */
const toRequest = ({ name, language, category, body, header, footer, buttons, examples }: ReviewableTemplate): unknown => ({
  name,
  language,
  category,
  channels: [REVIEWED_CHANNEL],
  body,
  ...(header === null ? {} : { header }),
  ...(footer === null ? {} : { footer }),
  ...(buttons === null ? {} : { buttons }),
  examples,
});

const STATUSES = {
  pending: "pending",
  approved: "approved",
  rejected: "rejected",
  paused: "paused",
} as const satisfies Record<string, TemplateStatus>;

async function importOne(sync: TemplateSync, owner: Owner, theirs: CarrierTemplate, request: NewTemplate): Promise<boolean> {
  if (theirs.status === "deleted") return false;
  const review = { status: STATUSES[theirs.status], statusReason: theirs.reason };
  const imported = await sync.changer.import(owner, request, review, async (tx, template) => {
    const status = reviewStatus(theirs.status);
    const { id: carrierId, reason } = theirs;
    await storeReview(tx, { ...newReview(sync, template, undefined), carrierId, status, reason, wasApproved: status === "approved" });
  });
  return imported !== undefined;
}
