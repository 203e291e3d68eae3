/** docs/internals/tables.md names every statement that writes a table. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..", "..");

/** Tables of statements whose text has the table as a parameter, by the name of the parameter in the file. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  "retention/queries.ts ${table}": [
    "batches",
    "verifications",
    "message_parts",
    "kept_inbound",
    "parked_receipts",
    "inbound_names",
    "inbound_parts",
    "messages",
    "events",
    "webhook_deliveries",
  ],
  "usage/queries.ts ${table}": ["usage_hours", "usage_minutes"],
};

/** A table of one transaction, and the one by which migrations know the schema. */
const UNLISTED = new Set(["godwit_probe", "schema_migrations"]);

const TABLE = String.raw`(\$\{[^}]+\}|[a-z_]+)`;
/** Each kind of statement, with the table that it writes. */
const WRITES: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["insert", new RegExp(String.raw`\binsert\s+into\s+${TABLE}`, "g")],
  ["update", new RegExp(String.raw`\bupdate\s+${TABLE}(?:\s+(?:as\s+)?[a-z_]+)?\s+set\b`, "g")],
  [
    "update",
    new RegExp(String.raw`\binsert\s+into\s+${TABLE}(?:(?!\binsert\s+into\b)[\s\S])*?\bon conflict(?:\s*\([^)]*\))?\s+do\s+update\b`, "g"),
  ],
  ["delete", new RegExp(String.raw`\bdelete\s+from\s+${TABLE}`, "g")],
  ["merge", new RegExp(String.raw`\bmerge\s+into\s+${TABLE}`, "g")],
  ["truncate", new RegExp(String.raw`\btruncate\s+(?:table\s+)?${TABLE}`, "g")],
  ["drop", new RegExp(String.raw`\bdrop\s+table\s+(?:if\s+exists\s+)?${TABLE}`, "g")],
];

/** The table and the kind of each write in the text. */
const writesIn = (text: string): [table: string, kind: string][] =>
  WRITES.flatMap(([kind, pattern]) => Array.from(text.matchAll(pattern), ([, table = ""]): [string, string] => [table, kind]));

/** `table file kind` for each kind of write. */
function findWrites(): string[] {
  const found = new Set<string>();
  for (const path of globSync("src/**/*.ts", { cwd: ROOT }).filter((file) => !file.endsWith(".test.ts"))) {
    const file = path.replace(/^src\//, "");
    for (const [table, kind] of writesIn(readFileSync(join(ROOT, path), "utf8"))) {
      const tables = table.startsWith("$") ? (PARAMETERS[`${file} ${table}`] ?? assert.fail(`${file} ${table} is in PARAMETERS`)) : [table];
      for (const each of tables) if (!UNLISTED.has(each)) found.add(`${each} ${file} ${kind}`);
    }
  }
  return [...found].toSorted();
}

const rows = readFileSync(join(ROOT, "docs", "internals", "tables.md"), "utf8")
  .split("\n")
  .map((line) => /^\| `([a-z_]+)` \| ([a-z]+) \| [^|]+ \| (.+) \|$/.exec(line))
  .filter((row) => row !== null)
  .map(([, table = "", owner = "", writers = ""]) => ({ table, owner, writers }));

test("every statement that writes a table is in docs/internals/tables.md, and no other", () => {
  const listed = rows.flatMap(({ table, writers }) =>
    Array.from(writers.matchAll(/`([^`]+)` \(([^)]+)\)/g), ([, file, kinds]) =>
      (kinds ?? "").split(", ").map((kind) => `${table} ${file} ${kind}`),
    ).flat(),
  );
  assert.deepEqual(listed.toSorted(), findWrites());
});

const DEFINITIONS = /^create table (?:if not exists )?([a-z_]+)|^drop table ([a-z_]+)|^alter table ([a-z_]+) rename to ([a-z_]+)/gm;
// A new value belongs to a table that has the same key and the same owner, if there is one.
const MOST_TABLES = 54;

test("every table of the schema is in docs/internals/tables.md", () => {
  const tables = new Set<string>();
  for (const path of globSync("src/database/migrations/*.sql", { cwd: ROOT }).toSorted())
    for (const [, created, dropped, before, after] of readFileSync(join(ROOT, path), "utf8").matchAll(DEFINITIONS)) {
      // A default partition belongs to its table.
      if (created !== undefined && !created.endsWith("_default")) tables.add(created);
      tables.delete(dropped ?? before ?? "");
      if (after !== undefined) tables.add(after);
    }
  assert.deepEqual(rows.map(({ table }) => table).toSorted(), [...tables].toSorted());
  assert.ok(tables.size <= MOST_TABLES, `${tables.size} tables`);
});

test("the owner of a table is a folder", () => {
  const folders = new Set(globSync("src/*/", { cwd: ROOT }).map((path) => path.replace(/^src\/|\/$/g, "")));
  assert.deepEqual(
    rows.filter(({ owner }) => !folders.has(owner)),
    [],
  );
});

const STATEMENTS: readonly (readonly [text: string, ...writes: string[]])[] = [
  ["insert into a (b) values (1)", "a insert"],
  ["insert into a (b) values (1) on conflict (b) do nothing", "a insert"],
  ["insert into a (b)\nselect 1\n  on conflict (b, c) do update\n  set b = 1", "a insert", "a update"],
  [
    "insert into a (b) values (1) on conflict do nothing; insert into c (d) values (1) on conflict (d) do update set d = 1",
    "a insert",
    "c insert",
    "c update",
  ],
  ["update a set b = 1", "a update"],
  ["update a as the_row\n   set b = 1", "a update"],
  ["update ${table} x set b = 1", "${table} update"],
  ["delete from a", "a delete"],
  ["merge into a using b on true when matched then delete", "a merge"],
  ["truncate a", "a truncate"],
  ["truncate table a", "a truncate"],
  ["drop table if exists a", "a drop"],
  ["select 1 from a for update"],
];
for (const [text, ...writes] of STATEMENTS)
  test(`finds the writes of: ${text}`, () =>
    assert.deepEqual(
      writesIn(text).map((write) => write.join(" ")),
      writes,
    ));
