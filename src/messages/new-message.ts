/** The request to send a message: its schema, and the rules between its fields. */
import { Problem, type Fault } from "../http/problem.ts";
import { oneOf, optional, Type, type Static, timeField } from "../http/schema.ts";
import { isUserId } from "../model/phone-number.ts";
import { recipientFaults, recipientField, senderField } from "../links/address.ts";
import { CHANNELS, MAX_BODY } from "../links/channel.ts";
import { explainTime } from "../lib/time.ts";
import type { CarrierOptions } from "../providers/provider.ts";
import { checkNewContent } from "./check-content.ts";
import { MAX_RECORD_BYTES, PRIORITIES } from "./message.ts";
import { NewContentBody } from "./new-content.ts";

const body = Type.String({
  minLength: 1,
  maxLength: MAX_BODY.whatsapp,
  description: "The text. Up to 1,600 characters on sms, and 4,096 on whatsapp.",
});
const templateId = Type.String({ minLength: 1, maxLength: 64, description: "The id or the name of a template, in place of `body`." });
const templateVariables = Type.Record(Type.String({ maxLength: 1_024 }), {
  maxProperties: 100,
  propertyNames: Type.String({ minLength: 1, maxLength: 40 }),
  description: "The values of the variables of the template, by name. All variables are required.",
});

const FallbackStep = Type.Object(
  {
    channel: oneOf(CHANNELS, { description: "The channel of this step." }),
    body: optional(body),
    template_id: optional(templateId),
    template_variables: optional(templateVariables),
    content: optional(NewContentBody),
    after_seconds: Type.Integer({
      minimum: 1,
      maximum: 172_800,
      description: "The time that the previous message has to be delivered. If it fails earlier, this step starts at once.",
    }),
  },
  { title: "FallbackStep", additionalProperties: false, description: "A message that is sent if the previous one is not delivered." },
);

export const NewMessageBody = Type.Object(
  {
    recipient: recipientField,
    channel: oneOf(CHANNELS, { description: "The channel on which the message is sent." }),
    body: optional(body),
    template_id: optional(templateId),
    template_variables: optional(templateVariables),
    content: optional(NewContentBody),
    reply_to: optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: "The id of an earlier message of the same conversation, which this one quotes. On whatsapp only.",
      }),
    ),
    sender: optional(senderField),
    send_at: optional(
      timeField("The time at which to send the message, up to 35 days ahead. Absent, or a time within the last 24 hours: at once."),
    ),
    ttl_seconds: optional(
      Type.Integer({
        minimum: 30,
        maximum: 172_800,
        description: "The time to live: the message is not submitted after that many seconds. Default: 172,800 (48 hours).",
      }),
    ),
    priority: optional(oneOf(PRIORITIES, { description: "`high` for codes, `bulk` for campaigns. Default: `normal`." })),
    client_reference: optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: "Your own reference, such as an order number. Lists can be filtered by it. It need not be unique.",
      }),
    ),
    metadata: optional(
      Type.Record(Type.String({ maxLength: 500 }), {
        maxProperties: 50,
        propertyNames: Type.String({ minLength: 1, maxLength: 40 }),
        description:
          "Your own keys and values, which are returned with the message: up to 50 keys of up to 40 characters, with values of up to 500.",
      }),
    ),
    fallback: optional(
      Type.Array(FallbackStep, {
        minItems: 1,
        maxItems: 5,
        description:
          "Messages that are sent one after the other if this one is not delivered. Each is a message of its own, with `fallback_of`. See [Fallback](/docs/fallback).",
      }),
    ),
    max_segments: optional(
      Type.Integer({ minimum: 1, maximum: 255, description: "The maximum number of segments. A longer text is refused." }),
    ),
    carrier_options: optional(
      Type.Unsafe<CarrierOptions>({
        type: "object",
        additionalProperties: true,
        maxProperties: 20,
        description:
          "Options of one provider, such as `dlt_template_id` on an SMPP link. They are checked for the link that the message uses. See [Options of a message](/docs/links#options-of-a-message).",
      }),
    ),
  },
  {
    title: "NewMessage",
    additionalProperties: false,
    description: "A message to send. Exactly one of `body`, `template_id` and `content` is required.",
  },
);

export type NewMessage = Static<typeof NewMessageBody>;

type Fields = Readonly<Record<string, unknown>>;

// Room for every tag that a carrier may want, and small beside a record.
const MAX_OPTION_BYTES = 4_096;

/** Checks the rules between fields, and rules that a schema cannot express. The schema reports fields of a wrong type. */
export const checkNewMessage = (request: Fields): Fault[] => [...checkEachField(request), ...checkTogether(request)];

/** Checks the rules between fields. */
export const checkTogether = (request: Fields): Fault[] => [...checkContent(request), ...checkReach(request), ...checkReply(request)];

