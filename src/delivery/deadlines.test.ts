import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { SendOutcome } from "../providers/provider.ts";
import { Deadlines } from "./deadlines.ts";

const LIMIT_MS = 30_000;
/** Whoever is given up says nothing more. */
const silent = (): void => assert.fail("nothing came late");
const ACCEPTED: SendOutcome = { kind: "accepted", providerMessageId: "7" };

/** Deadlines on a clock that the test moves. */
function onTestClock(context: TestContext): { deadlines: Deadlines; pass: (ms: number) => Promise<void> } {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let nowMs = 1_000;
  context.mock.method(performance, "now", () => nowMs);
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms;
    context.mock.timers.tick(ms);
    await new Promise(setImmediate);
  };
  return { deadlines: new Deadlines(LIMIT_MS), pass };
}

/** What a promise has come to by now. */
function watched(promise: Promise<SendOutcome>): () => SendOutcome | undefined {
  let outcome: SendOutcome | undefined;
  void promise.then((value) => (outcome = value));
  return () => outcome;
}

const heeding = (signal: AbortSignal): Promise<SendOutcome> =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve({ kind: "unknown", detail: "told to end" }));
  });

test("an answer in time is the outcome, and nobody is told to end", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const { promise, resolve } = Promise.withResolvers<SendOutcome>();
  let signal: AbortSignal | undefined;
  const outcome = watched(
    deadlines.within((given) => {
      signal = given;
      return promise;
    }, silent),
  );
  await pass(LIMIT_MS);
  assert.equal(signal?.aborted, false, "it has the whole of its time");
  resolve(ACCEPTED);
  await pass(0);
  assert.deepEqual(outcome(), ACCEPTED);
});

test("a call has its whole time, also one that begins late in a shared second", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const signals: AbortSignal[] = [];
  const call = (): void => {
    void deadlines.within((signal) => {
      signals.push(signal);
      return heeding(signal);
    }, silent);
  };
  call();
  await pass(999);
  call();
  assert.equal(signals[0], signals[1], "one signal for both");
  await pass(LIMIT_MS - 1);
  assert.equal(signals[0]?.aborted, false);
  await pass(2);
  assert.equal(signals[0]?.aborted, true);
  call();
  assert.notEqual(signals[2], signals[0], "a new one for those who come later");
  assert.equal(signals[2]?.aborted, false);
});

test("a call that heeds its signal says itself what became of it", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const outcome = watched(deadlines.within(heeding, silent));
  await pass(LIMIT_MS + 1_000);
  assert.deepEqual(outcome(), { kind: "unknown", detail: "told to end" });
});

test("an answer between the signal and the end still counts", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const { promise, resolve } = Promise.withResolvers<SendOutcome>();
  const outcome = watched(deadlines.within(() => promise, silent));
  await pass(LIMIT_MS + 2_000);
  resolve(ACCEPTED);
  await pass(0);
  assert.deepEqual(outcome(), ACCEPTED);
});

test("a call that never settles is given up, and its outcome is unknown", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const outcome = watched(deadlines.within(() => new Promise(() => undefined), silent));
  await pass(LIMIT_MS + 5_999);
  assert.equal(outcome(), undefined);
  await pass(1);
  assert.deepEqual(outcome(), { kind: "unknown", detail: "no answer in time" });
});

test("what a call says after it was given up goes where late answers go, once", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const { promise, resolve } = Promise.withResolvers<SendOutcome>();
  const late: SendOutcome[] = [];
  const outcome = watched(
    deadlines.within(
      () => promise,
      (each) => late.push(each),
    ),
  );
  await pass(LIMIT_MS + 6_000);
  assert.equal(outcome()?.kind, "unknown");
  assert.deepEqual(late, []);
  resolve(ACCEPTED);
  await pass(0);
  assert.deepEqual(late, [ACCEPTED]);
  assert.equal(outcome()?.kind, "unknown", "what was said is said");
});

test("a call that throws has an unknown outcome", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const outcome = watched(deadlines.within(async () => Promise.reject(new Error("broken pipe")), silent));
  await pass(0);
  assert.deepEqual(outcome(), { kind: "unknown", detail: "Error: broken pipe" });
});

test("all can be told to end at once, and new calls have their own time", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const before = watched(deadlines.within(heeding, silent));
  deadlines.abortAll();
  const after = watched(deadlines.within(heeding, silent));
  await pass(0);
  assert.equal(before()?.kind, "unknown");
  assert.equal(after(), undefined);
});

test("at the stop every call has its outcome at once, heeding or not", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const calls = [heeding, () => new Promise<SendOutcome>(() => undefined)];
  // One that heeds the signal still says so, after it was given up.
  const outcomes = calls.map((call) => watched(deadlines.within(call, () => undefined)));
  deadlines.stop();
  await pass(0);
  assert.deepEqual(
    outcomes.map((outcome) => outcome()?.kind),
    ["unknown", "unknown"],
  );
});
