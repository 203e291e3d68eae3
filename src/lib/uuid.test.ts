import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { firstUuidAt, uuidFromText, uuidSequence, uuidTimeMs, uuidToText, type Uuid } from "./uuid.ts";

// Not the sequence of the process: other tests would then get ids of the future. Each test starts at a later time than the tests before it.
const newUuid = uuidSequence();
let nowMs = Date.UTC(2030, 0, 1);
const later = (byMs = 3_600_000): number => (nowMs += byMs);

function assertIncreasing(ids: readonly Uuid[]): void {
  for (const [index, id] of ids.entries()) {
    const before = ids[index - 1];
    if (before !== undefined) assert.ok(Buffer.compare(before, id) < 0, `id ${index} is not greater than the one before`);
  }
}

test("an id has version 7 and the variant of RFC 9562", () => {
  for (let made = 0; made < 10_000; made += 1) {
    const id = newUuid(later(1));
    assert.equal(id.length, 16);
    assert.equal(id.readUInt8(6) >> 4, 7);
    assert.equal(id.readUInt8(8) >> 6, 0b10);
  }
});

test("an id contains the time of its creation", () => {
  later();
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000_000 }), (byMs) => {
      const madeAt = later(byMs);
      assert.equal(uuidTimeMs(newUuid(madeAt)), madeAt);
    }),
  );
});

test("100,000 ids of one millisecond are in the order of their creation", () => {
  const madeAt = later();
  assertIncreasing(Array.from({ length: 100_000 }, () => newUuid(madeAt)));
});

test("two thousand ids fit into one millisecond", () => {
  const madeAt = later();
  const ids = Array.from({ length: 2_000 }, () => newUuid(madeAt));
  assert.ok(ids.every((id) => uuidTimeMs(id) === madeAt));
});

test("ids with one cause are in the order of their creation, and end as the id of their cause", () => {
  const cause = newUuid(later());
  const ids = Array.from({ length: 5_000 }, () => newUuid(nowMs, cause));
  assertIncreasing(ids);
  for (const id of ids) assert.deepEqual(id.subarray(8), cause.subarray(8));
});

test("ids stay in order when the clock goes backwards by up to a second", () => {
  const start = later();
  assertIncreasing(Array.from({ length: 900 }, (_, index) => newUuid(start - index)));
});

test("ids have the right time again after a clock that was ahead by more than a second", () => {
  const start = later();
  const newId = uuidSequence();
  newId(start + 36 * 86_400_000);
  const id = newId(start);
  assert.equal(uuidTimeMs(id), start);
  assertIncreasing([id, newId(start), newId(start + 1)]);
});

test("ids stay in order with any jumps of the clock", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 500 }), (steps) => {
      let madeAt = later();
      assertIncreasing(steps.map((step) => newUuid((madeAt += step))));
    }),
  );
});

test("ids of one millisecond differ beyond their counter", () => {
  const madeAt = later();
  const tails = Array.from({ length: 1_000 }, () => newUuid(madeAt).toString("hex", 8));
  assert.equal(new Set(tails).size, tails.length);
});

test("the first UUID of a time is below every id of that time and above every earlier id", () => {
  const before = newUuid(later());
  const id = newUuid(later(1));
  assert.ok(Buffer.compare(before, firstUuidAt(nowMs)) < 0);
  assert.ok(Buffer.compare(firstUuidAt(nowMs), id) < 0);
});

test("a time outside the range of 48 bits gives the nearest bound", () => {
  assert.equal(uuidTimeMs(firstUuidAt(-1)), 0);
  assert.equal(uuidTimeMs(firstUuidAt(2 ** 60)), 2 ** 48 - 1);
});

test("text and bytes are the same UUID", () => {
  fc.assert(fc.property(fc.uuid(), (text) => assert.equal(uuidToText(uuidFromText(text)), text)));
});

test("the hexadecimal digits of a text may be in upper case", () => {
  assert.deepEqual(uuidFromText("01890A5D-AC96-774B-BCCE-B302099A8057"), uuidFromText("01890a5d-ac96-774b-bcce-b302099a8057"));
});
