/** The first phase of a start: the database with its schema, secrets, clock and partitions, and the first account. */
import { randomBytes } from "node:crypto";
import { createFirstAccount } from "../access/accounts.ts";
import { createKey } from "../access/api-key.ts";
import { openRecipientHasher, resealRecipientKey } from "../access/recipient-hash.ts";
import { SCOPES } from "../access/scope.ts";
import { checkSecretKey, readDirectoryKey } from "../access/secret-key.ts";
import { resealSigningKeys } from "../access/signing-keys.ts";
import { openChainKey, resealChainKey } from "../audit/chain.ts";
import type { Config } from "../config.ts";
import { continuePositions } from "../events/positions.ts";
import { reportError, type Log } from "../model/log.ts";
import { SYSTEM_ORIGIN } from "../model/origin.ts";
import { SecretBox } from "../lib/secret-box.ts";
import { DatabaseClock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { startCompactRecords } from "../database/earlier-releases.ts";
import { missingDurability } from "../database/health.ts";
import { migrate, requireMigrated } from "../database/migrate.ts";
import { ARCHIVE_FAULT } from "../embedded/archive.ts";
import { ArchiveJob } from "../embedded/archive-job.ts";
import type { EmbeddedPostgres } from "../embedded/embedded-postgres.ts";
import { openDatabase } from "../embedded/open-database.ts";
import { createPartitions, partitionJob, type PartitionReport } from "../database/partitions.ts";
import { seedTemplates } from "../templates/seed.ts";
import { resealLinks } from "../links/stored-link.ts";
import { resealCredentials } from "../compatible/change-credential.ts";
import { COMPATIBLE_APIS } from "../compatible-apis.ts";
import { resealEndpoints } from "../webhooks/maintain-endpoints.ts";
import { sharesOf } from "./shares.ts";

/** The functions that stop the started parts of a process, in the order of the start. A stop runs them in reverse. */
export type Stops = (() => unknown)[];

export async function stopAll(stops: Stops): Promise<void> {
  for (const stop of stops.splice(0).toReversed()) await stop();
}

export type Storage = Awaited<ReturnType<typeof openStorage>>;

/** Each start has another name. */
export const newNodeName = (): string => randomBytes(6).toString("hex");

type StorageParts = { config: Config; node: string; isWorker: boolean; log: Log; say: (line: string) => void; stops: Stops };

/** Opens the database and prepares it for this version. A worker joins the embedded server of its supervisor. */
export async function openStorage({ config, node, isWorker, log, say, stops }: StorageParts) {
  const { db, close, embedded } = await openDatabase({
    ...config,
    command: "serve",
    mayJoin: isWorker,
    nodeName: node,
    poolSize: sharesOf(config.workers).pool,
    say,
    onLog: (line) => logPostgres(log, line),
  });
  stops.push(close);
  if (config.isMigrating) {
    const { applied } = await migrate(db);
    if (applied.length > 0) log.info({ applied }, "database migrated");
  } else await requireMigrated(db);
  const compactRecords = await startCompactRecords(
    db,
    reportError(log, "storage.compact_records_failed", "whether nodes of earlier releases are connected could not be found out"),
  );
  stops.push(() => compactRecords.stop());
  await continuePositions(db);
  await warnAboutDurability(db, log);
  const box = await openSecrets(db, config);
  const hashRecipient = await openRecipientHasher(db, box);
  const chainKey = await openChainKey(db, box);
  const clock = new DatabaseClock(db, {
    unconfirmed: (stepMs) =>
      log.warn(
        { event: "storage.clock_step", step_ms: stepMs },
        "the database's clock made a step that the clock of this machine does not confirm: it is not followed",
      ),
    different: (differenceMs) =>
      log.warn(
        { event: "storage.clock_difference", difference_ms: differenceMs },
        "the clocks of the database and of this machine differ: scheduled messages wait for the later one",
      ),
  });
  await clock.start();
  stops.push(() => clock.stop());
  const onError = reportError(log, "storage.partitions_failed", "partitions of the coming weeks could not be created");
  const onReport = (report: PartitionReport): void => logPartitions(log, report, onError);
  const report = await createPartitions(db, clock.now());
  onReport(report);
  if (!report.hasThisWeek) throw report.failures[0];
  const partitions = partitionJob(db, () => clock.now(), { onReport, onError });
  stops.push(() => partitions.stop());
  partitions.start();
  const archiveJob = prepareArchive({ db, embedded, log, stops, days: config.archiveDays });
  return { db, embedded, archiveJob, box, hashRecipient, chainKey, clock, firstKey: await createFirstKey(db, clock) };
}

type ArchiveParts = { db: Database; embedded: EmbeddedPostgres | undefined; log: Log; stops: Stops; days: number };

/** The process that runs the embedded database archives it. The caller starts the job. */
function prepareArchive(parts: ArchiveParts): ArchiveJob | undefined {
  const { embedded, stops } = parts;
  if (embedded?.series === undefined) return undefined;
  const job = new ArchiveJob({ ...parts, embedded, series: embedded.series });
  stops.push(() => job.stop());
  return job;
}

/** The key of the first start. It belongs to `test`, so it has every scope. */
async function createFirstKey(db: Database, clock: DatabaseClock): Promise<string | undefined> {
  const account = await createFirstAccount(db, clock, (tx, owner) => seedTemplates(tx, clock, owner));
  if (account === undefined) return undefined;
  const request = { accountId: account.id, environment: "test", name: "first key", expiresAt: null, origin: SYSTEM_ORIGIN } as const;
  return (await createKey(db, clock, { ...request, scopes: SCOPES })).secret;
}

/** Checks the secret key, and seals everything again if it is a new one. */
async function openSecrets(db: Database, { secretKey: given, previousSecretKey, dataDir }: Config): Promise<SecretBox> {
  const secretKey = given ?? (await readDirectoryKey(db, dataDir, true));
  const box = new SecretBox(secretKey, previousSecretKey);
  await checkSecretKey(db, { secretKey, previousSecretKey }, async (tx) => {
    await resealEndpoints(tx, box);
    await resealCredentials(tx, box, COMPATIBLE_APIS);
    await resealLinks(tx, box);
    await resealSigningKeys(tx, box);
    await resealRecipientKey(tx, box);
    await resealChainKey(tx, box);
  });
  return box;
}

async function warnAboutDurability(db: Database, log: Log): Promise<void> {
  const off = await missingDurability(db);
  if (off.length > 0)
    log.warn({ event: "storage.durability_off", off }, "the database may lose committed transactions: switch these settings on");
}

function logPartitions(log: Log, { moved, skipped, failures }: PartitionReport, onError: (error: unknown) => void): void {
  for (const facts of moved)
    log.warn({ event: "storage.stray_rows_moved", ...facts }, "rows of the default partition were moved to the partition of their week");
  for (const facts of skipped)
    log.warn(
      { event: "storage.week_skipped", ...facts },
      "a partition was not created: the default partition has too many rows of its week",
    );
  for (const error of failures) onError(error);
}

function logPostgres(log: Log, line: string): void {
  if (line.startsWith(ARCHIVE_FAULT)) {
    const reason = line.slice(ARCHIVE_FAULT.length);
    return log.error({ event: "storage.archive_failed", reason }, "a WAL file could not be archived");
  }
  if (/No space left on device/.test(line))
    return log.error({ event: "storage.disk_full", postgres: line }, "the disk of the database is full");
  if (/^(FATAL|PANIC|ERROR|WARNING)/.test(line)) log.warn({ event: "storage.postgres_log", postgres: line }, "postgres");
  else log.debug({ postgres: line }, "postgres");
}
