/** What a review says of a template, and the event that tells of it. */
import { publishEvent } from "../events/publish.ts";
import { newId, type TemplateId } from "../lib/id.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Tx } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { lockTemplate, storeTemplate } from "./queries.ts";
import { templateRecord, type Template, type TemplateStatus } from "./template.ts";

export type ReviewDecision = {
  status: "approved" | "rejected" | "paused";
  /** In the words of whoever decided. */
  reason: string | null;
  /** The version that was looked at; of an older one nothing is left to decide. Absent: the newest. */
  version?: number;
};

/** Whoever judges a template by what it is now, and writes beside it in the same transaction. Undefined: there is nothing to decide. */
export type Decide = (tx: Tx, template: Template) => Promise<ReviewDecision | undefined>;

// The record travels in events, and a carrier may be wordy.
const MAX_REASON = 500;

/** What whoever reviews templates says of one, later than it was submitted. Undefined when that changes nothing: the template is not
 *  there, is not submitted, has another version, or is as they say. The caller wakes the webhook workers and has the template forgotten. */
export async function decideTemplate(
  tx: Tx,
  clock: Clock,
  owner: Owner,
  id: TemplateId,
  said: ReviewDecision | Decide,
): Promise<Template | undefined> {
  const template = await lockTemplate(tx, owner, { id });
  if (template === undefined || template.status === "draft" || template.status === "archived") return undefined;
  const verdict = typeof said === "function" ? await said(tx, template) : said;
  if (verdict === undefined) return undefined;
  const { status, reason, version } = verdict;
  if (version !== undefined && version !== template.version) return undefined;
  const statusReason = reason === null ? null : shortened(reason);
  if (template.status === status && template.statusReason === statusReason) return undefined;
  const decided: Template = { ...template, status, statusReason, updatedAtMs: clock.now() };
  await storeTemplate(tx, decided);
  await publishReview(tx, decided);
  return decided;
}

/** Cut where it can be seen. */
function shortened(reason: string): string {
  const characters = Array.from(reason);
  return characters.length <= MAX_REASON ? reason : `${characters.slice(0, MAX_REASON - 1).join("")}…`;
}

const REVIEWED: ReadonlySet<TemplateStatus> = new Set(["approved", "rejected", "paused"]);

/** Tells what a review came to; while it goes on there is nothing to tell. */
export async function publishReview(tx: Tx, template: Template): Promise<void> {
  const { accountId, environment, status, updatedAtMs } = template;
  if (!REVIEWED.has(status)) return;
  const event = { id: newId("evt", updatedAtMs), type: `template.${status}`, record: JSON.stringify(templateRecord(template)) };
  await publishEvent(tx, { accountId, environment, ...event });
}
