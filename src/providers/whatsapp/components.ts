/** Templates in the form in which the Cloud API accepts them: components, each with its own numbering of variables and with examples. */
import { isDeepStrictEqual } from "node:util";
import { unreachable } from "../../lib/assert.ts";
import type { ReviewableButton, ReviewableContent, ReviewableTemplate } from "../business-account.ts";

const PLACEHOLDER = /\{\{([a-z0-9_]+)\}\}/g;

/** The variables of a text, in the order of their parameters. */
export function variablesIn(text: string | null): string[] {
  const found = [...new Set(Array.from((text ?? "").matchAll(PLACEHOLDER), ([, variable]) => variable ?? ""))];
  return isNumbered(found) ? found.toSorted((a, b) => Number(a) - Number(b)) : found;
}

export const isNumbered = (variables: readonly string[]): boolean => variables.every((variable) => /^\d+$/.test(variable));

export const renameVariables = (text: string, nameOf: (variable: string) => string): string =>
  text.replaceAll(PLACEHOLDER, (_, variable: string) => `{{${nameOf(variable)}}}`);

/** Numbers the variables from one. The Cloud API counts from one in each component; our templates count through all components. */
function renumberVariables(text: string | null): string | null {
  const variables = variablesIn(text);
  if (text === null || !isNumbered(variables)) return text;
  return renameVariables(text, (variable) => String(variables.indexOf(variable) + 1));
}

/** Whether two contents are the same for a review. WhatsApp writes the text of authentication templates, so all of these are the
 *  same. */
export function isSame(ours: ReviewableContent, theirs: ReviewableContent): boolean {
  if (ours.category === "authentication" || theirs.category === "authentication") return ours.category === theirs.category;
  return isDeepStrictEqual(comparable(ours), comparable(theirs));
}

const comparable = ({ header, headerMedia, body, footer, buttons }: ReviewableContent) => ({
  header: renumberVariables(header),
  headerMedia: headerMedia ?? null,
  body: renumberVariables(body),
  footer,
  buttons: (buttons ?? []).map(({ phone_number: number, ...rest }) => ({ ...rest, number: number?.replaceAll(/\D/g, "") ?? null })),
});

/** Why WhatsApp does not accept a template of this form; undefined if it may. */
export function formFault({ category, header, headerMedia, body, footer, buttons }: ReviewableContent): string | undefined {
  if (headerMedia)
    return "WhatsApp reviews a template with a file by a sample, which is uploaded in WhatsApp Manager: create the template there with this name, and it is found by the next sync.";
  if (category !== "authentication") return undefined;
  const hasOnlyCode = variablesIn(body).length === 1 && header === null && footer === null && buttons === null;
  return hasOnlyCode
    ? undefined
    : "At WhatsApp an authentication template has one variable, the code, and neither header, footer nor buttons of its own.";
}

/** The request body that creates a template. */
export const toCreation = (template: ReviewableTemplate): object => ({
  name: template.name,
  language: languageCode(template.language),
  category: template.category.toUpperCase(),
  ...parameterFormat(template),
  components: toComponents(template),
});

function parameterFormat({ category, header, body }: ReviewableContent): object {
  const variables = [...variablesIn(header), ...variablesIn(body)];
  if (category === "authentication" || variables.length === 0) return {};
  return { parameter_format: isNumbered(variables) ? "POSITIONAL" : "NAMED" };
}

export function toComponents({ category, header, body, footer, buttons, examples }: ReviewableContent): object[] {
  if (category === "authentication")
    return [
      { type: "BODY", add_security_recommendation: true },
      { type: "BUTTONS", buttons: [{ type: "OTP", otp_type: "COPY_CODE" }] },
    ];
  return [
    ...(header === null
      ? []
      : [{ type: "HEADER", format: "TEXT", text: renumberVariables(header), ...toExample("header_text", header, examples) }]),
    { type: "BODY", text: renumberVariables(body), ...toExample("body_text", body, examples) },
    ...(footer === null ? [] : [{ type: "FOOTER", text: footer }]),
    ...(buttons === null ? [] : [{ type: "BUTTONS", buttons: buttons.map(toButton) }]),
  ];
}

/** WhatsApp refuses a template whose variables have no examples. The name of a variable replaces a missing example. */
function toExample(field: "header_text" | "body_text", text: string, examples: ReviewableContent["examples"]): object {
  const variables = variablesIn(text);
  if (variables.length === 0) return {};
  const valueOf = (variable: string): string => (Object.hasOwn(examples, variable) ? (examples[variable] ?? variable) : variable);
  if (!isNumbered(variables))
    return { example: { [`${field}_named_params`]: variables.map((name) => ({ param_name: name, example: valueOf(name) })) } };
  const values = variables.map(valueOf);
  return { example: { [field]: field === "body_text" ? [values] : values } };
}

function toButton({ type, text, url, phone_number: phoneNumber }: ReviewableButton): object {
  switch (type) {
    case "quick_reply":
      return { type: "QUICK_REPLY", text };
    case "url":
      return { type: "URL", text, url, ...(url?.endsWith("{{1}}") === true ? { example: [url.replace("{{1}}", "example")] } : {}) };
    case "phone_number":
      return { type: "PHONE_NUMBER", text, phone_number: phoneNumber };
    default:
      return unreachable(type);
  }
}

/** WhatsApp's code for a BCP 47 tag. The code has no script. The script of Chinese selects the region, since WhatsApp has no code for
 *  Chinese without a region. */
export function languageCode(language: string): string {
  const [code = "", ...rest] = language.split(/[-_]/);
  const isChinese = code.toLowerCase() === "zh";
  const region = rest.find((part) => /^([a-z]{2}|\d{3})$/i.test(part)) ?? (isChinese ? chineseRegion(rest) : undefined);
  return region === undefined ? code.toLowerCase() : `${code.toLowerCase()}_${region.toUpperCase()}`;
}

const chineseRegion = (parts: readonly string[]): string => (parts.some((part) => part.toLowerCase() === "hant") ? "TW" : "CN");

/** The BCP 47 tag of a code; undefined if no tag has this code. */
export function languageTag(code: string): string | undefined {
  try {
    const [tag] = Intl.getCanonicalLocales(code.replaceAll("_", "-"));
    return tag !== undefined && languageCode(tag) === code ? tag : undefined;
  } catch {
    return undefined;
  }
}
