/** Deletes templates at the carrier that this service submitted and that are archived now, unless another account here still has them. */
import { readTemplate } from "../templates/find-template.ts";
import type { Template } from "../templates/template.ts";
import { dropReview, findReviewsByName, makeOurs } from "./queries.ts";
import type { Review } from "./review.ts";
import { listKey, type SyncStop, type TemplateSync } from "./sync.ts";

type OwnedTemplates = { kept: readonly Template[]; reviews: readonly Review[] };

export async function removeArchived(sync: TemplateSync, { kept, reviews }: OwnedTemplates): Promise<SyncStop | undefined> {
  const gone = reviews.filter(({ isOurs, templateId }) => isOurs && !kept.some(({ id }) => id.equals(templateId)));
  for (const review of gone) {
    const template = await readTemplate(sync.db, review, review.templateId);
    // The template may have become one for only SMS, which a client can undo.
    if (template !== undefined && template.status !== "archived") continue;
    const stop = await removeOne(sync, review, kept);
    if (stop !== undefined) return stop;
  }
  return undefined;
}

async function removeOne(sync: TemplateSync, review: Review, kept: readonly Template[]): Promise<SyncStop | undefined> {
  const { db, client, businessAccount, listed, signal, log, tally } = sync;
  const theirs = listed.get(listKey(review.name, review.code));
  const isNameReused = kept.some(({ name, language }) => name === review.name && client.languageCode(language) === review.code);
  const heir = isNameReused ? undefined : await findHeir(sync, review);
  if (heir !== undefined) await makeOurs(db, heir);
  else if (!isNameReused && theirs !== undefined && theirs.status !== "deleted") {
    if (!sync.isHeld()) return { kind: "lost" };
    const outcome = await client.remove({ id: theirs.id, name: theirs.name }, signal);
    if (outcome.kind !== "removed" && outcome.kind !== "refused") return outcome;
    if (outcome.kind === "removed") tally.removed += 1;
    else
      log.warn(
        { event: "templates.removal_refused", link: businessAccount.links[0].name, template: review.name },
        "the carrier refused to delete an archived template",
      );
  }
  await dropReview(db, review);
  return undefined;
}

/** Finds a template of another environment that is the same one at the carrier. */
async function findHeir({ db, businessAccount }: TemplateSync, review: Review): Promise<Review | undefined> {
  for (const namesake of await findReviewsByName(db, businessAccount.name, review)) {
    if (namesake.templateId.equals(review.templateId)) continue;
    const template = await readTemplate(db, namesake, namesake.templateId);
    if (template !== undefined && template.status !== "archived") return namesake;
  }
  return undefined;
}
