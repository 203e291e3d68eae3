/** What was handed in from here and archived since is taken away at the carrier, unless someone here still has it. */
import { readTemplate } from "../templates/find-template.ts";
import type { Template } from "../templates/template.ts";
import { dropReview, findNamed, makeOurs } from "./queries.ts";
import type { Review } from "./review.ts";
import { placeIn, type Stop, type Visit } from "./visit.ts";

type Standing = { kept: readonly Template[]; reviews: readonly Review[] };

export async function removeArchived(visit: Visit, { kept, reviews }: Standing): Promise<Stop | undefined> {
  const gone = reviews.filter(({ isOurs, templateId }) => isOurs && !kept.some(({ id }) => id.equals(templateId)));
  for (const review of gone) {
    const template = await readTemplate(visit.db, review, review.templateId);
    // It may have become one for sms alone: that can be taken back.
    if (template !== undefined && template.status !== "archived") continue;
    const stop = await removeOne(visit, review, kept);
    if (stop !== undefined) return stop;
  }
  return undefined;
}

async function removeOne(visit: Visit, review: Review, kept: readonly Template[]): Promise<Stop | undefined> {
  const { db, at, desk, listed, signal, log, tally } = visit;
  const theirs = listed.get(placeIn(review.name, review.code));
  const isNamedAnew = kept.some(({ name, language }) => name === review.name && at.codeOf(language) === review.code);
  const heir = isNamedAnew ? undefined : await heirOf(visit, review);
  if (heir !== undefined) await makeOurs(db, heir);
  else if (!isNamedAnew && theirs !== undefined && theirs.status !== "deleted") {
    if (!visit.isHeld()) return { kind: "lost" };
    const outcome = await at.remove({ id: theirs.id, name: theirs.name }, signal);
    if (outcome.kind !== "removed" && outcome.kind !== "refused") return outcome;
    if (outcome.kind === "removed") tally.removed += 1;
    else
      log.warn(
        { event: "templates.removal_refused", link: desk.links[0].name, template: review.name },
        "the carrier refused to delete an archived template",
      );
  }
  await dropReview(db, review);
  return undefined;
}

/** Another environment's template that is the same one at the carrier. */
async function heirOf({ db, desk }: Visit, review: Review): Promise<Review | undefined> {
  for (const namesake of await findNamed(db, desk.name, review)) {
    if (namesake.templateId.equals(review.templateId)) continue;
    const template = await readTemplate(db, namesake, namesake.templateId);
    if (template !== undefined && template.status !== "archived") return namesake;
  }
  return undefined;
}
