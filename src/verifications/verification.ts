/** A verification: a code that is sent to a recipient and checked once. Its record in the API and the schema of the record. */
import { environmentField, nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type AccountId, type MessageId, type VerificationId } from "../model/id.ts";
import type { Recipient } from "../model/phone-number.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { CHANNELS, type Channel } from "../links/channel.ts";
import type { Environment } from "../model/owner.ts";

/** Five attempts find a code of six digits with a probability of 1 in 200,000. */
export const MAX_ATTEMPTS = 5;

export const VERIFICATION_STATUSES = ["pending", "approved", "expired", "failed", "canceled"] as const;
export type VerificationStatus = (typeof VERIFICATION_STATUSES)[number];

const VerificationFields = {
  id: Type.String({ examples: ["ver_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the verification." }),
  object: Type.Literal("verification"),
  environment: environmentField,
  recipient: Type.String({ description: "The phone number that the code is sent to." }),
  channels: Type.Array(openEnum(CHANNELS), { description: "The channels, in the order in which they are used." }),
  code_length: Type.Integer({ description: "The number of digits of the code." }),
  status: openEnum(VERIFICATION_STATUSES, "The status. `failed`: there were too many wrong codes."),
  attempts: Type.Integer({ description: "The number of wrong codes so far." }),
  attempts_left: Type.Integer({ description: "The number of codes that can still be checked." }),
  message_id: Type.String({
    description: "The id of the message with the code. A message on a further channel has this id as `fallback_of`.",
  }),
  created_at: timestamp("The time at which the verification was created."),
  expires_at: timestamp("The time after which the code is not valid any more."),
  verified_at: nullable(timestamp("The time at which the right code was checked.")),
  updated_at: timestamp("The time of the last change."),
};

export const VerificationRecord = Type.Object(VerificationFields, {
  title: "Verification",
  description: "A code that is sent to a recipient and checked once.",
});
export type VerificationRecord = Static<typeof VerificationRecord>;

export const CheckedVerification = Type.Object(
  { ...VerificationFields, valid: Type.Boolean({ description: "Whether the code is the right one." }) },
  { title: "CheckedVerification", description: "A verification after a check of a code." },
);

export type Verification = {
  accountId: AccountId;
  environment: Environment;
  id: VerificationId;
  recipient: Recipient;
  channels: readonly Channel[];
  codeLength: number;
  codeHash: Buffer;
  /** The stored status. A pending verification expires by time, without a write. */
  status: Exclude<VerificationStatus, "expired">;
  attempts: number;
  messageId: MessageId;
  expiresAtMs: number;
  verifiedAtMs: number | null;
  updatedAtMs: number;
};

export const statusOf = ({ status, expiresAtMs }: Verification, nowMs: number): VerificationStatus =>
  status === "pending" && nowMs >= expiresAtMs ? "expired" : status;

export const verificationRecord = (verification: Verification, nowMs: number): VerificationRecord => ({
  id: encodeId("ver", verification.id),
  object: "verification",
  environment: verification.environment,
  recipient: verification.recipient,
  channels: [...verification.channels],
  code_length: verification.codeLength,
  status: statusOf(verification, nowMs),
  attempts: verification.attempts,
  attempts_left: statusOf(verification, nowMs) === "pending" ? MAX_ATTEMPTS - verification.attempts : 0,
  message_id: encodeId("msg", verification.messageId),
  created_at: isoTime(uuidTimeMs(verification.id)),
  expires_at: isoTime(verification.expiresAtMs),
  verified_at: verification.verifiedAtMs === null ? null : isoTime(verification.verifiedAtMs),
  updated_at: isoTime(verification.updatedAtMs),
});
