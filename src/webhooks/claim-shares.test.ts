import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { idKey, newId } from "../model/id.ts";
import { isAnyShareFull, planShares } from "./claim-shares.ts";
import type { ClaimedRow, WaitingRow } from "./queue.ts";

const ENDPOINT = newId("whe", 1);
const OTHER = newId("whe", 2);

const row = (fields: object): WaitingRow =>
  ({ id: ENDPOINT, endpoint_id: ENDPOINT, status: "enabled", from_at: new Date(5), is_retry: false, ...fields }) as WaitingRow;
const NEW = row({});
const RETRY = row({ is_retry: true });
const DISABLED = row({ status: "disabled" });
const DELETED = row({ id: null, endpoint_id: OTHER });

const plan = (rows: readonly WaitingRow[], room: number, random = 0): ReturnType<typeof planShares> =>
  planShares(rows, new Map([[idKey(ENDPOINT), room]]), () => random);

describe("the room of an endpoint", () => {
  type Row = readonly [
    sentence: string,
    rows: readonly WaitingRow[],
    room: number,
    random: number,
    shares: readonly (readonly [isRetry: boolean, most: number])[],
    hasMore: boolean,
  ];
  const ROWS: readonly Row[] = [
    ["goes to its new deliveries where it has no retries", [NEW], 8, 0, [[false, 8]], false],
    ["goes to its retries where it has no new deliveries", [RETRY], 8, 0, [[true, 8]], false],
    [
      "goes to retries by a quarter where it has both",
      [NEW, RETRY],
      8,
      0,
      [
        [false, 6],
        [true, 2],
      ],
      false,
    ],
    [
      "goes to retries by a little more where chance says so",
      [NEW, RETRY],
      9,
      0.8,
      [
        [false, 6],
        [true, 3],
      ],
      false,
    ],
    ["for one delivery mostly goes to a new one", [NEW, RETRY], 1, 0.7, [[false, 1]], true],
    ["for one delivery goes to a retry one time in four", [NEW, RETRY], 1, 0.8, [[true, 1]], true],
  ];
  for (const [sentence, rows, room, random, shares, hasMore] of ROWS)
    test(sentence, () => {
      const planned = plan(rows, room, random);
      assert.deepEqual(
        planned.shares.map(({ isRetry, most }) => [isRetry, most]),
        shares,
      );
      assert.equal(planned.hasMore, hasMore, "deliveries that the plan left out");
      assert.equal(planned.blocked.size, 0);
    });
});

test("a share begins where the endpoint's deliveries are due", () =>
  assert.deepEqual(
    plan([NEW], 1).shares.map(({ fromMs }) => fromMs),
    [5],
  ));

test("an endpoint without room is blocked", () => {
  const { shares, blocked, hasMore } = plan([NEW, RETRY], 0);
  assert.deepEqual([shares, blocked, hasMore], [[], new Set([idKey(ENDPOINT)]), false]);
});

test("deliveries of deleted and disabled endpoints are claimed without room, due or not", () => {
  const { shares, blocked } = plan([DISABLED, DELETED], 0);
  assert.deepEqual(
    shares.map(({ endpointId, isUncallable, most }) => [endpointId, isUncallable, most]),
    [
      [ENDPOINT, true, 100],
      [OTHER, true, 100],
    ],
  );
  assert.equal(blocked.size, 0);
});

describe("an endpoint may have more deliveries", () => {
  const { shares } = plan([NEW, RETRY], 4);
  const claimed = (fresh: number, retries: number): ClaimedRow[] =>
    Array.from({ length: fresh + retries }, (_, index) => ({ endpoint_id: ENDPOINT, is_retry: index >= fresh }) as ClaimedRow);
  const ROWS: readonly (readonly [sentence: string, rows: ClaimedRow[], isFull: boolean])[] = [
    ["where the claim took its whole share of new ones", claimed(3, 0), true],
    ["where the claim took its whole share of retries", claimed(0, 1), true],
    ["unless the claim took less than each share", claimed(2, 0), false],
    ["unless the claim took nothing", [], false],
  ];
  for (const [sentence, rows, isFull] of ROWS) test(sentence, () => assert.equal(isAnyShareFull(shares, rows), isFull));
});
