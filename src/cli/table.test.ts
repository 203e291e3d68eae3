/** Tables for people: their width, their times and their characters. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatRecord, formatTable, PLAIN, relativeTime } from "./table.ts";

const ROWS = [
  { id: "msg_01k9zs3v8mf4tb2xg1qj6n0d5c", status: "delivered", body: "a long text ".repeat(20) },
  { id: "msg_01k9zs3v8mf4tb2xg1qj6n0d5d", status: "failed", body: "short" },
];

describe("a table", () => {
  test("shows everything where there is no terminal", () => {
    const [header = "", first = ""] = formatTable(ROWS, PLAIN).split("\n");
    assert.match(header, /^id {30}status {5}body/);
    assert.ok(first.length > 240);
  });

  test("fits the width of the terminal, and keeps the first column complete", () => {
    for (const width of [60, 80, 120]) {
      const lines = formatTable(ROWS, { ...PLAIN, width })
        .trimEnd()
        .split("\n");
      for (const line of lines) assert.ok(line.length <= width, `${line.length} > ${width}`);
      assert.ok(lines[1]?.startsWith(`${ROWS[0]?.id}  delivered  a long`));
      assert.ok(lines[1]?.endsWith("…"));
    }
  });

  test("does not cut a character in two", () => {
    const text = formatTable([{ id: "1", body: "🔑".repeat(50) }], { ...PLAIN, width: 20 });
    assert.ok(text.isWellFormed(), text);
  });

  test("replaces control characters, and says none where there is no row", () => {
    assert.equal(formatTable([{ name: "a\u001b[31mb" }], PLAIN), "name\na�[31mb\n");
    assert.equal(formatTable([], PLAIN), "none\n");
  });

  test("shows times relative to the present only at a terminal", () => {
    const rows = [{ id: "1", created_at: "2026-11-17T12:00:00.000Z" }];
    const nowMs = Date.parse("2026-11-17T12:05:30Z");
    assert.match(formatTable(rows, { ...PLAIN, nowMs }), /5 min ago/);
    assert.match(formatTable(rows, PLAIN), /2026-11-17T12:00:00.000Z/);
  });
});

test("a record leaves out fields without a value, unless it is complete", () => {
  const record = { id: "key_1", name: null, revoked_at: null };
  assert.equal(formatRecord(record, PLAIN, false), "id  key_1\n");
  assert.equal(formatRecord(record, PLAIN, true), "id          key_1\nname        -\nrevoked_at  -\n");
});

const TIMES: readonly (readonly [ms: number, text: string])[] = [
  [-200, "now"],
  [-59_000, "59 s ago"],
  [90_000, "in 1 min"],
  [-3_600_000, "1 h ago"],
  [-47 * 3_600_000, "47 h ago"],
  [49 * 3_600_000, "in 2 d"],
];
for (const [ms, text] of TIMES) test(`${ms} ms are ${text}`, () => assert.equal(relativeTime(ms), text));
