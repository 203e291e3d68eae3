import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { SendOutcome } from "../providers/provider.ts";
import { Deadlines } from "./deadlines.ts";

const LIMIT_MS = 30_000;
/** A late handler that must not be called. */
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

/** The current state of a promise. */
function watched(promise: Promise<SendOutcome>): () => SendOutcome | undefined {
  let outcome: SendOutcome | undefined;
  void promise.then((value) => (outcome = value));
  return () => outcome;
}

const heeding = (signal: AbortSignal): Promise<SendOutcome> =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve({ kind: "unknown", detail: "told to end" }));
  });

test("a response in time is the outcome, and no call is aborted", async (context) => {
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

test("a call has its full time limit, even if it begins late in a shared second", async (context) => {
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

test("a call that renews its time has as much time again, and one that has ended has no more", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const { promise, resolve } = Promise.withResolvers<SendOutcome>();
  let renewed: (() => AbortSignal) | undefined;
  const outcome = watched(
    deadlines.within(
      (_, renew) => {
        renewed = renew;
        return promise;
      },
      () => undefined,
    ),
  );
  let signal: AbortSignal | undefined;
  for (let part = 0; part < 5; part += 1) {
    await pass(LIMIT_MS);
    signal = renewed?.();
    assert.equal(signal?.aborted, false);
  }
  assert.equal(outcome(), undefined);
  await pass(2 * LIMIT_MS);
  assert.equal(signal?.aborted, true);
  assert.equal(renewed?.().aborted, true);
  assert.equal(outcome()?.kind, "unknown");
  resolve(ACCEPTED);
});

test("a call that obeys its signal returns its own outcome", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const outcome = watched(deadlines.within(heeding, silent));
  await pass(LIMIT_MS + 1_000);
  assert.deepEqual(outcome(), { kind: "unknown", detail: "told to end" });
});

test("a response between the signal and the end is still the outcome", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const { promise, resolve } = Promise.withResolvers<SendOutcome>();
  const outcome = watched(deadlines.within(() => promise, silent));
  await pass(LIMIT_MS + 2_000);
  resolve(ACCEPTED);
  await pass(0);
  assert.deepEqual(outcome(), ACCEPTED);
});

test("a call that never settles is abandoned, and its outcome is unknown", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const outcome = watched(deadlines.within(() => new Promise(() => undefined), silent));
  await pass(LIMIT_MS + 5_999);
  assert.equal(outcome(), undefined);
  await pass(1);
  assert.deepEqual(outcome(), { kind: "unknown", detail: "no response in time" });
});

test("the response of an abandoned call goes to the late handler once", async (context) => {
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

test("abortAll aborts all running calls, and new calls have their own time limit", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const before = watched(deadlines.within(heeding, silent));
  deadlines.abortAll();
  const after = watched(deadlines.within(heeding, silent));
  await pass(0);
  assert.equal(before()?.kind, "unknown");
  assert.equal(after(), undefined);
});

test("stop gives every call an outcome at once, even one that ignores its signal", async (context) => {
  const { deadlines, pass } = onTestClock(context);
  const calls = [heeding, () => new Promise<SendOutcome>(() => undefined)];
  // A call that obeys the signal still returns its outcome, after it was abandoned.
  const outcomes = calls.map((call) => watched(deadlines.within(call, () => undefined)));
  deadlines.stop();
  await pass(0);
  assert.deepEqual(
    outcomes.map((outcome) => outcome()?.kind),
    ["unknown", "unknown"],
  );
});
