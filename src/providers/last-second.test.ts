import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LastSecond, type Place } from "./last-second.ts";

test("no second has more parts than the rate, however long each takes from its place to its write", () => {
  const step = fc.record({
    afterMs: fc.integer({ min: 0, max: 300 }),
    parts: fc.integer({ min: 1, max: 9 }),
    kind: fc.constantFrom("reserve", "reserve", "write", "release"),
  });
  fc.assert(
    fc.property(fc.double({ min: 0.1, max: 6, noNaN: true }), fc.array(step, { maxLength: 200 }), (perSecond, steps) => {
      const second = new LastSecond(perSecond);
      const writtenAt: number[] = [];
      const reserved: { place: Place; size: number }[] = [];
      let nowMs = 0;
      for (const { afterMs, parts, kind } of steps) {
        nowMs += afterMs;
        const [next] = reserved;
        if (kind === "reserve" && second.waitMs(nowMs, parts) === 0)
          // A message with more parts than the rate has the whole second.
          reserved.push({ place: second.reserve(parts), size: Math.min(parts, Math.ceil(perSecond)) });
        else if (kind === "write" && next !== undefined) {
          next.place.write(nowMs);
          writtenAt.push(...Array.from({ length: next.size }, () => nowMs));
        } else if (kind === "release") next?.place.release();
        if (kind !== "reserve") reserved.shift();
      }
      for (const fromMs of writtenAt) {
        const count = writtenAt.filter((atMs) => atMs >= fromMs && atMs < fromMs + 1_000).length;
        assert.ok(count <= Math.ceil(perSecond), `${count} parts in a second`);
      }
    }),
  );
});

test("a place is free a second after the oldest part was written, or when a part is released", () => {
  const second = new LastSecond(2);
  for (const atMs of [0, 400]) {
    assert.equal(second.waitMs(atMs), 0);
    second.reserve().write(atMs);
  }
  assert.equal(second.waitMs(500), 500);
  assert.equal(second.waitMs(1_000), 0);
  const place = second.reserve();
  assert.equal(second.waitMs(1_100), 300);
  for (let times = 0; times < 2; times += 1) place.release();
  place.write(1_100);
  assert.equal(second.waitMs(1_100), 0);
  assert.equal(second.waitMs(1_100, 2), 300);
  assert.equal(second.waitMs(1_100, 7), 300, "no message waits for ever");
});
