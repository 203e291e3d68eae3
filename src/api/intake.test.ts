import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { Problem } from "../http/problem.ts";
import { SharedTimer } from "../lib/shared-timer.ts";
import { collectBody, type BodyForm } from "./intake.ts";

const collect = (payload: PassThrough, form: Omit<BodyForm, "grow">): Promise<Buffer> =>
  collectBody(payload, { ...form, grow: () => undefined });

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

test("the memory of a body grows with its bytes, and not with its declared length", async () => {
  const payload = new PassThrough();
  let taken = 0;
  const body = collectBody(payload, { length: 1_000_000, limit: 1_000_000, grow: (amount) => (taken += amount) });
  for (const [size, most] of [
    [1, 1],
    [999, 1_000],
    [1, 2_000],
  ] as const) {
    payload.write(Buffer.alloc(size));
    await new Promise(setImmediate);
    assert.equal(taken, most);
  }
  payload.end(Buffer.alloc(998_999));
  assert.equal((await body).length, 1_000_000);
  assert.equal(taken, 1_000_000);
});

test("a body without memory for its bytes fails", async () => {
  const payload = new PassThrough();
  const body = collectBody(payload, {
    length: 5,
    limit: 5,
    grow: () => {
      throw new Problem("service_unavailable");
    },
  });
  payload.write("1");
  await assert.rejects(body, isProblem("service_unavailable"));
});

test("a body of less than 1 KiB per second is a timeout after five seconds, and a faster one is not", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  const form = { length: 1_000_000, limit: 1_000_000 };
  const [slow, fast] = [new PassThrough(), new PassThrough()];
  const timer = new SharedTimer(1_000);
  const [late, body] = [slow, fast].map((payload) => collectBody(payload, { ...form, grow: () => undefined }, timer)) as [
    Promise<Buffer>,
    Promise<Buffer>,
  ];
  const isLate = assert.rejects(late, isProblem("request_timeout"));
  for (let second = 1; second <= 8; second += 1) {
    slow.write(Buffer.alloc(1_000));
    fast.write(Buffer.alloc(1_030));
    await new Promise(setImmediate);
    nowMs = second * 1_000;
    t.mock.timers.tick(1_000);
    assert.equal(slow.listenerCount("data"), second < 5 ? 1 : 0, `after ${second} seconds`);
  }
  await isLate;
  fast.end();
  assert.equal((await body).length, 8 * 1_030);
});
