import assert from "node:assert/strict";
import { test } from "node:test";
import { ERRORS, isErrorCode, type ErrorCode } from "./codes.ts";
import { Problem, unavailable, type Fault } from "./problem.ts";

const bodyOf = (problem: Problem): unknown => JSON.parse(problem.toBody("https://host", "req_1"));

test("the body has the members of the contract, in order", () => {
  const problem = new Problem("invalid_request_payload", { errors: [{ pointer: "/recipient", code: "required", detail: "is required" }] });
  const body = bodyOf(problem) as object;
  assert.deepEqual(Object.keys(body), ["type", "title", "status", "code", "detail", "request_id", "errors"]);
  assert.deepEqual(body, {
    type: "https://host/errors/invalid_request_payload",
    title: ERRORS.invalid_request_payload.title,
    status: 400,
    code: "invalid_request_payload",
    detail: "recipient: is required.",
    request_id: "req_1",
    errors: [{ pointer: "/recipient", code: "required", detail: "is required" }],
  });
});

test("without faults the body has no list of faults, and the detail is the title", () => {
  assert.deepEqual(bodyOf(new Problem("not_found")), {
    type: "https://host/errors/not_found",
    title: ERRORS.not_found.title,
    status: 404,
    code: "not_found",
    detail: `${ERRORS.not_found.title}.`,
    request_id: "req_1",
  });
});

const SENTENCES: readonly (readonly [detail: string, sentence: string])[] = [
  ["no such path", "No such path."],
  ["use GET, HEAD", "Use GET, HEAD."],
  ["allowed_ips has no entry", "allowed_ips has no entry."],
  ["This environment has no links. Create a link first.", "This environment has no links. Create a link first."],
  ["is that so?", "Is that so?"],
];

for (const [detail, sentence] of SENTENCES)
  test(`the detail "${detail}" is a sentence in the body`, () =>
    assert.equal((bodyOf(new Problem("not_found", { detail })) as { detail: string }).detail, sentence));

test("a body has at most 64 kB: the last faults are left out, and the detail counts them", () => {
  for (const detail of ["x".repeat(1_000), "\u0001".repeat(1_000), "😀".repeat(1_000)]) {
    const errors = Array.from({ length: 100 }, (_, index) => ({ pointer: `/${index}`, code: "invalid", detail }));
    const problem = new Problem("invalid_request_payload", { errors });
    const text = problem.toBody("https://host", "req_1");
    const bytes = Buffer.byteLength(text);
    assert.ok(bytes <= 65_536 && bytes > 55_000, String(bytes));
    const { errors: kept, detail: summary } = JSON.parse(text) as { errors: unknown[]; detail: string };
    assert.deepEqual(kept, errors.slice(0, kept.length));
    assert.ok(summary.startsWith("0: ") && summary.length <= 2_000);
  }
});

test("additional members are added to the standard ones", () => {
  const problem = new Problem("forbidden_insufficient_scope", { members: { required_scopes: ["messages:send"] } });
  assert.deepEqual((bodyOf(problem) as Record<string, unknown>)["required_scopes"], ["messages:send"]);
});

test("the body does not contain the cause", () => {
  const problem = new Problem("internal_server_error", { cause: new Error("password=hunter2") });
  assert.ok(!problem.toBody("https://host", "req_1").includes("hunter2"));
  assert.match(String(problem.cause), /hunter2/);
});

const fault = (location: { pointer: string } | { parameter: string } | { header: string }): Fault => ({
  ...location,
  code: "x",
  detail: "is wrong",
});
const SUMMARIES: readonly (readonly [faults: Fault[], detail: string])[] = [
  [[fault({ pointer: "/metadata/key" })], "metadata/key: is wrong"],
  [[fault({ pointer: "" })], "request body: is wrong"],
  [[fault({ parameter: "cursor" })], "cursor: is wrong"],
  [[fault({ header: "Idempotency-Key" })], "Idempotency-Key: is wrong"],
  [[fault({ pointer: "/a" }), fault({ pointer: "/b" }), fault({ pointer: "/c" })], "a: is wrong (and 2 more)"],
];

for (const [faults, detail] of SUMMARIES) {
  test(`the summary of the faults is "${detail}"`, () =>
    assert.equal(new Problem("invalid_request_payload", { errors: faults }).detail, detail));
}

test("an explicit detail replaces the summary", () => {
  assert.equal(new Problem("not_found", { detail: "no such message", errors: [fault({ parameter: "id" })] }).detail, "no such message");
});

test("an unavailable service returns the time of the next attempt", () => {
  const problem = unavailable("the database is unavailable", 3);
  assert.deepEqual([problem.status, problem.code, problem.headers], [503, "service_unavailable", { "retry-after": "3" }]);
  assert.equal(unavailable("draining").headers["retry-after"], "1");
});

for (const code of Object.keys(ERRORS) as ErrorCode[]) {
  test(`${code} has an error status and a title`, () => {
    const { status, title } = ERRORS[code];
    assert.ok(status >= 400 && status <= 599);
    assert.match(title, /^[A-Z].*[^.]$/);
    assert.equal(new Problem(code).status, status);
  });
}

test("only an idempotency conflict has the status 409", () => {
  assert.deepEqual(
    Object.entries(ERRORS)
      .filter(([, { status }]) => status === 409)
      .map(([code]) => code),
    ["idempotency_conflict"],
  );
});

test("only codes of the table are error codes", () => {
  assert.equal(isErrorCode("not_found"), true);
  assert.equal(isErrorCode("toString"), false);
});
