/** Redocly's command line without access to the network. */
import { execFile } from "node:child_process";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "..", "..");
export const REDOCLY = join(ROOT, "node_modules", "@redocly", "cli", "bin", "cli.js");
export const DOCUMENT = join(ROOT, "docs", "openapi.json");

export const QUIET = { PATH: process.env["PATH"] ?? "", REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };

type LintReport = { totals: { errors: number; warnings: number; ignored: number }; problems: { ruleId: string; message: string }[] };

/** Checks a document with the rules of redocly.yaml, and returns the report. */
export const lint = (document: string): Promise<LintReport> =>
  new Promise((resolve, reject) => {
    const args = [REDOCLY, "lint", "--format=json", `--config=${join(ROOT, "redocly.yaml")}`, document];
    // The exit code is 1 if the report has findings.
    execFile(process.execPath, args, { cwd: ROOT, env: QUIET, timeout: 60_000 }, (_error, stdout, stderr) => {
      if (stdout.trimStart().startsWith("{")) resolve(JSON.parse(stdout) as LintReport);
      else reject(new Error(`redocly lint printed no report: ${stderr}`));
    });
  });
