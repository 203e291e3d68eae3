import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { NEXT, STATUSES } from "../../src/messages/states.ts";

test("docs/states.md draws every status, and only transitions of the table", () => {
  const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "states.md"), "utf8");
  const drawn = Array.from(page.matchAll(/^ {2}(\w+) --> (\w+)/gm), ([, from, to]) => `${from} → ${to}`);
  const allowed = new Set(STATUSES.flatMap((from) => NEXT[from].map((to) => `${from} → ${to}`)));
  assert.deepEqual(
    drawn.filter((transition) => !allowed.has(transition)),
    [],
  );
  for (const status of STATUSES) assert.match(page, new RegExp(`^ {2}(${status} -->|\\S+ --> ${status}\\b)`, "m"));
});
