/** The table of log events: every event is in use, and docs/operation.md has them all. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readPage } from "../../scripts/log-events.ts";
import { CARRIER_LOG_EVENTS } from "../../src/model/carrier-log-events.ts";
import { LOG_EVENTS } from "../../src/model/log-events.ts";

const TABLES = new Set(["src/model/log-events.ts", "src/model/carrier-log-events.ts"]);
const root = join(import.meta.dirname, "..", "..");

test("docs/operation.md is the output of npm run log-events", () => {
  const { is, shouldBe } = readPage();
  assert.equal(is, shouldBe, "docs/operation.md is out of date: run npm run log-events");
});

test("every event is logged in the source", () => {
  const paths = globSync("src/**/*.ts", { cwd: root }).filter((path) => !TABLES.has(path.replaceAll("\\", "/")));
  const text = paths.map((path) => readFileSync(join(root, path), "utf8")).join("\n");
  const unused = Object.keys(LOG_EVENTS).filter((event) => !text.includes(`"${event}"`));
  assert.deepEqual(unused, []);
});

test("every event has an area and a name in snake case, in order, with sentences for its meaning and the action to take", () => {
  for (const events of [Object.keys(CARRIER_LOG_EVENTS), Object.keys(LOG_EVENTS).filter((event) => !(event in CARRIER_LOG_EVENTS))])
    assert.deepEqual(events, events.toSorted());
  for (const [event, { meaning, action }] of Object.entries(LOG_EVENTS)) {
    assert.match(event, /^[a-z]+\.[a-z]+(_[a-z]+)*$/);
    for (const sentence of [meaning, action]) assert.match(sentence, /^[A-Z][^|\n]*\.$/, event);
  }
});
