import assert from "node:assert/strict";
import { test } from "node:test";
import { recipientOf } from "../../../test/support/recipient.ts";
import { toDestination, toNumber, toSource } from "./address.ts";
import type { Address } from "./pdu.ts";

const BY_FORM = { ton: null, npi: null };

const FORMS: readonly (readonly [value: string | null, address: Address | undefined])[] = [
  ["+4915112345678", { ton: 1, npi: 1, text: "4915112345678" }],
  ["4915112345678", { ton: 1, npi: 1, text: "4915112345678" }],
  ["12345", { ton: 3, npi: 0, text: "12345" }],
  ["Godwit", { ton: 5, npi: 0, text: "Godwit" }],
  ["My Shop 24", { ton: 5, npi: 0, text: "My Shop 24" }],
  [null, { ton: 0, npi: 0, text: "" }],
  ["\0".repeat(100), undefined],
  ["ÄÖÜ", undefined],
  ["a".repeat(21), undefined],
  ["a\nb", undefined],
];
for (const [value, address] of FORMS)
  test(`the address of the sender ${JSON.stringify(value)} follows from its form`, () =>
    assert.deepEqual(toSource(value, BY_FORM), address));

test("a recipient is an international number without its plus", () =>
  assert.deepEqual(toDestination(recipientOf("+4915112345678"), BY_FORM), { ton: 1, npi: 1, text: "4915112345678" }));

test("settings of the link take precedence over the form, each for itself", () => {
  assert.deepEqual(toSource("Godwit", { ton: 0, npi: null }), { ton: 0, npi: 0, text: "Godwit" });
  assert.deepEqual(toDestination(recipientOf("+14155550100"), { ton: null, npi: 0 }), { ton: 1, npi: 0, text: "14155550100" });
});

const NUMBERS: readonly (readonly [ton: number, text: string, number: string])[] = [
  [1, "4915112345678", "+4915112345678"],
  [1, "+4915112345678", "+4915112345678"],
  [1, "004915112345678", "+4915112345678"],
  [0, "4915112345678", "+4915112345678"],
  [0, "14155550100", "+14155550100"],
  [0, "+14155550100", "+14155550100"],
  // Ten digits of a national number are no possible number of a country.
  [0, "0151123456", "0151123456"],
  [2, "15112345678", "15112345678"],
  [3, "12345", "12345"],
  [0, "12345", "12345"],
  [5, "Bank", "Bank"],
  [1, "Bank", "Bank"],
  [0, "", ""],
];
for (const [ton, text, number] of NUMBERS)
  test(`${text} of type ${ton} is written ${number}`, () => assert.equal(toNumber({ ton, npi: 1, text }), number));
