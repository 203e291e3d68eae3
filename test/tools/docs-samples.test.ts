/** Runs every sample of README.md and docs/*.md unchanged, on one server, and compares the results with the page. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createKey } from "../../src/access/api-key.ts";
import { SYSTEM_ORIGIN } from "../../src/model/origin.ts";
import { listAccounts } from "../../src/access/queries.ts";
import { SCOPES } from "../../src/access/scope.ts";
import { readConfig } from "../../src/config.ts";
import { encodeId } from "../../src/model/id.ts";
import { differences, pages, problemTexts, ROOT, samplesOf, type Sample } from "../support/doc-samples.ts";
import { SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";
import { findPython } from "../support/debian-package.ts";
import { execute, ShellSession, type Ran } from "../support/shell-session.ts";

const TSC = join(ROOT, "node_modules", "typescript", "bin", "tsc");
const COMPILER = {
  target: "es2024",
  module: "nodenext",
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  lib: ["esnext", "dom"],
  types: ["node"],
};

let godwit: Godwit;
let folder: string;
let secretOfWebhook: string;
before(async () => {
  godwit = await startGodwit({
    roles: "api,dispatch,webhooks",
    simulatorSpeed: 50,
    env: { GODWIT_VERIFY_COOLDOWN: "0", GODWIT_WEBHOOK_ALLOW: "127.0.0.0/8" },
  });
  await godwit.unlimited();
  // The page on usage shows a failed message.
  await godwit.send(await godwit.key(), { recipient: "+15005550002" });
  secretOfWebhook = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
  folder = mkdtempSync(join(tmpdir(), "godwit-docs-"));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  // Commands run in the root of the repository. docs/audit.md exports to this file.
  rmSync(join(ROOT, "godwit-audit.jsonl"), { force: true });
  await godwit.stop();
});

/** The variables that the pages tell the reader to set, and those that locate the database of this server. */
async function environment(): Promise<Record<string, string>> {
  const key = await newKey();
  return {
    GODWIT_KEY: key.secret,
    KEY: key.secret,
    GODWIT_KEY_ID: key.id,
    GODWIT_URL: godwit.url,
    WEBHOOK_SECRET: secretOfWebhook,
    DATABASE_URL: godwit.databaseUrl ?? "",
    GODWIT_SECRET_KEY: SECRET_KEY,
  };
}

async function newKey(): Promise<{ id: string; secret: string }> {
  const { db } = godwit;
  assert.ok(db !== undefined);
  const [account] = await listAccounts(db);
  assert.ok(account !== undefined);
  const wanted = {
    accountId: account.id,
    environment: "test",
    scopes: SCOPES,
    name: null,
    expiresAt: null,
    origin: SYSTEM_ORIGIN,
  } as const;
  const { key, secret } = await createKey(db, { now: () => Date.now() }, wanted);
  return { id: encodeId("key", key.id), secret };
}

const here = (text: string): string => text.replaceAll("http://127.0.0.1:8080", godwit.url);

