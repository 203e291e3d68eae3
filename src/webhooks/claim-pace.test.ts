import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { WebhookClaimPace } from "./claim-pace.ts";
import type { HealthLevel, Slot } from "./load.ts";

const callTo = (endpoint: string, health: HealthLevel = "proven"): Slot => ({ endpoint, health, isSlow: false });

/** Claims once, and returns whether the worker is to claim again at once. */
type Claim = {
  claimsForAll?: number;
  blocked?: string;
  full?: HealthLevel;
  count?: number;
  hasMore?: boolean;
  isPlanPartial?: true;
};
function claim(pace: WebhookClaimPace, { claimsForAll = 1, blocked, full, count = 0, hasMore = false, isPlanPartial }: Claim): boolean {
  pace.begin();
  pace.read({ claimsForAll });
  const plan = { shares: [], blocked: new Set(blocked === undefined ? [] : [blocked]), hasMore: isPlanPartial === true };
  pace.plan(plan, new Set(full === undefined ? [] : [full]));
  return pace.end({ count, hasMore });
}

type Event = (pace: WebhookClaimPace) => void;
const wakeUp: Event = (pace) => pace.wake();
const regularWakeUp: Event = (pace) => pace.poll();
const claims =
  (times: number, found: Claim): Event =>
  (pace) => {
    for (let time = 0; time < times; time += 1) claim(pace, found);
  };

describe("after a claim", () => {
  const ROWS: readonly (readonly [sentence: string, events: readonly Event[], found: Claim, isAgain: boolean])[] = [
    ["that took all there was, the worker waits", [], { count: 3 }, false],
    ["that took whole shares, the worker claims again", [], { count: 3, hasMore: true }, true],
    ["that left out the retries of an endpoint, the worker claims again", [], { count: 1, isPlanPartial: true }, true],
    ["that took nothing, the worker waits", [], {}, false],
    ["that took nothing because of a full room, the worker waits for a call to end", [], { full: "proven", blocked: "it" }, false],
    ["that took nothing of a partial plan, the worker waits", [], { isPlanPartial: true }, false],
    ["that took nothing and could not read all endpoints, the worker claims from the next ones", [], { claimsForAll: 2 }, true],
    ["that took nothing and read the last endpoints, the worker waits", [claims(1, { claimsForAll: 2 })], { claimsForAll: 2 }, false],
    [
      "that took something and could not read all endpoints, the worker claims again",
      [claims(1, { claimsForAll: 2 })],
      { claimsForAll: 2, count: 1 },
      true,
    ],
  ];
  for (const [sentence, events, found, isAgain] of ROWS)
    test(sentence, () => {
      const pace = new WebhookClaimPace();
      for (const event of events) event(pace);
      assert.equal(claim(pace, found), isAgain);
    });

  test("during which a wake-up came, the worker claims again", () => {
    const pace = new WebhookClaimPace();
    pace.begin();
    pace.wake();
    assert.equal(pace.end({ count: 0, hasMore: false }), true);
  });

  test("before which a wake-up came, the worker waits", () => {
    const pace = new WebhookClaimPace();
    pace.wake();
    assert.equal(claim(pace, {}), false);
  });

  test("that failed, the worker waits for the next wake-up", () => {
    const pace = new WebhookClaimPace();
    pace.begin();
    assert.equal(pace.end({ count: 0, hasMore: false }), false);
    assert.equal(pace.isDueAfter(callTo("any"), { waiting: 0, calls: 1 }), false);
  });
});

describe("claims that take nothing, of ever more endpoints,", () => {
  /** Claims that read further endpoints each time, and take nothing. Returns how many are made in a row. */
  function emptyClaims(pace: WebhookClaimPace): number {
    let made = 0;
    do made += 1;
    while (claim(pace, { claimsForAll: 1_000 }) && made < 1_000);
    return made;
  }

  test("end after 200", () => assert.equal(emptyClaims(new WebhookClaimPace()), 200));

  const ROWS: readonly (readonly [sentence: string, event: Event, made: number])[] = [
    ["are not continued by a wake-up", wakeUp, 1],
    ["are continued by the regular wake-up", regularWakeUp, 200],
    ["are continued after a claim that took something", claims(1, { count: 1 }), 200],
  ];
  for (const [sentence, event, made] of ROWS)
    test(sentence, () => {
      const pace = new WebhookClaimPace();
      emptyClaims(pace);
      event(pace);
      assert.equal(emptyClaims(pace), made);
    });
});

describe("after the end of a call", () => {
  const NONE_WAITING = { waiting: 0, calls: 10 };
  const blocked = claims(1, { blocked: "blocked", count: 5 });
  const full = claims(1, { full: "failing", count: 5 });
  type Row = readonly [sentence: string, events: readonly Event[], call: Slot, load: { waiting: number; calls: number }, isDue: boolean];
  const ROWS: readonly Row[] = [
    ["the worker claims where the endpoint was blocked", [blocked], callTo("blocked"), NONE_WAITING, true],
    ["the worker does not claim where another endpoint was blocked", [blocked], callTo("other"), NONE_WAITING, false],
    ["the worker claims where the room was full", [full], callTo("other", "failing"), NONE_WAITING, true],
    ["the worker does not claim where another room was full", [full], callTo("other", "proven"), NONE_WAITING, false],
    ["the worker claims where there was more to claim", [claims(1, { hasMore: true })], callTo("any"), NONE_WAITING, true],
    ["the worker claims after a wake-up", [claims(1, {}), wakeUp], callTo("any"), NONE_WAITING, true],
    ["the worker does not claim from an empty queue", [claims(1, {})], callTo("any"), NONE_WAITING, false],
    ["the worker claims where half as many deliveries wait as calls run", [blocked], callTo("blocked"), { waiting: 5, calls: 10 }, true],
    ["the worker does not claim where more deliveries wait", [blocked], callTo("blocked"), { waiting: 6, calls: 10 }, false],
    ["a blocked endpoint is forgotten with the next claim", [blocked, claims(1, {})], callTo("blocked"), NONE_WAITING, false],
  ];
  for (const [sentence, events, call, load, isDue] of ROWS)
    test(sentence, () => {
      const pace = new WebhookClaimPace();
      for (const event of events) event(pace);
      assert.equal(pace.isDueAfter(call, load), isDue);
    });
});

test("a pace is claiming from the begin of a claim to its end", () => {
  const pace = new WebhookClaimPace();
  assert.equal(pace.isClaiming, false);
  pace.begin();
  assert.equal(pace.isClaiming, true);
  pace.end({ count: 0, hasMore: false });
  assert.equal(pace.isClaiming, false);
});
