/** The users of the embedded database: of the machine, and in PostgreSQL. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { socketDir } from "../../src/embedded/data-directory.ts";
import { findPrograms } from "../../src/embedded/postgres-binaries.ts";
import { until } from "../support/expect.ts";
import { runGodwit, spawnGodwit, startGodwit, type Godwit } from "../support/harness.ts";

const isRoot = process.getuid?.() === 0;
const rootOnly = isRoot ? false : "needs root";
const NOBODY = { uid: 65_534, gid: 65_534 };

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function newDataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), "godwit-user-"));
  chmodSync(folder, 0o755);
  folders.push(folder);
  return join(folder, "data");
}

async function query(dataDir: string, user: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ host: socketDir(dataDir), user, database: "postgres" });
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(text);
  await client.end();
  return rows;
}

const ORDINARY = { rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolreplication: false, rolbypassrls: false };
const ROLE = "select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls from pg_roles where rolname = current_user";
const FOREIGN = "select relname from pg_class where relnamespace = 'public'::regnamespace and relowner <> 'godwit'::regrole";

/** The user of a process, from the kernel. */
const uidOf = (pid: number | undefined): number => statSync(`/proc/${pid}`).uid;
const statusOf = (pid: number | undefined, field: string): string | undefined =>
  new RegExp(`^${field}:\\s*(.*)$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];

const createKey = (dataDir: string): ReturnType<typeof runGodwit> =>
  runGodwit(["keys", "create", "--environment", "test", "--scopes", "messages:send", "--json"], { GODWIT_DATA_DIR: dataDir });

describe("a service with its own database", () => {
  const dataDir = newDataDir();
  let godwit: Godwit;
  before(async () => {
    // A supervisor keeps the privileges of root, and its workers drop them: test/faults/workers.test.ts.
    godwit = await startGodwit({ asProcess: true, isOneProcess: true, env: { GODWIT_DATA_DIR: dataDir } });
  });
  after(() => godwit.stop());

  test("uses an ordinary role that owns every table", async () => {
    assert.deepEqual(await query(dataDir, "godwit", ROLE), [ORDINARY]);
    assert.deepEqual(await query(dataDir, "godwit", FOREIGN), []);
    const sessions = await query(
      dataDir,
      "godwit_admin",
      "select distinct usename from pg_stat_activity where application_name like 'godwit %'",
    );
    assert.deepEqual(sessions, [{ usename: "godwit" }]);
  });

  test("keeps its files to its user", () => {
    const cluster = realpathSync(join(dataDir, "postgres"));
    for (const folder of [dataDir, cluster]) assert.equal(statSync(folder).mode & 0o777, 0o700, folder);
    const rules = readFileSync(join(cluster, "pg_hba.conf"), "utf8")
      .split("\n")
      .filter((line) => /^\w/.test(line));
    assert.deepEqual(rules, ["local all all peer map=godwit"]);
  });

  test("refuses another user of the machine, also one that can open the socket", { skip: rootOnly }, async () => {
    const script = `
      import pg from ${JSON.stringify(import.meta.resolve("pg"))};
      const client = new pg.Client({ host: process.argv[1], user: process.argv[2], database: "postgres" });
      await client.connect().then(() => console.log("connected"), (error) => console.log(error.code, error.message));
      process.exit();`;
    const connect = (user: string): string =>
      spawnSync(process.execPath, ["--input-type=module", "-e", script, socketDir(dataDir), user], {
        ...NOBODY,
        cwd: "/",
        encoding: "utf8",
      }).stdout;
    assert.match(connect("godwit"), /^EACCES /);
    const folder = socketDir(dataDir);
    const opened = [dataDir, folder, join(folder, ".s.PGSQL.5432")];
    for (const path of opened) chmodSync(path, 0o777);
    try {
      for (const user of ["godwit", "godwit_admin"]) assert.match(connect(user), /^28000 Peer authentication failed/);
    } finally {
      for (const path of opened) chmodSync(path, 0o700);
    }
  });

  test("started by root runs as the user godwit, with no group and no capability of root", { skip: rootOnly }, async () => {
    await until("the service to drop its privileges", () => godwit.logs.find(({ msg }) => msg === "root privileges dropped"));
    const { uid } = statSync(realpathSync(join(dataDir, "postgres")));
    const passwd = readFileSync("/etc/passwd", "utf8");
    assert.match(passwd, new RegExp(`^godwit:[^:]*:${uid}:`, "m"));
    const { pid } = godwit.child;
    assert.equal(statusOf(pid, "Uid"), Array(4).fill(uid).join("\t"));
    assert.equal(statusOf(pid, "CapEff"), "0".repeat(16));
    assert.ok(!(statusOf(pid, "Groups") ?? "").split(" ").includes("0"));
    const postmaster = Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
    assert.equal(uidOf(postmaster), uid);
    for (const name of [".", "secret.key", "godwit.lock"]) assert.equal(statSync(join(dataDir, name)).uid, uid, name);
  });

  test("serves the files of the console after it has dropped its privileges", { skip: rootOnly }, async () => {
    await until("the service to drop its privileges", () => godwit.logs.find(({ msg }) => msg === "root privileges dropped"));
    const { text } = await godwit.request("GET", "/console");
    const files = [...text.matchAll(/"(\/console\/assets\/[^"]+)"/g)].map(([, path]) => String(path));
    assert.ok(files.length >= 3, text);
    for (const path of files) assert.equal((await fetch(`${godwit.url}${path}`)).status, 200, path);
  });

  test("restarts its database after it has dropped its privileges", async () => {
    const postmaster = (): number => Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
    const first = postmaster();
    process.kill(first, "SIGQUIT");
    await until("another server", () =>
      existsSync(join(dataDir, "postgres", "postmaster.pid")) && postmaster() !== first ? true : undefined,
    );
    await until("the service to be ready", async () => ((await godwit.request("GET", "/readyz")).status === 200 ? true : undefined));
  });

  test("is administered by root beside it", async () => {
    const { code, stderr } = await createKey(dataDir);
    assert.equal(code, 0, stderr);
    const tier = await runGodwit(["environments", "set-tier", "test", "unlimited"], { GODWIT_DATA_DIR: dataDir });
    assert.equal(tier.code, 0, tier.stderr);
  });
});

test("root drops its privileges also with a database elsewhere, and says which file a reload cannot read", { skip: rootOnly }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "godwit-closed-"));
  folders.push(folder);
  writeFileSync(join(folder, "godwit.toml"), "retention_days = 90\n");
  await using godwit = await startGodwit({ asProcess: true, isOneProcess: true, env: { GODWIT_CONFIG: join(folder, "godwit.toml") } });
  await until("the service to drop its privileges", () => godwit.logs.find(({ msg }) => msg === "root privileges dropped"));
  const warning = await until("the warning", () => godwit.logs.find(({ event }) => event === "service.reload_unreadable"));
  assert.equal(warning["path"], join(folder, "godwit.toml"));
  assert.equal(statusOf(godwit.child.pid, "CapEff"), "0".repeat(16));
});

test("a configuration file that is named without its folder is checked in the current folder", { skip: rootOnly }, async () => {
  const dataDir = newDataDir();
  const folder = join(dataDir, "..");
  writeFileSync(join(folder, "godwit.toml"), "port = 0\n");
  const run = spawnGodwit(["serve", "--config", "godwit.toml"], { GODWIT_DATA_DIR: dataDir }, { cwd: folder });
  await run.waitFor(({ msg }) => msg === "root privileges dropped");
  run.child.kill("SIGTERM");
  await run.exit;
  assert.equal(
    run.logs.find(({ event }) => event === "service.reload_unreadable"),
    undefined,
  );
});

test("a database of the user that other programs share is refused", { skip: rootOnly }, async () => {
  const dataDir = newDataDir();
  const home = join(dataDir, "..");
  chownSync(home, NOBODY.uid, NOBODY.gid);
  const run = spawnGodwit(["serve"], { GODWIT_PORT: "0", GODWIT_DATA_DIR: dataDir }, { ...NOBODY, cwd: home });
  assert.equal(await run.exit, 1);
  assert.match(run.output.join("\n"), /the database cannot belong to the user nobody/);
});

test("a data directory of version 0.1, whose superuser has the name of the ordinary role, is refused", { skip: rootOnly }, async () => {
  const dataDir = newDataDir();
  const cluster = join(dataDir, "postgres");
  mkdirSync(cluster, { recursive: true });
  chmodSync(cluster, 0o700);
  chownSync(cluster, NOBODY.uid, NOBODY.gid);
  const programs = findPrograms({ name: "nobody", ...NOBODY }, () => undefined);
  const made = spawnSync(programs.initdb, ["-D", cluster, "-U", "godwit", "--auth=trust", "-E", "UTF8", "--no-locale"], {
    ...NOBODY,
    cwd: "/",
    env: { LC_ALL: "C", TZ: "UTC" },
    encoding: "utf8",
  });
  assert.equal(made.status, 0, made.stderr);
  const { code, stderr } = await runGodwit(["serve", "--port", "0"], { GODWIT_DATA_DIR: dataDir });
  assert.equal(code, 1, stderr);
  assert.match(stderr, /^godwit: the database was created by a version before 0\.2\.0: start godwit 0\.2\.0 on it once, then this one$/m);
});
