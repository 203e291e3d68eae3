/** The table of log events: every event is in use, and docs/operation.md has them all. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readPage } from "../../scripts/log-events.ts";
import { LOG_EVENTS } from "../../src/lib/log-events.ts";

const TABLE = "src/lib/log-events.ts";
const root = join(import.meta.dirname, "..", "..");

test("docs/operation.md is what npm run log-events writes", () => {
  const { is, shouldBe } = readPage();
  assert.equal(is, shouldBe, "docs/operation.md is out of date: run npm run log-events");
});

test("every event is logged somewhere", () => {
  const paths = globSync("src/**/*.ts", { cwd: root }).filter((path) => path.replaceAll("\\", "/") !== TABLE);
  const text = paths.map((path) => readFileSync(join(root, path), "utf8")).join("\n");
  const unused = Object.keys(LOG_EVENTS).filter((event) => !text.includes(`"${event}"`));
  assert.deepEqual(unused, []);
});

test("an event is an area and a name in snake case, in order, with sentences that say what it means and what to do", () => {
  const events = Object.keys(LOG_EVENTS);
  assert.deepEqual(events, events.toSorted());
  for (const [event, { meaning, action }] of Object.entries(LOG_EVENTS)) {
    assert.match(event, /^[a-z]+\.[a-z]+(_[a-z]+)*$/);
    for (const sentence of [meaning, action]) assert.match(sentence, /^[A-Z][^|\n]*\.$/, event);
  }
});
