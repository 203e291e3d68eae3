import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReceiptIds } from "../providers/provider.ts";
import { firstForms, otherForms } from "./id-forms.ts";

const hex = (value: number): string => value.toString(16);
const upper = (value: number): string => hex(value).toUpperCase();

const NUMBER = 0x5a3c91f0;
const idForms = (id: string, form: ReceiptIds | undefined) => ({ first: firstForms(id, form), ...otherForms(id, form) });
const all = (id: string): string[] => Object.values(idForms(id, "auto")).flat();

for (const [what, inResponse, inReceipt] of [
  ["identical", "abc-1", "abc-1"],
  ["decimal for lower-case hexadecimal", hex(NUMBER), String(NUMBER)],
  ["decimal for upper-case hexadecimal", upper(NUMBER), String(NUMBER)],
  ["decimal for hexadecimal with leading zeros", hex(0x0a3c91f0).padStart(8, "0"), String(0x0a3c91f0)],
  ["hexadecimal for decimal", String(NUMBER), upper(NUMBER)],
  ["hexadecimal with leading zeros for decimal", String(NUMBER), hex(NUMBER).padStart(16, "0")],
  ["upper case for lower case", hex(0xabcdef12), upper(0xabcdef12)],
  ["lower case for upper case", "ABC-1", "abc-1"],
  ["with leading zeros", "123456", "0000123456"],
  ["without leading zeros", "0000123456", "123456"],
] as const)
  test(`the forms of an id in a receipt (${what}) have the id of the response`, () => assert.ok(all(inReceipt).includes(inResponse)));

test("the id itself comes first, and no form comes twice", () => {
  for (const id of ["16", "00Ab", "abc-1", "123456", "0"]) {
    assert.equal(all(id)[0], id);
    assert.equal(new Set(all(id)).size, all(id).length);
  }
});

test("the number in another base is apart from other notations of the id", () => {
  const { notations, bases } = idForms("16", "auto");
  assert.ok(notations.includes("0016") && !notations.includes("10"));
  assert.ok(bases.includes("10") && bases.includes("22") && !bases.includes("0016"));
});

test("a configured form is the only one", () => {
  const { first, notations, bases } = idForms("3735928559", "decimal");
  assert.ok(first.includes("deadbeef") && first.includes("DEADBEEF") && first.includes("00DEADBEEF") && !first.includes("3735928559"));
  assert.deepEqual([notations, bases], [[], []]);
  assert.ok(idForms("DEADBEEF", "hex").first.includes("3735928559"));
  assert.deepEqual(idForms("3735928559", "same").first, ["3735928559"]);
  assert.deepEqual(idForms("3735928559", "same").bases, []);
});

test("an id that is not a number is not converted", () => {
  for (const id of ["", "msg_1", "a b", "9".repeat(300), "-1", "0x10"]) {
    assert.deepEqual(idForms(id, "decimal").first, [id]);
    assert.deepEqual(idForms(id, "auto").bases, []);
  }
});

test("the number of forms is limited", () => {
  for (const id of ["1", "a", "0".repeat(65), "1234567890", "f".repeat(65)]) assert.ok(all(id).length <= 140, `${id}: ${all(id).length}`);
});

test("without a form an id is looked up unchanged", () =>
  assert.deepEqual(idForms("16", undefined), { first: ["16"], notations: [], bases: [] }));
