import assert from "node:assert/strict";
import { test } from "node:test";
import { compilePath, findAll, parseDocument, textAt } from "./json-path.ts";

const BODY = {
  messages: [
    { "message-id": "a", n: 1, ok: true },
    { "message-id": "b", n: 2, none: null },
  ],
  "odd name.[0]": "odd",
  length: 7,
};
const document = { body: BODY, query: { reference: "msg_1" } };

const at = (text: string): readonly unknown[] => findAll(compilePath(text) ?? assert.fail(text), document);

for (const [path, values] of [
  ["$", [BODY]],
  ["$.messages[0].message-id", ["a"]],
  ["$.messages[*].message-id", ["a", "b"]],
  ["$['messages'][1]['message-id']", ["b"]],
  ["$['odd name.[0]']", ["odd"]],
  ["$.messages[*].none", [null]],
  ["$.messages[7].n", []],
  ["$.messages.length", []],
  ["$.length", [7]],
  ["$.constructor", []],
  ["$.__proto__", []],
  ["$.length[0]", []],
  ["?reference", ["msg_1"]],
  ["?toString", []],
] as const)
  test(`${path} finds ${values.length} values`, () => assert.deepEqual(at(path), values));

for (const path of ["", "messages", "$.", "$..id", "$[", "$[-1]", "$[?(@.a)]", "$.a b", "$['a", "$.1", "?", "? a", `$${".a".repeat(100)}`])
  test(`${JSON.stringify(path.slice(0, 20))} is not a path`, () => assert.equal(compilePath(path), undefined));

test("a text, a number and a flag have a text, and everything else has none", () => {
  const textOf = (path: string): string | undefined => textAt(compilePath(path), document);
  assert.deepEqual(
    ["$.messages[0].message-id", "$.messages[0].n", "$.messages[0].ok", "$.messages[1].none", "$.messages", "$.x"].map(textOf),
    ["a", "1", "true", undefined, undefined, undefined],
  );
});

test("an integer that is too large for a number keeps all its digits", () => {
  const text = '{"id":7340032112233445501,"n":[-9007199254740993,12],"s":"7340032112233445501","f":0.1234567890123456}';
  assert.deepEqual(parseDocument(text)?.body, {
    id: "7340032112233445501",
    n: ["-9007199254740993", 12],
    s: "7340032112233445501",
    f: 0.1234567890123456,
  });
  assert.equal(parseDocument("{"), undefined);
});

test("a document with too many values or levels is not parsed", () => {
  const list = (values: number): string => `[${"0,".repeat(values)}1234567890123456]`;
  assert.ok(Array.isArray(parseDocument(list(16_000))?.body));
  assert.equal(parseDocument(list(17_000)), undefined);
  assert.ok(parseDocument("[".repeat(32) + "]".repeat(32)));
  assert.equal(parseDocument("[".repeat(33) + "]".repeat(33)), undefined);
});
