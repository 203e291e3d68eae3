/** The meaning of a command_status for the message. */
import type { SendOutcome } from "../provider.ts";
import { STATUS } from "./pdu.ts";

type Refusal = { code: string; message: string };

/** Statuses with a specific reason. */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  0x01: { code: "message_too_long", message: "The carrier finds the message too long" },
  0x0a: { code: "invalid_sender", message: "The carrier does not take this sender" },
  0x0b: { code: "invalid_destination", message: "The carrier does not know this number" },
  0x48: { code: "invalid_sender", message: "The carrier does not take senders of this type" },
  0x49: { code: "invalid_sender", message: "The carrier does not take senders of this numbering plan" },
  0x50: { code: "invalid_destination", message: "The carrier does not take numbers of this type" },
  0x51: { code: "invalid_destination", message: "The carrier does not take numbers of this numbering plan" },
};
const REFUSED: Refusal = { code: "rejected_by_carrier", message: "The carrier refused the message" };

/** Statuses that concern the carrier or the connection, not the message. */
const TRANSIENT: ReadonlySet<number> = new Set([
  STATUS.bindStatus,
  STATUS.alreadyBound,
  STATUS.systemError,
  STATUS.bindFailed,
  STATUS.temporaryError,
  STATUS.unknownError,
]);
const TRANSIENT_REFUSAL: Refusal = { code: "carrier_unavailable", message: "The carrier cannot take the message just now" };

/** `0x0B`: the form in carriers' documentation. */
export const statusCode = (status: number): string => `0x${status.toString(16).toUpperCase().padStart(2, "0")}`;

export const isThrottling = (status: number): boolean => status === STATUS.throttled || status === STATUS.queueFull;

export type Refused = Extract<SendOutcome, { kind: "refused" }>;

/** The refusal of any status that is neither success nor throttling. */
export function toRefusal(status: number): Refused {
  const isPermanent = !TRANSIENT.has(status);
  const refusal = isPermanent ? (REFUSALS[status] ?? REFUSED) : TRANSIENT_REFUSAL;
  return { kind: "refused", ...refusal, providerCode: statusCode(status), isPermanent };
}
