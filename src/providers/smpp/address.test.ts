import assert from "node:assert/strict";
import { test } from "node:test";
import { recipientOf } from "../../../test/support/recipient.ts";
import { toAddresses } from "./inbox.ts";
import { toDestination, toSource } from "./link.ts";
import type { Address } from "./pdu.ts";

const BY_FORM = {};

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
  assert.deepEqual(toSource("Godwit", { ton: 0 }), { ton: 0, npi: 0, text: "Godwit" });
  assert.deepEqual(toDestination(recipientOf("+14155550100"), { npi: 0 }), { ton: 1, npi: 0, text: "14155550100" });
});

test("the addresses of an inbound message have their text and, where it is known, their type", () => {
  const address = (ton: number, text: string): Address => ({ ton, npi: 1, text });
  assert.deepEqual(toAddresses(address(1, "4915112345678"), address(6, "12345")), {
    from: "4915112345678",
    fromType: "international",
    to: "12345",
    toType: "other",
  });
  assert.deepEqual(toAddresses(address(3, "3122345678"), address(4, "12345")), { from: "3122345678", to: "12345" });
  assert.deepEqual(toAddresses(address(2, "015112345678"), address(5, "Bank")), {
    from: "015112345678",
    fromType: "national",
    to: "Bank",
    toType: "other",
  });
  assert.deepEqual(toAddresses(address(0, "4915112345678"), address(77, "12345")), { from: "4915112345678", to: "12345" });
});
