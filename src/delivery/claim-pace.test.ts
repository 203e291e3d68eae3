import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ClaimPace, type LaneState, type PlannedClaim } from "./claim-pace.ts";

/** An empty lane with a window of 100 messages, beside an idle database. */
const EMPTY: LaneState = { room: { high: 200, normal: 180, bulk: 140 }, bulkCapacity: 140, pending: 0 };
/** A lane with room for so many messages of each priority. */
const withRoom = (high: number, normal: number, bulk: number): LaneState => ({ ...EMPTY, room: { high, normal, bulk } });
/** An empty lane while so many changes wait to be stored. */
const whilePending = (pending: number): LaneState => ({ ...EMPTY, pending });

type Event = (pace: ClaimPace) => void;
const wakeUp: Event = (pace) => pace.wake();
const queuedMessage: Event = (pace) => pace.queued();
const urgentMessage =
  (atMs: number): Event =>
  (pace) =>
    pace.sawUrgent(atMs);
const beginOfClaim =
  (atMs: number): Event =>
  (pace) =>
    assert.ok(pace.begin(EMPTY, atMs), "the claim begins");
const refusedClaim =
  (lane: LaneState, atMs: number): Event =>
  (pace) =>
    assert.equal(pace.begin(lane, atMs), undefined);
const endOfClaim: Event = (pace) => pace.end(false);
const endOfFullClaim: Event = (pace) => pace.end(true);
/** A claim that found all that the queue had. */
const claimAt = (atMs: number): Event[] => [beginOfClaim(atMs), endOfClaim];

const claim = (high: number, normal: number, bulk: number, bulkAfterMs: number | null = null): PlannedClaim => ({
  most: [high, normal, bulk],
  bulkAfterMs,
});
const NO_CLAIM = undefined;

type Row = readonly [sentence: string, events: readonly Event[], lane: LaneState, atMs: number, decision: PlannedClaim | undefined];

function check(rows: readonly Row[]): void {
  for (const [sentence, events, lane, atMs, decision] of rows)
    test(sentence, () => {
      const pace = new ClaimPace();
      for (const event of events) event(pace);
      assert.deepEqual(pace.begin(lane, atMs), decision);
    });
}

describe("wake-ups", () => {
  check([
    ["a new lane claims up to 50 messages", [], EMPTY, 0, claim(50, 50, 50)],
    ["an idle lane does not claim", claimAt(0), EMPTY, 5_000, NO_CLAIM],
    ["a wake-up makes an idle lane claim", [...claimAt(0), wakeUp], EMPTY, 5_000, claim(50, 50, 50)],
    ["one wake-up makes one claim", [...claimAt(0), wakeUp, ...claimAt(1)], EMPTY, 5_000, NO_CLAIM],
    ["a wake-up makes a lane claim that has room for one message", [...claimAt(0), wakeUp], withRoom(1, -19, -59), 5_000, claim(1, 0, 0)],
    ["a wake-up makes no lane claim that has no room", [...claimAt(0), wakeUp], withRoom(0, -20, -60), 5_000, NO_CLAIM],
    [
      "a wake-up of a lane without room is kept until there is room",
      [...claimAt(0), wakeUp, refusedClaim(withRoom(0, -20, -60), 1)],
      withRoom(1, -19, -59),
      5_000,
      claim(1, 0, 0),
    ],
  ]);
});

describe("claims that are worth a statement", () => {
  const queued = [...claimAt(0), queuedMessage];
  const small = (bulk: number): LaneState => ({ ...withRoom(bulk + 6, bulk + 4, bulk), bulkCapacity: 14 });
  check([
    ["a queued message is claimed where 32 bulk messages fit", queued, withRoom(92, 72, 32), 5_000, claim(50, 50, 32)],
    ["a queued message waits where only 31 bulk messages fit", queued, withRoom(91, 71, 31), 5_000, NO_CLAIM],
    ["a queued message is claimed where half of a small lane is free", queued, small(7), 5_000, claim(13, 11, 7)],
    ["a queued message waits where less than half of a small lane is free", queued, small(6), 5_000, NO_CLAIM],
    ["each priority is claimed as far as it fits", queued, withRoom(45, 40, 35), 5_000, claim(45, 40, 35)],
    ["the rest of the queue is claimed after a full claim", [beginOfClaim(0), endOfFullClaim], EMPTY, 1, claim(50, 50, 50)],
    [
      "the rest of the queue waits where a claim is not worth a statement",
      [beginOfClaim(0), endOfFullClaim],
      withRoom(91, 71, 31),
      5_000,
      NO_CLAIM,
    ],
  ]);
});

