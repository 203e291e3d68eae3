/** Recipients for tests. */
import assert from "node:assert/strict";
import { E164_PATTERN, type Recipient } from "../../src/lib/phone-number.ts";

/** Parses a phone number as a request does. */
export function recipientOf(number: string): Recipient {
  assert.match(number, new RegExp(E164_PATTERN));
  return number as Recipient;
}
