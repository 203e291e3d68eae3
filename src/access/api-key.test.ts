import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { apiKeyHint, hashApiKey, hasKeyedChecksum, isOfFirstForm, newApiKey } from "./api-key.ts";
import { toBase62 } from "../lib/base62.ts";
import { ENVIRONMENTS } from "../model/owner.ts";

const SECRET = Buffer.alloc(32, 1);
const isApiKey = (text: string): boolean => hasKeyedChecksum(text, SECRET);
const CHECKSUM_DIGITS = 8;
const secretOf = (key: string): string => key.slice("gw_live_".length, -CHECKSUM_DIGITS);

for (const environment of ENVIRONMENTS) {
  test(`a new ${environment} key names its environment and is a key`, () => {
    const key = newApiKey(environment, SECRET);
    assert.match(key, new RegExp(`^gw_${environment}_[0-9A-Za-z]+$`));
    assert.ok(isApiKey(key));
  });
}

test("a key holds at least 190 random bits", () => {
  assert.ok(secretOf(newApiKey("live", SECRET)).length * Math.log2(62) >= 190);
});

test("no two keys are the same", () => {
  assert.equal(new Set(Array.from({ length: 1_000 }, () => newApiKey("test", SECRET))).size, 1_000);
});

const keys = fc.constantFrom(...ENVIRONMENTS).map((environment) => newApiKey(environment, SECRET));
const characters = fc.oneof(
  fc.constantFrom(..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
);

test("every wrong character is noticed", () => {
  fc.assert(
    fc.property(keys, fc.nat(), characters, (key, place, character) => {
      const at = place % key.length;
      fc.pre(key.charAt(at) !== character);
      assert.equal(isApiKey(key.slice(0, at) + character + key.slice(at + 1)), false);
    }),
    { numRuns: 2_000 },
  );
});

test("two swapped neighbors are noticed", () => {
  fc.assert(
    fc.property(keys, fc.nat(), (key, place) => {
      const at = place % (key.length - 1);
      const [left, right] = [key.charAt(at), key.charAt(at + 1)];
      fc.pre(left !== right);
      assert.equal(isApiKey(key.slice(0, at) + right + left + key.slice(at + 2)), false);
    }),
    { numRuns: 1_000 },
  );
});

const key = newApiKey("test", SECRET);
const REFUSED: readonly (readonly [why: string, text: string])[] = [
  ["that lacks its last digit", key.slice(0, -1)],
  ["with a digit too many", `${key}0`],
  ["with a space before it", ` ${key}`],
  ["with a line end after it", `${key}\n`],
  ["of the other environment", key.replace("gw_test_", "gw_live_")],
  ["of an unknown environment", key.replace("gw_test_", "gw_prod_")],
  ["without its prefix", key.slice("gw_test_".length)],
  ["that is empty", ""],
];

for (const [why, text] of REFUSED) {
  test(`a key ${why} is refused`, () => assert.equal(isApiKey(text), false));
}

test("the key of another installation is refused", () => {
  assert.equal(isApiKey(newApiKey("test", Buffer.alloc(32, 2))), false);
});

const FIRST_FORM = "gw_test_0123456789ABCDEFGHIJKLMNOPQRSTUV";

test("a key of the first form is recognized by its CRC, and a new key is not of the first form", () => {
  const known = FIRST_FORM + toBase62(crc32(FIRST_FORM), 6);
  assert.ok(isOfFirstForm(known));
  assert.equal(isOfFirstForm(`${known.slice(0, -1)}${known.endsWith("0") ? "1" : "0"}`), false);
  assert.equal(isOfFirstForm(newApiKey("test", SECRET)), false);
  assert.equal(isApiKey(known), false);
});

test("the hash is the SHA-256 of the whole key", () => {
  assert.deepEqual(hashApiKey(key), createHash("sha256").update(key).digest());
});

test("a hint shows the environment and at most four digits of the secret", () => {
  fc.assert(
    fc.property(keys, (each) => {
      const hint = apiKeyHint(each);
      assert.equal(hint, `${each.slice(0, "gw_live_".length)}${secretOf(each).slice(0, 4)}…`);
      assert.equal(hint.length, "gw_live_".length + 4 + 1);
    }),
  );
});
