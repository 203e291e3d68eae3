/** The migrations of the schema: files with SQL, in the order of their numbers, forward only. The first one makes the schema of 0.2.0.
 *
 *  A migration is one transaction, unless lines of its file divide it into steps with a transaction each:
 *
 *    -- Step: what it does
 *    -- Repeated step: what it does              the statement runs again until it changes no row, for changes of large tables in parts
 *
 *  A stop between two steps repeats all steps, so each must allow for it. The header of every later migration says which releases work on its
 *  schema:
 *
 *    -- Releases that know schema 27 or later work on this schema. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assert } from "../lib/assert.ts";

const FOLDER = join(import.meta.dirname, "migrations");
/** The number of the first migration: 0.2.0 reached the same schema by 27 of them. */
export const BASELINE = 27;
const HEADER = /^-- Releases that know schema (\d+) or later work on this schema\.$/m;
const STEP = /^-- (Step|Repeated step): (.+)$/m;

export type Step = { about: string | undefined; text: string; isRepeated: boolean };

/** `worksWith`: a release that knows this schema, or a later one, works on the schema of the migration. */
export type Migration = { version: number; name: string; worksWith: number; steps: readonly Step[] };

export function knownMigrations(folder = FOLDER): Migration[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .toSorted();
  return files.map((file, index) => {
    const migration = parseMigration(file.slice(0, -4), readFileSync(join(folder, file), "utf8"));
    assert(migration.version === BASELINE + index, `migration ${migration.name} is out of order`);
    return migration;
  });
}

/** The number of the schema that the migrations make. */
export const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0;

let known: number | undefined;

/** The newest schema that this release knows. */
export const knownSchema = (): number => (known ??= newestOf(knownMigrations()));

export function parseMigration(name: string, text: string): Migration {
  const version = Number(name.slice(0, 4));
  const header = HEADER.exec(text)?.[1];
  assert(header !== undefined || version === BASELINE, `migration ${name} does not say which releases work on its schema`);
  const worksWith = header === undefined ? version : Number(header);
  assert(worksWith <= version, `migration ${name} names a later schema than its own`);
  return { version, name, worksWith, steps: parseSteps(name, text) };
}

function parseSteps(name: string, text: string): Step[] {
  // Text, kind, description, text, kind, description, text and so on.
  const [first = "", ...rest] = text.split(STEP);
  if (rest.length === 0) return [{ about: undefined, text, isRepeated: false }];
  assert(!/^(?!--|\s*$)/m.test(first), `migration ${name} has a statement in front of its first step`);
  const steps: Step[] = [];
  for (let at = 0; at < rest.length; at += 3)
    steps.push({ about: rest[at + 1], text: rest[at + 2] ?? "", isRepeated: rest[at] === "Repeated step" });
  return steps;
}
