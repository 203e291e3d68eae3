import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fill, placeholderFaults, variableFaults, variablesOf } from "./placeholders.ts";

const FINE: readonly (readonly [text: string, variables: readonly string[]])[] = [
  ["", []],
  ["no places at all", []],
  ["{{1}}", ["1"]],
  ["{{1}} and {{2}}, {{1}} again", ["1", "2"]],
  ["{{100}}", ["100"]],
  ["{{b}}{{a}}{{b}}", ["b", "a"]],
  ["{{a_1}}", ["a_1"]],
  [`{{${"a".repeat(40)}}}`, ["a".repeat(40)]],
  ["{{constructor}}{{tostring}}", ["constructor", "tostring"]],
  ["{ {} } {a} { { } }", []],
  ["{{a}}}", ["a"]],
  ["🐦{{a}}", ["a"]],
  ["line\n{{a}}\nline", ["a"]],
];

for (const [text, variables] of FINE) {
  test(`${JSON.stringify(text)} has the variables ${variables.join(", ") || "of none"}, and no fault`, () => {
    assert.deepEqual(variablesOf({ header: null, body: text }), variables);
    assert.deepEqual(placeholderFaults(text, "/body"), []);
  });
}

const EMPTY = /is empty$/;
const BLANKS = /no blanks/;
const FORM = /\{\{1\}\} to \{\{100\}\}/;
const UNCLOSED = /not closed/;
const STRAY = /closes nothing/;

const MALFORMED: readonly (readonly [text: string, ...details: (readonly [at: number, what: RegExp])[]])[] = [
  ["{{}}", [1, EMPTY]],
  ["{{ }}", [1, FORM]],
  ["{{ name }}", [1, BLANKS]],
  ["{{name }}", [1, BLANKS]],
  ["{{\t1}}", [1, BLANKS]],
  ["{{A}}", [1, FORM]],
  ["{{Name}}", [1, FORM]],
  ["{{0}}", [1, FORM]],
  ["{{01}}", [1, FORM]],
  ["{{101}}", [1, FORM]],
  ["{{-1}}", [1, FORM]],
  ["{{1a}}", [1, FORM]],
  ["{{_a}}", [1, FORM]],
  ["{{a-b}}", [1, FORM]],
  ["{{é}}", [1, FORM]],
  ["{{٣}}", [1, FORM]],
  ["{{a\n}}", [1, BLANKS]],
  [`{{${"a".repeat(41)}}}`, [1, FORM]],
  ["Hello {{name", [7, UNCLOSED]],
  ["Hello {{", [7, UNCLOSED]],
  ["name}} Hello", [5, STRAY]],
  ["{{a} }", [1, UNCLOSED]],
  ["{{{a}}}", [1, UNCLOSED], [5, STRAY]],
  ["{{a {{b}}", [1, UNCLOSED]],
  ["{{a}} }}", [7, STRAY]],
  ["🐦🐦{{}}", [3, EMPTY]],
  ["{{}} {{A}} {{", [1, EMPTY], [6, FORM], [12, UNCLOSED]],
];

for (const [text, ...expected] of MALFORMED) {
  test(`${JSON.stringify(text)} has a fault with its position`, () => {
    const faults = placeholderFaults(text, "/header");
    assert.deepEqual(
      faults.map(({ code, ...fault }) => [
        code,
        "pointer" in fault && fault.pointer,
        Number(/^at character (\d+):/.exec(fault.detail)?.[1]),
      ]),
      expected.map(([at]) => ["invalid_placeholder", "/header", at]),
    );
    for (const [index, [, what]] of expected.entries()) assert.match(faults[index]?.detail ?? "", what);
  });
}

test("a text that is wrong throughout has ten faults at most", () => {
  assert.equal(placeholderFaults("{{}}".repeat(400), "/body").length, 10);
});

test("variables of the header come first, and a variable of both parts counts once", () => {
  assert.deepEqual(variablesOf({ header: "for {{b}}", body: "{{a}} {{b}} {{c}}" }), ["b", "a", "c"]);
});

const many = (count: number): string => Array.from({ length: count }, (_, index) => `{{v${index}}}`).join("");

const TOGETHER: readonly (readonly [what: string, header: string | null, body: string, code: string | undefined])[] = [
  ["names", "{{z}}", "{{a}} {{b}}", undefined],
  ["positions in any order", null, "{{2}} {{1}} {{2}}", undefined],
  ["positions that header and body have together", "{{1}}", "{{2}}", undefined],
  ["a position that both have", "{{1}}", "{{1}}", undefined],
  ["a hundred names", null, many(100), undefined],
  ["a hundred and one names", null, many(101), "too_many"],
  ["a hundred names and one in the header", "{{one}}", many(100), "too_many"],
  ["names and positions", null, "{{1}} {{a}}", "mixed_placeholders"],
  ["a name in the header, a position in the body", "{{a}}", "{{1}}", "mixed_placeholders"],
  ["positions from 2", null, "{{2}}", "placeholder_gap"],
  ["positions with a gap", null, "{{1}} {{3}}", "placeholder_gap"],
  ["positions with a gap between header and body", "{{1}}", "{{3}}", "placeholder_gap"],
];

for (const [what, header, body, code] of TOGETHER) {
  test(`${what}: ${code ?? "fine"}`, () => {
    const faults = variableFaults({ header, body });
    assert.deepEqual(
      faults.map((fault) => fault.code),
      code === undefined ? [] : [code],
    );
    assert.ok(faults.every((fault) => "pointer" in fault && fault.pointer === "/body"));
  });
}

test("the fault names the first missing number", () => {
  assert.match(variableFaults({ header: null, body: "{{4}} {{1}}" })[0]?.detail ?? "", /\{\{2\}\} is missing/);
});

const FILLED: readonly (readonly [text: string, variables: Record<string, string>, filled: string])[] = [
  ["Hello {{name}}!", { name: "Ada" }, "Hello Ada!"],
  ["{{1}}{{2}}{{1}}", { 1: "a", 2: "b" }, "aba"],
  // In one pass: neither value is looked into.
  ["{{a}} {{b}}", { a: "{{b}}", b: "{{a}}" }, "{{b}} {{a}}"],
  ["{{a}}{{b}}", { a: "{{", b: "b}}" }, "{{b}}"],
  // Nothing is special in a value.
  ["[{{a}}]", { a: "$& $1 $$ $` $' \\" }, "[$& $1 $$ $` $' \\]"],
  ["{{constructor}}", {}, "{{constructor}}"],
  ["{{constructor}}", { constructor: "own" }, "own"],
  ["{{a}}}", { a: "x" }, "x}"],
];

for (const [text, variables, filled] of FILLED) {
  test(`${text} becomes ${filled}`, () => assert.equal(fill(text, variables), filled));
}

test("filling replaces each variable with its value and changes no other text", () => {
  const value = fc.string({ unit: fc.constantFrom("{{", "}}", "a", "b", "$", "&", "1", "\\", "🐦") });
  fc.assert(fc.property(value, value, (a, b) => fill("<{{a}}|{{b}}|{{a}}>", { a, b }) === `<${a}|${b}|${a}>`));
});
