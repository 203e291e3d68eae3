/** Runs the process that works on the archive, and reports the age of both parts of the archive. */
import { fork, type ChildProcess } from "node:child_process";
import { Counter, type Registry } from "prom-client";
import { errorFields, type Log } from "../model/log.ts";
import { gaugesOfDatabase, metricsIn } from "../lib/metrics.ts";
import { remembered } from "../lib/remembered.ts";
import { within } from "../lib/wait.ts";
import type { Database } from "../database/database.ts";
import { sql } from "../database/sql.ts";
import type { ArchiveReport, ArchiveTask } from "./archive-process.ts";
import type { EmbeddedPostgres } from "./embedded-postgres.ts";
import { ended } from "./server-processes.ts";

// With a label, the gauge has no value where nothing is archived.
const WAL_AGE = ["godwit_archive_wal_age_seconds", "Time since the database last archived a WAL file."] as const;
const TRUST_MS = 5_000;
// A process that ends at once is started twice a minute.
const AGAIN_MS = 30_000;
// A process that waits for a disk may be unable to end.
const STOP_WITHIN_MS = 1_000;

type ArchiveJobParts = { db: Database; embedded: EmbeddedPostgres; series: string; days: number; log: Log };

export class ArchiveJob {
  readonly #parts: ArchiveJobParts;
  #process: ChildProcess | undefined;
  #again: NodeJS.Timeout | undefined;
  // An archive without a base backup is as old as this process.
  #newestBaseMs = Date.now();
  #baseFailures = 0;

  constructor(parts: ArchiveJobParts) {
    this.#parts = parts;
  }

  start(): void {
    const { embedded, series, days } = this.#parts;
    const file = new URL(import.meta.url.endsWith(".ts") ? "./archive-process.ts" : "./archive-process.js", import.meta.url);
    const child = fork(file, [], {
      execArgv: [],
      env: {},
      cwd: "/",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      // Ctrl-C at the terminal must not reach it: this process ends it.
      detached: true,
    });
    this.#process = child;
    const { folder: cluster, sockets, runAs = null } = embedded;
    const task: ArchiveTask = { cluster, sockets, series, days, runAs };
    child.send(task, () => undefined);
    child.on("message", (message: ArchiveReport) => this.#take(message));
    void ended(child).then(() => this.#ended(child));
  }

  /** Ends the process. The next one deletes an unfinished base backup. */
  async stop(): Promise<void> {
    clearTimeout(this.#again);
    const child = this.#process;
    if (child === undefined) return;
    this.#process = undefined;
    const isOver = ended(child);
    child.kill("SIGKILL");
    await within(isOver, STOP_WITHIN_MS);
    if (child.connected) child.disconnect();
    child.unref();
  }

  watch(registry: Registry): void {
    const { gauge } = metricsIn(registry);
    const read = remembered(TRUST_MS, () => readArchiver(this.#parts.db).catch(() => undefined));
    gauge(
      "godwit_archive_base_age_seconds",
      "Age of the newest base backup in the archive.",
      () => (Date.now() - this.#newestBaseMs) / 1_000,
    );
    gauge(
      ...WAL_AGE,
      async (age) => {
        const archiver = await read();
        if (archiver !== undefined) age.set({ server: "embedded" }, archiver.age);
      },
      { labelNames: ["server"] },
    );
    const failures: Counter = new Counter({
      name: "godwit_archive_failures_total",
      help: "Failed attempts to archive a WAL file, or to create a base backup.",
      labelNames: ["part"],
      registers: [registry],
      collect: async () => {
        const archiver = await read();
        failures.reset();
        failures.inc({ part: "base" }, this.#baseFailures);
        failures.inc({ part: "wal" }, archiver?.failed ?? 0);
      },
    });
  }

  #take(message: ArchiveReport): void {
    if (message.kind === "newest") this.#newestBaseMs = message.createdAtMs;
    else if (message.kind === "created") this.#parts.log.info({ path: message.path, files: message.files }, "base backup created");
    else this.#failed({ error: message.error });
  }

  #ended(child: ChildProcess): void {
    if (child !== this.#process) return;
    this.#process = undefined;
    this.#failed(errorFields(new Error(`the process of the archive ended: ${child.signalCode ?? `exit code ${child.exitCode}`}`)));
    this.#again = setTimeout(() => this.start(), AGAIN_MS);
  }

  #failed(facts: ReturnType<typeof errorFields>): void {
    this.#baseFailures += 1;
    this.#parts.log.error({ event: "storage.archive_failed", ...facts }, "the base backup of the archive could not be created");
  }
}

/** The archiver of the server. Undefined for a server that does not archive at regular times: an old file would mean nothing. */
async function readArchiver(db: Database): Promise<{ age: number; failed: number } | undefined> {
  const [row] = await db.rows<{ age: number; failed: number }>(sql`
    select extract(epoch from now() - greatest(last_archived_time, pg_postmaster_start_time()))::float8 as age,
           failed_count::float8 as failed
      from pg_stat_archiver
     where current_setting('archive_mode') <> 'off'
       and current_setting('archive_timeout') <> '0'`);
  return row;
}

/** The age of the WAL that the operator's own server has archived, with whatever program. All nodes report the same. */
export function watchServerArchive(registry: Registry, db: Database): void {
  const age = gaugesOfDatabase(registry, async () => {
    const archiver = await readArchiver(db);
    if (archiver !== undefined) age.set({ server: "own" }, archiver.age);
  })(...WAL_AGE, ["server"]);
}
