/** PgBouncer in front of a test database: Debian's package, installed if possible. */
import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { chooseUser } from "../../src/embedded/run-as.ts";
import { atEnd } from "./at-end.ts";
import { missingProgram } from "./debian-package.ts";
import { until } from "./expect.ts";

export type PoolMode = "session" | "transaction" | "statement";

const PROGRAM = "/usr/sbin/pgbouncer";
// It is part of the name of the socket. No port of the machine is used.
const PORT = 6432;

/** The reason why PgBouncer is missing, after an attempt to install it. */
export const missingPgBouncer = (): string | undefined => missingProgram("pgbouncer", PROGRAM);

export class PgBouncer {
  /** The DATABASE_URL for the service. */
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #ended: Promise<unknown>;

  private constructor(url: string, child: ChildProcess, folder: string) {
    this.url = url;
    this.#child = child;
    this.#folder = folder;
    this.#ended = new Promise((resolve) => child.once("close", resolve));
  }

  /** Starts PgBouncer with its default settings, except those that are given. */
  static async start(databaseUrl: string, settings: { pool_mode: PoolMode } & Record<string, string | number>): Promise<PgBouncer> {
    const { host, port, user, password, database } = new pg.Client(databaseUrl);
    const folder = mkdtempSync(join(tmpdir(), "godwit-pgbouncer-"));
    // PgBouncer refuses to run as root, as PostgreSQL does.
    const runAs = chooseUser("");
    chmodSync(folder, 0o777);
    const server = { host, port, user, ...(password ? { password } : {}) };
    const all = { unix_socket_dir: folder, listen_port: PORT, auth_type: "any", ...settings };
    const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
    const login = Object.entries(server).map(([name, value]) => `${name}='${value}'`);
    const file = join(folder, "pgbouncer.ini");
    writeFileSync(file, ["[databases]", `${database} = ${login.join(" ")}`, "[pgbouncer]", ...lines, ""].join("\n"));
    const child = spawn(PROGRAM, ["-q", file], { stdio: "ignore", cwd: "/", ...(runAs && { uid: runAs.uid, gid: runAs.gid }) });
    const url = `postgres://${user}@/${database}?host=${encodeURIComponent(folder)}&port=${PORT}`;
    const bouncer = new PgBouncer(url, child, folder);
    atEnd(() => bouncer.stop());
    await until("PgBouncer to listen", () => existsSync(join(folder, `.s.PGSQL.${PORT}`)) || undefined);
    return bouncer;
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
