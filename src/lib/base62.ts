/** Base 62 has only digits and letters: a double click selects all of it, and URLs and shells need no quoting. */
import { randomInt } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** `length` random digits without bias, each with about 5.95 bits. */
export function randomBase62(length: number): string {
  let text = "";
  for (let index = 0; index < length; index += 1) text += ALPHABET.charAt(randomInt(ALPHABET.length));
  return text;
}

/** Writes a non-negative integer with exactly `length` digits, with leading zeros. */
export function toBase62(value: number, length: number): string {
  let rest = value;
  let text = "";
  for (let index = 0; index < length; index += 1) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
