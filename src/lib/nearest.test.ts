import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest } from "./nearest.ts";

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
