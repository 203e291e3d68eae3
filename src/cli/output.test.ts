/** Tables and records for people: their columns and their characters. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatRecord, formatTable } from "./output.ts";

describe("a table", () => {
  test("shows every value whole, in columns", () => {
    const body = "a long text ".repeat(20).trim();
    const rows = [
      { id: "msg_01k9zs3v8mf4tb2xg1qj6n0d5c", status: "delivered", body },
      { id: "msg_01k9zs3v8mf4tb2xg1qj6n0d5d", status: "failed", body: "short" },
    ];
    const [header = "", first = "", second = ""] = formatTable(rows, false).split("\n");
    assert.match(header, /^id {30}status {5}body$/);
    assert.equal(first, `msg_01k9zs3v8mf4tb2xg1qj6n0d5c  delivered  ${body}`);
    assert.equal(second, "msg_01k9zs3v8mf4tb2xg1qj6n0d5d  failed     short");
  });

  test("leaves out columns without a value, unless it is complete", () => {
    const rows = [{ id: "1", object: "key", name: null }];
    assert.equal(formatTable(rows, false), "id\n1\n");
    assert.equal(formatTable(rows, true), "id  object  name\n1   key     -\n");
  });

  test("replaces control characters, and says none where there is no row", () => {
    assert.equal(formatTable([{ name: "a\u001b[31mb" }], false), "name\na�[31mb\n");
    assert.equal(formatTable([], false), "none\n");
  });
});

test("a record leaves out fields without a value, unless it is complete", () => {
  const record = { id: "key_1", name: null, revoked_at: null };
  assert.equal(formatRecord(record, false), "id  key_1\n");
  assert.equal(formatRecord(record, true), "id          key_1\nname        -\nrevoked_at  -\n");
});
