import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { newUuid } from "../lib/uuid.ts";
import { placeParts } from "./place-parts.ts";
import type { PartRow } from "./part-queries.ts";

const KEY = { link: "a", from_address: "1", to_address: "2", reference: "8:7", total: 2 };

/** Delivers the parts of one key. `join` stores the messages that have ended, and a part counts as answered unless its text is in `unanswered`. */
function start(unanswered: readonly string[] = []) {
  const rows: PartRow[] = [];
  const deliver = (number: number, text: string): PartRow => {
    const addresses = { from: "1", to: "2" };
    const content = { dataCoding: 0, hasHeader: false, userData: Buffer.from(text) };
    const part = { addresses, reference: KEY.reference, total: KEY.total, number, waitMs: 1_000, ...content };
    const placing = { isAnswered: (row: PartRow) => row.is_answered, newSetId: () => newUuid(1), nowMs: 0 };
    const { placed, added, gone } = placeParts([{ key: KEY, part }], rows, placing);
    for (const row of gone) rows.splice(rows.indexOf(row), 1);
    rows.push(...added);
    return placed[0] ?? assert.fail();
  };
  const answer = (row: PartRow): void => {
    const isKnown = !unanswered.includes(row.user_data.toString());
    row.is_answered = isKnown;
  };
  /** The texts of the messages that have ended since the last call. */
  const join = (): string[] => {
    const ended = rows.filter(({ state }) => state === "ended");
    for (const row of ended) answer(row);
    const sets = Map.groupBy(ended, ({ set_id: setId }) => setId.toString("hex"));
    const texts = Array.from(sets.values(), (set) => (set.every((row) => row.is_doubtful) ? "" : textOf(set)));
    for (const row of ended) {
      row.state = "joined";
      row.user_data = createHash("sha256").update(row.user_data).digest();
    }
    return texts;
  };
  return { rows, deliver, join };
}

const textOf = (set: readonly PartRow[]): string =>
  [1, 2].map((number) => set.find((row) => row.number === number)?.user_data.toString() ?? "[\u2026]").join("");

test("a first part that equals one whose response may not have been written belongs to the message whose parts follow", () => {
  const { deliver, join } = start(["hello "]);
  deliver(1, "hello ");
  deliver(2, "world");
  assert.deepEqual(join(), ["hello world"]);
  assert.equal(deliver(1, "hello ").is_doubtful, true);
  assert.deepEqual(join(), []);
  deliver(2, "moon");
  assert.deepEqual(join(), ["hello moon"]);
});

test("a repeated last part is not mixed with the parts of the next message", () => {
  const { rows, deliver, join } = start(["world"]);
  deliver(1, "hello ");
  deliver(2, "world");
  join();
  assert.equal(deliver(2, "world").is_doubtful, true);
  deliver(1, "good ");
  assert.deepEqual(join(), [], "the repetition does not complete the next message");
  deliver(2, "night");
  assert.deepEqual(join(), ["good night"]);
  assert.deepEqual(
    rows.filter(({ state }) => state === "open"),
    [],
  );
});

test("a repeated last part that comes after the first part of the next message does not complete it", () => {
  const { deliver, join } = start(["world"]);
  deliver(1, "hello ");
  deliver(2, "world");
  join();
  deliver(1, "good ");
  deliver(2, "world");
  assert.deepEqual(join(), []);
  deliver(2, "night");
  assert.deepEqual(join(), ["good night"]);
});

test("a whole repetition has only doubtful parts, and completes nothing", () => {
  const { rows, deliver, join } = start(["hello ", "world"]);
  deliver(1, "hello ");
  deliver(2, "world");
  join();
  deliver(1, "hello ");
  deliver(2, "world");
  assert.deepEqual(join(), []);
  const open = rows.filter(({ state }) => state === "open");
  assert.ok(open.length === 2 && open.every((row) => row.is_doubtful));
});
