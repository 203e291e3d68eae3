import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { Problem } from "../http/problem.ts";
import { collectBody as collect } from "./intake.ts";

const isProblem = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

test("a declared body is returned with its bytes", async () => {
  const payload = new PassThrough();
  const body = collect(payload, { length: 5, limit: 5 });
  payload.write("hel");
  payload.end("lo");
  assert.equal((await body).toString(), "hello");
});

test("a chunked body grows up to the limit", async () => {
  const payload = new PassThrough();
  const bytes = Buffer.alloc(100_000, "0123456789");
  const body = collect(payload, { length: undefined, limit: bytes.length });
  for (let at = 0; at < bytes.length; at += 777) payload.write(bytes.subarray(at, at + 777));
  payload.end();
  assert.ok((await body).equals(bytes));
});

test("a body beyond the limit is too large, declared or not", async () => {
  await assert.rejects(collect(new PassThrough(), { length: 6, limit: 5 }), isProblem("payload_too_large"));
  const payload = new PassThrough();
  const body = collect(payload, { length: undefined, limit: 5 });
  payload.write("123456");
  await assert.rejects(body, isProblem("payload_too_large"));
});

test("the body of a client that disconnects fails, and no listener is left", async () => {
  const payload = new PassThrough();
  const body = collect(payload, { length: 5, limit: 5, timeoutMs: 60_000 });
  payload.write("12");
  payload.destroy(new Error("gone"));
  await assert.rejects(body, { message: "gone", statusCode: 400 });
  assert.deepEqual([payload.listenerCount("data"), payload.listenerCount("error")], [0, 0]);
});

test("a body that takes too long is a timeout", async () => {
  await assert.rejects(collect(new PassThrough(), { length: 5, limit: 5, timeoutMs: 1 }), isProblem("request_timeout"));
});
