/** Recipients for tests. */
import assert from "node:assert/strict";
import { RECIPIENT_PATTERN, type Recipient } from "../../src/model/phone-number.ts";

/** Parses a phone number or a user id as a request does. */
export function recipientOf(text: string): Recipient {
  assert.match(text, new RegExp(RECIPIENT_PATTERN));
  return text as Recipient;
}

export const RECIPIENT = recipientOf("+14155550123");

/** `+1415555xxxx`: a different recipient for each index. */
export const recipientNo = (index: number): Recipient => recipientOf(`+1415555${String(index).padStart(4, "0")}`);

/** The recipient for each outcome at the fake carriers. A message to any other recipient is delivered. */
export const RECIPIENTS = {
  delivered: "+15005550006",
  undelivered: "+15005550005",
  refused: "+15005550002",
  throttled: "+15005550012",
  unknown: "+15005550013",
} as const;

/** A recipient that replies, at carriers that name the message of a reply. */
export const REPLYING_RECIPIENT = "+15005550017";
