/** Applies an edit to a template: the new content, whether it is a new version, and whether it is reviewed again. Also the status of a
 *  template when it is submitted. */
import { isDeepStrictEqual } from "node:util";
import { Problem } from "../http/problem.ts";
import { unreachable } from "../lib/assert.ts";
import type { EditTemplate, NewTemplate } from "./new-template.ts";
import { variablesOf } from "./placeholders.ts";
import type { Button, Template } from "./template.ts";

export type Edited = { template: Template; isChanged: boolean; isNewVersion: boolean; isReviewed: boolean };

/** Returns the template after the edit; the caller checks its content. Throws when the template cannot be submitted. */
export function applyEdit(before: Template, request: EditTemplate, nowMs: number): Edited {
  const edited = { ...before, ...editedFields(before, request) };
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

/** Null means absent, so an empty value removes a field. */
function editedFields(before: Template, request: EditTemplate): Partial<Template> {
  const { header, header_media: headerMedia, footer, buttons } = request;
  const fields = {
    language: request.language ?? before.language,
    category: request.category ?? before.category,
    channels: request.channels ?? before.channels,
    body: request.body ?? before.body,
    header: header === "" ? null : (header ?? before.header),
    headerMedia: headerMedia === "" ? null : (headerMedia ?? before.headerMedia),
    footer: footer === "" ? null : (footer ?? before.footer),
    buttons: buttons ? toButtons(buttons) : before.buttons,
  };
  return { ...fields, examples: request.examples ?? examplesOf(before.examples, variablesOf(fields)) };
}

/** Keeps the examples of variables that still exist, unless the request has examples of its own. */
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

/** The content of a version. */
const contentOf = ({ body, header, headerMedia, footer, buttons, examples }: Template) => ({
  body,
  header,
  headerMedia,
  footer,
  buttons,
  examples,
});

const isOnWhatsapp = ({ channels }: Template): boolean => channels.includes("whatsapp");

/** Whether the edit changes anything that a reviewer looks at. */
const isForReview = (before: Template, after: Template, isNewVersion: boolean): boolean =>
  isNewVersion ||
  isOnWhatsapp(before) !== isOnWhatsapp(after) ||
  (isOnWhatsapp(after) && (before.language !== after.language || before.category !== after.category));

const isSubmitted = ({ status }: Template, request: EditTemplate): boolean =>
  request.status === "pending" && (status === "draft" || status === "rejected");

const notSubmittable = ({ status }: Template): Problem =>
  new Problem("invalid_request_payload", {
    errors: [
      { pointer: "/status", code: "conflict", detail: `the template is ${status}: only a draft or a rejected template can be submitted` },
    ],
  });

/** The status of a template after a review, with the reason of the reviewer. */
export type TemplateDecision = Pick<Template, "status" | "statusReason">;

const APPROVED: TemplateDecision = { status: "approved", statusReason: null };
const PENDING: TemplateDecision = { status: "pending", statusReason: null };

/** Prefixes of names with which clients can test every outcome. */
const SIMULATED: readonly (readonly [prefix: string, decision: TemplateDecision])[] = [
  ["simulate_rejected", { status: "rejected", statusReason: "The simulator rejects templates whose name begins with simulate_rejected." }],
  ["simulate_paused", { status: "paused", statusReason: "The simulator pauses templates whose name begins with simulate_paused." }],
  ["simulate_pending", PENDING],
];

/** Templates for SMS need no review. Those for WhatsApp are reviewed by the carrier, in `test` by the simulator. */
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
