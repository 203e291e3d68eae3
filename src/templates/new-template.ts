/** Requests that create or edit a template: their schemas, and the rules of each field that a schema cannot express. */
import { parseBoundedUrl } from "../lib/urls.ts";
import { escapePointer, type Fault } from "../http/problem.ts";
import { HINT, oneOf, optional, Type, type Static } from "../http/schema.ts";
import { compile } from "../http/validate.ts";
import { phoneNumberField, recipientFaults } from "../links/address.ts";
import { CHANNELS, MAX_BODY, type Channel } from "../links/channel.ts";
import { contentFaults } from "./content.ts";
import { hasBraces, MAX_VARIABLES, placeholderFaults, variablesOf } from "./placeholders.ts";
import { BUTTON_TYPES, CATEGORIES, HEADER_MEDIA, MAX_FOOTER, MAX_HEADER, NAME_PATTERN, URL_VARIABLE } from "./template.ts";

const LANGUAGE_PATTERN = "^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,4}$";

// Limits of WhatsApp, which may change: all buttons together, buttons that open a page, buttons that call.
const MAX_BUTTONS = 10;
const MAX_URL_BUTTONS = 2;
const MAX_PHONE_BUTTONS = 1;
const MAX_URL_LENGTH = 2_000;

const NewButton = Type.Object(
  {
    type: oneOf(BUTTON_TYPES, { description: "The type of the button." }),
    text: Type.String({ minLength: 1, maxLength: 25, description: "The label." }),
    url: optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_URL_LENGTH,
        description: "The page that a button of type `url` opens. It may end with `{{1}}`, for which each message gives a text.",
      }),
    ),
    phone_number: optional({ ...phoneNumberField, description: "The number that a button of type `phone_number` calls." }),
  },
  { title: "NewButton", additionalProperties: false, description: "A button of a WhatsApp template." },
);

const fields = {
  language: Type.String({
    pattern: LANGUAGE_PATTERN,
    [HINT]: "must be a BCP 47 language tag with hyphens, such as en or en-US (not en_US)",
    description: "The language of the text, as a BCP 47 tag in its canonical form.",
    examples: ["en-US"],
  }),
  category: oneOf(CATEGORIES, { description: "The purpose of the messages. Carriers review and bill by it." }),
  channels: Type.Array(oneOf(CHANNELS), {
    minItems: 1,
    maxItems: CHANNELS.length,
    description: "The channels on which the template can be sent, each once.",
  }),
  body: Type.String({
    minLength: 1,
    maxLength: MAX_BODY.sms,
    description: `The text, with variables as \`{{1}}\` or \`{{name}}\`. Up to 1,600 characters, or 1,024 if whatsapp is one of the channels. Up to ${MAX_VARIABLES} variables.`,
    examples: ["Hello {{name}}, your order {{order}} is on its way."],
  }),
};

const extras = {
  header: optional(
    Type.String({
      maxLength: MAX_HEADER,
      description: "The text above the body, only for whatsapp, with at most one variable. Empty: none.",
    }),
  ),
  header_media: optional(
    oneOf(["", ...HEADER_MEDIA], {
      description:
        "The kind of a file above the body, in place of `header`, only for whatsapp. Each message gives its file: see [Content](/docs/content). Empty: none.",
    }),
  ),
  footer: optional(
    Type.String({ maxLength: MAX_FOOTER, description: "The text below the body, only for whatsapp, without variables. Empty: none." }),
  ),
  buttons: optional(
    Type.Array(NewButton, {
      maxItems: MAX_BUTTONS,
      description: `The buttons, only for whatsapp: up to ${MAX_BUTTONS}, of which up to ${MAX_URL_BUTTONS} open a URL and ${MAX_PHONE_BUTTONS} calls a number. Empty: none.`,
    }),
  ),
  examples: optional(
    Type.Record(Type.String({ minLength: 1, maxLength: 1_024 }), {
      maxProperties: MAX_VARIABLES,
      description: "An example value for each variable, by name, for previews and for the review.",
      examples: [{ name: "Ada", order: "1815" }],
    }),
  ),
};

export const NewTemplateBody = Type.Object(
  {
    name: Type.String({
      pattern: NAME_PATTERN,
      [HINT]: "must have 1 to 64 small letters, digits and underscores, and not begin with tmpl_",
      description: "The name, unique in the environment. Messages use the name or the id as `template_id`.",
      examples: ["order_shipped"],
    }),
    ...fields,
    ...extras,
    status: optional(oneOf(["draft"], { description: "`draft`: the template is not submitted for review yet. Absent: it is submitted." })),
  },
  { title: "NewTemplate", additionalProperties: false, description: "A template to create." },
);
export type NewTemplate = Static<typeof NewTemplateBody>;

export const EditTemplateBody = Type.Object(
  {
    language: optional(fields.language),
    category: optional(fields.category),
    channels: optional(fields.channels),
    body: optional(fields.body),
    ...extras,
    status: optional(oneOf(["pending"], { description: "`pending`: submits a draft for review, or a rejected template again." })),
  },
  {
    title: "EditTemplate",
    additionalProperties: false,
    description:
      "The fields to change. Fields that are absent or null stay unchanged. An empty text removes header, file or footer, and an empty list the buttons.",
  },
);
export type EditTemplate = Static<typeof EditTemplateBody>;

type Request = Readonly<Record<string, unknown>>;

