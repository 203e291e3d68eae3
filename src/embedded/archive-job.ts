/** Creates the daily base backup of the archive, deletes what is no longer needed, and reports the age of both parts of the archive. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { Counter, type Registry } from "prom-client";
import { errorFields, type Log } from "../model/log.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { gaugesOfDatabase, metricsIn } from "../lib/metrics.ts";
import { remembered } from "../lib/remembered.ts";
import type { Database } from "../database/database.ts";
import { readSchema } from "../database/migrate.ts";
import { sql } from "../database/sql.ts";
import { basesOf, listBases, nameAt, pruneArchive } from "./archive.ts";
import { removeBackup } from "./backup-files.ts";
import { createBackup } from "./create-backup.ts";
import { claimFolder } from "./data-directory.ts";
import type { EmbeddedPostgres } from "./embedded-postgres.ts";

// With a label, the gauge has no value where nothing is archived.
const WAL_AGE = ["godwit_archive_wal_age_seconds", "Time since the database last archived a WAL file."] as const;
const DAY_MS = 86_400_000;
// The replay of a day of WAL takes minutes. A backup more often would cost more than it saves.
const BASE_EVERY_MS = DAY_MS;
const LOOK_EVERY_MS = 600_000;
const TRUST_MS = 5_000;

type ArchiveJobParts = { db: Database; embedded: EmbeddedPostgres; series: string; days: number; log: Log };

export class ArchiveJob {
  readonly #parts: ArchiveJobParts;
  readonly #job: RepeatingJob;
  // An archive without a base backup is as old as this process.
  #newestBaseMs = Date.now();
  #baseFailures = 0;

  constructor(parts: ArchiveJobParts) {
    this.#parts = parts;
    this.#job = new RepeatingJob({
      turns: [(stopping) => this.#turn(stopping)],
      onError: (error) => this.#failed(error),
      afterErrorMs: LOOK_EVERY_MS,
      stopWithinMs: 1_000,
    });
  }

  start(): void {
    this.#job.start();
  }

  stop(): Promise<void> {
    return this.#job.stop();
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

  async #turn(stopping: AbortSignal): Promise<number> {
    const { series, days } = this.#parts;
    // A full archive gets room before the next base backup needs it.
    pruneArchive(series, Date.now() - days * DAY_MS);
    const newest = listBases(dirname(series)).findLast((base) => base.series === series);
    if (newest !== undefined) this.#newestBaseMs = newest.createdAtMs;
    const isDue = newest === undefined || Date.now() - newest.createdAtMs >= BASE_EVERY_MS;
    if (isDue) await this.#createBase(stopping);
    return LOOK_EVERY_MS;
  }

  async #createBase(stopping: AbortSignal): Promise<void> {
    const { db, embedded, series, log } = this.#parts;
    if (!existsSync(basesOf(series))) throw new Error(`${basesOf(series)} does not exist`);
    const { version: schema } = await readSchema(db);
    const path = join(basesOf(series), nameAt(Date.now()));
    try {
      const source = { cluster: realpathSync(embedded.folder), sockets: embedded.sockets, schema };
      const manifest = await createBackup(source, path, () => stopping.throwIfAborted());
      claimFolder(path, embedded.runAs, () => undefined);
      this.#newestBaseMs = Date.parse(manifest.created_at);
      log.info({ path, files: manifest.files.length }, "base backup created");
    } catch (error) {
      removeBackup(path);
      if (!stopping.aborted) throw error;
    }
  }

  #failed(error: unknown): void {
    this.#baseFailures += 1;
    this.#parts.log.error(
      { event: "storage.archive_failed", ...errorFields(error) },
      "the base backup of the archive could not be created",
    );
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
