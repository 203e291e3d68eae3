/** Stores the decision of a review, and publishes its event. */
import { publishEvent } from "../events/publish.ts";
import { newId, type TemplateId } from "../model/id.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { lockTemplate, storeTemplate } from "./queries.ts";
import { templateRecord, type Template, type TemplateStatus } from "./template.ts";

export type ReviewDecision = {
  status: "approved" | "rejected" | "paused";
  /** In the words of the reviewer. */
  reason: string | null;
  /** The version that was reviewed. A decision about an older version has no effect. Absent: the newest. */
  version?: number;
};

/** Decides on the locked template, and may write more in the same transaction. Returns undefined when there is nothing to decide. */
export type Decide = (tx: Tx, template: Template) => Promise<ReviewDecision | undefined>;

// The record is part of events, and the reason of a carrier may be long.
const MAX_REASON = 500;

/** Stores a decision about a submitted template. Returns undefined when that changes nothing: the template does not exist, is not
 *  submitted, has another version, or has that status already. The caller wakes the webhook workers and drops the cached template. */
export async function decideTemplate(
  tx: Tx,
  clock: Clock,
  owner: Owner,
  id: TemplateId,
  decision: ReviewDecision | Decide,
): Promise<Template | undefined> {
  const template = await lockTemplate(tx, owner, { id });
  if (template === undefined || template.status === "draft" || template.status === "archived") return undefined;
  const result = typeof decision === "function" ? await decision(tx, template) : decision;
  if (result === undefined) return undefined;
  const { status, reason, version } = result;
  if (version !== undefined && version !== template.version) return undefined;
  const statusReason = reason === null ? null : shortened(reason);
  if (template.status === status && template.statusReason === statusReason) return undefined;
  const decided: Template = { ...template, status, statusReason, updatedAtMs: clock.now() };
  await storeTemplate(tx, decided);
  await publishReview(tx, decided);
  return decided;
}

/** Cuts a long reason, with a visible mark. */
function shortened(reason: string): string {
  const characters = Array.from(reason);
  return characters.length <= MAX_REASON ? reason : `${characters.slice(0, MAX_REASON - 1).join("")}…`;
}

const REVIEWED: ReadonlySet<TemplateStatus> = new Set(["approved", "rejected", "paused"]);

/** Publishes the result of a review. A pending template has none. */
export async function publishReview(tx: Tx, template: Template): Promise<void> {
  const { accountId, environment, status, updatedAtMs } = template;
  if (!REVIEWED.has(status)) return;
  const event = { id: newId("evt", updatedAtMs), type: `template.${status}`, record: JSON.stringify(templateRecord(template)) };
  await publishEvent(tx, { accountId, environment, ...event });
}
