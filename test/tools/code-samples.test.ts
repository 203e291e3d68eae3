/** The code samples of the API reference: one in each language for every operation, and each is valid in its language. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { codeSamples, sdkMethod, type SampleOperation } from "../../scripts/code-samples.ts";
import { Godwit } from "../../sdk/src/index.ts";

const ROOT = join(import.meta.dirname, "..", "..");
type Document = { paths: Record<string, Record<string, SampleOperation>> };

const { paths } = JSON.parse(readFileSync(join(ROOT, "docs", "openapi.json"), "utf8")) as Document;
const OPERATIONS = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method,
    path,
    operation,
    samples: codeSamples(operation, { method, path }),
  })),
);
const sourcesIn = (language: string): string[] =>
  OPERATIONS.map(({ samples }) => samples.find((each) => each.language === language)?.source ?? "");

/** The operations that are called without the SDK. */
const WITHOUT_SDK = new Set(["createAccessToken", "getSigningKeys"]);

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "godwit-samples-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("every operation has samples in three languages", () => {
  assert.ok(OPERATIONS.length > 60);
  for (const { operation, samples } of OPERATIONS) {
    assert.deepEqual(
      samples.map(({ language }) => language),
      ["curl", "TypeScript", "Python"],
    );
    for (const { source } of samples) assert.doesNotMatch(source, /undefined|\[object/, operation.operationId);
  }
});

test("every operation has the method of the SDK that its sample calls", () => {
  const client = new Godwit({ baseUrl: "http://127.0.0.1:1", apiKey: "gw_test_x" }) as unknown as Record<string, Record<string, unknown>>;
  for (const { method, path, operation } of OPERATIONS) {
    const [resource = "", name = ""] = (sdkMethod(operation, { method, path }) ?? "").split(".");
    if (WITHOUT_SDK.has(operation.operationId)) assert.equal(resource, "");
    else assert.equal(typeof client[resource]?.[name], "function", operation.operationId);
  }
});

test("the samples name the service by the URL that the page replaces, and indent a long body", () => {
  for (const { operation, samples } of OPERATIONS) {
    const [curl] = samples;
    assert.match(curl?.source ?? "", /^curl .*"http:\/\/127\.0\.0\.1:8080\//, operation.operationId);
    for (const { source } of samples)
      assert.doesNotMatch(source, /\$GODWIT_URL|env\.GODWIT_URL|environ\["GODWIT_URL/, operation.operationId);
  }
  const [curl] = OPERATIONS.find(({ operation }) => operation.operationId === "sendMessage")?.samples ?? [];
  assert.match(curl?.source ?? "", /-d '\{\n {4}"recipient": .*\n[^]*\n {2}\}'$/);
});

test("the samples in TypeScript have the types of the SDK", (t) => {
  const folder = temporaryFolder(t);
  const calls = sourcesIn("TypeScript").map((source, index) => {
    const body = source.replaceAll(/^(import .*|const godwit = new Godwit\(\);.*)\n/gm, "");
    return `export async function sample${index}() {\n${body}}\n`;
  });
  const head = `import { writeFile } from "node:fs/promises";\nimport type { Godwit } from ${JSON.stringify(join(ROOT, "sdk", "src", "index.ts"))};\ndeclare const godwit: Godwit;\n`;
  writeFileSync(join(folder, "samples.ts"), head + calls.join("\n"));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const compilerOptions = {
    target: "es2024",
    module: "nodenext",
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    lib: ["esnext", "dom", "dom.asynciterable"],
    types: ["node"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["samples.ts"] }));
  execFileSync(process.execPath, [join(ROOT, "node_modules", "typescript", "bin", "tsc"), "-p", folder], { encoding: "utf8" });
});

test("the samples in Python are valid", () => {
  const program = "import ast, json, sys\nfor source in json.load(sys.stdin): ast.parse(source)";
  execFileSync("python3", ["-c", program], { input: JSON.stringify(sourcesIn("Python")) });
});

test("the samples for curl are valid shell commands", () => {
  for (const source of sourcesIn("curl")) execFileSync("sh", ["-n"], { input: source });
});
