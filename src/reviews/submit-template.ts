/** Hands a template in at a desk. That it is on its way is on record first: an answer that is lost is found in the carrier's list, and
 *  what the carrier tells before its answer came finds its template. */
import { unreachable } from "../lib/assert.ts";
import type { CarrierTemplate, DeskStatus } from "../providers/template-desk.ts";
import { readTemplate } from "../templates/find-template.ts";
import type { Template } from "../templates/template.ts";
import { writeReview } from "./note-review.ts";
import { findNamed } from "./queries.ts";
import { reviewStatus, type Review } from "./review.ts";
import { asked, isUntouched, reviewKey, listKey, type Stop, type TemplateSync } from "./sync.ts";

const TAKEN = "Another account of this service has a template of this name and language at the carrier, which says something else.";

export async function handIn(sync: TemplateSync, planned: Template, before: CarrierTemplate | undefined): Promise<Stop | undefined> {
  const { client, businessAccount, signal, tally } = sync;
  let template: Template | undefined;
  await writeReview(sync, reviewKey(sync, planned), (now, known) => {
    // Changed since it was looked at: the next visit sees it.
    if (!isUntouched(sync, planned, now, known)) return undefined;
    template = now;
    const review = asked(sync, now, known);
    // What was there before is ours when the carrier has taken the change.
    return { ...review, isOurs: review.isOurs || before === undefined };
  });
  if (template === undefined) return undefined;
  if (before !== undefined && (await isAnothers(sync, template))) return refuse(sync, template, TAKEN);
  if (!sync.isHeld()) return { kind: "lost" };
  tally.submitted += 1;
  const outcome = await client.submit(template, before, signal);
  switch (outcome.kind) {
    case "submitted":
      await settle(sync, template, { status: reviewStatus(outcome.status), reason: null, carrierId: outcome.id, isOurs: true });
      addListed(sync, template, outcome);
      return undefined;
    case "exists":
      tally.left += 1;
      return undefined;
    case "refused":
      return refuse(sync, template, outcome.reason);
    case "unavailable":
    case "throttled":
    case "blocked":
      sync.log.info({ link: businessAccount.links[0].name }, "a template could not be submitted for now");
      return outcome;
    default:
      return unreachable(outcome);
  }
}

/** Another account here may have the same template, and is not to hand it in once more. */
function addListed({ listed, client }: TemplateSync, template: Template, { id, status }: { id: string; status: DeskStatus }): void {
  const { name } = template;
  const code = client.codeOf(template.language);
  listed.set(listKey(name, code), { id, name, code, status, reason: null, template });
}

async function refuse(sync: TemplateSync, template: Template, reason: string): Promise<undefined> {
  sync.log.info({ link: sync.businessAccount.links[0].name, template: template.name }, "the carrier refused a template");
  await settle(sync, template, { status: "refused", reason });
}

type Answer = Pick<Review, "status" | "reason"> & { carrierId?: string; isOurs?: boolean };

/** The carrier may have told more of it by now than its answer said. What it never had from us is not ours to take away. */
const settle = (sync: TemplateSync, template: Template, answer: Answer) =>
  writeReview(sync, reviewKey(sync, template), (_, known) => {
    if (known === undefined || known.version !== template.version) return undefined;
    const { status, reason, carrierId = known.carrierId, isOurs = known.isOurs && carrierId !== null } = answer;
    if (known.status !== "asked") return { ...known, carrierId, isOurs };
    return { ...known, carrierId, isOurs, status, reason, notedAtMs: sync.clock.now(), wasApproved: status === "approved" };
  });

/** Whether someone else here has one of this name there: theirs is not changed under their hands. */
async function isAnothers(sync: TemplateSync, template: Template): Promise<boolean> {
  const namesakes = await findNamed(sync.db, sync.businessAccount.name, {
    name: template.name,
    code: sync.client.codeOf(template.language),
  });
  for (const { templateId, accountId, environment } of namesakes) {
    if (templateId.equals(template.id)) continue;
    const other = await readTemplate(sync.db, { accountId, environment }, templateId);
    if (other !== undefined && other.status !== "archived") return true;
  }
  return false;
}
