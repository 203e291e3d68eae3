/** A message in the form in which a provider gets it. */
import type { Content, Message, TemplateUse } from "../messages/message.ts";
import { encodeId } from "../model/id.ts";
import type { AcceptedParts, Outgoing, OutgoingTemplate } from "../providers/provider.ts";

/** The next attempt of a message. */
export const toOutgoing = (message: Message, { body, template }: Content, acceptedParts: AcceptedParts | undefined): Outgoing => ({
  id: encodeId("msg", message.id),
  attempt: message.attempts + 1,
  channel: message.channel,
  recipient: message.recipient,
  sender: message.sender,
  body,
  template: template && toOutgoingTemplate(template),
  expiresAtMs: message.expiresAtMs ?? 0,
  priority: message.priority,
  carrierOptions: message.carrierOptions,
  acceptedParts,
});

function toOutgoingTemplate({ name, language, category, variables, parts }: TemplateUse): OutgoingTemplate {
  const values = variables ?? {};
  const { header, body } = parts ?? { header: [], body: inOrder(Object.keys(values)) };
  // A variable may have the name `constructor`.
  const valueOf = (variable: string): string => (Object.hasOwn(values, variable) ? (values[variable] ?? "") : "");
  const filled = (names: readonly string[]) => names.map((variable) => ({ name: variable, value: valueOf(variable) }));
  return { name, language, category: category ?? null, header: filled(header), body: filled(body) };
}

/** The variables in the order in which the carrier expects them, for a message from before template parts were stored. All of them belong
 *  to the body then. */
const inOrder = (names: readonly string[]): string[] =>
  names.every((name) => /^\d+$/.test(name)) ? names.toSorted((a, b) => Number(a) - Number(b)) : [...names];
