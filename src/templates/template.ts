/** A template: a text with variables, which is reviewed before it may be sent. Its statuses, its record in the API and the schema of the
 *  record. */
import { environmentField, createdByField, nullable, oneOf, openEnum, optional, timestamp, Type, type Static } from "../http/schema.ts";
import { compile } from "../http/validate.ts";
import { encodeId, type AccountId, type TemplateId } from "../model/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { CHANNELS, type Channel } from "../links/channel.ts";
import type { Environment } from "../model/owner.ts";
import { variablesOf } from "./placeholders.ts";

export const TEMPLATE_STATUSES = ["draft", "pending", "approved", "rejected", "paused", "archived"] as const;
export type TemplateStatus = (typeof TEMPLATE_STATUSES)[number];

export const CATEGORIES = ["authentication", "utility", "marketing"] as const;
export type Category = (typeof CATEGORIES)[number];

/** The kinds of files that a template can have above its text. */
export const HEADER_MEDIA = ["image", "video", "document"] as const;
type HeaderMedia = (typeof HEADER_MEDIA)[number];

export const BUTTON_TYPES = ["quick_reply", "url", "phone_number"] as const;

/** No name begins like an id, so that a text is either a name or an id. */
const MAX_NAME = 64;
export const NAME_PATTERN = `^(?!tmpl_)[a-z0-9_]{1,${MAX_NAME}}$`;

/** Templates of one environment. Archived ones do not count. */
export const MAX_TEMPLATES_EACH = 500;

// Limits of WhatsApp.
export const MAX_WHATSAPP_BODY = 1_024;
export const MAX_HEADER = 60;
export const MAX_FOOTER = 60;

/** The whole record is part of events, later with a reason, and webhooks stay below 20 kB. */
export const MAX_TEMPLATE_RECORD_BYTES = 16_384;

const ButtonRecord = Type.Object({
  type: openEnum(BUTTON_TYPES, "The type of the button."),
  text: Type.String({ description: "The label." }),
  url: nullable(
    Type.String({ description: "The page that a button of type `url` opens. If it ends with `{{1}}`, each message gives the end." }),
  ),
  phone_number: nullable(Type.String({ description: "The number that a button of type `phone_number` calls." })),
});
export type Button = Static<typeof ButtonRecord>;

/** The end of the URL of a button that each message gives. */
export const URL_VARIABLE = "{{1}}";

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
  /** The kind of the file above the body, in place of `header`. */
  headerMedia: HeaderMedia | null;
  footer: string | null;
  buttons: Button[] | null;
  /** Values by variable, for previews and reviewers. */
  examples: Record<string, string>;
  updatedAtMs: number;
  createdBy: string | null;
};

const storedText = Type.String({ maxLength: MAX_TEMPLATE_RECORD_BYTES });
const checkStored = compile(
  Type.Object({
    name: Type.String({ maxLength: MAX_NAME }),
    language: Type.String({ maxLength: 64 }),
    channels: Type.Array(oneOf(CHANNELS), { maxItems: CHANNELS.length }),
    body: storedText,
    header: nullable(storedText),
    footer: nullable(storedText),
    buttons: nullable(
      Type.Array(
        Type.Object({ type: oneOf(BUTTON_TYPES), text: storedText, url: optional(storedText), phone_number: optional(storedText) }),
        {
          maxItems: 100,
        },
      ),
    ),
    examples: Type.Record(storedText, { maxProperties: 1_000 }),
  }),
  "body",
);

/** The template, which another release or a person may have written. One that cannot be read is paused, and a placeholder replaces its
 *  content. */
export function readableTemplate(template: Template): Template {
  const [fault] = checkStored(template);
  if (fault === undefined) return template;
  const where = "pointer" in fault ? `${fault.pointer} ` : "";
  return {
    ...template,
    name: template.name.slice(0, MAX_NAME),
    language: template.language.slice(0, 64),
    channels: CHANNELS.filter((channel) => template.channels.includes(channel)),
    body: "",
    header: null,
    headerMedia: null,
    footer: null,
    buttons: null,
    examples: {},
    status: template.status === "archived" ? "archived" : "paused",
    statusReason: `the stored template cannot be read: ${where}${fault.detail}`,
  };
}

export const TemplateRecord = Type.Object(
  {
    id: Type.String({ examples: ["tmpl_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the template." }),
    object: Type.Literal("template"),
    environment: environmentField,
    name: Type.String({ examples: ["order_shipped"], description: "The name, unique in the environment." }),
    language: Type.String({ examples: ["en-US"], description: "The language of the text, as a BCP 47 tag." }),
    category: openEnum(CATEGORIES, "The purpose of the messages."),
    channels: Type.Array(openEnum(CHANNELS), { description: "The channels on which it can be sent." }),
    body: Type.String({ examples: ["Hello {{name}}, your order {{order}} is on its way."], description: "The text with its variables." }),
    header: nullable(Type.String({ description: "The text above the body. Only for whatsapp." })),
    header_media: nullable(openEnum(HEADER_MEDIA, "The kind of the file above the body, which each message gives. Only for whatsapp.")),
    footer: nullable(Type.String({ description: "The text below the body. Only for whatsapp." })),
    buttons: nullable(Type.Array(ButtonRecord, { description: "The buttons. Only for whatsapp." })),
    variables: Type.Array(
      Type.Object({
        name: Type.String({ description: "The name of the variable." }),
        example: nullable(Type.String({ description: "An example value." })),
      }),
      {
        description: "The variables that a message must provide: those of the header, then those of the body, in order of appearance.",
      },
    ),
    status: openEnum(TEMPLATE_STATUSES, "The status. Only an approved template can be sent."),
    status_reason: nullable(Type.String({ description: "Why the template was rejected or paused." })),
    version: Type.Integer({ minimum: 1, description: "The version of the content. A message keeps the version that it used." }),
    created_at: timestamp("The time of creation."),
    updated_at: timestamp("The time of the last change."),
    created_by: createdByField,
  },
  { title: "Template", description: "A text with variables, which is reviewed before it can be sent." },
);
export type TemplateRecord = Static<typeof TemplateRecord>;

export function templateRecord(template: Template): TemplateRecord {
  const { id, environment, name, language, category, channels, body, header, headerMedia, footer, buttons, examples, status, version } =
    template;
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
    header_media: headerMedia,
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
