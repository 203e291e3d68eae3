import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newId, type EndpointId } from "../model/id.ts";
import type { ClaimedRow, QueuedEndpoint, Share } from "./queue.ts";
import { WaitingEndpoints } from "./waiting-endpoints.ts";

const NOW_MS = 1_000;
const accountId = newId("acct", 1);
const endpoint = (number: number): QueuedEndpoint => ({ accountId, environment: "test", endpointId: newId("whe", number) });
const ONE = endpoint(1);

const shareOf = ({ endpointId }: QueuedEndpoint, most: number, isRetry = false): Share => ({
  endpointId,
  isRetry,
  isUncallable: false,
  fromMs: 0,
  most,
});
const rows = (endpointId: EndpointId, count: number, dueAtMs: number, isRetry = false): ClaimedRow[] =>
  Array.from({ length: count }, () => ({ endpoint_id: endpointId, is_retry: isRetry, was_due_at: new Date(dueAtMs) }) as ClaimedRow);

describe("the endpoints that wait", () => {
  test("are taken with new deliveries first, then with retries", () => {
    const endpoints = new WaitingEndpoints();
    endpoints.add(ONE, true, 10);
    endpoints.add(ONE, false, 20);
    assert.deepEqual(
      endpoints.take(NOW_MS).map(({ isRetry, taken }) => [isRetry, taken.fromMs]),
      [
        [false, 20],
        [true, 10],
      ],
    );
  });

  test("need several claims where there are more than one serves", () => {
    const endpoints = new WaitingEndpoints();
    for (let number = 1; number <= 130; number += 1) endpoints.add(endpoint(number), false, 10);
    assert.equal(endpoints.claimsForAll(NOW_MS), 3);
    assert.equal(endpoints.take(NOW_MS).length, 64);
    assert.equal(endpoints.claimsForAll(NOW_MS), 2);
  });
});

describe("after a claim an endpoint", () => {
  const ROWS: readonly (readonly [sentence: string, share: number | undefined, count: number, next: number | undefined])[] = [
    ["that got its whole share goes on after the last delivery", 3, 3, 50],
    ["that got less than its share has no more", 3, 2, undefined],
    ["without a share waits as before", undefined, 0, 10],
  ];
  for (const [sentence, share, count, next] of ROWS)
    test(sentence, () => {
      const endpoints = new WaitingEndpoints();
      endpoints.add(ONE, false, 10);
      const taken = endpoints.take(NOW_MS);
      endpoints.end(taken, share === undefined ? [] : [shareOf(ONE, share)], rows(ONE.endpointId, count, 50));
      assert.equal(endpoints.take(NOW_MS)[0]?.taken.fromMs, next);
    });

  test("keeps its retries apart from its new deliveries", () => {
    const endpoints = new WaitingEndpoints();
    endpoints.add(ONE, false, 10);
    endpoints.add(ONE, true, 10);
    endpoints.end(endpoints.take(NOW_MS), [shareOf(ONE, 5), shareOf(ONE, 1, true)], rows(ONE.endpointId, 1, 50, true));
    assert.deepEqual(
      endpoints.take(NOW_MS).map(({ isRetry, taken }) => [isRetry, taken.fromMs]),
      [[true, 50]],
    );
  });
});
