/** The event types that an endpoint can select, by kind. Types that this console does not know are kept unchanged. */

export const ALL = "*";

export type Kind = { name: string; types: readonly string[] };

// Without webhook.test: a tested endpoint receives it whatever its event types are.
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
      "message.unrouted",
      "message.fallback_started",
    ],
  },
  { name: "recipient", types: ["recipient.opted_out", "recipient.opted_in"] },
  { name: "template", types: ["template.approved", "template.rejected", "template.paused"] },
  { name: "batch", types: ["batch.completed"] },
  { name: "media", types: ["media.ready", "media.failed"] },
  { name: "endpoint", types: ["endpoint.disabled"] },
  { name: "audit", types: ["audit.created"] },
];

/** The kind that `*` does not include: an endpoint gets entries of the audit log only where it names them. */
export const isAudit = (type: string): boolean => type.startsWith("audit.");
export const namesAudit = (types: readonly string[]): boolean => types.some(isAudit);

export const wildcard = ({ name }: Kind): string => `${name}.*`;

/** Returns the types that this console does not know. */
export const unknownTypes = (chosen: readonly string[]): string[] =>
  chosen.filter((type) => type !== ALL && !KINDS.some((kind) => type === wildcard(kind) || kind.types.includes(type)));

/** Whether an endpoint with these event types receives an event of this type. The event stream has no events of the audit log. */
export const receives = (chosen: readonly string[], type: string): boolean =>
  chosen.some((each) => each === ALL || each === type || (each.endsWith(".*") && type.startsWith(each.slice(0, -1))));
