/** Comments, test names and log lines are plain technical English. This test finds the worst patterns only; `docs/internals/words.md` has the
 *  words. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..", "..");
const FILES =
  "{src,test,scripts,bench,chaos,fuzz,sdk/src,sdk/test,sdk/scripts,sdk-python/scripts,sdk-python/test,console/src,console/test,console/scripts,site/src,site/scripts}/**/*.{ts,tsx,sql}";

type Pattern = readonly [name: string, pattern: RegExp];

const EVERYWHERE: readonly Pattern[] = [
  ["nobody or whoever in place of the component", /\b(?:nobody|whoever)\b/i],
  ["told in place of reported, notified or returned", /\btold\b/i],
  ["alone in place of only", /\balone\b/i],
];
const IN_COMMENTS: readonly Pattern[] = [
  ...EVERYWHERE,
  ["a sentence whose subject is a question word", /(?:^|[.:;] )(?:What|Who|Whoever|Whatever|Whom|Of what|Of whom)\b/],
];
const IN_NAMES_AND_LOGS: readonly Pattern[] = [...EVERYWHERE, ["is over in place of has ended", /\bis over\b/i]];

const COMMENT = /\/\*\*?([\s\S]*?)\*\/|(?<![:"'`\w])\/\/(.*(?:\n\s*\/\/.*)*)/g;
const SQL_COMMENT = /--(.*(?:\n\s*--.*)*)/g;
const LITERAL = /(["'`])((?:\\.|(?!\1)[\s\S])*)\1/g;

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** The comments of a file, each in one line. */
function commentsOf(path: string, text: string): string[] {
  const found = text.matchAll(path.endsWith(".sql") ? SQL_COMMENT : COMMENT);
  return Array.from(found, ([, block, lines]) => oneLine((block ?? lines ?? "").replaceAll(/\n\s*(?:\*|\/\/|--)?/g, " ")));
}

/** The names of tests and suites that are written as literals, and the first text of a row, which names the test of the row. */
const namesOf = (text: string): string[] =>
  [/\b(?:test|describe)\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1/g, /^\s*\[\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1,/gm]
    .flatMap((pattern) => Array.from(text.matchAll(pattern), ([, , name]) => name ?? ""))
    .map(oneLine);

/** The texts in the calls that write to the log. */
const logTextsOf = (text: string): string[] =>
  Array.from(text.matchAll(/\b(?:log\??\.(?:info|warn|error)|reportError)\(/g), ({ index, 0: call }) =>
    Array.from(argumentsAt(text, index + call.length).matchAll(LITERAL), ([, , literal]) => oneLine(literal ?? "")),
  ).flat();

/** The text from the position to the parenthesis that closes the call. */
function argumentsAt(text: string, start: number): string {
  let depth = 1;
  let end = start;
  for (; end < text.length && depth > 0; end++) depth += text[end] === "(" ? 1 : text[end] === ")" ? -1 : 0;
  return text.slice(start, end);
}

const faultsIn = (sentences: readonly string[], patterns: readonly Pattern[]): string[] =>
  sentences.flatMap((sentence) => patterns.filter(([, pattern]) => pattern.test(sentence)).map(([name]) => `${name}: ${sentence}`));

const faultsOf = (path: string, text: string): string[] =>
  [
    ...faultsIn(commentsOf(path, text), IN_COMMENTS),
    ...faultsIn([...(path.endsWith(".test.ts") ? namesOf(text) : []), ...logTextsOf(text)], IN_NAMES_AND_LOGS),
  ].map((fault) => `${path}: ${fault}`);

test("comments, test names and log lines are plain", () => {
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
  "/** Reads it.\n *   What is left stays. */",
  "x(); //nobody",
  "// The caller is told\n// later.",
  "// Of sms alone.",
  'const CASES = [\n  ["a node that is told", 1],\n];',
  'log.warn({ event: "x" }, "a request that nobody reads");',
  'this.#log.error(\n  { size: size(x), ...errorFields(error) },\n  "the endpoint is told",\n);',
  'const failed = reportError(log, "x.failed", "the time is over");',
];
for (const text of REFUSED) test(`refused: ${text}`, () => assert.notDeepEqual(faultsOf("x.test.ts", text), []));

const ACCEPTED = [
  "/** The rest of a message. */",
  '// See "https://example.com/What".',
  "const what = 1;",
  'test("the endpoint is notified", () => {});',
  'log.info({ count: 1 }, "stopped"); print("nobody");',
];
for (const text of ACCEPTED) test(`accepted: ${text}`, () => assert.deepEqual(faultsOf("x.test.ts", text), []));

test("comments of SQL are checked", () => {
  assert.notDeepEqual(faultsOf("x.sql", "create table x (\n  -- The sender. Whoever\n  -- sends.\n  y text\n);"), []);
  assert.deepEqual(faultsOf("x.sql", "-- The sender.\nselect 'What' as nobody;"), []);
});
