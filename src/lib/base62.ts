/** Digits and letters only: survives double-click, URLs and shell words without quoting. */
import { randomInt } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** `length` digits, each drawn without bias: about 5.95 bits apiece. */
export function randomBase62(length: number): string {
  let text = "";
  for (let index = 0; index < length; index += 1) text += ALPHABET.charAt(randomInt(ALPHABET.length));
  return text;
}

/** A non-negative integer in exactly `length` digits, with leading zeros. */
export function toBase62(value: number, length: number): string {
  let rest = value;
  let text = "";
  for (let index = 0; index < length; index += 1) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
