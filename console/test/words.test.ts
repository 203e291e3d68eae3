/** The lists of values that the console offers match those of the service. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENT_TYPES } from "../../src/events/event.ts";
import { STATUSES as KNOWN } from "../../src/messages/states.ts";
import { KINDS } from "../src/endpoints/event-types.ts";
import { countOutcomes } from "../src/lib/outcomes.ts";
import { STATUSES } from "../src/messages/statuses.ts";
import { SIMULATOR_RECIPIENTS } from "../src/send/simulator-recipients.ts";

test("the statuses are those of the service", () => {
  assert.deepEqual(STATUSES, [...KNOWN]);
});

test("the event types are those of the service, without webhook.test", () => {
  assert.deepEqual(
    KINDS.flatMap(({ types }) => types),
    EVENT_TYPES.filter((type) => type !== "webhook.test"),
  );
});

test("each recipient of the simulator, from 2 to 15, is listed once", () => {
  const numbers = SIMULATOR_RECIPIENTS.map(({ number }) => number).toSorted();
  assert.deepEqual(
    numbers,
    Array.from({ length: 14 }, (_, at) => `+150055500${String(at + 2).padStart(2, "0")}`),
  );
});

test("every status counts for one outcome, including an unknown status", () => {
  const all = Object.fromEntries([...STATUSES, "tomorrow"].map((status) => [status, 1]));
  assert.deepEqual(countOutcomes(all), { delivered: 2, notDelivered: 3, underWay: 4, other: 3 });
});
