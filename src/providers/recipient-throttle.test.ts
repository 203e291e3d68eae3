import assert from "node:assert/strict";
import { test } from "node:test";
import { RecipientThrottle } from "./recipient-throttle.ts";

test("a recipient is throttled until its time and counted until one of its messages is accepted", () => {
  const recipients = new RecipientThrottle();
  assert.deepEqual([recipients.waitMs("a", 0), recipients.nextCount("a")], [0, 1]);
  recipients.throttle("a", 4_000);
  assert.deepEqual([recipients.waitMs("a", 1_000), recipients.waitMs("a", 4_000), recipients.waitMs("b", 1_000)], [3_000, 0, 0]);
  assert.equal(recipients.nextCount("a"), 2);
  recipients.throttle("a", 20_000);
  assert.deepEqual([recipients.nextCount("a"), recipients.nextCount("b")], [3, 1]);
  recipients.clear("a");
  assert.deepEqual([recipients.waitMs("a", 5_000), recipients.nextCount("a")], [0, 1]);
});

test("10,000 recipients are kept, and the oldest is dropped first", () => {
  const recipients = new RecipientThrottle();
  for (let count = 0; count < 10_001; count += 1) recipients.throttle(`r${count}`, 1_000);
  assert.deepEqual([recipients.waitMs("r0", 0), recipients.waitMs("r1", 0)], [0, 1_000]);
});
