import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { didYouMean, mustBeOneOf, nearest } from "./nearest.ts";

const COMMANDS = ["serve", "send", "keys", "listen", "doctor", "version", "environments"];

const MEANT: readonly (readonly [word: string, meant: string | undefined])[] = [
  ["keyz", "keys"],
  ["kyes", "keys"],
  ["doctr", "doctor"],
  ["lissten", "listen"],
  ["environment", "environments"],
  ["env", "environments"],
  ["snd", "send"],
  // Two commands start with it.
  ["se", undefined],
  ["fly", undefined],
  ["x", undefined],
  ["", undefined],
];

for (const [word, meant] of MEANT) {
  test(`the nearest command to ${word === "" ? "an empty word" : word} is ${meant ?? "none"}`, () =>
    assert.equal(nearest(word, COMMANDS), meant));
}

test("the case of letters does not count", () => assert.equal(nearest("SMS", ["sms", "whatsapp"]), "sms"));

test("a longer word than any known one is near none", () => assert.equal(nearest("keys".repeat(50_000), COMMANDS), undefined));

test("a word with up to four swapped letters is still near", () => {
  assert.equal(nearest("emssage.dleiveerd", ["message.delivered", "message.sent"]), "message.delivered");
  fc.assert(
    fc.property(fc.nat(15), (at) => {
      const word = "webhook_endpoints";
      const swapped = word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2);
      assert.equal(nearest(swapped, [word]), word);
    }),
  );
});

test("a suggestion comes before the list of values", () => {
  assert.equal(mustBeOneOf("delivred", ["sent", "delivered"]), "is not known; did you mean delivered? It must be one of sent, delivered");
  assert.equal(mustBeOneOf("x", ["sent", "delivered"]), "must be one of sent, delivered");
  assert.equal(didYouMean("kyes", COMMANDS, "godwit "), "; did you mean godwit keys?");
});
