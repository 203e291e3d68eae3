import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { randomBase62, toBase62 } from "./base62.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const TABLE: readonly (readonly [value: number, length: number, text: string])[] = [
  [0, 1, "0"],
  [0, 6, "000000"],
  [9, 1, "9"],
  [10, 1, "A"],
  [35, 1, "Z"],
  [36, 1, "a"],
  [61, 1, "z"],
  [62, 2, "10"],
  [2 ** 32 - 1, 6, "4gfFC3"],
];

for (const [value, length, text] of TABLE) {
  test(`${value} in ${length} base-62 digits is ${text}`, () => assert.equal(toBase62(value, length), text));
}

test("six digits hold every number of 32 bits, each with a different text", () => {
  const fromBase62 = (text: string): number => Array.from(text).reduce((sum, digit) => sum * 62 + ALPHABET.indexOf(digit), 0);
  fc.assert(
    fc.property(fc.nat(2 ** 32 - 1), (value) => {
      const text = toBase62(value, 6);
      assert.match(text, /^[0-9A-Za-z]{6}$/);
      assert.equal(fromBase62(text), value);
    }),
  );
});

test("random digits have the requested length", () => {
  fc.assert(fc.property(fc.nat(100), (length) => assert.match(randomBase62(length), new RegExp(`^[0-9A-Za-z]{${length}}$`))));
});

test("random digits come from the whole alphabet", () => {
  // The chance that a digit is missing from this many is below 10^-67.
  assert.deepEqual(new Set(randomBase62(10_000)), new Set(ALPHABET));
});
