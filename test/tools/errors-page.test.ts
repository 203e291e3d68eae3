/** docs/errors.md explains every error code. Its served page also says how to send the request again. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { errorText } from "../../site/scripts/error-page.ts";
import { ERRORS, type ErrorCode } from "../../src/http/codes.ts";

const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "errors.md"), "utf8");
const codes = Object.keys(ERRORS) as ErrorCode[];

test("the list has every code in order, beside its status", () => {
  const rows = Array.from(page.matchAll(/^\| (\d+) \| [^|]+ \| (\[.*) \|$/gm), ([, status = "", list = ""]) =>
    Array.from(list.matchAll(/\[`(\w+)`\]\(#(\w+)\)/g), ([, code, anchor]) => [status, code, anchor]),
  );
  assert.deepEqual(
    rows.flat(),
    codes.map((code) => [String(ERRORS[code].status), code, code]),
  );
});

test("every code has a section with its meaning", () => {
  const [, ...sections] = page.split(/^## /m);
  assert.deepEqual(
    sections.map((section) => section.split("\n", 1)[0]),
    codes,
  );
  for (const [index, code] of codes.entries()) {
    const [, ...meaning] = sections[index]?.trimEnd().split("\n\n") ?? [];
    assert.equal(meaning.length, 1, code);
    assert.match(meaning[0] ?? "", /^[A-Z`[].*\.$/);
  }
});

test("the page of a code has its status, its title, its meaning, a response and how to send the request again", () => {
  const advice: readonly (readonly [ErrorCode, RegExp])[] = [
    ["invalid_request_payload", /\*\*400\*\* · The request is not valid\.[^]*Change the request/],
    ["internal_server_error", /Send the same request again, with the same idempotency key\.\n/],
    ["rate_limit_exceeded", /Send the same request again, with the same idempotency key, after `Retry-After` seconds\./],
    ["no_route", /is stored with the idempotency key\. Use a new key for the next request\./],
    ["link_in_use", /Change the request before you send it again\. You can use the same idempotency key\./],
    ["idempotency_key_reused", /stays stored with the idempotency key\. Use a new key for another request\./],
  ];
  assert.ok(errorText("no_route", page, { code: "no_route" }).includes('```json\n{\n  "code": "no_route"\n}\n```'));
  for (const [code, expected] of advice) assert.match(errorText(code, page, undefined), expected, code);
  for (const code of codes)
    assert.ok(errorText(code, page, undefined).includes(`# ${code}\n\n**${ERRORS[code].status}** · ${ERRORS[code].title}.\n\n`), code);
});
