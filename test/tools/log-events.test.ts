/** The log events: every event is in use, and docs/log-events.md explains each of them. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { LOG_EVENTS } from "../../src/model/log-events.ts";

const TABLE = "src/model/log-events.ts";
// The events whose only action is to check the database have a table without that column.
const ROW = /^\| `([\w.]+)` \| (info|warn|error) \| ([^|]*) \|(?: ([^|]*) \|)?$/gm;
const root = join(import.meta.dirname, "..", "..");

test("docs/log-events.md has a row for each event, with sentences for its meaning and the action to take", () => {
  const rows = [...readFileSync(join(root, "docs", "log-events.md"), "utf8").matchAll(ROW)];
  assert.deepEqual(Object.fromEntries(rows.map(([, event, level]) => [event, level])), LOG_EVENTS);
  assert.equal(rows.length, Object.keys(LOG_EVENTS).length);
  for (const [, event, , meaning = "", action = "None."] of rows)
    for (const sentence of [meaning, action]) assert.match(sentence, /^[A-Z].*\.$/, event);
});

test("every event is logged in the source", () => {
  const paths = globSync("src/**/*.ts", { cwd: root }).filter((path) => path.replaceAll("\\", "/") !== TABLE);
  const text = paths.map((path) => readFileSync(join(root, path), "utf8")).join("\n");
  const unused = Object.keys(LOG_EVENTS).filter((event) => !text.includes(`"${event}"`));
  assert.deepEqual(unused, []);
});

test("every event has an area and a name in snake case, in order", () => {
  const events = Object.keys(LOG_EVENTS);
  assert.deepEqual(events, events.toSorted());
  for (const event of events) assert.match(event, /^[a-z]+\.[a-z]+(_[a-z]+)*$/);
});
