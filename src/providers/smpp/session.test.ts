import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_SEQUENCE, type Pdu } from "./pdu.ts";
import { PendingRequests } from "./session.ts";

const responseTo = (sequence: number): Pdu => ({ command: "enquire_link_resp", status: 0, sequence });
const never = (): void => undefined;
const written = (): boolean => true;

test("sequence numbers start again after the largest and skip those in use", async () => {
  const requests = new PendingRequests(10, never, MAX_SEQUENCE - 2);
  const seen: number[] = [];
  const begin = () => requests.begin({ limitMs: 10_000 }, (sequence) => seen.push(sequence) > 0);
  const outcomes = [begin(), begin(), begin(), begin()];
  assert.deepEqual(seen, [MAX_SEQUENCE - 1, MAX_SEQUENCE, 1, 2]);
  requests.disconnect("test");
  for (const { kind } of await Promise.all(outcomes)) assert.equal(kind, "disconnected");

  const second = new PendingRequests(10, never, 0);
  const numbers: number[] = [];
  const one = second.begin({ limitMs: 10_000 }, (sequence) => numbers.push(sequence) > 0);
  const third = new PendingRequests(10, never, MAX_SEQUENCE);
  void third.begin({ limitMs: 10_000 }, (sequence) => numbers.push(sequence) > 0);
  assert.deepEqual(numbers, [1, 1]);
  assert.ok(second.receive(responseTo(1)));
  assert.equal((await one).kind, "response");
  third.disconnect("test");
});

test("a response to no request is reported, and a late response goes to its callback once", async () => {
  const requests = new PendingRequests(10, never);
  assert.equal(requests.receive(responseTo(5)), false);
  const late: number[] = [];
  const limit = new AbortController();
  const outcome = requests.begin({ limitMs: 10_000, signal: limit.signal, onLateResponse: ({ sequence }) => late.push(sequence) }, written);
  limit.abort();
  assert.equal((await outcome).kind, "aborted");
  assert.equal(requests.receive(responseTo(1)), true);
  assert.equal(requests.receive(responseTo(1)), false);
  assert.deepEqual(late, [1]);
});

test("a request that is aborted before it begins is not written", async () => {
  const requests = new PendingRequests(10, never);
  const outcome = requests.begin({ limitMs: 10_000, signal: AbortSignal.abort() }, () => assert.fail("the request was written"));
  assert.equal((await outcome).kind, "unsent");
});

test("a request that cannot be written has not left", async () => {
  const requests = new PendingRequests(10, never);
  assert.deepEqual(await requests.begin({ limitMs: 10_000 }, () => false), { kind: "unsent" });
  await requests.drained();
});

test("timeouts in a row are reported, and a response resets their count", async () => {
  let isReported = false;
  const requests = new PendingRequests(2, () => (isReported = true));
  assert.equal((await requests.begin({ limitMs: 1 }, written)).kind, "timeout");
  const outcome = requests.begin({ limitMs: 10_000 }, written);
  requests.receive(responseTo(2));
  await outcome;
  await requests.begin({ limitMs: 1 }, written);
  assert.equal(isReported, false);
  await requests.begin({ limitMs: 1 }, written);
  assert.equal(isReported, true);
});
