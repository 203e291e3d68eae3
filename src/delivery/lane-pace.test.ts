import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LanePace, type LaneState, type PlannedClaim } from "./lane-pace.ts";

/** An empty lane with a window of 100 messages, beside an idle database. */
const EMPTY: LaneState = { room: { high: 200, normal: 180, bulk: 140 }, bulkCapacity: 140, pending: 0 };
/** A lane with room for so many messages of each priority. */
const withRoom = (high: number, normal: number, bulk: number): LaneState => ({ ...EMPTY, room: { high, normal, bulk } });
/** An empty lane while so many changes wait to be stored. */
const whilePending = (pending: number): LaneState => ({ ...EMPTY, pending });

type Event = (pace: LanePace) => void;
const urgentMessage =
  (atMs: number): Event =>
  (pace) =>
    pace.sawUrgent(atMs);
const claimAt =
  (atMs: number): Event =>
  (pace) => {
    assert.ok(pace.plan(EMPTY, true, atMs), "the claim is possible");
    pace.began(atMs);
  };

const claim = (high: number, normal: number, bulk: number, bulkAfterMs: number | null = null): PlannedClaim => ({
  most: [high, normal, bulk],
  bulkAfterMs,
});
const NO_CLAIM = undefined;
const WOKEN = true;

type Row = readonly [
  sentence: string,
  events: readonly Event[],
  lane: LaneState,
  isWoken: boolean,
  atMs: number,
  decision: PlannedClaim | undefined,
];

function check(rows: readonly Row[]): void {
  for (const [sentence, events, lane, isWoken, atMs, decision] of rows)
    test(sentence, () => {
      const pace = new LanePace();
      for (const event of events) event(pace);
      assert.deepEqual(pace.plan(lane, isWoken, atMs), decision);
    });
}

describe("claims that are worth a statement", () => {
  const small = (bulk: number): LaneState => ({ ...withRoom(bulk + 6, bulk + 4, bulk), bulkCapacity: 14 });
  check([
    ["an empty lane claims up to 50 messages", [], EMPTY, false, 0, claim(50, 50, 50)],
    ["a lane claims if 32 bulk messages fit", [], withRoom(92, 72, 32), false, 0, claim(50, 50, 32)],
    ["a lane waits if only 31 bulk messages fit", [], withRoom(91, 71, 31), false, 0, NO_CLAIM],
    ["a small lane claims if half of it is free", [], small(7), false, 0, claim(13, 11, 7)],
    ["a small lane waits if less than half of it is free", [], small(6), false, 0, NO_CLAIM],
    ["a woken lane claims if one message fits", [], withRoom(1, -19, -59), WOKEN, 0, claim(1, 0, 0)],
    ["a woken lane without room waits", [], withRoom(0, -20, -60), WOKEN, 0, NO_CLAIM],
    ["each priority is claimed as far as it fits", [], withRoom(45, 40, 35), false, 0, claim(45, 40, 35)],
  ]);
});

describe("bulk messages beside urgent ones", () => {
  const urgent = [urgentMessage(10_000)];
  const afterStep = [...urgent, claimAt(10_000)];
  check([
    ["16 bulk messages are claimed right after an urgent message", urgent, EMPTY, WOKEN, 10_000, claim(50, 50, 16)],
    ["no bulk message is claimed 10 ms after these 16, but 15 ms later", afterStep, EMPTY, WOKEN, 10_010, claim(50, 50, 0, 15)],
    ["16 more are claimed 25 ms after the first 16", afterStep, EMPTY, WOKEN, 10_025, claim(50, 50, 16)],
    [
      "a claim without bulk messages does not delay their next step",
      [...afterStep, claimAt(10_010)],
      EMPTY,
      WOKEN,
      10_025,
      claim(50, 50, 16),
    ],
    ["a claim takes no more bulk messages than fit", urgent, withRoom(65, 45, 5), WOKEN, 10_000, claim(50, 45, 5)],
    ["bulk messages are slow for one second after the urgent message", urgent, EMPTY, WOKEN, 11_000, claim(50, 50, 16)],
    ["bulk messages have full speed after that second", urgent, EMPTY, WOKEN, 11_001, claim(50, 50, 50)],
    ["a further urgent message restarts the second", [...urgent, urgentMessage(10_900)], EMPTY, WOKEN, 11_001, claim(50, 50, 16)],
  ]);
});

describe("changes that wait to be stored", () => {
  const before = [claimAt(0)];
  check([
    ["14 of them do not limit a claim", before, whilePending(14), WOKEN, 50, claim(50, 50, 50)],
    ["40 of them leave 24 messages to claim", before, whilePending(40), WOKEN, 50, claim(24, 24, 24)],
    ["64 of them leave nothing to claim", before, whilePending(64), WOKEN, 50, NO_CLAIM],
    ["1,000 of them leave nothing to claim 100 ms after the last claim", before, whilePending(1_000), WOKEN, 100, NO_CLAIM],
    ["the queue has its turn after 100 ms, with 16 messages", before, whilePending(1_000), WOKEN, 101, claim(16, 16, 16)],
    ["the turn of the queue is no limit if more may be claimed", before, whilePending(40), WOKEN, 101, claim(24, 24, 24)],
    ["the turn of the queue comes again 100 ms later", [...before, claimAt(101)], whilePending(1_000), WOKEN, 201, NO_CLAIM],
  ]);
});
