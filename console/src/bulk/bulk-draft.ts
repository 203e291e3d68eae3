/** The form of a bulk send, and the settings that it stands for. */
import { mapColumns, type Mapping } from "../../../src/bulk/columns.ts";
import type { BulkSettings } from "../../../src/bulk/rows.ts";
import { fromLocalInput } from "../lib/format.ts";

export type BulkDraft = {
  channel: "sms" | "whatsapp";
  /** Undefined until the user chooses: a template if there is one, otherwise a text. */
  kind: "template" | "text" | "column" | undefined;
  template: string;
  body: string;
  sender: string;
  /** The value of the browser's field, in local time. */
  sendAt: string;
  sendId: string;
  allowsDuplicates: boolean;
  /** The fields that the user has chosen, by heading. */
  chosen: Readonly<Record<string, string>>;
};

export const EMPTY_DRAFT: BulkDraft = {
  channel: "sms",
  kind: undefined,
  template: "",
  body: "",
  sender: "",
  sendAt: "",
  sendId: "",
  allowsDuplicates: false,
  chosen: {},
};

/** The parts of a template that the form needs. */
export type KnownTemplate = {
  name: string;
  category: string;
  body: string;
  variables: readonly { name: string }[];
  channels: readonly string[];
};

export function mappingOf(draft: BulkDraft, headings: readonly string[], template: KnownTemplate | undefined): Mapping {
  const variables = template?.variables.map(({ name }) => name);
  const content = draft.kind === "column" ? "none" : draft.kind === "text" ? "text" : variables === undefined ? "template" : { variables };
  return mapColumns({ headings, chosen: new Map(Object.entries(draft.chosen)), content, constants: [] });
}

/** Returns the first thing that the form lacks. */
export function draftFault({ kind, template, body }: BulkDraft): string | undefined {
  if (kind === "template" && template === "") return "Choose a template.";
  return kind === "text" && body.trim() === "" ? "Enter the text." : undefined;
}

export const toSettings = (
  draft: BulkDraft,
  targets: readonly string[],
  template: KnownTemplate | undefined,
): Omit<BulkSettings, "sendId"> => ({
  defaults: {
    channel: draft.channel,
    priority: "bulk",
    ...(draft.kind === "template" ? { template_id: draft.template } : {}),
    ...(draft.kind === "text" ? { body: draft.body } : {}),
    ...(draft.sender.trim() === "" ? {} : { sender: draft.sender.trim() }),
    ...(draft.sendAt === "" ? {} : { send_at: fromLocalInput(draft.sendAt) }),
  },
  variables: {},
  metadata: {},
  targets,
  templateBody: draft.kind === "template" ? (template?.body ?? null) : null,
  allowsDuplicates: draft.allowsDuplicates,
});
