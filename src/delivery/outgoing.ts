/** A message as a carrier is given it. */
import { encodeId } from "../lib/id.ts";
import type { Content, TemplateUse } from "../messages/content.ts";
import type { Message } from "../messages/message.ts";
import type { Outgoing, OutgoingTemplate } from "../providers/provider.ts";

export const toOutgoing = (message: Message, { body, template }: Content): Outgoing => ({
  id: encodeId("msg", message.id),
  attempt: message.attempts,
  channel: message.channel,
  recipient: message.recipient,
  sender: message.sender,
  body,
  template: template && toOutgoingTemplate(template),
  expiresAtMs: message.expiresAtMs ?? 0,
});

function toOutgoingTemplate({ name, language, category, variables, parts }: TemplateUse): OutgoingTemplate {
  const values = variables ?? {};
  const { header, body } = parts ?? { header: [], body: inOrder(Object.keys(values)) };
  // A variable may be called `constructor`.
  const valueOf = (variable: string): string => (Object.hasOwn(values, variable) ? (values[variable] ?? "") : "");
  const filled = (names: readonly string[]) => names.map((variable) => ({ name: variable, value: valueOf(variable) }));
  return { name, language, category: category ?? null, header: filled(header), body: filled(body) };
}

/** Of a message that does not know the parts of its template, from before that was kept: all of it is the body's, as it was then. */
const inOrder = (names: readonly string[]): string[] =>
  names.every((name) => /^\d+$/.test(name)) ? names.toSorted((a, b) => Number(a) - Number(b)) : [...names];
