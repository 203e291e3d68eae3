/** The meanings that error codes of carriers can have, and their consequences for the link and the message. */
import { unreachable } from "../lib/assert.ts";
import type { ResponseOutcome } from "./http-link.ts";
import { ACCOUNT_BLOCKED, type CarrierError } from "./provider.ts";

export type Meaning =
  | { kind: "throttled" }
  /** Too fast for this recipient. */
  | { kind: "recipient_throttled" }
  /** The carrier accepts nothing until a person acts. */
  | { kind: "paused"; reason: string }
  /** The carrier may accept the same message in a moment. */
  | { kind: "transient"; code: string; message: string }
  | { kind: "permanent"; code: string; message: string };

export const THROTTLED: Meaning = { kind: "throttled" };
export const paused = (reason: string): Meaning => ({ kind: "paused", reason });
export const transient = (code: string, message: string): Meaning => ({ kind: "transient", code, message });
export const permanent = (code: string, message: string): Meaning => ({ kind: "permanent", code, message });

/** The meanings of a carrier's codes, one row for each meaning. */
export const meaningsOf = (
  rows: readonly (readonly [codes: number | readonly number[], meaning: Meaning])[],
): ReadonlyMap<number, Meaning> => new Map(rows.flatMap(([codes, meaning]) => [codes].flat().map((code) => [code, meaning] as const)));

type Waits = { retryAfterMs: number | null; recipientMs: number | null };

export function outcomeOf(meaning: Meaning, providerCode: string, { retryAfterMs, recipientMs }: Waits): ResponseOutcome {
  switch (meaning.kind) {
    case "throttled":
      return { kind: "throttled", scope: "link", retryAfterMs, providerCode };
    case "recipient_throttled":
      return { kind: "throttled", scope: "recipient", retryAfterMs: recipientMs, providerCode };
    case "paused":
      return { kind: "paused", reason: meaning.reason, providerCode };
    case "transient":
    case "permanent":
      return { kind: "refused", code: meaning.code, message: meaning.message, providerCode, isPermanent: meaning.kind === "permanent" };
    default:
      return unreachable(meaning);
  }
}

/** The error of a message that the carrier accepted and did not deliver. */
export function receiptError(carrier: string, meaning: Meaning): Omit<CarrierError, "providerCode"> {
  switch (meaning.kind) {
    case "throttled":
    case "recipient_throttled": {
      const message = `${carrier} accepted the message, and then refused it because of a rate limit`;
      return { code: "throttled_by_carrier", message, isPermanent: false };
    }
    case "paused":
      return { code: ACCOUNT_BLOCKED, message: `${carrier} delivers nothing for the account: ${meaning.reason}`, isPermanent: false };
    case "transient":
    case "permanent":
      return { code: meaning.code, message: meaning.message, isPermanent: meaning.kind === "permanent" };
    default:
      return unreachable(meaning);
  }
}