describe("bulk messages beside urgent ones", () => {
  const urgent = [...claimAt(0), urgentMessage(10_000), wakeUp];
  const afterStep = [...urgent, ...claimAt(10_000), wakeUp];
  check([
    ["16 bulk messages are claimed right after an urgent message", urgent, EMPTY, 10_000, claim(50, 50, 16)],
    ["no bulk message is claimed 10 ms after these 16, but 15 ms later", afterStep, EMPTY, 10_010, claim(50, 50, 0, 15)],
    ["16 more are claimed 25 ms after the first 16", afterStep, EMPTY, 10_025, claim(50, 50, 16)],
    [
      "a claim without bulk messages does not delay their next step",
      [...afterStep, ...claimAt(10_010), wakeUp],
      EMPTY,
      10_025,
      claim(50, 50, 16),
    ],
    ["a claim takes no more bulk messages than fit", urgent, withRoom(65, 45, 5), 10_000, claim(50, 45, 5)],
    ["bulk messages are slow for one second after the urgent message", urgent, EMPTY, 11_000, claim(50, 50, 16)],
    ["bulk messages have full speed after that second", urgent, EMPTY, 11_001, claim(50, 50, 50)],
    ["a further urgent message restarts the second", [...urgent, urgentMessage(10_900)], EMPTY, 11_001, claim(50, 50, 16)],
  ]);
});

describe("changes that wait to be stored", () => {
  const woken = [...claimAt(0), wakeUp];
  check([
    ["14 of them do not limit a claim", woken, whilePending(14), 50, claim(50, 50, 50)],
    ["40 of them leave 24 messages to claim", woken, whilePending(40), 50, claim(24, 24, 24)],
    ["64 of them leave nothing to claim", woken, whilePending(64), 50, NO_CLAIM],
    ["1,000 of them leave nothing to claim 100 ms after the last claim", woken, whilePending(1_000), 100, NO_CLAIM],
    ["the queue has its turn after 100 ms, with 16 messages", woken, whilePending(1_000), 101, claim(16, 16, 16)],
    ["the turn of the queue is no limit where more may be claimed", woken, whilePending(40), 101, claim(24, 24, 24)],
    ["the turn of the queue comes again 100 ms later", [...woken, ...claimAt(101), wakeUp], whilePending(1_000), 201, NO_CLAIM],
    ["the turn of the queue needs a reason to claim", claimAt(0), whilePending(1_000), 5_000, NO_CLAIM],
  ]);
});

describe("a claim in flight", () => {
  check([
    ["is the only one, also after a wake-up", [beginOfClaim(0), wakeUp, queuedMessage], EMPTY, 5_000, NO_CLAIM],
    ["is followed by another after a wake-up", [beginOfClaim(0), wakeUp, endOfClaim], EMPTY, 1, claim(50, 50, 50)],
    ["is followed by another after a queued message", [beginOfClaim(0), queuedMessage, endOfClaim], EMPTY, 1, claim(50, 50, 50)],
    ["is followed by no other without either", claimAt(0), EMPTY, 1, NO_CLAIM],
  ]);
});

describe("a failed claim", () => {
  // A failed claim reports no more messages.
  const failed = [...claimAt(0), queuedMessage, beginOfClaim(200), endOfClaim];
  check([
    ["is not repeated at once", failed, EMPTY, 201, NO_CLAIM],
    ["is repeated after the wake-up that the lane plans", [...failed, wakeUp], EMPTY, 700, claim(50, 50, 50)],
    ["is repeated with the next queued message", [...failed, queuedMessage], EMPTY, 201, claim(50, 50, 50)],
  ]);
});

test("a pace is claiming from the begin of a claim to its end", () => {
  const pace = new ClaimPace();
  assert.equal(pace.isClaiming, false);
  pace.begin(EMPTY, 0);
  assert.equal(pace.isClaiming, true);
  pace.end(true);
  assert.equal(pace.isClaiming, false);
});
