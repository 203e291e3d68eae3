import assert from "node:assert/strict";
import { test } from "node:test";
import { bottleneckOf, type Reading } from "./check-load.ts";

const reading = (atMs: number, metrics: Record<string, number>, busyMs = atMs, idleMs = atMs): Reading => ({
  atMs,
  metrics: new Map(Object.entries(metrics)),
  busyMs,
  idleMs,
});

const LATE = { 'godwit_queue_oldest_due_seconds{lane="acme"}': 7.4, 'godwit_queue_oldest_due_seconds{lane="other"}': 0.2 };
const start = reading(0, { process_cpu_seconds_total: 10 });

/** The check after a second with these metrics. */
const after = (metrics: Record<string, number>, busyMs?: number, idleMs?: number) =>
  bottleneckOf(start, reading(1_000, { process_cpu_seconds_total: 10.2, ...metrics }, busyMs, idleMs));

test("a service that keeps up passes, however busy it is", () => {
  assert.deepEqual(after({ process_cpu_seconds_total: 11 }), {
    name: "load",
    status: "ok",
    detail: "nothing has waited for 1 second; a worker uses 100 % of a processor, and this machine 50 % of all",
    hint: null,
  });
});

for (const [name, metrics, cause, machine] of [
  ["the processor of a worker", { process_cpu_seconds_total: 10.9 }, /^the processor of a worker/, []],
  ["the processor of two workers", { process_cpu_seconds_total: 11.8, godwit_workers: 2 }, /^the processor of a worker/, []],
  ["the whole machine", {}, /^the processors of this machine/, [970, 30]],
  ["statements that wait for a connection", { godwit_database_waiting: 3 }, /^the database/, []],
  ["slow commits", { godwit_accept_commit_seconds_count: 10, godwit_accept_commit_seconds_sum: 2 }, /^the database/, []],
  ["a link", {}, /^the window or the rate of links/, []],
] as const)
  test(`names ${name} as the bottleneck`, () => {
    const check = after({ ...LATE, ...metrics }, ...machine);
    assert.equal(check.status, "warn");
    assert.match(check.detail, cause);
    assert.match(check.detail, /: messages of the link acme for 7 s; a worker/);
  });

test("late webhooks count as well", () => {
  assert.match(after({ godwit_webhook_queue_oldest_due_seconds: 3 }).detail, /: webhooks for 3 s;/);
});
