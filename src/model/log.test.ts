import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import pg from "pg";
import { errorFields, logTo, type LoggedError } from "./log.ts";

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

test("the last lines are written, also by a flush during another write, and in many blocks", async () => {
  const program = `
    import { createLog } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    const { log, flush } = createLog("json", { isShared: true });
    log.info("first");
    const flushed = flush();
    for (let line = 1; line <= 200; line += 1) log.info({ line }, "x".repeat(100));
    await Promise.all([flushed, flush()]);
    process.kill(process.pid, "SIGKILL");`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]).catch(
    (ended: { stdout: string }) => ended,
  );
  assert.equal(stdout.trim().split("\n").length, 201);
});

function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

test("a failure that repeats has ten lines in a second, also through a log of its own, and the level leaves out others", () => {
  const lines: string[] = [];
  const { log, writeLine } = logTo({ write: (text) => void lines.push(text) }, { level: "warn" });
  log.info("not written");
  writeLine(',"msg":"request"');
  const child = log.child({ link: "one" });
  const fail = (code: string): void =>
    child.error({ event: "usage.fold_failed", ...errorFields(Object.assign(new Error("x"), { code })) }, "failed");
  for (let count = 0; count < 50; count += 1) fail("ECONNREFUSED");
  fail("57P01");
  assert.equal(lines.length, 11);
});
