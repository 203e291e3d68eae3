/** The decision records of docs/decisions: all in the index, numbered without gaps, linked to the records they change, and never edited. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..", "..");
const FOLDER = "docs/decisions";
const NOTES = "docs/internals/contract-notes.md";
const DIGESTS = `${FOLDER}/digests.json`;

/** A record by its file name. */
type DecisionRecord = { name: string; text: string };
type Digests = Readonly<Record<string, string>>;
/** A row of the index: a number with the file that it links to. */
type IndexRow = { number: string; target: string };

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const records: readonly DecisionRecord[] = globSync("[0-9]*.md", { cwd: join(ROOT, FOLDER) })
  .toSorted()
  .map((name) => ({ name, text: read(`${FOLDER}/${name}`) }));

const numberOf = (name: string): string => name.slice(0, 4);

/** The text without the one line that may be added below the title. */
const bodyOf = (text: string): string => text.replace(/^(# .+\n\n)(?:Superseded|Amended) by .+\n\n/, "$1");

const digestOf = (text: string): string => createHash("sha256").update(bodyOf(text)).digest("hex");

function digestFaults(found: readonly DecisionRecord[], digests: Digests): string[] {
  const faults = found.flatMap(({ name, text }) => {
    const digest = digestOf(text);
    if (digests[name] === undefined) return [`${FOLDER}/${name} has no digest: add "${name}": "${digest}" to ${DIGESTS}`];
    if (digests[name] === digest) return [];
    return [`${FOLDER}/${name} was edited: restore its text, and write a new record that supersedes or amends it`];
  });
  const missing = Object.keys(digests).filter((name) => !found.some((record) => record.name === name));
  return [...faults, ...missing.map((name) => `${FOLDER}/${name} was removed: restore it, and write a new record that supersedes it`)];
}

function indexRows(index: string): IndexRow[] {
  const rows = index.matchAll(/^\| (?:\[(\d{4})\]\(([^)]+)\) \| .+|(\d{4}) \| Moved to the \[[^\]]+\]\(([^)]+)\).*) \|$/gm);
  return Array.from(rows, ([, number = "", target = "", movedNumber = "", movedTarget = ""]) =>
    number === "" ? { number: movedNumber, target: movedTarget } : { number, target },
  );
}

/** The numbers from 0001 to the highest one, in order. */
const numbersUpTo = (highest: string): string[] =>
  Array.from({ length: Number(highest) }, (_, index) => String(index + 1).padStart(4, "0"));

/** `Amends [0002](…)` below the title needs an `Amended by [0024](…)` in the other record, and the other way round. */
function pairFaults(found: readonly DecisionRecord[]): string[] {
  const changes = (text: string, verb: RegExp): string[] => {
    const line = text.split("\n").find((each) => verb.test(each)) ?? "";
    return Array.from(line.matchAll(/\[(\d{4})\]/g), ([, number = ""]) => number);
  };
  const forward = found.flatMap(({ name, text }) =>
    changes(text, /^(Supersedes|Amends) /).map((old) => `${numberOf(name)} changes ${old}`),
  );
  const back = found.flatMap(({ name, text }) => changes(text, /^(Superseded|Amended) by /).map((by) => `${by} changes ${numberOf(name)}`));
  const unmatched = [...forward.filter((pair) => !back.includes(pair)), ...back.filter((pair) => !forward.includes(pair))];
  return unmatched.map((pair) => `${pair}, and only one of the two records says so`);
}

test("the records are found", () => assert.ok(records.length > 20));

test("every number has one row in the index, in order, and a target that exists", () => {
  const rows = indexRows(read(`${FOLDER}/README.md`));
  const highest = numberOf(records.at(-1)?.name ?? "0000");
  assert.deepEqual(
    rows.map(({ number }) => number),
    numbersUpTo(highest),
  );
  const names = new Set(records.map(({ name }) => name));
  for (const { number, target } of rows) {
    const isMoved = normalize(join(FOLDER, target)) === NOTES && existsSync(join(ROOT, NOTES));
    assert.ok(isMoved || (names.has(target) && numberOf(target) === number), `row ${number} links to ${target}`);
  }
});

test("every record is in the index", () => {
  const listed = new Set(indexRows(read(`${FOLDER}/README.md`)).map(({ target }) => target));
  assert.deepEqual(
    records.map(({ name }) => name).filter((name) => !listed.has(name)),
    [],
  );
});

test("a record's title has the record's number", () => {
  for (const { name, text } of records) assert.match(text, new RegExp(`^# ${numberOf(name)}[:.] \\S`), name);
});

test("a record that changes another one is named by it", () => assert.deepEqual(pairFaults(records), []));

test("no record has been edited", () => assert.deepEqual(digestFaults(records, JSON.parse(read(DIGESTS)) as Digests), []));

test("links of the records, the index and the contract notes lead to files", () => {
  for (const path of [NOTES, ...globSync(`${FOLDER}/*.md`, { cwd: ROOT })]) {
    for (const [, href = ""] of read(path).matchAll(/\]\(([^)\s]+\.md)[^)]*\)/g)) {
      if (!href.startsWith("http")) assert.ok(existsSync(join(ROOT, dirname(path), href)), `${path}: ${href}`);
    }
  }
});

const SAMPLE: DecisionRecord = { name: "0001-sample.md", text: "# 0001: A sample\n\n**Decision.** One.\n" };
const SAMPLE_DIGESTS: Digests = { [SAMPLE.name]: digestOf(SAMPLE.text) };

test("an edited record is reported by name, with the alternative", () => {
  const edited = { ...SAMPLE, text: SAMPLE.text.replace("One", "Two") };
  assert.deepEqual(digestFaults([edited], SAMPLE_DIGESTS), [
    "docs/decisions/0001-sample.md was edited: restore its text, and write a new record that supersedes or amends it",
  ]);
});

test("an added Superseded or Amended line is not an edit", () => {
  for (const line of ["Superseded by [0002](0002-other.md).", "Amended by [0002](0002-other.md)."]) {
    const marked = { ...SAMPLE, text: SAMPLE.text.replace("\n\n", `\n\n${line}\n\n`) };
    assert.deepEqual(digestFaults([marked], SAMPLE_DIGESTS), []);
  }
});

test("a second added line is an edit", () => {
  const marked = { ...SAMPLE, text: SAMPLE.text.replace("\n\n", "\n\nAmended by [0002](x.md).\n\nAmended by [0003](y.md).\n\n") };
  assert.equal(digestFaults([marked], SAMPLE_DIGESTS).length, 1);
});

test("a new record without a digest is reported with the line to add", () => {
  assert.deepEqual(digestFaults([SAMPLE], {}), [
    `docs/decisions/0001-sample.md has no digest: add "0001-sample.md": "${digestOf(SAMPLE.text)}" to docs/decisions/digests.json`,
  ]);
});

test("a removed record is reported", () => assert.match(digestFaults([], SAMPLE_DIGESTS)[0] ?? "", /0001-sample\.md was removed/));

test("a change that only one of two records names is reported", () => {
  const newer = { name: "0002-newer.md", text: "# 0002: Newer\n\nAmends [0001](0001-sample.md).\n" };
  const marked = { ...SAMPLE, text: SAMPLE.text.replace("\n\n", "\n\nAmended by [0002](0002-newer.md).\n\n") };
  assert.deepEqual(pairFaults([marked, newer]), []);
  assert.equal(pairFaults([SAMPLE, newer]).length, 1);
  assert.equal(pairFaults([marked]).length, 1);
});
