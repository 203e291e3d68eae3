/** The OpenAPI document under an independent linter: Redocly, with all its recommended rules. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { DOCUMENT } from "../support/contract.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const REDOCLY = join(ROOT, "node_modules", "@redocly", "cli", "bin", "cli.js");
const QUIET = { PATH: process.env["PATH"] ?? "", REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };

type LintReport = { totals: { errors: number; warnings: number; ignored: number }; problems: { ruleId: string; message: string }[] };

/** Checks a document with the rules of redocly.yaml, and returns the report. */
const lint = (document: string): Promise<LintReport> =>
  new Promise((resolve, reject) => {
    const args = [REDOCLY, "lint", "--format=json", `--config=${join(ROOT, "redocly.yaml")}`, document];
    // The exit code is 1 if the report has findings.
    execFile(process.execPath, args, { cwd: ROOT, env: QUIET, timeout: 60_000 }, (_error, stdout, stderr) => {
      if (stdout.trimStart().startsWith("{")) resolve(JSON.parse(stdout) as LintReport);
      else reject(new Error(`redocly lint printed no report: ${stderr}`));
    });
  });

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
