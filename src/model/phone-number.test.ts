import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { getCountries, getCountryCallingCode, isPossiblePhoneNumber } from "libphonenumber-js/min";
import { recipientOf } from "../../test/support/recipient.ts";
import { E164_PATTERN, formsOf, isPossibleNumber } from "./phone-number.ts";

const POSSIBLE: readonly (readonly [what: string, number: string])[] = [
  ["of the United States", "+14155550123"],
  ["of the simulator", "+15005550006"],
  ["of the United Kingdom", "+447400123456"],
  ["of Germany, with eleven digits", "+4915123456789"],
  ["of Germany, with few digits", "+49301234"],
  ["of Italy, with its leading zero", "+390612345678"],
  ["of France", "+33612345678"],
  ["of India", "+919876543210"],
  ["of Brazil", "+5511961234567"],
  ["of Kazakhstan, which shares +7", "+77710009998"],
  ["of Niue, with four digits", "+6834002"],
  ["of no assigned area, since plans change", "+19995550123"],
  ["of a satellite network", "+881612345678"],
  ["toll-free everywhere", "+80012345678"],
];

for (const [what, number] of POSSIBLE) test(`a number ${what} is possible`, () => assert.equal(isPossibleNumber(number), true));

const IMPOSSIBLE: readonly (readonly [what: string, number: string])[] = [
  ["of the United States with a digit too few", "+1415555012"],
  ["of the United States with a digit too many", "+141555501234"],
  ["of France with a digit too few", "+3361234567"],
  ["of France with a digit too many", "+336123456789"],
  ["of Spain with a digit too many", "+346123456789"],
  ["with an unassigned calling code", "+2101234567"],
  ["with another unassigned calling code", "+9991234567"],
];

for (const [what, number] of IMPOSSIBLE) test(`a number ${what} is impossible`, () => assert.equal(isPossibleNumber(number), false));

const FORMS: readonly (readonly [text: string, is: boolean])[] = [
  ["+1234567", true],
  ["+123456789012345", true],
  ["+123456", false],
  ["+1234567890123456", false],
  ["+0123456789", false],
  ["14155550123", false],
  ["0014155550123", false],
  ["+1 415 555 0123", false],
  ["+1415555o123", false],
  ["+14155550123\n", false],
  ["+１4155550123", false],
  ["", false],
];

for (const [text, is] of FORMS) {
  test(`${JSON.stringify(text)} ${is ? "has" : "does not have"} the form of E.164`, () =>
    assert.equal(new RegExp(E164_PATTERN).test(text), is));
}

const codes = [
  ...new Set(getCountries().map((country) => getCountryCallingCode(country))),
  "800",
  "808",
  "870",
  "878",
  "881",
  "882",
  "883",
  "888",
  "979",
];
const digits = (maxLength: number) => fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength, size: "max" });
const numbers = fc
  .oneof(fc.tuple(fc.constantFrom<string>(...codes), digits(14)), fc.tuple(fc.constantFrom(..."123456789"), digits(14)))
  .map(([code, national]) => `+${code}${national}`)
  .filter((number) => new RegExp(E164_PATTERN).test(number));

test("every number that the library accepts as possible is possible", () => {
  fc.assert(
    fc.property(numbers, (number) => {
      if (isPossiblePhoneNumber(number)) assert.equal(isPossibleNumber(number), true);
    }),
    { numRuns: 3_000 },
  );
});

test("numbers that networks write in two forms have both", () => {
  for (const [one, other] of [
    ["+525512345678", "+5215512345678"],
    ["+541123456789", "+5491123456789"],
    ["+551187654321", "+5511987654321"],
  ] as const)
    for (const [written, further] of [
      [one, other],
      [other, one],
    ] as const)
      assert.deepEqual(formsOf(recipientOf(written)), [written, further]);
  for (const number of ["+551133334444", "+14155550123", "+5255123456", "US.13491208655302741918"])
    assert.deepEqual(formsOf(recipientOf(number)), [number]);
});

test("every calling code of the library is known", () => {
  for (const code of codes) {
    const lengths = Array.from({ length: 14 - code.length }, (_, index) => index + 2);
    assert.ok(
      lengths.some((length) => isPossibleNumber(`+${code}${"2".repeat(length)}`)),
      code,
    );
  }
});
