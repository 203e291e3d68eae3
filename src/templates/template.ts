/** A template: a text with variables, which is reviewed before it may be sent. Its statuses, its record in the API and the schema of the
 *  record. */
import { createdByField, nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type AccountId, type TemplateId } from "../lib/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { CHANNELS, type Channel } from "../links/channel.ts";
import type { Environment } from "../storage/owner.ts";
import { variablesOf } from "./placeholders.ts";

export const TEMPLATE_STATUSES = ["draft", "pending", "approved", "rejected", "paused", "archived"] as const;
export type TemplateStatus = (typeof TEMPLATE_STATUSES)[number];

export const CATEGORIES = ["authentication", "utility", "marketing"] as const;
export type Category = (typeof CATEGORIES)[number];

export const BUTTON_TYPES = ["quick_reply", "url", "phone_number"] as const;

/** No name begins like an id, so that a text is either a name or an id. */
export const NAME_PATTERN = "^(?!tmpl_)[a-z0-9_]{1,64}$";

/** Templates of one environment. Archived ones do not count. */
export const MAX_TEMPLATES_EACH = 500;

// Limits of WhatsApp.
export const MAX_WHATSAPP_BODY = 1_024;
export const MAX_HEADER = 60;
export const MAX_FOOTER = 60;

/** The whole record is part of events, later with a reason, and webhooks stay below 20 kB. */
export const MAX_TEMPLATE_RECORD_BYTES = 16_384;

const ButtonRecord = Type.Object({
  type: openEnum(BUTTON_TYPES),
  text: Type.String(),
  url: nullable(Type.String()),
  phone_number: nullable(Type.String()),
});
export type Button = Static<typeof ButtonRecord>;

export type Template = {
  accountId: AccountId;
  environment: Environment;
  id: TemplateId;
  name: string;
  language: string;
  category: Category;
  channels: readonly Channel[];
  status: TemplateStatus;
  /** Why the template was rejected or paused. */
  statusReason: string | null;
  version: number;
  body: string;
  header: string | null;
  footer: string | null;
  buttons: Button[] | null;
  /** Values by variable, for previews and reviewers. */
  examples: Record<string, string>;
  updatedAtMs: number;
  createdBy: string | null;
};

export const TemplateRecord = Type.Object(
  {
    id: Type.String({ examples: ["tmpl_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
    object: Type.Literal("template"),
    environment: openEnum(["test", "live"]),
    name: Type.String({ examples: ["order_shipped"] }),
    language: Type.String({ examples: ["en-US"] }),
    category: openEnum(CATEGORIES),
    channels: Type.Array(openEnum(CHANNELS)),
    body: Type.String({ examples: ["Hello {{name}}, your order {{order}} is on its way."] }),
    header: nullable(Type.String({ description: "For whatsapp alone, as are footer and buttons." })),
    footer: nullable(Type.String()),
    buttons: nullable(Type.Array(ButtonRecord)),
    variables: Type.Array(Type.Object({ name: Type.String(), example: nullable(Type.String()) }), {
      description: "What a message has to fill in: the header's variables, then the body's, in the order in which they first appear.",
    }),
    status: openEnum(TEMPLATE_STATUSES, "Only an approved template can be sent."),
    status_reason: nullable(Type.String({ description: "Why it was rejected or paused." })),
    version: Type.Integer({ minimum: 1, description: "Counts the changes of what it says. A message keeps the version it used." }),
    created_at: timestamp("When it was made."),
    updated_at: timestamp("When it was last changed."),
    created_by: createdByField,
  },
  { title: "Template", description: "A text with places to fill in." },
);
export type TemplateRecord = Static<typeof TemplateRecord>;

export function templateRecord(template: Template): TemplateRecord {
  const { id, environment, name, language, category, channels, body, header, footer, buttons, examples, status, version } = template;
  return {
    id: encodeId("tmpl", id),
    object: "template",
    environment,
    name,
    language,
    category,
    channels: [...channels],
    body,
    header,
    footer,
    buttons,
    variables: variablesOf(template).map((variable) => ({ name: variable, example: exampleOf(examples, variable) })),
    status,
    status_reason: template.statusReason,
    version,
    created_at: isoTime(uuidTimeMs(id)),
    updated_at: isoTime(template.updatedAtMs),
    created_by: template.createdBy,
  };
}

// A variable may be named `constructor`.
const exampleOf = (examples: Readonly<Record<string, string>>, variable: string): string | null =>
  Object.hasOwn(examples, variable) ? (examples[variable] ?? null) : null;
