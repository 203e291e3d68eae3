import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findSyntaxFault } from "./json-syntax.ts";
import { countMembers, NO_LIMITS, scanJson } from "./scan-json.ts";

const FAULTS: readonly (readonly [text: string, line: number, column: number, detail: RegExp])[] = [
  ["", 1, 1, /the text ends here, expected a value$/],
  ['{"a":', 1, 6, /ends here, expected a value$/],
  ['{"a":1,}', 1, 8, /expected a name in double quotes; remove the comma/],
  ["[1,]", 1, 4, /expected a value; remove the comma/],
  ["{'a':1}", 1, 2, /or }; strings need double quotes$/],
  ['{"a" 1}', 1, 6, /^expected a colon$/],
  ['{"a":1 "b":2}', 1, 8, /^expected a comma/],
  ['{\n  "a": 1,\n  b: 2\n}', 3, 3, /^expected a name in double quotes$/],
  ["[1] // one", 1, 5, /^expected the end/],
  ["NaN", 1, 1, /^expected a value$/],
  ['"a\nb"', 1, 1, /control character/],
  ['["\\x"]', 1, 2, /unknown escape/],
  ["[1}", 1, 3, /^expected a comma/],
  ["01", 1, 2, /^expected the end/],
  ["\ufeff{}", 1, 1, /^expected a value$/],
  ['{"a":1,\n "a":2}', 2, 2, /^the object has this name already$/],
  ['[{"a":1},{"b":{"a":1},"\\u0062":2}]', 1, 23, /^the object has this name already$/],
];

for (const [text, line, column, detail] of FAULTS) {
  test(`${JSON.stringify(text)} is faulty in line ${line}, column ${column}`, () => {
    const fault = findSyntaxFault(text);
    assert.deepEqual([fault?.line, fault?.column], [line, column]);
    assert.match(fault?.detail ?? "", detail);
  });
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const hasNameTwice = (text: string): boolean => scanJson(Buffer.from(text), NO_LIMITS).members !== countMembers(JSON.parse(text));

test("a text has a fault exactly if JSON.parse refuses it, or an object has a name twice", () => {
  const broken = fc.tuple(fc.json(), fc.nat(), fc.constantFrom("", ",", "]", "}", '"', "1", "\\", ":", " ")).map(([json, at, put]) => {
    const cut = at % (json.length + 1);
    return json.slice(0, cut) + put + json.slice(cut + 1);
  });
  fc.assert(
    fc.property(fc.oneof(fc.json(), broken), (text) => {
      assert.equal(findSyntaxFault(text) === undefined, isJson(text) && !hasNameTwice(text), text);
    }),
    { numRuns: 2_000 },
  );
});

test("a long text of brackets and one of quotes take one pass", () => {
  assert.equal(findSyntaxFault("[".repeat(500_000))?.column, 500_001);
  assert.equal(findSyntaxFault(`["${"\\\\".repeat(250_000)}`)?.column, 2);
});
