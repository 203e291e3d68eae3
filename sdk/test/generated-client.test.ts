/** A client that third-party tools generate from the OpenAPI document compiles strictly, and makes the main calls to a live service. */
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";
import { startGodwit } from "../../test/support/harness.ts";
import { Hook } from "../../test/support/hook-server.ts";
import { WITH_WEBHOOKS } from "../../test/support/webhook-customer.ts";
import { run } from "./packed-project.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const JOURNEY = join(import.meta.dirname, "generated-client", "journey.ts");

// Stricter than the options of most projects.
const COMPILER_OPTIONS = {
  target: "es2024",
  module: "nodenext",
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noUnusedLocals: true,
  erasableSyntaxOnly: true,
  allowImportingTsExtensions: true,
  noEmit: true,
};

let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "godwit-generated-"));
  const document = JSON.parse(readFileSync(join(ROOT, "docs", "openapi.json"), "utf8")) as OpenAPI3;
  writeFileSync(join(folder, "schema.ts"), astToString(await openapiTS(document)));
  copyFileSync(JOURNEY, join(folder, "journey.ts"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ["*.ts"] }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

test("a generated client compiles strictly, and its misuse does not compile", async () => {
  const { code, output } = await run(process.execPath, [join(ROOT, "node_modules", "typescript", "bin", "tsc"), "-p", folder], folder);
  assert.equal(output, "");
  assert.equal(code, 0);
});

test("a generated client sends messages, templates and batches, reads lists, receives webhooks and gets typed refusals", async () => {
  await using server = await startGodwit(WITH_WEBHOOKS);
  await using hook = await Hook.listen();
  const { code, output } = await run(process.execPath, ["journey.ts", server.url, await server.key(), hook.url()], folder);
  assert.equal(output, "arrived\n");
  assert.equal(code, 0);
});
