import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { errorFields, type LoggedError } from "./log.ts";

const logged = (error: unknown): LoggedError => errorFields(error).error;

const databaseError = (message: string, code: string): Error =>
  Object.assign(new pg.DatabaseError(message, 0, "error"), {
    code,
    detail: "Failing row contains (the text)",
    where: "the text",
    hint: "the text",
  });

test("an error is logged with its name, message, code and frames", () => {
  const { name, message, code, stack = "", cause } = logged(Object.assign(new RangeError("too far"), { code: "ETOOFAR" }));
  assert.deepEqual([name, message, code, cause], ["RangeError", "too far", "ETOOFAR", undefined]);
  assert.match(stack, /^ +at .*log\.test\.ts/);
  assert.ok(!stack.includes("too far"), "the message is not repeated");
});

test("the causes of an error are logged with their own names and codes", () => {
  const cause = Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });
  const { cause: first } = logged(new Error("unavailable", { cause: new TypeError("failed", { cause }) }));
  assert.deepEqual([first?.name, first?.message, first?.code], ["TypeError", "failed", undefined]);
  assert.deepEqual([first?.cause?.message, first?.cause?.code], ["connection refused", "ECONNREFUSED"]);
});

test("an endless chain of causes is cut", () => {
  const error = new Error("again");
  error.cause = error;
  let depth = 0;
  for (let each = logged(error).cause; each !== undefined; each = each.cause) depth += 1;
  assert.equal(depth, 5);
});

test("a database error is logged with its SQLSTATE and without the fields that quote a row", () => {
  const fields = logged(databaseError('new row violates check constraint "no_owls"', "23514"));
  assert.deepEqual([fields.message, fields.code], ['new row violates check constraint "no_owls"', "23514"]);
  assert.ok(!JSON.stringify(fields).includes("the text"));
});

const QUOTING: readonly (readonly [what: string, error: unknown])[] = [
  ["PostgreSQL quotes", databaseError('invalid input syntax for type integer: "the "secret" text"', "22P02")],
  ["PostgreSQL quotes in the middle", databaseError('value "the secret" is out of range for type integer', "22003")],
  ["JSON.parse quotes", thrownBy(() => JSON.parse("the secret text"))],
  ["that is a phone number", new Error("no route to +14155550188")],
];

for (const [what, error] of QUOTING) {
  test(`a value ${what} is not logged`, () => {
    const text = JSON.stringify(logged(error));
    assert.match(text, /…/);
    for (const secret of ["secret", "the sec", "4155550188"]) assert.ok(!text.includes(secret), text);
  });
}

test("the size of a logged error is limited", () => {
  const error = new Error("x".repeat(100_000), { cause: "y".repeat(100_000) });
  error.stack = `Error\n${"    at somewhere\n".repeat(100_000)}`;
  assert.ok(JSON.stringify(logged(Object.assign(error, { code: "Z".repeat(100_000) }))).length < 10_000);
});

test("any thrown value can be logged", () => {
  assert.deepEqual(logged("no"), { name: "string", message: "no" });
  assert.deepEqual(logged(undefined), { name: "undefined", message: "" });
  assert.deepEqual(logged(Object.create(null)), { name: "object", message: "" });
  // An error whose code is a number.
  assert.equal(logged(AbortSignal.abort().reason).name, "AbortError");
});

function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
