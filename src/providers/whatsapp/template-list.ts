/** The templates of a business account, read from what the Cloud API lists. What our words cannot say is there without content. */
import { nameIn, textIn } from "../http-answer.ts";
import type {
  CarrierTemplate,
  ReviewableButton,
  ReviewableContent,
  CarrierTemplateStatus,
  ReviewableTemplate,
  TemplateCategory,
} from "../business-account.ts";
import { isNumbered, renamed, variablesIn } from "./components.ts";
import { languageOf } from "./language.ts";

type Words = Readonly<Record<string, unknown>>;

const wordsIn = (value: unknown): Words => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Words) : {});
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** What each word of theirs means. One that is not here decides nothing. */
const STATUSES: Readonly<Record<string, { status: CarrierTemplateStatus; reason: string | null }>> = {
  APPROVED: { status: "approved", reason: null },
  // Sendable, and at risk.
  FLAGGED: { status: "approved", reason: null },
  REJECTED: { status: "rejected", reason: "WhatsApp has rejected it." },
  PAUSED: { status: "paused", reason: "WhatsApp has paused it for its low quality." },
  DISABLED: { status: "paused", reason: "WhatsApp has disabled it." },
  ARCHIVED: { status: "paused", reason: "It was archived at WhatsApp." },
  PENDING_DELETION: { status: "deleted", reason: "It was deleted at WhatsApp." },
  DELETED: { status: "deleted", reason: "It was deleted at WhatsApp." },
};

export function statusOf(word: unknown): { status: CarrierTemplateStatus; reason: string | null } | undefined {
  return typeof word === "string" && Object.hasOwn(STATUSES, word) ? STATUSES[word] : undefined;
}

/** Undefined where it is none: then nobody knows what it would have been. */
export function templateIn(value: unknown): CarrierTemplate | undefined {
  const words = wordsIn(value);
  const id = nameIn(typeof words["id"] === "number" ? String(words["id"]) : words["id"]);
  const name = nameIn(words["name"]);
  const code = nameIn(words["language"]);
  if (id === undefined || name === undefined || code === undefined) return undefined;
  const { status, reason } = statusOf(words["status"]) ?? { status: "pending" as const, reason: null };
  return {
    id,
    name,
    code,
    status,
    reason: status === "rejected" ? rejectionIn(words, reason) : reason,
    template: contentIn(words, name, code),
  };
}

function rejectionIn(words: Words, otherwise: string | null): string | null {
  const reason = textIn(words["rejected_reason"]);
  return reason === undefined || reason === "NONE" ? otherwise : reason;
}

const CATEGORIES: Readonly<Record<string, TemplateCategory>> = {
  AUTHENTICATION: "authentication",
  UTILITY: "utility",
  MARKETING: "marketing",
};

function contentIn(words: Words, name: string, code: string): ReviewableTemplate | undefined {
  const language = languageOf(code);
  const category = CATEGORIES[String(words["category"])];
  const parts = partsIn(listIn(words["components"]).map(wordsIn));
  if (language === undefined || category === undefined || parts === undefined) return undefined;
  const content = category === "authentication" ? codeContent(parts) : plainContent(parts, category);
  return content && { name, language, ...content };
}

/** The components by their type; undefined where one of them is not ours, or is there twice. */
type Parts = { header?: Words; body?: Words; footer?: Words; buttons?: Words };
const PART_TYPES: ReadonlySet<unknown> = new Set(["HEADER", "BODY", "FOOTER", "BUTTONS"]);

function partsIn(components: readonly Words[]): Parts | undefined {
  if (!components.every(({ type }) => PART_TYPES.has(type)) || new Set(components.map(({ type }) => type)).size < components.length)
    return undefined;
  return Object.fromEntries(components.map((component) => [String(component["type"]).toLowerCase(), component]));
}

function plainContent({ header, body, footer, buttons }: Parts, category: TemplateCategory): ReviewableContent | undefined {
  const bodyText = textIn(body?.["text"]);
  const headerText = textIn(header?.["text"]);
  const footerText = textIn(footer?.["text"]);
  const made = buttons && buttonsIn(listIn(buttons["buttons"]).map(wordsIn));
  if (bodyText === undefined || (header !== undefined && (header["format"] !== "TEXT" || headerText === undefined))) return undefined;
  if ((footer !== undefined && footerText === undefined) || (buttons !== undefined && made === undefined)) return undefined;
  // Each part counts from one there. Here the header's is the first, and the body's come after it.
  const shift = headerText !== undefined && isNumbered(variablesIn(headerText)) ? variablesIn(headerText).length : 0;
  const shifted = (variable: string): string => (/^\d+$/.test(variable) ? String(Number(variable) + shift) : variable);
  return {
    category,
    body: renamed(bodyText, shifted),
    header: headerText ?? null,
    footer: footerText ?? null,
    buttons: made ?? null,
    examples: {
      ...examplesIn(header, "header_text", headerText ?? "", (variable) => variable),
      ...examplesIn(body, "body_text", bodyText, shifted),
    },
  };
}

/** WhatsApp's own text around a code, and its own button, which ours need not say: it is there with every code. */
function codeContent({ header, body, footer, buttons }: Parts): ReviewableContent | undefined {
  const text = textIn(body?.["text"]);
  const [button, ...more] = listIn(buttons?.["buttons"]).map(wordsIn);
  const isCopying = button !== undefined && (button["type"] === "OTP" || button["type"] === "URL") && more.length === 0;
  if (text === undefined || header !== undefined || !isCopying || variablesIn(text).length !== 1) return undefined;
  return {
    category: "authentication",
    body: text,
    header: null,
    footer: textIn(footer?.["text"]) ?? null,
    buttons: null,
    examples: examplesIn(body, "body_text", text, (variable) => variable),
  };
}

function examplesIn(
  part: Words | undefined,
  field: "header_text" | "body_text",
  text: string,
  nameOf: (variable: string) => string,
): Record<string, string> {
  const example = wordsIn(part?.["example"]);
  const variables = variablesIn(text);
  const named = listIn(example[`${field}_named_params`]).map(wordsIn);
  const first: unknown = field === "body_text" ? listIn(example[field])[0] : example[field];
  const values = isNumbered(variables)
    ? listIn(first)
    : variables.map((variable) => named.find(({ param_name: name }) => name === variable)?.["example"]);
  return Object.fromEntries(
    variables.flatMap((variable, index) => {
      const value = textIn(values[index]);
      return value === undefined ? [] : [[nameOf(variable), value]];
    }),
  );
}

/** Undefined where one of them is not ours. */
function buttonsIn(buttons: readonly Words[]): ReviewableButton[] | undefined {
  const made = buttons.flatMap((button) => buttonIn(button) ?? []);
  return made.length === buttons.length && made.length > 0 ? made : undefined;
}

function buttonIn({ type, text, url, phone_number: phoneNumber }: Words): ReviewableButton | undefined {
  const [label, address, number] = [textIn(text), textIn(url), textIn(phoneNumber)];
  if (label === undefined) return undefined;
  if (type === "QUICK_REPLY") return { type: "quick_reply", text: label, url: null, phone_number: null };
  if (type === "URL" && address !== undefined) return { type: "url", text: label, url: address, phone_number: null };
  if (type === "PHONE_NUMBER" && number !== undefined)
    return { type: "phone_number", text: label, url: null, phone_number: `+${number.replaceAll(/\D/g, "")}` };
  return undefined;
}
