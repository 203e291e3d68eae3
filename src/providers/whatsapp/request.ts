/** A message as the Cloud API wants it. Free text and templates; it fills in templates itself. */
import { digitsOf } from "../../lib/phone-number.ts";
import type { Outgoing, OutgoingTemplate, Variable } from "../provider.ts";
import { languageCode } from "./language.ts";

export function requestBody(message: Outgoing): string {
  const { id, recipient, body, template } = message;
  return JSON.stringify({
    messaging_product: "whatsapp",
    recipient_type: "individual",
    to: digitsOf(recipient),
    ...(template === null
      ? { type: "text", text: { body: body.toWellFormed(), preview_url: false } }
      : { type: "template", template: templateOf(template) }),
    // Comes back in statuses: there is no other way to learn what became of a message whose answer was lost.
    biz_opaque_callback_data: id,
  });
}

function templateOf(template: OutgoingTemplate): object {
  const components = componentsOf(template);
  return {
    name: template.name,
    language: { code: languageCode(template.language) },
    ...(components.length === 0 ? {} : { components }),
  };
}

function componentsOf({ category, header, body }: OutgoingTemplate): object[] {
  if (category === "authentication") return codeComponents(body[0] ?? header[0]);
  return [
    ...(header.length === 0 ? [] : [{ type: "header", parameters: parametersOf(header) }]),
    ...(body.length === 0 ? [] : [{ type: "body", parameters: parametersOf(body) }]),
  ];
}

/** The text of such a template is WhatsApp's own, with one place for the code, which has no name; and the code is once more what
 *  its button copies. */
function codeComponents(code: Variable | undefined): object[] {
  if (code === undefined) return [];
  const parameters = [{ type: "text", text: code.value.toWellFormed() }];
  return [
    { type: "body", parameters },
    { type: "button", sub_type: "url", index: "0", parameters },
  ];
}

/** Numbered ones go by their place, others by their name. */
const parametersOf = (variables: readonly Variable[]): object[] =>
  variables.map(({ name, value }) => ({
    type: "text",
    ...(/^\d+$/.test(name) ? {} : { parameter_name: name }),
    text: value.toWellFormed(),
  }));
