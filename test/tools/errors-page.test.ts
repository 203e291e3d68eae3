/** docs/errors.md explains every error code: its status, its title, and how to send the request again. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ERRORS, type ErrorCode } from "../../src/http/codes.ts";

const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "errors.md"), "utf8");
const codes = Object.keys(ERRORS) as ErrorCode[];

/** Refusals that are not stored with an idempotency key. */
const NOT_STORED: ReadonlySet<ErrorCode> = new Set(["live_only", "link_in_use"]);

/** Returns how a client sends a request with this error again. */
function retryAdvice(code: ErrorCode): string {
  const { status } = ERRORS[code];
  if (code === "idempotency_key_reused")
    return "The first response stays stored with the idempotency key. Use a new key for another request.";
  if (status === 409 || status === 429 || status === 503)
    return "Send the same request again, with the same idempotency key, after `Retry-After` seconds.";
  if (status === 408 || status === 500) return "Send the same request again, with the same idempotency key.";
  return status === 422 && !NOT_STORED.has(code)
    ? "The response is stored with the idempotency key. Use a new key for the next request."
    : "Change the request before you send it again. You can use the same idempotency key.";
}

test("the list has every code in order, with its status and title", () => {
  const rows = Array.from(page.matchAll(/^\| (\d+) \| \[`(\w+)`\]\(#(\w+)\) \| (.*) \|$/gm), ([, ...cells]) => cells);
  assert.deepEqual(
    rows,
    codes.map((code) => [String(ERRORS[code].status), code, code, ERRORS[code].title]),
  );
});

test("every code has a section with its status, its title, its meaning and the advice for a retry", () => {
  const [, ...sections] = page.split(/^## /m);
  assert.deepEqual(
    sections.map((section) => section.split("\n", 1)[0]),
    codes,
  );
  for (const [index, code] of codes.entries()) {
    const [, head, ...meaning] = sections[index]?.trimEnd().split("\n\n") ?? [];
    const advice = meaning.pop();
    assert.deepEqual([head, advice], [`**${ERRORS[code].status}** · ${ERRORS[code].title}.`, retryAdvice(code)]);
    assert.equal(meaning.length, 1, code);
    assert.match(meaning[0] ?? "", /^[A-Z`[].*\.$/);
  }
});
