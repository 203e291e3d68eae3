/** docs/internals/sql contains the current statements. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { STATEMENTS } from "../../scripts/statements.ts";

for (const [name, text] of Object.entries(STATEMENTS)) {
  test(`docs/internals/sql/${name} is up to date`, () => {
    const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "internals", "sql", name), "utf8");
    assert.equal(page, text, "run npm run statements");
  });

  test(`no line of ${name} is longer than 120 columns`, () => {
    assert.deepEqual(
      text.split("\n").filter((line) => line.length > 120),
      [],
    );
  });
}
