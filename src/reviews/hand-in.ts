/** Hands a template in at a desk. That it is on its way is on record first: an answer that is lost is found in the carrier's list, and
 *  what the carrier tells before its answer came finds its template. */
import { unreachable } from "../lib/assert.ts";
import type { CarrierTemplate, DeskStatus } from "../providers/template-desk.ts";
import { readTemplate } from "../templates/find-template.ts";
import type { Template } from "../templates/template.ts";
import { writeReview } from "./note-review.ts";
import { findNamed } from "./queries.ts";
import { reviewStatus, type Review } from "./review.ts";
import { asked, isUntouched, keyOf, placeIn, type Stop, type Visit } from "./visit.ts";

const TAKEN = "Another account of this service has a template of this name and language at the carrier, which says something else.";

export async function handIn(visit: Visit, planned: Template, before: CarrierTemplate | undefined): Promise<Stop | undefined> {
  const { at, desk, signal, tally } = visit;
  let template: Template | undefined;
  await writeReview(visit, keyOf(visit, planned), (now, known) => {
    // Changed since it was looked at: the next visit sees it.
    if (!isUntouched(visit, planned, now, known)) return undefined;
    template = now;
    const review = asked(visit, now, known);
    // What was there before is ours when the carrier has taken the change.
    return { ...review, isOurs: review.isOurs || before === undefined };
  });
  if (template === undefined) return undefined;
  if (before !== undefined && (await isAnothers(visit, template))) return refuse(visit, template, TAKEN);
  if (!visit.isHeld()) return { kind: "lost" };
  tally.submitted += 1;
  const outcome = await at.submit(template, before, signal);
  switch (outcome.kind) {
    case "submitted":
      await settle(visit, template, { status: reviewStatus(outcome.status), reason: null, carrierId: outcome.id, isOurs: true });
      addListed(visit, template, outcome);
      return undefined;
    case "exists":
      tally.left += 1;
      return undefined;
    case "refused":
      return refuse(visit, template, outcome.reason);
    case "unavailable":
    case "throttled":
    case "blocked":
      visit.log.info({ link: desk.links[0].name }, "a template could not be submitted for now");
      return outcome;
    default:
      return unreachable(outcome);
  }
}

/** Another account here may have the same template, and is not to hand it in once more. */
function addListed({ listed, at }: Visit, template: Template, { id, status }: { id: string; status: DeskStatus }): void {
  const { name } = template;
  const code = at.codeOf(template.language);
  listed.set(placeIn(name, code), { id, name, code, status, reason: null, template });
}

async function refuse(visit: Visit, template: Template, reason: string): Promise<undefined> {
  visit.log.info({ link: visit.desk.links[0].name, template: template.name }, "the carrier refused a template");
  await settle(visit, template, { status: "refused", reason });
}

type Answer = Pick<Review, "status" | "reason"> & { carrierId?: string; isOurs?: boolean };

/** The carrier may have told more of it by now than its answer said. What it never had from us is not ours to take away. */
const settle = (visit: Visit, template: Template, answer: Answer) =>
  writeReview(visit, keyOf(visit, template), (_, known) => {
    if (known === undefined || known.version !== template.version) return undefined;
    const { status, reason, carrierId = known.carrierId, isOurs = known.isOurs && carrierId !== null } = answer;
    if (known.status !== "asked") return { ...known, carrierId, isOurs };
    return { ...known, carrierId, isOurs, status, reason, notedAtMs: visit.clock.now(), wasApproved: status === "approved" };
  });

/** Whether someone else here has one of this name there: theirs is not changed under their hands. */
async function isAnothers(visit: Visit, template: Template): Promise<boolean> {
  const namesakes = await findNamed(visit.db, visit.desk.name, { name: template.name, code: visit.at.codeOf(template.language) });
  for (const { templateId, accountId, environment } of namesakes) {
    if (templateId.equals(template.id)) continue;
    const other = await readTemplate(visit.db, { accountId, environment }, templateId);
    if (other !== undefined && other.status !== "archived") return true;
  }
  return false;
}
