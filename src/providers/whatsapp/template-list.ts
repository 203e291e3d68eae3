/** Parses the Cloud API's list of templates. A template that our form cannot express is listed without content. */
import type {
  CarrierTemplate,
  CarrierTemplateStatus,
  ReviewableButton,
  ReviewableContent,
  ReviewableTemplate,
  TemplateCategory,
} from "../business-account.ts";
import { asList, asObject, parseIdentifier, parseText, type JsonObject } from "../carrier-fields.ts";
import { isNumbered, renameVariables, variablesIn, languageTag } from "./components.ts";

/** WhatsApp's statuses. An unknown one decides nothing. */
const STATUSES: Readonly<Record<string, { status: CarrierTemplateStatus; reason: string | null }>> = {
  APPROVED: { status: "approved", reason: null },
  // A flagged template can be sent, and is about to be paused for its quality.
  FLAGGED: { status: "approved", reason: null },
  REJECTED: { status: "rejected", reason: "WhatsApp has rejected it." },
  PAUSED: { status: "paused", reason: "WhatsApp has paused it for its low quality." },
  DISABLED: { status: "paused", reason: "WhatsApp has disabled it." },
  ARCHIVED: { status: "paused", reason: "It was archived at WhatsApp." },
  PENDING_DELETION: { status: "deleted", reason: "It was deleted at WhatsApp." },
  DELETED: { status: "deleted", reason: "It was deleted at WhatsApp." },
};

export function parseStatus(name: unknown): { status: CarrierTemplateStatus; reason: string | null } | undefined {
  return typeof name === "string" && Object.hasOwn(STATUSES, name) ? STATUSES[name] : undefined;
}

/** Undefined if the entry has no id, name or language. */
export function parseTemplate(value: unknown): CarrierTemplate | undefined {
  const fields = asObject(value);
  const id = parseIdentifier(typeof fields["id"] === "number" ? String(fields["id"]) : fields["id"]);
  const name = parseIdentifier(fields["name"]);
  const code = parseIdentifier(fields["language"]);
  if (id === undefined || name === undefined || code === undefined) return undefined;
  const { status, reason } = parseStatus(fields["status"]) ?? { status: "pending" as const, reason: null };
  return {
    id,
    name,
    code,
    status,
    reason: status === "rejected" ? rejectionReason(fields, reason) : reason,
    template: parseContent(fields, name, code),
  };
}

function rejectionReason(fields: JsonObject, otherwise: string | null): string | null {
  const reason = parseText(fields["rejected_reason"]);
  return reason === undefined || reason === "NONE" ? otherwise : reason;
}

const CATEGORIES: Readonly<Record<string, TemplateCategory>> = {
  AUTHENTICATION: "authentication",
  UTILITY: "utility",
  MARKETING: "marketing",
};

function parseContent(fields: JsonObject, name: string, code: string): ReviewableTemplate | undefined {
  const language = languageTag(code);
  const category = CATEGORIES[String(fields["category"])];
  const components = componentsByType(asList(fields["components"]).map(asObject));
  if (language === undefined || category === undefined || components === undefined) return undefined;
  const content = category === "authentication" ? authenticationContent(components) : regularContent(components, category);
  return content && { name, language, ...content };
}

type Components = { header?: JsonObject; body?: JsonObject; footer?: JsonObject; buttons?: JsonObject };
const COMPONENT_TYPES: ReadonlySet<unknown> = new Set(["HEADER", "BODY", "FOOTER", "BUTTONS"]);

/** Undefined if a component has a type that our form does not have, or occurs twice. */
function componentsByType(components: readonly JsonObject[]): Components | undefined {
  if (!components.every(({ type }) => COMPONENT_TYPES.has(type)) || new Set(components.map(({ type }) => type)).size < components.length)
    return undefined;
  return Object.fromEntries(components.map((component) => [String(component["type"]).toLowerCase(), component]));
}

// WhatsApp allows 1,024. A text with thousands of variables would take long to compare.
const MAX_TEXT_CHARS = 4_096;
const parseShort = (value: unknown): string | undefined => {
  const text = parseText(value);
  return text !== undefined && text.length <= MAX_TEXT_CHARS ? text : undefined;
};

