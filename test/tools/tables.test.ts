/** docs/internals/tables.md names every statement that writes a table. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..", "..");

/** Tables of statements whose text has the table as a parameter, by the name of the parameter in the file. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  "retention/queries.ts ${table}": ["batches", "verifications", "message_parts"],
  "retention/queries.ts ${DEFAULTS[table]}": ["messages", "events", "webhook_deliveries"],
  "usage/queries.ts ${table}": ["usage_hours", "usage_minutes"],
};

const WRITES =
  /\b(insert) into\s+(\$\{[^}]+\}|[a-z_]+)|\b(update)\s+([a-z_]+)(?:\s+(?:as )?[a-z]+)?\s+set\b|\b(delete) from\s+(\$\{[^}]+\}|[a-z_]+)/g;

/** `table file kind` for each kind of write. */
function findWrites(): string[] {
  const found = new Set<string>();
  for (const path of globSync("src/**/*.ts", { cwd: ROOT }).filter((file) => !file.endsWith(".test.ts"))) {
    const file = path.replace(/^src\//, "");
    for (const [, insert, inserted, update, updated, remove, removed] of readFileSync(join(ROOT, path), "utf8").matchAll(WRITES)) {
      const [kind, table] = [insert ?? update ?? remove ?? "", inserted ?? updated ?? removed ?? ""];
      const tables = table.startsWith("$") ? (PARAMETERS[`${file} ${table}`] ?? assert.fail(`${file} ${table} is in PARAMETERS`)) : [table];
      for (const each of tables) found.add(`${each} ${file} ${kind}`);
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

test("every table of the schema is in docs/internals/tables.md", () => {
  const created = globSync("src/storage/migrations/*.sql", { cwd: ROOT }).flatMap((path) =>
    Array.from(readFileSync(join(ROOT, path), "utf8").matchAll(/create table (?:if not exists )?([a-z_]+)/g), ([, name]) => name ?? ""),
  );
  // A default partition belongs to its table.
  const tables = created.filter((name) => !name.endsWith("_default")).toSorted();
  assert.deepEqual(rows.map(({ table }) => table).toSorted(), tables);
});

test("the owner of a table is a folder", () => {
  const folders = new Set(globSync("src/*/", { cwd: ROOT }).map((path) => path.replace(/^src\/|\/$/g, "")));
  assert.deepEqual(
    rows.filter(({ owner }) => !folders.has(owner)),
    [],
  );
});
