import assert from "node:assert/strict";
import { test } from "node:test";
import { prepare, sql, type Sql } from "./sql.ts";

const find = (id: unknown, name: unknown): Sql => sql`select 1 from t where id = ${id} and name = ${name}`;

test("values become parameters, numbered from one", () => {
  const { text, values } = find(1, "x");
  assert.equal(text, "select 1 from t where id = $1 and name = $2");
  assert.deepEqual(values, [1, "x"]);
});

test("a value never becomes part of the text", () => {
  const evil = "'; drop table messages; --";
  assert.equal(find(1, evil).text, find(2, "harmless").text);
});

test("a statement has one name for all values, which no other statement has", () => {
  assert.equal(find(1, "a").name, find(2, "b").name);
  const other = sql`select 1 from t where id = ${1} and name = ${"a"}`;
  assert.notEqual(find(1, "a").name, other.name);
});

test("a statement without values is its text", () => {
  assert.deepEqual({ ...sql`select 1`, name: "" }, { name: "", text: "select 1", values: [] });
});

test("more than nine values are numbered correctly", () => {
  const { text, values } = sql`${1},${2},${3},${4},${5},${6},${7},${8},${9},${10},${11}`;
  assert.equal(text, "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11");
  assert.equal(values.length, 11);
});

test("values keep their types", () => {
  const bytes = Buffer.from("x");
  assert.deepEqual(find(bytes, null).values, [bytes, null]);
});

test("a prepared text gets its own name", () => {
  const [first, second] = [prepare("select 1"), prepare("select 1")];
  assert.equal(first.text, "select 1");
  assert.notEqual(first.name, second.name);
  assert.match(first.name, /^godwit_\d+$/);
});