describe("samples", () => {
  for (const page of pages()) test(page, async (context) => runPage(page, (notice) => context.diagnostic(notice)));

  test("a block that is not run has a reason", () => {
    const left = pages()
      .flatMap((page) => samplesOf(page))
      .filter(({ notRun }) => notRun !== undefined);
    for (const { page, line, notRun } of left) assert.ok((notRun ?? "").length > 10, `${page}:${line}`);
  });

  // libpq takes a relative path for the name of a host.
  test("a folder of the socket of PostgreSQL is an absolute path", () => {
    for (const page of pages())
      for (const [, path = ""] of readFileSync(join(ROOT, page), "utf8").matchAll(
        /(?:\b(?:psql|pg_\w+)\b[^\n|;`]*? (?:-h ?|--host[= ])|[?&"' ]host=)(\S*\/\S*)/g,
      ))
        assert.match(path, /^"?[/$]/, `${page}: ${path}`);
  });

  test("TypeScript compiles strictly", async () => {
    const found = pages()
      .flatMap((page) => samplesOf(page))
      .filter(({ language, notRun }) => language === "ts" && notRun === undefined);
    const files = found.map((sample, at) => write(`compiled-${at}-${nameOf(sample)}`, typescriptOf(sample)));
    write("tsconfig.json", JSON.stringify({ compilerOptions: COMPILER, files }));
    const { code, output } = await execute(process.execPath, [TSC, "-p", folder], { cwd: folder, env: {} });
    assert.equal(code, 0, output);
    assert.ok(files.length >= 3);
  });
});

/** Runs the blocks in order, in one session. A block of JSON after a request shows its response. */
async function runPage(page: string, notice: (text: string) => void): Promise<void> {
  const env = await environment();
  using session = new ShellSession(env);
  // `key_…` on a page stands for a key that the page may revoke.
  const spare = await newKey();
  let last: Ran | undefined;
  for (const sample of samplesOf(page)) {
    const place = `${sample.page}:${sample.line}`;
    if (sample.notRun !== undefined) {
      notice(`${place} is not run: ${sample.notRun}`);
      last = undefined;
      continue;
    }
    if (sample.language === "sh") last = await runShell(session, sample, spare.id);
    if (sample.language === "json") assertShown(sample, last);
    if (sample.language === "toml") assertRead(sample);
    const variables = { ...env, ...session.variables() };
    if (sample.language === "ts" || sample.language === "js") await runScript(process.execPath, [], sample, variables);
    if (sample.language === "python") await runPython(sample, variables, notice);
  }
}

async function runShell(session: ShellSession, sample: Sample, spare: string): Promise<Ran> {
  const ran = await session.run(here(sample.text).replaceAll("key_…", spare));
  const place = `${sample.page}:${sample.line}`;
  assert.equal(ran.code, 0, `${place}\n${ran.output}`);
  ran.exchanges.forEach(({ status, body }, at) => {
    const isLast = at === ran.exchanges.length - 1;
    const expected = isLast && sample.answers !== undefined ? new RegExp(`^${sample.answers.status}$`) : /^2\d\d$/;
    assert.match(status, expected, `${place}\n${body}`);
    if (isLast && sample.answers?.code !== undefined)
      assert.equal((JSON.parse(body) as { code?: string }).code, sample.answers.code, place);
  });
  return ran;
}

function assertShown(sample: Sample, last: Ran | undefined): void {
  const shown: unknown = JSON.parse(sample.text);
  const response = last?.exchanges.at(-1)?.body ?? last?.output;
  if (response === undefined) return;
  const real: unknown = JSON.parse(response);
  const place = `${sample.page}:${sample.line}\n${response}`;
  assert.deepEqual(differences(shown, real), [], place);
  const texts = problemTexts(shown);
  if (texts !== undefined) assert.deepEqual(problemTexts(real), texts, place);
}

const CARRIERS = join(ROOT, "packaging", "carriers");
// A key of Ed25519, so that it can be any secret.
const SECRET = Buffer.alloc(32, 7).toString("base64");

/** Reads the file like the service does, which refuses a file with faults. A carrier file is read by a link. */
function assertRead(sample: Sample): void {
  const file = write(`${nameOf(sample)}.toml`, sample.text);
  const link = `[[link]]\nname = "acme"\nprovider = "http"\npublic_url = "https://godwit.example"\ncarrier = "${file}"\n`;
  const path = /^\[request\]/m.test(sample.text) ? write(`link-${nameOf(sample)}.toml`, link) : file;
  const texts = [sample.text, ...readdirSync(CARRIERS).map((name) => readFileSync(join(CARRIERS, name), "utf8"))];
  const secrets = Array.from(texts.join("\n").matchAll(/_env = "(\w+)"/g), ([, name = ""]) => [name, SECRET] as const);
  const config = readConfig({ config: path }, "serve", Object.fromEntries(secrets));
  assert.ok(config.plan !== undefined);
}

async function runScript(program: string, args: readonly string[], sample: Sample, env: Record<string, string>): Promise<void> {
  const path = write(nameOf(sample), sample.language === "python" ? here(sample.text) : typescriptOf(sample));
  const { code, output } = await execute(program, [...args, path], { cwd: folder, env: { PATH: process.env["PATH"] ?? "", ...env } });
  assert.equal(code, 0, `${sample.page}:${sample.line}\n${output}`);
}

/** Runs a sample in Python. Only those that use the SDK need httpx. */
async function runPython(sample: Sample, env: Record<string, string>, notice: (text: string) => void): Promise<void> {
  const python = /^(?:from|import) godwit\b/m.test(sample.text) ? findPython() : { path: "python3" };
  if ("missing" in python) return notice(`${sample.page}:${sample.line} is not run: ${python.missing}`);
  const variables = { PYTHONPATH: join(ROOT, "sdk-python", "src"), PYTHONDONTWRITEBYTECODE: "1" };
  return runScript(python.path, [], sample, { ...env, ...variables });
}

const ENDINGS: Readonly<Record<string, string>> = { python: "py", js: "mjs", ts: "ts" };
const nameOf = ({ page, line, language }: Sample): string => `${page.replaceAll(/\W/g, "-")}-${line}.${ENDINGS[language] ?? language}`;

/** The client of this checkout. The test of the SDK uses it packed and installed. */
const typescriptOf = ({ text }: Sample): string =>
  here(text).replaceAll('"godwit-sdk"', JSON.stringify(join(ROOT, "sdk", "src", "index.ts")));

function write(name: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `${text}\n`);
  return path;
}
