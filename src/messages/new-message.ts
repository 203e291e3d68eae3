/** The request to send: what it may say, and every rule that holds between its fields. */
import { Problem, type Fault } from "../http/problem.ts";
import { HINT, oneOf, optional, recordOf, Type, type Static } from "../http/schema.ts";
import { CHANNELS, MAX_RECORD_BYTES, PRIORITIES, type Channel } from "./message.ts";
import { E164_PATTERN, isPossibleNumber } from "./recipient.ts";

export const MAX_BODY: Readonly<Record<Channel, number>> = { sms: 1_600, whatsapp: 4_096 };
// A number, a short code, or a name of up to eleven characters with a letter in it: what carriers take as a sender.
const SENDER_PATTERN = "^(\\+[1-9]\\d{6,14}|\\d{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 ._&-]{1,11})$";

const body = Type.String({
  minLength: 1,
  maxLength: MAX_BODY.whatsapp,
  description: "The text: up to 1,600 characters on sms, 4,096 on whatsapp.",
});
const templateId = Type.String({ minLength: 1, maxLength: 64, description: "A template's id or name." });
const templateVariables = recordOf(Type.String({ maxLength: 1_024 }), { maxProperties: 100 });

const FallbackStep = Type.Object(
  {
    channel: oneOf(CHANNELS),
    body: optional(body),
    template_id: optional(templateId),
    template_variables: optional(templateVariables),
    after_seconds: Type.Integer({ minimum: 1, maximum: 172_800 }),
  },
  { title: "FallbackStep", additionalProperties: false },
);

export const NewMessageBody = Type.Object(
  {
    recipient: Type.String({ pattern: E164_PATTERN, [HINT]: "must be an E.164 number such as +14155550123", examples: ["+14155550123"] }),
    channel: oneOf(CHANNELS),
    body: optional(body),
    template_id: optional(templateId),
    template_variables: optional(templateVariables),
    sender: optional(
      Type.String({ pattern: SENDER_PATTERN, [HINT]: "must be an E.164 number, a short code, or a name of up to 11 characters" }),
    ),
    send_at: optional(
      Type.String({
        format: "date-time",
        [HINT]: "must be an RFC 3339 time such as 2030-01-31T09:00:00Z",
        description: "Up to 35 days ahead. A time that has just passed means now.",
      }),
    ),
    ttl_seconds: optional(
      Type.Integer({ minimum: 30, maximum: 172_800, description: "Not handed to a carrier after that. Default 172,800." }),
    ),
    priority: optional(oneOf(PRIORITIES, { description: "`high` for codes, `bulk` for campaigns. Default `normal`." })),
    client_reference: optional(Type.String({ minLength: 1, maxLength: 128, description: "Your own name for it: filterable, not unique." })),
    metadata: optional(
      recordOf(Type.String({ maxLength: 500 }), {
        maxProperties: 50,
        propertyNames: { maxLength: 40, minLength: 1 },
        description: "Up to 50 keys of up to 40 characters, values up to 500.",
      }),
    ),
    fallback: optional(Type.Array(FallbackStep, { minItems: 1, maxItems: 5 })),
    max_segments: optional(Type.Integer({ minimum: 1, maximum: 255, description: "Refuse rather than send more parts." })),
  },
  { title: "NewMessage", additionalProperties: false, description: "Exactly one of `body` and `template_id`." },
);

export type NewMessage = Static<typeof NewMessageBody>;

/** The rules between fields, and those a schema cannot say. Fields that are not even of their type are the schema's. */
export function checkNewMessage(request: Readonly<Record<string, unknown>>): Fault[] {
  const faults: Fault[] = [];
  const { recipient, channel, body: text, template_id: template, template_variables: variables } = request;
  if (typeof recipient === "string" && new RegExp(E164_PATTERN).test(recipient) && !isPossibleNumber(recipient)) {
    faults.push({
      pointer: "/recipient",
      code: "impossible_number",
      detail: "no country has numbers of this length under this calling code",
    });
  }
  const hasText = text !== undefined && text !== null;
  const hasTemplate = template !== undefined && template !== null;
  if (!hasText && !hasTemplate) faults.push({ pointer: "/body", code: "required", detail: "either body or template_id is required" });
  if (hasText && hasTemplate) faults.push({ pointer: "/template_id", code: "conflict", detail: "cannot be combined with body" });
  if (!hasTemplate && variables !== undefined && variables !== null) {
    faults.push({ pointer: "/template_variables", code: "conflict", detail: "needs a template_id" });
  }
  // The schema's limit is that of the longest channel.
  if (channel === "sms" && typeof text === "string" && codePoints(text) > MAX_BODY.sms && codePoints(text) <= MAX_BODY.whatsapp) {
    faults.push({ pointer: "/body", code: "too_long", detail: `must have at most ${MAX_BODY.sms} characters on sms` });
  }
  if (typeof request["send_at"] === "string") faults.push(...sendAtFaults(request["send_at"]));
  return faults;
}

const DAY_MS = 24 * 3_600_000;
const MAX_DAYS_AHEAD = 35;

/** A time that has just passed means now: else a request repeated under its key could be refused for being late. After a day
 *  there is no key left to repeat it under, and such a time is a mistake. */
export function sendAtFaults(text: string): Fault[] {
  const fault = (code: string, detail: string): Fault[] => [{ pointer: "/send_at", code, detail }];
  const aheadMs = Date.parse(text) - Date.now();
  // What the schema does not take for a time is told by it; a leap second is a time that no clock here can tell.
  if (Number.isNaN(aheadMs)) return fault("invalid_format", "must be an RFC 3339 time such as 2030-01-31T09:00:00Z");
  if (aheadMs > MAX_DAYS_AHEAD * DAY_MS) return fault("too_far", `must be at most ${MAX_DAYS_AHEAD} days ahead`);
  if (aheadMs < -DAY_MS) return fault("in_the_past", "must not be in the past");
  return [];
}

/** Counts only when the number of UTF-16 units does not settle it. */
const codePoints = (text: string): number => (text.length <= MAX_BODY.sms ? text.length : Array.from(text).length);

/** What the contract knows and this version does not do yet. */
const NOT_YET = ["template_id", "fallback"] as const;

export const unavailableFields = (request: NewMessage): Fault[] =>
  NOT_YET.filter((field) => request[field] !== undefined && request[field] !== null).map((field) => ({
    pointer: `/${field}`,
    code: "feature_not_available",
    detail: "is not supported by this version",
  }));

export const tooManySegments = (count: number, most: number, pointer: string): Problem =>
  new Problem("max_segments_exceeded", {
    errors: [{ pointer, code: "max_segments_exceeded", detail: `the text needs ${count} parts, max_segments allows ${most}` }],
  });

export const tooLarge = (): Problem =>
  new Problem("invalid_request_payload", {
    errors: [
      {
        pointer: "",
        code: "too_large",
        detail: `the message as a whole must not exceed ${MAX_RECORD_BYTES} bytes; shorten metadata or body`,
      },
    ],
  });
