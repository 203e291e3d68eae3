/** What an endpoint can ask to be told of, by kind. Types of tomorrow are kept as they are found. */

export const ALL = "*";

export type Kind = { name: string; types: readonly string[] };

// Not webhook.test: it comes to the endpoint that is tested, whatever that asks for.
export const KINDS: readonly Kind[] = [
  {
    name: "message",
    types: [
      "message.scheduled",
      "message.queued",
      "message.sending",
      "message.sent",
      "message.delivered",
      "message.read",
      "message.undelivered",
      "message.failed",
      "message.expired",
      "message.canceled",
      "message.received",
      "message.fallback_started",
    ],
  },
  { name: "recipient", types: ["recipient.opted_out", "recipient.opted_in"] },
  { name: "template", types: ["template.approved", "template.rejected", "template.paused"] },
  { name: "batch", types: ["batch.completed"] },
  { name: "endpoint", types: ["endpoint.disabled"] },
];

export const wildcard = ({ name }: Kind): string => `${name}.*`;

/** Those of an endpoint that this console does not know. */
export const unknownTypes = (chosen: readonly string[]): string[] =>
  chosen.filter((type) => type !== ALL && !KINDS.some((kind) => type === wildcard(kind) || kind.types.includes(type)));

/** Whether an endpoint that asks for these is told of an event of this type. */
export const receives = (chosen: readonly string[], type: string): boolean =>
  chosen.some((each) => each === ALL || each === type || (each.endsWith(".*") && type.startsWith(each.slice(0, -1))));