const HEADER_FILES: Readonly<Record<string, ReviewableContent["headerMedia"]>> = { IMAGE: "image", VIDEO: "video", DOCUMENT: "document" };

function regularContent({ header, body, footer, buttons }: Components, category: TemplateCategory): ReviewableContent | undefined {
  const bodyText = parseShort(body?.["text"]);
  const headerText = parseShort(header?.["text"]);
  const footerText = parseShort(footer?.["text"]);
  const parsedButtons = buttons && parseButtons(asList(buttons["buttons"]).map(asObject));
  const headerMedia = HEADER_FILES[String(header?.["format"])];
  const isKnownHeader = header === undefined || headerMedia !== undefined || (header["format"] === "TEXT" && headerText !== undefined);
  if (bodyText === undefined || !isKnownHeader) return undefined;
  if ((footer !== undefined && footerText === undefined) || (buttons !== undefined && parsedButtons === undefined)) return undefined;
  // The Cloud API counts variables from one in each component. Our count starts in the header and continues in the body.
  const shift = headerText !== undefined && isNumbered(variablesIn(headerText)) ? variablesIn(headerText).length : 0;
  const shifted = (variable: string): string => (/^\d+$/.test(variable) ? String(Number(variable) + shift) : variable);
  return {
    category,
    body: renameVariables(bodyText, shifted),
    header: headerText ?? null,
    ...(headerMedia === undefined ? {} : { headerMedia }),
    footer: footerText ?? null,
    buttons: parsedButtons ?? null,
    examples: {
      ...parseExamples(header, "header_text", headerText ?? "", (variable) => variable),
      ...parseExamples(body, "body_text", bodyText, shifted),
    },
  };
}

/** WhatsApp's own text around a code. Our form leaves out WhatsApp's button, which every such template has. */
function authenticationContent({ header, body, footer, buttons }: Components): ReviewableContent | undefined {
  const text = parseShort(body?.["text"]);
  const [button, ...more] = asList(buttons?.["buttons"]).map(asObject);
  const hasCopyButton = button !== undefined && (button["type"] === "OTP" || button["type"] === "URL") && more.length === 0;
  if (text === undefined || header !== undefined || !hasCopyButton || variablesIn(text).length !== 1) return undefined;
  return {
    category: "authentication",
    body: text,
    header: null,
    footer: parseText(footer?.["text"]) ?? null,
    buttons: null,
    examples: parseExamples(body, "body_text", text, (variable) => variable),
  };
}

function parseExamples(
  component: JsonObject | undefined,
  field: "header_text" | "body_text",
  text: string,
  nameOf: (variable: string) => string,
): Record<string, string> {
  const example = asObject(component?.["example"]);
  const variables = variablesIn(text);
  const named = new Map(asList(example[`${field}_named_params`]).map((each) => [asObject(each)["param_name"], asObject(each)["example"]]));
  const first: unknown = field === "body_text" ? asList(example[field])[0] : example[field];
  const values = isNumbered(variables) ? asList(first) : variables.map((variable) => named.get(variable));
  return Object.fromEntries(
    variables.flatMap((variable, index) => {
      const value = parseText(values[index]);
      return value === undefined ? [] : [[nameOf(variable), value]];
    }),
  );
}

/** Undefined if a button has a type that our form does not have. */
function parseButtons(buttons: readonly JsonObject[]): ReviewableButton[] | undefined {
  const parsed = buttons.flatMap((button) => parseButton(button) ?? []);
  return parsed.length === buttons.length && parsed.length > 0 ? parsed : undefined;
}

function parseButton({ type, text, url, phone_number: phoneNumber }: JsonObject): ReviewableButton | undefined {
  const [label, address, number] = [parseText(text), parseText(url), parseText(phoneNumber)];
  if (label === undefined) return undefined;
  if (type === "QUICK_REPLY") return { type: "quick_reply", text: label, url: null, phone_number: null };
  if (type === "URL" && address !== undefined) return { type: "url", text: label, url: address, phone_number: null };
  if (type === "PHONE_NUMBER" && number !== undefined)
    return { type: "phone_number", text: label, url: null, phone_number: `+${number.replaceAll(/\D/g, "")}` };
  return undefined;
}
