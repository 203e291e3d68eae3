/** The OpenAPI document under an independent linter: Redocly, with all its recommended rules. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { DOCUMENT, lint } from "../support/redocly.ts";

test("Redocly reports no errors and no warnings for the document", async () => {
  const { totals, problems } = await lint(DOCUMENT);
  assert.deepEqual(problems, []);
  assert.deepEqual(totals, { errors: 0, warnings: 0, ignored: 0 });
});

test("Redocly reports an unresolved reference, and a tag without a description", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "godwit-redocly-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const broken = join(folder, "openapi.json");
  const document = readFileSync(DOCUMENT, "utf8")
    .replace("#/components/schemas/Problem", "#/components/schemas/Nothing")
    .replace(/"description": "Send messages, follow[^"]*"/, '"x-nothing": ""');
  writeFileSync(broken, document);
  const { problems } = await lint(broken);
  assert.deepEqual(problems.map(({ ruleId }) => ruleId).toSorted(), ["no-unresolved-refs", "tag-description"]);
});
