/** What a change makes of a template: what it says after it, whether that is a new version, and whether it is reviewed again. */
import { isDeepStrictEqual } from "node:util";
import { Problem } from "../http/problem.ts";
import { unreachable } from "../lib/assert.ts";
import type { EditTemplate, NewTemplate } from "./new-template.ts";
import { variablesOf } from "./placeholders.ts";
import type { Button, Template } from "./template.ts";

export type Edited = { template: Template; isChanged: boolean; isNewVersion: boolean; isReviewed: boolean };

/** The template after the change, whose content is still to be checked. Throws when it cannot be submitted. */
export function applyEdit(before: Template, request: EditTemplate, nowMs: number): Edited {
  const edited = { ...before, ...saidAfter(before, request) };
  const isNewVersion = !isDeepStrictEqual(contentOf(edited), contentOf(before));
  const isReviewed = isSubmitted(before, request) || (before.status !== "draft" && isForReview(before, edited, isNewVersion));
  if (typeof request.status === "string" && !isReviewed && before.status !== "pending") throw notSubmittable(before);
  const isChanged = isReviewed || isNewVersion || !isDeepStrictEqual(edited, before);
  if (!isChanged) return { template: before, isChanged, isNewVersion, isReviewed };
  const template: Template = {
    ...edited,
    ...(isReviewed ? statusOnSubmission(edited) : {}),
    version: before.version + (isNewVersion ? 1 : 0),
    updatedAtMs: nowMs,
  };
  return { template, isChanged, isNewVersion, isReviewed };
}

/** Null means absent, so what is empty takes away. */
function saidAfter(before: Template, request: EditTemplate): Partial<Template> {
  const { header, footer, buttons } = request;
  const said = {
    language: request.language ?? before.language,
    category: request.category ?? before.category,
    channels: request.channels ?? before.channels,
    body: request.body ?? before.body,
    header: header === "" ? null : (header ?? before.header),
    footer: footer === "" ? null : (footer ?? before.footer),
    buttons: buttons ? toButtons(buttons) : before.buttons,
  };
  return { ...said, examples: request.examples ?? examplesOf(before.examples, variablesOf(said)) };
}

/** An example goes with its variable, unless the request has examples of its own. */
const examplesOf = (examples: Readonly<Record<string, string>>, variables: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(examples).filter(([name]) => variables.includes(name)));

export const toButtons = (buttons: NewTemplate["buttons"]): Button[] | null =>
  buttons === null || buttons === undefined || buttons.length === 0
    ? null
    : buttons.map(({ type, text, url, phone_number: phoneNumber }) => ({
        type,
        text,
        url: url ?? null,
        phone_number: phoneNumber ?? null,
      }));

/** What a version keeps. */
const contentOf = ({ body, header, footer, buttons, examples }: Template) => ({ body, header, footer, buttons, examples });

const isOnWhatsapp = ({ channels }: Template): boolean => channels.includes("whatsapp");

/** Whoever reviews templates is asked of everything they would look at. */
const isForReview = (before: Template, after: Template, isNewVersion: boolean): boolean =>
  isNewVersion ||
  isOnWhatsapp(before) !== isOnWhatsapp(after) ||
  (isOnWhatsapp(after) && (before.language !== after.language || before.category !== after.category));

const isSubmitted = ({ status }: Template, request: EditTemplate): boolean =>
  request.status === "pending" && (status === "draft" || status === "rejected");

const notSubmittable = ({ status }: Template): Problem =>
  new Problem("invalid_request_payload", {
    errors: [{ pointer: "/status", code: "conflict", detail: `it is ${status}: only a draft or a rejected template is submitted` }],
  });

/** The status of a template after a review, with the reason of the reviewer. */
export type TemplateDecision = Pick<Template, "status" | "statusReason">;

const APPROVED: TemplateDecision = { status: "approved", statusReason: null };
const PENDING: TemplateDecision = { status: "pending", statusReason: null };

/** Names with which every outcome can be tried. */
const SIMULATED: readonly (readonly [prefix: string, decision: TemplateDecision])[] = [
  ["simulate_rejected", { status: "rejected", statusReason: "The simulator rejects templates whose name begins with simulate_rejected." }],
  ["simulate_paused", { status: "paused", statusReason: "The simulator pauses templates whose name begins with simulate_paused." }],
  ["simulate_pending", PENDING],
];

/** For sms there is nobody to ask. On whatsapp it is the carrier's to decide, and in `test` the simulator is the carrier. */
export function statusOnSubmission({ environment, name, channels }: Pick<Template, "environment" | "name" | "channels">): TemplateDecision {
  if (!channels.includes("whatsapp")) return APPROVED;
  switch (environment) {
    case "live":
      return PENDING;
    case "test":
      return SIMULATED.find(([prefix]) => name.startsWith(prefix))?.[1] ?? APPROVED;
    default:
      return unreachable(environment);
  }
}
