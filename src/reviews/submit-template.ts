/** Submits a template to a business account. The review is stored before the call: if the response is lost, the list of the carrier
 *  shows the outcome, and a report that arrives before the response finds its template. */
import { unreachable } from "../lib/assert.ts";
import type { CarrierTemplate, CarrierTemplateStatus } from "../providers/business-account.ts";
import { readTemplate } from "../templates/find-template.ts";
import type { Template } from "../templates/template.ts";
import { writeReview } from "./note-review.ts";
import { findReviewsByName } from "./queries.ts";
import { reviewStatus, type Review } from "./review.ts";
import { newReview, isUnchanged, reviewKey, listKey, type SyncStop, type TemplateSync } from "./sync.ts";

const TAKEN = "Another account of this service has a template of this name and language at the carrier, which says something else.";

export async function submitTemplate(
  sync: TemplateSync,
  planned: Template,
  before: CarrierTemplate | undefined,
): Promise<SyncStop | undefined> {
  const { client, businessAccount, signal, tally } = sync;
  let template: Template | undefined;
  await writeReview(sync, reviewKey(sync, planned), (now, known) => {
    // The template was changed after the step was planned. The next sync sees the change.
    if (!isUnchanged(sync, planned, now, known)) return undefined;
    template = now;
    const review = newReview(sync, now, known);
    // A template that the carrier had before becomes ours only when the carrier accepts the change.
    return { ...review, isOurs: review.isOurs || before === undefined };
  });
  if (template === undefined) return undefined;
  if (before !== undefined && (await isOfAnotherAccount(sync, template))) return refuse(sync, template, TAKEN);
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

/** Adds the template to the list, so that another account with the same template does not submit it again. */
function addListed(
  { listed, client }: TemplateSync,
  template: Template,
  { id, status }: { id: string; status: CarrierTemplateStatus },
): void {
  const { name } = template;
  const code = client.languageCode(template.language);
  listed.set(listKey(name, code), { id, name, code, status, reason: null, template });
}

async function refuse(sync: TemplateSync, template: Template, reason: string): Promise<undefined> {
  sync.log.info({ link: sync.businessAccount.links[0].name, template: template.name }, "the carrier refused a template");
  await settle(sync, template, { status: "refused", reason });
}

type SubmissionResult = Pick<Review, "status" | "reason"> & { carrierId?: string; isOurs?: boolean };

/** Stores the response. A report that arrived in the meantime is newer and stays. A template that the carrier never accepted from us is
 *  not ours to delete. */
const settle = (sync: TemplateSync, template: Template, result: SubmissionResult) =>
  writeReview(sync, reviewKey(sync, template), (_, known) => {
    if (known === undefined || known.version !== template.version) return undefined;
    const { status, reason, carrierId = known.carrierId, isOurs = known.isOurs && carrierId !== null } = result;
    if (known.status !== "asked") return { ...known, carrierId, isOurs };
    return { ...known, carrierId, isOurs, status, reason, notedAtMs: sync.clock.now(), wasApproved: status === "approved" };
  });

/** Whether another account of this service has a template of this name there, which must not be changed. */
async function isOfAnotherAccount(sync: TemplateSync, template: Template): Promise<boolean> {
  const namesakes = await findReviewsByName(sync.db, sync.businessAccount.name, {
    name: template.name,
    code: sync.client.languageCode(template.language),
  });
  for (const { templateId, accountId, environment } of namesakes) {
    if (templateId.equals(template.id)) continue;
    const other = await readTemplate(sync.db, { accountId, environment }, templateId);
    if (other !== undefined && other.status !== "archived") return true;
  }
  return false;
}
