/** The log events: every event is in use, and docs/log-events.md explains each of them. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { LOG_EVENTS } from "../../src/model/log-events.ts";

const TABLE = "src/model/log-events.ts";
// A row names the events that share a next step.
const ROW = /^\| ((?:`[\w.]+`(?:, )?)+) \| ([^|]*) \|$/gm;
// The introduction of this section has the next step of all its events.
const SHARED = "Errors of the database";
const LEVELS: Readonly<Record<string, string>> = {
  "Failed messages": "info",
  [SHARED]: "error",
  "Other errors": "error",
  Warnings: "warn",
};
const root = join(import.meta.dirname, "..", "..");

test("docs/log-events.md has each event below its level, with its meaning and the next step", () => {
  const [, list = ""] = readFileSync(join(root, "docs", "log-events.md"), "utf8").split("\n## Log events\n");
  const found: [event: string, level: string | undefined][] = [];
  for (const section of list.split(/^### /m).slice(1)) {
    const [title = ""] = section.split("\n", 1);
    for (const [, names = "", text = ""] of section.matchAll(ROW)) {
      for (const [, event = ""] of names.matchAll(/`([\w.]+)`/g)) found.push([event, LEVELS[title]]);
      assert.match(text, title === SHARED ? /^[A-Z`].*\.$/ : /^[A-Z`].*[.;:] .*\.$/, names);
    }
  }
  assert.deepEqual(Object.fromEntries(found), LOG_EVENTS);
  assert.equal(found.length, Object.keys(LOG_EVENTS).length);
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
