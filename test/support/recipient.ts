/** Recipients for tests. */
import assert from "node:assert/strict";
import { E164_PATTERN, type Recipient } from "../../src/lib/phone-number.ts";

/** A number as a request with it would be parsed. */
export function recipientOf(number: string): Recipient {
  assert.match(number, new RegExp(E164_PATTERN));
  return number as Recipient;
}
