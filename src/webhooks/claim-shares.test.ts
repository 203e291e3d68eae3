import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newId } from "../model/id.ts";
import { planShares } from "./call-limits.ts";
import { FRESH, queuedEndpoint, RETRY } from "./queue.ts";

const ENDPOINT = queuedEndpoint(newId("acct", 1), "test", newId("whe", 1));

const plan = (ranks: readonly number[], room: number | undefined, random = 0): ReturnType<typeof planShares> =>
  planShares(
    ranks.map((rank) => ({ rank, group: ENDPOINT, fromMs: 5 })),
    () => room,
    () => random,
  );

describe("the room of an endpoint", () => {
  type Row = readonly [sentence: string, ranks: readonly number[], room: number | undefined, random: number, shares: readonly number[]];
  const ROWS: readonly Row[] = [
    ["goes to its new deliveries if it has no retries", [FRESH], 8, 0, [8]],
    ["goes to its retries if it has no new deliveries", [RETRY], 8, 0, [8]],
    ["goes to retries by a quarter if it has both", [FRESH, RETRY], 8, 0, [6, 2]],
    ["goes to retries by a little more if chance says so", [FRESH, RETRY], 9, 0.8, [6, 3]],
    ["for one delivery mostly goes to a new one", [FRESH, RETRY], 1, 0.7, [1, 0]],
    ["for one delivery goes to a retry one time in four", [FRESH, RETRY], 1, 0.8, [0, 1]],
    ["may be none", [FRESH, RETRY], 0, 0.9, [0, 0]],
    ["is not needed if it cannot be called", [FRESH, RETRY], undefined, 0, [100, 100]],
  ];
  for (const [sentence, ranks, room, random, shares] of ROWS)
    test(sentence, () =>
      assert.deepEqual(
        plan(ranks, room, random).map(({ most }) => most),
        shares,
      ),
    );
});

test("a share begins at the time from which the endpoint's deliveries are due", () =>
  assert.deepEqual(plan([FRESH], 1), [{ rank: FRESH, group: ENDPOINT, fromMs: 5, most: 1 }]));
