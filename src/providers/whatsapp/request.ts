/** The Cloud API's request body of a message: free text, or a template, whose variables WhatsApp fills in. */
import { digitsOf, isUserId } from "../../model/phone-number.ts";
import type { Outgoing, OutgoingTemplate, Variable } from "../provider.ts";
import { languageCode } from "./language.ts";

export function requestBody(message: Outgoing): string {
  const { id, recipient, body, template } = message;
  return JSON.stringify({
    messaging_product: "whatsapp",
    recipient_type: "individual",
    // WhatsApp has a field of its own for user ids.
    ...(isUserId(recipient) ? { recipient } : { to: digitsOf(recipient) }),
    ...(template === null
      ? { type: "text", text: { body: body.toWellFormed(), preview_url: false } }
      : { type: "template", template: toTemplate(template) }),
    // WhatsApp returns it in statuses: a message whose response was lost can be matched only by it.
    biz_opaque_callback_data: id,
  });
}

function toTemplate(template: OutgoingTemplate): object {
  const components = toComponents(template);
  return {
    name: template.name,
    language: { code: languageCode(template.language) },
    ...(components.length === 0 ? {} : { components }),
  };
}

function toComponents({ category, header, body }: OutgoingTemplate): object[] {
  if (category === "authentication") return codeComponents(body[0] ?? header[0]);
  return [
    ...(header.length === 0 ? [] : [{ type: "header", parameters: toParameters(header) }]),
    ...(body.length === 0 ? [] : [{ type: "body", parameters: toParameters(body) }]),
  ];
}

/** The components of an authentication template. WhatsApp writes its text, which has one unnamed variable, the code. Its button copies
 *  the same code. */
function codeComponents(code: Variable | undefined): object[] {
  if (code === undefined) return [];
  const parameters = [{ type: "text", text: code.value.toWellFormed() }];
  return [
    { type: "body", parameters },
    { type: "button", sub_type: "url", index: "0", parameters },
  ];
}

/** Numbered variables are matched by position, others by name. */
const toParameters = (variables: readonly Variable[]): object[] =>
  variables.map(({ name, value }) => ({
    type: "text",
    ...(/^\d+$/.test(name) ? {} : { parameter_name: name }),
    text: value.toWellFormed(),
  }));
