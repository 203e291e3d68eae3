/** Requests of carriers to our URLs: secrets are compared in constant time, and a request succeeds only when everything in it is
 *  committed. */
import { createHash, timingSafeEqual } from "node:crypto";
import { errorFields } from "../model/log.ts";
import { within } from "../lib/wait.ts";
import type { ReviewUpdate } from "./business-account.ts";
import {
  ReportsThrottled,
  type CarrierResponse,
  type Host,
  type InboundMessage,
  type Preference,
  type Receipt,
  type UnmatchedReports,
} from "./provider.ts";

/** The contents of one request. */
export type CarrierReports = {
  receipts: readonly Receipt[];
  messages: readonly InboundMessage[];
  preferences?: readonly Preference[];
  reviews?: readonly ReviewUpdate[];
  unmatched?: UnmatchedReports;
};

// Carriers wait about 10 s for the response, and then send the request again.
const COMMIT_LIMIT_MS = 8_000;

export const textResponse = (status: number, body: string): CarrierResponse => ({
  status,
  contentType: "text/plain; charset=utf-8",
  body,
});

const digest = (value: string): Buffer => createHash("sha256").update(value).digest();

/** Compares in constant time. An empty secret matches nothing: a secret that was never set would admit every caller. */
export const isSameSecret = (given: string, secret: string): boolean => timingSafeEqual(digest(given), digest(secret)) && secret !== "";

const AMPERSAND = 0x26;

/** Counts at least as many fields as a form has, without parsing it. */
export function countFields(form: Buffer): number {
  let count = 1;
  for (const byte of form) if (byte === AMPERSAND) count += 1;
  return count;
}

/** Stores the reports. Returns whether all of them are committed; if not, the carrier must send them again. */
export async function storeReports(
  host: Host,
  { receipts, messages, preferences = [], reviews = [], unmatched }: CarrierReports,
): Promise<boolean> {
  const store = async (): Promise<true> => {
    if (receipts.length > 0) await host.receive(receipts);
    if (messages.length > 0) await host.receiveMessages(messages);
    if (preferences.length > 0) await host.receivePreferences(preferences);
    if (reviews.length > 0) await host.receiveReviews(reviews);
    if (unmatched !== undefined) await host.receiveUnmatched(unmatched);
    return true;
  };
  try {
    if ((await within(store(), COMMIT_LIMIT_MS)) === true) return true;
    host.log.warn(
      { event: "providers.receive_timed_out", receipts: receipts.length, messages: messages.length, reviews: reviews.length },
      "a carrier's report was not stored in time: the carrier sends it again",
    );
  } catch (error) {
    if (error instanceof ReportsThrottled) return false;
    host.log.warn(
      { event: "providers.receive_failed", ...errorFields(error) },
      "a carrier's report was not stored: the carrier sends it again",
    );
  }
  return false;
}
