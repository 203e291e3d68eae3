import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AddressType } from "../providers/provider.ts";
import { readCarrierAddress, withoutSeparators } from "./address.ts";

type Case = readonly [type: AddressType | undefined, text: string, country: string | null, ...readings: string[]];

const CASES: readonly Case[] = [
  ["international", "4915112345678", null, "+4915112345678"],
  ["international", "+4915112345678", null, "+4915112345678"],
  ["international", "004915112345678", null, "+4915112345678"],
  ["other", "+14155550100", null, "+14155550100"],
  [undefined, "4915112345678", null, "+4915112345678"],
  [undefined, "14155550100", null, "+14155550100"],
  [undefined, "+1 (415) 555-0100", null, "+14155550100"],
  // Without a country, digits that are no international number are unchanged.
  [undefined, "0151123456", null, "0151123456"],
  [undefined, "4155559056", null, "4155559056"],
  ["national", "4155559055", null, "4155559055"],
  // With a country they are national numbers.
  ["national", "4155559055", "US", "+14155559055"],
  [undefined, "4155559056", "US", "+14155559056"],
  [undefined, "(415) 555-9056", "US", "+14155559056"],
  [undefined, "07911123456", "GB", "+447911123456"],
  ["national", "7911123456", "GB", "+447911123456"],
  ["national", "015112345678", "DE", "+4915112345678"],
  // The area code may be newer than the table of ranges.
  [undefined, "7499031024", "US", "+17499031024"],
  // The digits have a possible length for the United States, and for India, but are in no range there.
  [undefined, "15112345678", "DE", "+4915112345678", "+15112345678"],
  [undefined, "9176543210", "IN", "+919176543210", "+9176543210"],
  [undefined, "12345678", "DK", "12345678"],
  [undefined, "919876543210", "IN", "+919876543210"],
  [undefined, "20123456", "DK", "+4520123456"],
  // International forms mean the same with a country.
  ["international", "447911123456", "US", "+447911123456"],
  [undefined, "447911123456", "US", "+447911123456"],
  [undefined, "00447911123456", "US", "+447911123456"],
  [undefined, "+447911123456", "US", "+447911123456"],
  [undefined, "447911123456", "GB", "+447911123456"],
  // A carrier that marks every address as international.
  ["international", "07911123456", "GB", "+447911123456"],
  ["international", "4155559055", "US", "+14155559055"],
  ["international", "2022345678", "US", "+12022345678", "+2022345678"],
  ["international", "4785551234", "US", "+4785551234", "+14785551234"],
  // A number of Norway, and one of the United States.
  [undefined, "4785551234", "US", "+4785551234", "+14785551234"],
  // Short codes and names.
  ["international", "72345", null, "72345"],
  ["other", "12345", "US", "12345"],
  ["other", "4155559055", "US", "4155559055"],
  [undefined, "12345", "US", "12345"],
  [undefined, "123456", "SE", "123456"],
  ["national", "99999", "GB", "99999"],
  ["other", "Bank", "GB", "Bank"],
  ["international", "Bank", "GB", "Bank"],
  [undefined, "My Shop 24", "GB", "My Shop 24"],
  [undefined, "", "GB", ""],
  [undefined, "+", "GB", "+"],
  [undefined, "\uFFFD", "GB", "\uFFFD"],
  [undefined, "9".repeat(1_000), "US", "9".repeat(1_000)],
];

for (const [type, text, country, ...readings] of CASES)
  test(`${JSON.stringify(text.slice(0, 40))}, ${type ?? "unmarked"}, is read as ${readings.join(" or ").slice(0, 40)} in ${country ?? "no country"}`, () =>
    assert.deepEqual(readCarrierAddress({ text, type }, country), readings));

test("an erasure takes every address as the records have it", () => {
  const texts = fc.string({ unit: fc.constantFrom(..."0123456789+ ()./-;A"), minLength: 1, maxLength: 18 });
  const types = fc.constantFrom<AddressType | undefined>(undefined, "international", "national", "other");
  fc.assert(
    fc.property(texts, types, fc.constantFrom(null, "US", "DE"), (text, type, country) => {
      for (const recorded of readCarrierAddress({ text, type }, country)) assert.equal(withoutSeparators(recorded), recorded);
    }),
    { numRuns: 3_000 },
  );
  assert.equal(withoutSeparators("+1 (415) 555-0100"), "+14155550100");
  for (const text of ["+1234", "0171 1234567", "(089) 123-456", "+0171 123", "1 800 FLOWERS", "7-11"])
    assert.equal(withoutSeparators(text), text);
});
