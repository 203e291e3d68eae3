/** The decision records of docs/decisions: all in the index, numbered in order, and linked to the records they change. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..", "..");
const FOLDER = "docs/decisions";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const records = globSync("[0-9]*.md", { cwd: join(ROOT, FOLDER) })
  .toSorted()
  .map((name) => ({ name, number: name.slice(0, 4), text: read(`${FOLDER}/${name}`) }));

test("the index has one row for every record, in order, and no others", () => {
  const rows = Array.from(read(`${FOLDER}/README.md`).matchAll(/^\| (?:\[(\d{4})\]\(([^)]+)\)|(\d{4}) \| Moved to) /gm));
  const linked = rows.filter(([, number]) => number !== undefined);
  assert.ok(records.length > 20);
  assert.deepEqual(
    linked.map(([, number, target]) => [number, target]),
    records.map(({ number, name }) => [number, name]),
  );
  const numbers = rows.map(([, number, , moved]) => String(number ?? moved));
  assert.deepEqual(numbers, [...new Set(numbers)].toSorted());
});

test("a record's title has the record's number", () => {
  for (const { name, number, text } of records) assert.match(text, new RegExp(`^# ${number}[:.] \\S`), name);
});

test("a record that changes another one is named by it", () => {
  const named = (text: string, verb: RegExp): string[] =>
    text
      .split("\n")
      .filter((line) => verb.test(line))
      .flatMap((line) => Array.from(line.matchAll(/\[(\d{4})\]/g), ([, number = ""]) => number));
  const forward = records.flatMap(({ number, text }) => named(text, /^(Supersedes|Amends) /).map((old) => `${number} changes ${old}`));
  const back = records.flatMap(({ number, text }) => named(text, /^(Superseded|Amended) by /).map((by) => `${by} changes ${number}`));
  assert.deepEqual(forward.toSorted(), back.toSorted());
});

test("links of the records, the index and the contract notes lead to files", () => {
  for (const path of ["docs/internals/contract-notes.md", ...globSync(`${FOLDER}/*.md`, { cwd: ROOT })]) {
    for (const [, href = ""] of read(path).matchAll(/\]\(([^)\s]+\.md)[^)]*\)/g)) {
      if (!href.startsWith("http")) assert.ok(existsSync(join(ROOT, dirname(path), href)), `${path}: ${href}`);
    }
  }
});
