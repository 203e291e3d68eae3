/** Comments and test names are plain technical English. This test finds the worst patterns only; `docs/glossary.md` has the terms. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..", "..");
const FILES = "{src,test,scripts,bench,sdk/src,sdk/test,sdk/scripts,console/src,console/test,console/scripts}/**/*.{ts,tsx,sql}";

type Pattern = readonly [name: string, pattern: RegExp];

const IN_COMMENTS: readonly Pattern[] = [
  ["a sentence whose subject is a question word", /(?:^|[.:;] )(?:What|Who|Whoever|Whatever|Whom|Of what|Of whom)\b/],
  ["nobody or whoever in place of the component", /\b(?:nobody|whoever)\b/i],
];
const IN_NAMES: readonly Pattern[] = [
  ["nobody or whoever in place of the component", /\b(?:nobody|whoever)\b/i],
  ["told in place of reported, notified or returned", /\btold\b/i],
  ["is over in place of has ended", /\bis over\b/i],
];

const COMMENT = /\/\*\*?([\s\S]*?)\*\/|(?<![:"'`\w])\/\/ (.*(?:\n\s*\/\/ .*)*)/g;
const SQL_COMMENT = /-- (.*(?:\n\s*-- .*)*)/g;

/** The comments of a file, each in one line. */
function commentsOf(path: string, text: string): string[] {
  const found = text.matchAll(path.endsWith(".sql") ? SQL_COMMENT : COMMENT);
  return Array.from(found, ([, block, lines]) => (block ?? lines ?? "").replaceAll(/\n\s*(?:\*|\/\/|--)?\s?/g, " ").trim());
}

/** The names of tests and suites that are written as literals. */
const namesOf = (text: string): string[] =>
  Array.from(text.matchAll(/\b(?:test|describe)\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1/g), ([, , name]) => name ?? "");

const faultsIn = (sentences: readonly string[], patterns: readonly Pattern[]): string[] =>
  sentences.flatMap((sentence) => patterns.filter(([, pattern]) => pattern.test(sentence)).map(([name]) => `${name}: ${sentence}`));

const faultsOf = (path: string, text: string): string[] =>
  [...faultsIn(commentsOf(path, text), IN_COMMENTS), ...(path.endsWith(".test.ts") ? faultsIn(namesOf(text), IN_NAMES) : [])].map(
    (fault) => `${path}: ${fault}`,
  );

test("comments and test names are plain", () => {
  // The samples below are in this file, and the schema of the SDK is generated from the texts of the API.
  const paths = globSync(FILES, { cwd: ROOT }).filter((path) => !/plain-words\.test\.ts$|^sdk.src.schema\.ts$/.test(path));
  assert.ok(paths.length > 500);
  assert.deepEqual(
    paths.flatMap((path) => faultsOf(path, readFileSync(join(ROOT, path), "utf8"))),
    [],
  );
});

const REFUSED = [
  "/** What is left of a message. */",
  "// Sends it. Whoever waits for it\n// goes on.",
  "const x = 1; // kept for nobody",
  'test("the endpoint is told", () => {});',
  "describe(`a ${word} that is over`, () => {});",
];
for (const text of REFUSED) test(`refused: ${text}`, () => assert.notDeepEqual(faultsOf("x.test.ts", text), []));

const ACCEPTED = [
  "/** The rest of a message. */",
  '// See "https://example.com/What".',
  "const what = 1;",
  'test("the endpoint is notified", () => {});',
];
for (const text of ACCEPTED) test(`accepted: ${text}`, () => assert.deepEqual(faultsOf("x.test.ts", text), []));

test("comments of SQL are checked", () => {
  assert.notDeepEqual(faultsOf("x.sql", "create table x (\n  -- The sender. Whoever\n  -- sends.\n  y text\n);"), []);
  assert.deepEqual(faultsOf("x.sql", "-- The sender.\nselect 'What' as nobody;"), []);
});
