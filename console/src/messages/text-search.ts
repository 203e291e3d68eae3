/** Searches for a part of a text, a number, a reference or a carrier id, or for a request id. The API has no such filter, so the console reads the newest messages. */
import type { Message } from "godwit-sdk";
import { isRequestId } from "./filters.ts";

export const PAGE = 100;
// 5,000 messages. More requests would use up the quota of other programs.
export const MAX_PAGES = 50;
export const MAX_FOUND = 200;

// Fewer digits are in almost every number.
const MIN_DIGITS = 3;
const NUMBER = /^\+?\d+$/;
// The random digits of an id. A message has those of the request that created it.
const SHARED_END = 12;

/** Returns a function that finds the text in messages, without regard to case, and digits in numbers, in any notation. A request id finds the
 *  messages that the request has created. */
export function textMatcher(text: string): (message: Message) => boolean {
  const word = text.trim().toLowerCase();
  if (isRequestId(word)) return ({ id }) => id.slice(-SHARED_END) === word.slice(-SHARED_END);
  const digits = /^[+\d\s().-]+$/.test(word) ? word.replaceAll(/\D/g, "") : "";
  return ({ body, client_reference: reference, provider, recipient, sender }) => {
    // A sender may be a name.
    const name = sender === null || NUMBER.test(sender) ? null : sender;
    const hasWord = [body, reference, name, provider?.message_id].some((field) => field?.toLowerCase().includes(word));
    return hasWord || (digits.length >= MIN_DIGITS && [recipient, sender].some((number) => number?.includes(digits)));
  };
}
