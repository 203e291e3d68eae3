import assert from "node:assert/strict";
import { test } from "node:test";
import { isScope, parseScopes, SCOPES } from "./scope.ts";

test("the scopes are those of the contract", () => {
  assert.deepEqual(SCOPES.toSorted(), [
    "audit:read",
    "events:read",
    "keys:read",
    "keys:write",
    "links:read",
    "links:write",
    "media:read",
    "media:write",
    "messages:read",
    "messages:send",
    "recipients:erase",
    "recipients:read",
    "suppressions:read",
    "suppressions:write",
    "templates:read",
    "templates:write",
    "usage:read",
    "verifications:read",
    "verifications:write",
    "webhooks:read",
    "webhooks:write",
  ]);
});

const WORDS: readonly (readonly [word: string, is: boolean])[] = [
  ["messages:send", true],
  ["verifications:write", true],
  ["messages:write", false],
  ["Messages:send", false],
  ["messages", false],
  ["messages:*", false],
  ["*", false],
  ["constructor", false],
  ["", false],
];

for (const [word, is] of WORDS) test(`"${word}" is ${is ? "a" : "no"} scope`, () => assert.equal(isScope(word), is));

const LISTS: readonly (readonly [text: string, parsed: ReturnType<typeof parseScopes>])[] = [
  ["messages:send", { scopes: ["messages:send"] }],
  ["messages:read,messages:send", { scopes: ["messages:read", "messages:send"] }],
  [" messages:read , messages:send ,", { scopes: ["messages:read", "messages:send"] }],
  ["messages:read,messages:read", { scopes: ["messages:read"] }],
  ["", { scopes: [] }],
  ["messages:read,nonsense,else", { unknown: ["nonsense", "else"] }],
  ["messages:read messages:send", { unknown: ["messages:read messages:send"] }],
];

for (const [text, parsed] of LISTS) test(`the list "${text}" is read word by word`, () => assert.deepEqual(parseScopes(text), parsed));
