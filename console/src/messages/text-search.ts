/** Searches for a part of a text, a number or a reference. The API has no such filter, so the console reads the newest messages. */
import type { Message } from "godwit-sdk";

export const PAGE = 100;
// 5,000 messages. More requests would use up the quota of other programs.
export const MAX_PAGES = 50;
export const MAX_FOUND = 200;

// Fewer digits are in almost every number.
const MIN_DIGITS = 3;
const NUMBER = /^\+?\d+$/;

/** Returns a function that finds the text in messages, without regard to case, and digits in numbers, in any notation. */
export function textMatcher(text: string): (message: Message) => boolean {
  const word = text.trim().toLowerCase();
  const digits = /^[+\d\s().-]+$/.test(word) ? word.replaceAll(/\D/g, "") : "";
  return ({ body, client_reference: reference, recipient, sender }) => {
    // A sender may be a name.
    const name = sender === null || NUMBER.test(sender) ? null : sender;
    const hasWord = [body, reference, name].some((field) => field?.toLowerCase().includes(word));
    return hasWord || (digits.length >= MIN_DIGITS && [recipient, sender].some((number) => number?.includes(digits)));
  };
}
