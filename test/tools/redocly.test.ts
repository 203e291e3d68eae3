/** The OpenAPI document before a linter that nobody here wrote: Redocly, with all the rules that it recommends. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { DOCUMENT, lint } from "../support/redocly.ts";

test("Redocly finds nothing wrong with the document, and nothing to warn of", async () => {
  const { totals, problems } = await lint(DOCUMENT);
  assert.deepEqual(problems, []);
  assert.deepEqual(totals, { errors: 0, warnings: 0, ignored: 0 });
});

test("Redocly would find a reference to nowhere, and a tag that says nothing", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "godwit-redocly-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const broken = join(folder, "openapi.json");
  const document = readFileSync(DOCUMENT, "utf8")
    .replace("#/components/schemas/Problem", "#/components/schemas/Nothing")
    .replace(/"description": "Send, follow[^"]*"/, '"x-nothing": ""');
  writeFileSync(broken, document);
  const { problems } = await lint(broken);
  assert.deepEqual(problems.map(({ ruleId }) => ruleId).toSorted(), ["no-unresolved-refs", "tag-description"]);
});
