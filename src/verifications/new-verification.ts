/** The request for a verification, and the message that carries its code. */
import type { Fault } from "../http/problem.ts";
import { oneOf, optional, Type, type Static } from "../http/schema.ts";
import { numberField, recipientFaults, senderField } from "../links/address.ts";
import { CHANNELS, type Channel } from "../links/channel.ts";
import type { NewMessage } from "../messages/new-message.ts";
import { MAX_LENGTH, MIN_LENGTH } from "./code.ts";

export const DEFAULT_CODE_LENGTH = 6;
export const DEFAULT_CODE_TTL_SECONDS = 600;
// A person waits about this long before requesting another code.
const DEFAULT_AFTER_SECONDS = 30;
const DEFAULT_TEMPLATE = "verification_code";

export const NewVerificationBody = Type.Object(
  {
    recipient: numberField,
    channel: optional(
      oneOf(CHANNELS, { description: "The channel, if there is only one. Exactly one of `channel` and `channels` is required." }),
    ),
    channels: optional(
      Type.Array(oneOf(CHANNELS), {
        minItems: 1,
        maxItems: CHANNELS.length,
        uniqueItems: true,
        description: "The channels, in the order in which they are used: the next one if the code is not delivered on the previous one.",
      }),
    ),
    after_seconds: optional(
      Type.Integer({ minimum: 5, maximum: 600, description: "The seconds that a channel has before the next one is used. Default: 30." }),
    ),
    template_id: optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: "The id or name of a template whose only variable is `code`. Default: `verification_code`.",
      }),
    ),
    sender: optional(senderField),
    code_length: optional(Type.Integer({ minimum: MIN_LENGTH, maximum: MAX_LENGTH, description: "The number of digits. Default: 6." })),
    ttl: optional(Type.Integer({ minimum: 60, maximum: 3_600, description: "The seconds for which the code is valid. Default: 600." })),
  },
  {
    title: "NewVerification",
    additionalProperties: false,
    description: "A verification to start. Exactly one of `channel` and `channels` is required.",
  },
);
export type NewVerification = Static<typeof NewVerificationBody>;

export function checkNewVerification(request: Readonly<Record<string, unknown>>): Fault[] {
  const { recipient, channel, channels, after_seconds: afterSeconds, ttl } = request;
  const faults = recipientFaults(recipient, "/recipient");
  const hasOne = channel !== undefined && channel !== null;
  const hasMany = channels !== undefined && channels !== null;
  if (!hasOne && !hasMany) faults.push({ pointer: "/channel", code: "required", detail: "either channel or channels is required" });
  if (hasOne && hasMany) faults.push({ pointer: "/channels", code: "conflict", detail: "cannot be combined with channel" });
  if (typeof afterSeconds === "number" && afterSeconds >= (typeof ttl === "number" ? ttl : DEFAULT_CODE_TTL_SECONDS))
    faults.push({
      pointer: "/after_seconds",
      code: "out_of_range",
      detail: "must be less than ttl, since the code is not valid after that",
    });
  return faults;
}

export const CheckBody = Type.Object(
  {
    code: Type.String({
      pattern: `^[0-9]{${MIN_LENGTH},${MAX_LENGTH}}$`,
      "x-hint": `must have ${MIN_LENGTH} to ${MAX_LENGTH} digits`,
      description: "The code that the person entered.",
    }),
  },
  { title: "VerificationCheck", additionalProperties: false, description: "The check of a code." },
);

export const channelsOf = ({ channel, channels }: NewVerification): readonly Channel[] => channels ?? (channel ? [channel] : []);

/** The message that carries the code, with the channels after the first as its fallback. */
export function toMessageRequest(request: NewVerification, code: string): NewMessage {
  const [first, ...others] = channelsOf(request);
  if (first === undefined) throw new Error("a verification has a channel");
  const said = { template_id: request.template_id ?? DEFAULT_TEMPLATE, template_variables: { code } };
  return {
    ...said,
    recipient: request.recipient,
    channel: first,
    sender: request.sender ?? null,
    priority: "high",
    // A code that has expired need not arrive.
    ttl_seconds: request.ttl ?? DEFAULT_CODE_TTL_SECONDS,
    fallback: others.map((channel) => ({ ...said, channel, after_seconds: request.after_seconds ?? DEFAULT_AFTER_SECONDS })),
  };
}
