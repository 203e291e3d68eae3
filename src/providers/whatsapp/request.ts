/** A message as the Cloud API wants it. Free text and templates; it fills in templates itself. */
import type { Outgoing } from "../provider.ts";

export function requestBody(message: Outgoing): string {
  const { id, recipient, body, template } = message;
  return JSON.stringify({
    messaging_product: "whatsapp",
    recipient_type: "individual",
    to: recipient.replaceAll(/\D/g, ""),
    ...(template === null
      ? { type: "text", text: { body: body.toWellFormed(), preview_url: false } }
      : { type: "template", template: templateOf(template) }),
    // Comes back in statuses: there is no other way to learn what became of a message whose answer was lost.
    biz_opaque_callback_data: id,
  });
}

function templateOf({ name, language, variables }: NonNullable<Outgoing["template"]>): object {
  const parameters = parametersOf(variables);
  return {
    name,
    language: { code: languageCode(language) },
    ...(parameters.length === 0 ? {} : { components: [{ type: "body", parameters }] }),
  };
}

/** Numbered ones go by their place, others by their name. */
function parametersOf(variables: Readonly<Record<string, string>>): object[] {
  const entries = Object.entries(variables);
  if (entries.every(([name]) => /^\d+$/.test(name)))
    return entries.toSorted(([a], [b]) => Number(a) - Number(b)).map(([, text]) => ({ type: "text", text: text.toWellFormed() }));
  return entries.map(([name, text]) => ({ type: "text", parameter_name: name, text: text.toWellFormed() }));
}

/** `en-US` is `en_US` there. A script is not part of it, except that it tells which Chinese is meant, which has no code without a
 *  region. */
function languageCode(language: string): string {
  const [code = "", ...rest] = language.split(/[-_]/);
  const isChinese = code.toLowerCase() === "zh";
  const region = rest.find((part) => /^([a-z]{2}|\d{3})$/i.test(part)) ?? (isChinese ? chineseRegion(rest) : undefined);
  return region === undefined ? code.toLowerCase() : `${code.toLowerCase()}_${region.toUpperCase()}`;
}

const chineseRegion = (parts: readonly string[]): string => (parts.some((part) => part.toLowerCase() === "hant") ? "TW" : "CN");
