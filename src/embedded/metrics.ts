/** The metrics of storage, for Prometheus: the pool of connections, and for the embedded server its restarts and its disk. */
import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import { Counter, Gauge, type Registry } from "prom-client";
import type { DatabaseClock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { watchServerArchive, type ArchiveJob } from "./archive-job.ts";
import type { EmbeddedPostgres } from "./embedded-postgres.ts";

export type WatchedStorage = {
  db: Database;
  clock: DatabaseClock;
  embedded: EmbeddedPostgres | undefined;
  archiveJob: ArchiveJob | undefined;
  /** Whether the server is that of DATABASE_URL. */
  isExternal: boolean;
  isReady: () => Promise<boolean>;
};

export function watchStorage(registry: Registry, { db, clock, embedded, archiveJob, isExternal, isReady }: WatchedStorage): void {
  const registers = [registry];
  // Registered before the metrics that query the database, so that their own connections are not counted.
  const connections: Gauge = new Gauge({
    name: "godwit_database_connections",
    help: "Connections of this process's pool: busy, or idle.",
    labelNames: ["state"],
    registers,
    collect: () => (["busy", "idle"] as const).forEach((state) => connections.set({ state }, db.load[state])),
  });
  const waiting: Gauge = new Gauge({
    name: "godwit_database_waiting",
    help: "Statements that wait for a connection of the pool.",
    registers,
    collect: () => waiting.set(db.load.waiting),
  });
  const up: Gauge = new Gauge({
    name: "godwit_database_up",
    help: "1 while the database responds to this process.",
    aggregator: "min",
    registers,
    collect: async () => up.set((await isReady()) ? 1 : 0),
  });
  const step: Gauge = new Gauge({
    name: "godwit_database_clock_step_seconds",
    help: "Step of the database's clock that the clock of this machine does not confirm and that is ignored; 0 if there is none.",
    aggregator: "max",
    registers,
    collect: () => step.set(clock.unconfirmedMs / 1_000),
  });
  const difference: Gauge = new Gauge({
    name: "godwit_database_clock_difference_seconds",
    help: "Difference between the time of the database, as the service follows it, and the clock of this machine.",
    aggregator: "max",
    registers,
    collect: () => difference.set(Math.abs(clock.differenceMs) / 1_000),
  });
  if (isExternal) watchServerArchive(registry, db);
  if (embedded !== undefined) watchEmbedded(registry, embedded, archiveJob);
}

export function watchEmbedded(registry: Registry, embedded: EmbeddedPostgres, archiveJob: ArchiveJob | undefined): void {
  archiveJob?.watch(registry);
  const registers = [registry];
  const restarts: Counter = new Counter({
    name: "godwit_embedded_postgres_restarts_total",
    help: "Unexpected ends of the embedded PostgreSQL, after which it was restarted.",
    registers,
    collect() {
      restarts.reset();
      restarts.inc(embedded.restarts);
    },
  });
  const free: Gauge = new Gauge({
    name: "godwit_data_disk_free_bytes",
    help: "Free space on the disk of the embedded database.",
    registers,
    collect: () => readDisk(({ bavail, bsize }) => free.set(bavail * bsize)),
  });
  const size: Gauge = new Gauge({
    name: "godwit_data_disk_size_bytes",
    help: "Size of the disk of the embedded database.",
    registers,
    collect: () => readDisk(({ blocks, bsize }) => size.set(blocks * bsize)),
  });
  // If the folder cannot be read, the database has a problem that other metrics report.
  const readDisk = (report: (disk: StatsFs) => void): Promise<void> => statfs(embedded.folder).then(report, () => undefined);
}
