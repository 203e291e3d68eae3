/** PostgreSQL and pgBackRest of Debian with the configuration of docs/backup.md: archive, backup, a restore to a time, and the hold. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import pg from "pg";
import { identity } from "../../src/embedded/cluster.ts";
import { chooseUser, type RunAs } from "../../src/embedded/run-as.ts";
import { atEnd } from "../support/at-end.ts";
import { missingPackages } from "../support/debian-package.ts";
import { samplesOf } from "../support/doc-samples.ts";
import { until } from "../support/expect.ts";
import { freePort } from "../support/free-port.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";

const PAGE = "docs/backup.md";
const PROGRAMS = "/usr/lib/postgresql";
const PGBACKREST = "/usr/bin/pgbackrest";
const COMMAND_LIMIT_MS = 120_000;

const missing = missingPackages([
  ["postgresql", PROGRAMS],
  ["pgbackrest", PGBACKREST],
]);

/** The configuration file of the page that begins with this comment, with other values. */
function fileOfPage(name: string, replacements: Readonly<Record<string, string>>): string {
  const sample = samplesOf(PAGE).find(({ text }) => text.startsWith(`# ${name}\n`));
  assert.ok(sample !== undefined, `${PAGE} has no block that begins with # ${name}`);
  let { text } = sample;
  for (const [from, to] of Object.entries(replacements)) {
    assert.ok(text.includes(from), `${name} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  return `${text}\n`;
}

/** A server of Debian, with its repository in the same folder. */
class ArchivedServer {
  readonly url: string;
  readonly folder: string;
  readonly #data: string;
  readonly #config: string;
  readonly #bin: string;
  readonly #runAs: RunAs | undefined;

  constructor(folder: string, port: number, runAs: RunAs | undefined) {
    const version = Math.max(...readdirSync(PROGRAMS).map(Number).filter(Number.isFinite));
    this.folder = folder;
    this.#bin = join(PROGRAMS, String(version), "bin");
    this.#data = join(folder, "data");
    this.#config = join(folder, "pgbackrest.conf");
    this.#runAs = runAs;
    this.url = `postgres://app@127.0.0.1:${port}/app`;
    const owner = runAs ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    for (const name of ["", "data", "repository", "logs"]) {
      mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
      chownSync(join(folder, name), owner.uid, owner.gid);
    }
    const config = fileOfPage("/etc/pgbackrest.conf", {
      "/backup/pgbackrest": join(folder, "repository"),
      "/var/lib/postgresql/15/main": this.#data,
    });
    // The default folders belong to the user of Debian's server.
    const own = ["lock", "log", "spool"].map((name) => `${name}-path=${folder}/logs`);
    writeFileSync(
      this.#config,
      `${config.replace("start-fast=y", ["start-fast=y", ...own].join("\n"))}pg1-port=${port}\npg1-socket-path=${folder}\n`,
    );
    chmodSync(this.#config, 0o600);
    chownSync(this.#config, owner.uid, owner.gid);
    this.#run("initdb", "-D", this.#data, "--auth=trust", "--encoding=UTF8", "--no-locale", "--data-checksums");
    const archive = fileOfPage("/etc/postgresql/15/main/conf.d/archive.conf", {
      "pgbackrest ": `${PGBACKREST} --config=${this.#config} `,
    });
    const server = `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '${folder}'\ncluster_name = 'archived'\n`;
    writeFileSync(join(this.#data, "postgresql.auto.conf"), archive + server);
  }

  start(): void {
    this.#run("pg_ctl", "-D", this.#data, "-l", join(this.folder, "logs", "server.log"), "-w", "-t", "60", "start");
  }

  stop(): void {
    if (existsSync(join(this.#data, "postmaster.pid"))) this.#run("pg_ctl", "-D", this.#data, "-w", "-m", "fast", "stop");
  }

  /** Runs a command of the page. */
  pgbackrest(command: string): Promise<{ stdout: string }> {
    const sample = samplesOf(PAGE).find(({ text }) => text.includes(command));
    assert.ok(sample !== undefined, `${PAGE} has no command with ${command}`);
    const args = [`--config=${this.#config}`, "--stanza=godwit", ...command.split(" ")];
    return promisify(execFile)(PGBACKREST, args, { ...identity(this.#runAs), cwd: "/", timeout: COMMAND_LIMIT_MS });
  }

  async restore(target: string): Promise<void> {
    const [command] = samplesOf(PAGE).flatMap(({ text }) => text.split("\n").filter((line) => line.includes("--target=")));
    const words =
      command
        ?.split("--stanza=godwit ")[1]
        ?.replace(/--target="[^"]*"/, "--target=TIME")
        .split(" ") ?? [];
    const args = words.map((word) => (word === "--target=TIME" ? `--target=${target}` : word));
    await promisify(execFile)(PGBACKREST, [`--config=${this.#config}`, "--stanza=godwit", ...args], {
      ...identity(this.#runAs),
      cwd: "/",
      timeout: COMMAND_LIMIT_MS,
    });
  }

  async query(text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({
      host: this.folder,
      port: Number(new URL(this.url).port),
      user: this.#runAs?.name,
      database: "postgres",
    });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  #run(program: string, ...args: string[]): void {
    // The server keeps the files of its starter open.
    const { status, error } = spawnSync(join(this.#bin, program), args, {
      ...identity(this.#runAs),
      cwd: "/",
      env: { LC_ALL: "C", PATH: "/usr/bin:/bin" },
      stdio: "ignore",
      timeout: COMMAND_LIMIT_MS,
    });
    assert.equal(status, 0, `${program} ${args.join(" ")}: ${error?.message ?? "failed"}`);
  }
}

const statusOf = async (godwit: Godwit, key: string, id: string): Promise<unknown> => {
  const { status, json } = await godwit.request("GET", `/v1/messages/${id}`, { key });
  return status === 200 ? json["status"] : status;
};

/** Waits until the clock of the server is later. */
const untilTime = (server: ArchivedServer, time: unknown): Promise<unknown> =>
  until(
    "the time to pass",
    async () => (await server.query(`select 1 where clock_timestamp() > '${String(time)}'`)).length > 0 || undefined,
  );

test("pgBackRest restores a server to a time between two messages, and Godwit holds", { skip: missing ?? false }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "godwit-pgbackrest-"));
  const runAs = chooseUser("");
  const server = new ArchivedServer(folder, await freePort(), runAs);
  atEnd(async () => {
    server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  server.start();
  await server.query("create role app login");
  await server.query("create database app owner app");
  const env = { DATABASE_URL: server.url, GODWIT_SECRET_KEY: SECRET_KEY };
  await server.pgbackrest("stanza-create");
  await server.pgbackrest("check");
  let first = "";
  let second = "";
  let between = "";
  let key = "";
  {
    await using godwit = await startGodwit({ asProcess: true, databaseUrl: server.url });
    key = await godwit.key();
    await server.pgbackrest("--type=full backup");
    // pgBackRest compares whole seconds, and chooses a backup that ended before the second of the target.
    const [ended] = await server.query("select (clock_timestamp() + interval '1.1 s')::text as time");
    await untilTime(server, ended?.["time"]);
    first = String((await godwit.send(key)).json["id"]);
    const [row] = await server.query("select (clock_timestamp() + interval '1 ms')::text as time");
    between = String(row?.["time"]);
    await untilTime(server, between);
    second = String((await godwit.send(key)).json["id"]);
    const [wal] = await server.query("select pg_walfile_name(pg_switch_wal()) as file");
    await until("the WAL file in the archive", async () => {
      const [archiver] = await server.query(`select 1 from pg_stat_archiver where last_archived_wal >= '${String(wal?.["file"])}'`);
      return archiver !== undefined || undefined;
    });
    const { text } = await godwit.request("GET", "/metrics");
    assert.ok(Number(/^godwit_archive_wal_age_seconds\{server="own"\} (\S+)$/m.exec(text)?.[1]) < 600, text);
  }
  await server.pgbackrest("verify");
  server.stop();
  await server.restore(between);
  server.start();
  await until("the end of the recovery", async () => {
    const [row] = await server.query("select pg_is_in_recovery() as is_recovering");
    return row?.["is_recovering"] === false || undefined;
  });
  const held = await runGodwit(["hold"], env);
  assert.equal(held.code, 0, held.stderr);
  await using godwit = await startGodwit({ asProcess: true, databaseUrl: server.url, roles: "api,dispatch" });
  await until("the log to say so", () => godwit.logs.some(({ event }) => event === "delivery.on_hold"));
  assert.deepEqual([await statusOf(godwit, key, first), await statusOf(godwit, key, second)], ["queued", 404]);
  assert.equal((await runGodwit(["resume", "--send"], env)).code, 0);
});