/** Checks the rules that the schema cannot express. Fields of a wrong type are left to the schema. */
export function checkNewTemplate(request: Request): Fault[] {
  const { channels, body, header, header_media: headerMedia, footer, buttons, examples } = request;
  return [
    ...fieldFaults(request),
    ...contentFaults({
      channels: Array.isArray(channels) ? (channels as Channel[]) : undefined,
      body: textOf(body),
      header: textOf(header) || null,
      headerMedia: textOf(headerMedia) || null,
      footer: textOf(footer) || null,
      buttons: Array.isArray(buttons) && buttons.length > 0 ? buttons : null,
      examples: membersOf(examples),
    }),
  ];
}

const validate = compile(NewTemplateBody, "body");

/** Reads a template that was written elsewhere, by the rules of a request. Returns undefined if it breaks one. */
export function readImport(template: unknown): NewTemplate | undefined {
  if (validate(template).length > 0 || checkNewTemplate(template as Request).length > 0) return undefined;
  return template as NewTemplate;
}

/** Checks the fields of an edit. The rules between the edit and the template are checked when it is applied. */
export const checkEditTemplate = (request: Request): Fault[] => fieldFaults(request);

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const membersOf = (value: unknown): Request =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Request) : {};

function fieldFaults({ language, channels, body, header, footer, buttons, examples }: Request): Fault[] {
  return [
    ...languageFaults(textOf(language)),
    ...(Array.isArray(channels) ? repeatFaults(channels) : []),
    ...placeholderFaults(textOf(body) ?? "", "/body"),
    ...headerFaults(textOf(header) ?? ""),
    ...noVariables(footer, "/footer"),
    ...(Array.isArray(buttons) ? buttonFaults(buttons) : []),
    ...Object.entries(membersOf(examples)).flatMap(([name, value]): Fault[] =>
      textOf(value)?.trim() === ""
        ? [{ pointer: `/examples/${escapePointer(name)}`, code: "empty_variable", detail: "must not be empty or only white space" }]
        : [],
    ),
  ];
}

const language = new RegExp(LANGUAGE_PATTERN);

/** Refuses tags that are not BCP 47, and tags that are not in their canonical form: carriers would alter them, and two spellings of one
 *  language would look like two languages. */
function languageFaults(tag: string | undefined): Fault[] {
  if (tag === undefined || !language.test(tag)) return [];
  const canonical = canonicalTag(tag);
  if (canonical === tag) return [];
  const detail = canonical === undefined ? "is not a BCP 47 language tag" : `must be written ${canonical}`;
  return [{ pointer: "/language", code: "invalid_format", detail }];
}

function canonicalTag(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

const repeatFaults = (channels: readonly unknown[]): Fault[] =>
  channels.flatMap((channel, index) =>
    channels.indexOf(channel) < index ? [{ pointer: `/channels/${index}`, code: "repeated", detail: "is already listed" }] : [],
  );

const headerFaults = (header: string): Fault[] =>
  variablesOf({ header, body: "" }).length > 1
    ? [{ pointer: "/header", code: "too_many", detail: "must have at most one variable" }]
    : placeholderFaults(header, "/header");

const noVariables = (text: unknown, pointer: string): Fault[] =>
  typeof text === "string" && hasBraces(text) ? [{ pointer, code: "not_allowed", detail: "must not have variables" }] : [];

const TARGETS = ["url", "phone_number"] as const;
const MOST_OF: readonly (readonly [type: string, most: number])[] = [
  ["url", MAX_URL_BUTTONS],
  ["phone_number", MAX_PHONE_BUTTONS],
];

function buttonFaults(buttons: readonly unknown[]): Fault[] {
  const types = buttons.map((button) => membersOf(button)["type"]);
  const tooMany = MOST_OF.filter(([type, most]) => types.filter((each) => each === type).length > most);
  return [
    ...tooMany.map(([type, most]) => ({ pointer: "/buttons", code: "too_many", detail: `must have at most ${most} of type ${type}` })),
    ...buttons.flatMap((button, index) => oneButtonFaults(membersOf(button), `/buttons/${index}`)),
  ];
}

function oneButtonFaults(button: Request, pointer: string): Fault[] {
  const { type, text, url, phone_number: phoneNumber } = button;
  const between = TARGETS.flatMap((target): Fault[] => {
    const isThere = button[target] !== undefined && button[target] !== null;
    if (type === target && !isThere)
      return [{ pointer: `${pointer}/${target}`, code: "required", detail: `is required for type ${target}` }];
    const isKnown = BUTTON_TYPES.some((each) => each === type);
    return isKnown && type !== target && isThere
      ? [{ pointer: `${pointer}/${target}`, code: "conflict", detail: `is only allowed for type ${target}` }]
      : [];
  });
  return [
    ...between,
    ...noVariables(text, `${pointer}/text`),
    ...(typeof url === "string" ? urlFaults(url, `${pointer}/url`) : []),
    ...recipientFaults(phoneNumber, `${pointer}/phone_number`),
  ];
}

function urlFaults(text: string, pointer: string): Fault[] {
  const base = text.endsWith(URL_VARIABLE) ? text.slice(0, -URL_VARIABLE.length) : text;
  if (hasBraces(base)) return [{ pointer, code: "not_allowed", detail: `may have one variable, ${URL_VARIABLE}, at its end` }];
  const protocol = /[\s\p{Cc}]/u.test(text) ? undefined : parseBoundedUrl(text)?.protocol;
  return protocol === "https:" || protocol === "http:"
    ? []
    : [{ pointer, code: "invalid_format", detail: "must be a URL such as https://example.com/orders" }];
}
