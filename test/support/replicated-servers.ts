/** A primary and its standby, with the PostgreSQL of the npm packages. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { identity } from "../../src/embedded/cluster.ts";
import { findPrograms, type Programs } from "../../src/embedded/postgres-binaries.ts";
import { chooseUser, type RunAs } from "../../src/embedded/run-as.ts";
import { atEnd } from "./at-end.ts";
import { childProcesses, signalProcess } from "./child-processes.ts";
import { until } from "./expect.ts";

const SUPERUSER = "postgres";
const OWNER = "godwit";
const SETTINGS = {
  listen_addresses: "''",
  max_connections: "100",
  // A killed process loses nothing that it has written, and these tests kill processes.
  fsync: "off",
  // Tests look for the statements that wait.
  track_activity_query_size: "'64kB'",
  wal_level: "replica",
  hot_standby: "on",
  // A standby that was away for some seconds can catch up.
  wal_keep_size: "'512MB'",
  wal_receiver_status_interval: "'1s'",
  wal_retrieve_retry_interval: "'100ms'",
};

type ServerName = "left" | "right";
const OTHER: Readonly<Record<ServerName, ServerName>> = { left: "right", right: "left" };

class Server {
  readonly sockets: string;
  readonly data: string;
  readonly #programs: Programs;
  readonly #runAs: RunAs | undefined;
  #child: ChildProcess | undefined;

  constructor(folder: string, { programs, runAs }: { programs: Programs; runAs: RunAs | undefined }) {
    this.sockets = folder;
    this.data = join(folder, "data");
    this.#programs = programs;
    this.#runAs = runAs;
    mkdirSync(folder);
    if (runAs !== undefined) chownSync(folder, runAs.uid, runAs.gid);
  }

  create(): void {
    const args = ["-D", this.data, "-U", SUPERUSER, "-E", "UTF8", "--no-locale", "--auth=trust", "--no-sync"];
    this.#run(this.#programs.initdb, args);
  }

  /** Copies the files of a running server, and makes this one its standby. The copy is complete with the log that the standby receives. */
  async copyFrom(primary: Server, name: ServerName): Promise<void> {
    rmSync(this.data, { recursive: true, force: true });
    const client = await primary.connect();
    try {
      await client.query("select pg_backup_start('copy', true)");
      // Files that the server deletes meanwhile are missing from the copy, which is right.
      spawnSync("cp", ["-a", primary.data, this.data]);
      rmSync(join(this.data, "postmaster.pid"), { force: true });
      const { rows } = await client.query<{ label: string }>("select labelfile as label from pg_backup_stop(false)");
      this.#write("backup_label", rows[0]?.label ?? "");
    } finally {
      await client.end();
    }
    this.#write("standby.signal", "");
    this.#write("postgresql.auto.conf", `primary_conninfo = 'host=${primary.sockets} user=${SUPERUSER} application_name=${name}'\n`);
  }

  async start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const all = Object.entries({ ...SETTINGS, unix_socket_directories: `'${this.sockets}'`, ...settings });
    this.#write("postgresql.conf", all.map(([name, value]) => `${name} = ${value}\n`).join(""));
    // The processes of a killed server end when they find that their parent is gone. Until then the server does not start again.
    await until("the server to start", async () => {
      if (this.#child === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) this.#child = this.#spawn();
      return (await this.query("select 1").catch(() => undefined)) && true;
    });
  }

  #spawn(): ChildProcess {
    const options = { ...identity(this.#runAs), cwd: "/", env: { TZ: "UTC" }, stdio: "ignore" } as const;
    return spawn(this.#programs.postgres, ["-D", this.data], options);
  }

  async connect(database = "postgres"): Promise<pg.Client> {
    const client = new pg.Client({ host: this.sockets, user: SUPERUSER, database });
    client.on("error", () => undefined);
    await client.connect();
    return client;
  }

  /** The URL of a database of this server. */
  urlOf(database = OWNER): string {
    return `postgres://${OWNER}@/${database}?host=${encodeURIComponent(this.sockets)}`;
  }

  async query<T extends pg.QueryResultRow>(text: string): Promise<T[]> {
    const client = await this.connect();
    try {
      return (await client.query<T>(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** Starts the server as a standby without a primary, and promotes it: it begins a timeline of its own. */
  async startAndPromote(): Promise<void> {
    this.#write("standby.signal", "");
    await this.start();
    await this.query("alter system reset synchronous_standby_names").catch(() => undefined);
    await this.query("select pg_promote(true, 60)");
    await this.query("alter system reset synchronous_standby_names");
    await this.query("select pg_reload_conf()");
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Freezes or continues all processes of the server, as a machine that hangs. */
  signalAll(signal: "SIGSTOP" | "SIGCONT"): void {
    const pid = this.#child?.pid;
    if (pid === undefined || this.#child?.exitCode !== null || this.#child.signalCode !== null) return;
    for (const each of [pid, ...childProcesses(pid)]) signalProcess(each, signal);
  }

  /** Ends the server. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }

  #write(name: string, text: string): void {
    const path = join(this.data, name);
    writeFileSync(path, text, { mode: 0o600 });
    if (this.#runAs !== undefined) chownSync(path, this.#runAs.uid, this.#runAs.gid);
  }

  #run(program: string, args: readonly string[]): void {
    const done = spawnSync(program, args, {
      ...identity(this.#runAs),
      cwd: "/",
      env: { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin" },
      encoding: "utf8",
    });
    if (done.status !== 0) throw new Error(`${program}: ${done.stderr}`);
  }
}

export class ReplicatedServers {
  /** The URL of the service, with both servers. */
  readonly url: string;
  readonly #servers: Readonly<Record<ServerName, Server>>;
  readonly #folder: string;
  #primary: ServerName = "left";

  private constructor(folder: string) {
    const runAs = chooseUser(folder);
    const parts = { programs: findPrograms(runAs, () => undefined), runAs };
    this.#folder = folder;
    this.#servers = { left: new Server(join(folder, "left"), parts), right: new Server(join(folder, "right"), parts) };
    const { left, right } = this.#servers;
    const hosts = encodeURIComponent(`${left.sockets},${right.sockets}`);
    this.url = `postgres://${OWNER}@/${OWNER}?host=${hosts}&target_session_attrs=read-write`;
  }

  static async start(): Promise<ReplicatedServers> {
    const folder = mkdtempSync(join(tmpdir(), "godwit-replicated-"));
    chmodSync(folder, 0o755);
    const servers = new ReplicatedServers(folder);
    atEnd(() => servers[Symbol.asyncDispose]());
    servers.primary.create();
    await servers.primary.start();
    await servers.primary.query(`create role ${OWNER} login`);
    await servers.primary.query(`create database ${OWNER} owner ${OWNER}`);
    await servers.addStandby();
    return servers;
  }

  get primary(): Server {
    return this.#servers[this.#primary];
  }

  get standby(): Server {
    return this.#servers[OTHER[this.#primary]];
  }

  /** Makes the other server a synchronous standby of the primary, with a new copy of its files. */
  async addStandby(): Promise<void> {
    const name = OTHER[this.#primary];
    await this.standby.end("SIGKILL");
    await this.standby.copyFrom(this.primary, name);
    await this.standby.start();
    await this.waitForStandby(`'${name}'`);
  }

  /** Sets the synchronous standby, and resolves when commits wait for it. */
  async waitForStandby(names: string): Promise<void> {
    await this.primary.query(`alter system set synchronous_standby_names = ${names}`);
    await this.primary.query("select pg_reload_conf()");
    await until("the standby to be synchronous", async () => {
      const [row] = await this.primary.query<{ state: string }>("select sync_state as state from pg_stat_replication");
      return row?.state === "sync" || undefined;
    });
  }

  /** Lets commits return without the standby. */
  async releaseStandby(): Promise<void> {
    await this.primary.query("alter system reset synchronous_standby_names");
    await this.primary.query("select pg_reload_conf()");
  }

  /** Resolves when the standby has everything that is committed on the primary now. */
  async untilReplayed(): Promise<void> {
    const [now] = await this.primary.query<{ position: string }>(
      "select pg_current_wal_insert_lsn() as position, pg_logical_emit_message(true, 'test', '')",
    );
    await until("the standby to replay the log", async () => {
      const [row] = await this.standby.query<{ is_there: boolean }>(`select pg_last_wal_replay_lsn() >= '${now?.position}' as is_there`);
      return row?.is_there;
    });
  }

  /** Makes the standby the primary. It does not wait for a standby of its own until it has one. The old primary must have ended. */
  async promote(): Promise<void> {
    const { standby } = this;
    await standby.query("alter system reset synchronous_standby_names").catch(() => undefined);
    await standby.query("select pg_promote(true, 60)");
    this.#primary = OTHER[this.#primary];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of Object.values(this.#servers)) {
      server.signalAll("SIGCONT");
      await server.end("SIGQUIT");
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