/** Only WhatsApp shows the message that another one replies to. */
function checkReply({ reply_to: replyTo, channel, content }: Fields): Fault[] {
  if (typeof replyTo !== "string") return [];
  const fault = (code: string, detail: string): Fault[] => [{ pointer: "/reply_to", code, detail }];
  if (channel === "sms") return fault("not_supported", "cannot be sent on sms, where a message has no reference to another one");
  const isReaction = (content as Fields | null | undefined)?.["type"] === "reaction";
  return isReaction ? fault("conflict", "cannot be combined with a reaction, which names its message itself") : [];
}

/** Only WhatsApp reaches a user id. */
function checkReach({ recipient, channel, fallback }: Fields): Fault[] {
  if (typeof recipient !== "string" || !isUserId(recipient)) return [];
  const detail = "must be an E.164 number on sms: a user id is reached on whatsapp only";
  const faults: Fault[] = channel === "sms" ? [{ pointer: "/recipient", code: "invalid_format", detail }] : [];
  for (const [index, step] of Array.isArray(fallback) ? fallback.entries() : [])
    if ((step as Fields | null)?.["channel"] === "sms")
      faults.push({ pointer: `/fallback/${index}/channel`, code: "conflict", detail: "must be whatsapp: the recipient is a user id" });
  return faults;
}

/** Checks the rules that concern one field each, and so also apply to a part of a message. */
export function checkEachField(request: Fields): Fault[] {
  const faults = recipientFaults(request["recipient"], "/recipient");
  const { send_at: sendAt, fallback } = request;
  if (typeof sendAt === "string") faults.push(...sendAtFaults(sendAt));
  const { carrier_options: options } = request;
  if (options !== undefined && Buffer.byteLength(JSON.stringify(options)) > MAX_OPTION_BYTES)
    faults.push({ pointer: "/carrier_options", code: "too_large", detail: `must not exceed ${MAX_OPTION_BYTES} bytes` });
  if (Array.isArray(fallback))
    fallback.forEach((step: unknown, index) => {
      if (typeof step === "object" && step !== null) faults.push(...checkContent(step as Fields, `/fallback/${index}`));
    });
  return faults;
}

/** Checks the content of the message or a fallback step: a text or a template, and not too long for the channel. */
function checkContent(fields: Fields, pointer = ""): Fault[] {
  const { channel, body: text, template_id: template, template_variables: variables, content } = fields;
  const faults: Fault[] = [];
  const fault = (field: string, code: string, detail: string): unknown => faults.push({ pointer: `${pointer}/${field}`, code, detail });
  const hasText = text !== undefined && text !== null;
  const hasTemplate = template !== undefined && template !== null;
  const hasContent = content !== undefined && content !== null;
  if (!hasText && !hasTemplate && !hasContent) fault("body", "required", "one of body, template_id and content is required");
  if (hasContent && (hasText || hasTemplate)) fault("content", "conflict", `cannot be combined with ${hasText ? "body" : "template_id"}`);
  if (hasText && hasTemplate) fault("template_id", "conflict", "cannot be combined with body");
  if (!hasTemplate && variables !== undefined && variables !== null) fault("template_variables", "conflict", "needs a template_id");
  // The schema has the limit of the channel with the longest texts.
  if (channel === "sms" && typeof text === "string" && codePoints(text) > MAX_BODY.sms && codePoints(text) <= MAX_BODY.whatsapp) {
    fault("body", "too_long", `must have at most ${MAX_BODY.sms} characters on sms`);
  }
  if (hasContent) faults.push(...checkNewContent(content, channel, `${pointer}/content`));
  return faults;
}

const DAY_MS = 24 * 3_600_000;
const MAX_DAYS_AHEAD = 35;

/** A time in the last 24 hours means now. Otherwise a request that is repeated with its idempotency key could be refused because it is
 *  late. After a day the key has expired, and such a time is a mistake. */
export function sendAtFaults(text: string): Fault[] {
  const fault = (code: string, detail: string): Fault[] => [{ pointer: "/send_at", code, detail }];
  const aheadMs = Date.parse(text) - Date.now();
  // The schema reports other invalid times. Only a leap second passes the schema and cannot be parsed.
  if (Number.isNaN(aheadMs)) return fault("invalid_format", explainTime(text));
  if (aheadMs > MAX_DAYS_AHEAD * DAY_MS) return fault("too_far", `must be at most ${MAX_DAYS_AHEAD} days ahead`);
  if (aheadMs < -DAY_MS) return fault("in_the_past", "must not be in the past");
  return [];
}

/** Counts code points only if the number of UTF-16 units exceeds the limit. */
const codePoints = (text: string): number => (text.length <= MAX_BODY.sms ? text.length : Array.from(text).length);

export const tooManySegments = (count: number, most: number, pointer: string): Problem =>
  new Problem("max_segments_exceeded", {
    errors: [{ pointer, code: "max_segments_exceeded", detail: `the text needs ${count} segments, max_segments allows ${most}` }],
  });

export const messageTooLarge = (): Problem =>
  new Problem("invalid_request_payload", {
    errors: [
      {
        pointer: "",
        code: "too_large",
        detail: `the message as a whole must not exceed ${MAX_RECORD_BYTES} bytes; shorten metadata or body`,
      },
    ],
  });
