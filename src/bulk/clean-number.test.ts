import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanNumber } from "./clean-number.ts";

test("a number loses its separators, and another text only its spaces", () => {
  for (const written of ["+1 415 555 0123", "+1 (415) 555-01.23", " '+1-415-555-0123", "+1\u00a0(0)415\u200b5550123"])
    assert.equal(cleanNumber(written), "+14155550123", written);
  for (const other of ["US.13491208655302741918", "4155550123", "+1 415 555 01x3", "Acme Co."])
    assert.equal(cleanNumber(` ${other} `), other);
});
