/** godwit backup: creates, verifies and restores backups of the embedded database. */
import { existsSync, mkdtempSync, realpathSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { listChains } from "../audit/queries.ts";
import { inSnapshot, verifyChain } from "../audit/verify.ts";
import { readConfig, type Config } from "../config.ts";
import { groupDigits } from "../lib/group-digits.ts";
import { isDateTime, isoTime } from "../lib/time.ts";
import { findFaults, readManifest, type BackupManifest, type Progress } from "../embedded/backup-files.ts";
import { createBackup } from "../embedded/create-backup.ts";
import { clusterPath, requireCluster, socketDir } from "../embedded/data-directory.ts";
import type { Database } from "../database/database.ts";
import { readSchema } from "../database/migrate.ts";
import { knownSchema } from "../database/migrations.ts";
import { StartupError } from "../database/startup-error.ts";
import { COPY_PREFIX, findWalFaults, isArchive, listWal } from "../embedded/archive.ts";
import { becomeArchiveUser, chooseBase, restoreArchive } from "../embedded/restore-archive.ts";
import { restoreBackup, readWholeBackup } from "../embedded/restore-backup.ts";
import { nameOfLog, readVerifyingKey } from "./audit.ts";
import { EXIT, interruption, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { print, say } from "./output.ts";
import { withUnmigratedDatabase } from "./with-database.ts";

export const backup: Command = {
  name: "backup",
  about: [
    "create copies the embedded database into the new folder DIR, also while the service runs. Keep a copy of the secret key (data/secret.key) elsewhere: DIR does not contain it. For DATABASE_URL, use the tools of PostgreSQL.",
    "verify compares every file of DIR with its manifest. In the folder of GODWIT_ARCHIVE it reads the newest base backup and all WAL after it.",
    "restore writes DIR into a data directory without a database. Put the secret key there. The next start accepts messages and submits none until you decide with `godwit resume`, because waiting messages may have been submitted after the backup.",
    "Run it as root or as the owner of the database. For an archive, root continues as the owner of its folder, which must be able to write to the data directory.",
  ],
  usage: ["backup create DIR", "backup verify DIR [--recover]", "backup restore DIR [--to TIME]"],
  flags: {
    recover: {
      isSwitch: true,
      help: "also restore it beside itself, read every row, and verify the audit log with the secret key; needs as much disk space again",
    },
    to: { value: "TIME", help: "DIR is the archive: the time with its offset, such as 2026-11-17T14:05:00Z, or latest" },
  },
  settings: "database",
  exitCodes: { [EXIT.failed]: "failed, or the backup is damaged" },
  examples: [
    ["Back up, while the service runs:", "godwit backup create /backup/godwit-2026-11-17"],
    ["Restore on a new machine:", "godwit backup restore /backup/godwit-2026-11-17 --data-dir ./data"],
    ["Restore a time from an archive:", "godwit backup restore /backup/godwit --to 2026-11-17T14:05:00Z --data-dir ./data"],
  ],
  async run(input) {
    const [verb, folder] = input.words;
    if (folder === undefined) throw new UsageError("name the folder of the backup");
    const config = readConfig(input.flags, "database");
    if (config.databaseUrl !== undefined)
      throw new UsageError(
        "DATABASE_URL is set: use pgBackRest, pg_basebackup or pg_dump, and godwit hold before the first start of what was restored",
      );
    return VERBS[verb ?? ""]?.(input, resolve(folder), config);
  },
};

type Verb = (input: Input, folder: string, config: Config) => Promise<number | void>;

const create: Verb = ({ flags }, folder, config) => {
  const { dataDir } = config;
  requireCluster(dataDir);
  return withUnmigratedDatabase(config, "backup", async ({ db }) => {
    const { version: schema } = await readSchema(db);
    const source = { cluster: realpathSync(clusterPath(dataDir)), sockets: socketDir(dataDir), schema };
    print(flags, summaryOf(folder, await createBackup(source, folder, percent("saved"))));
    say("the secret key is not part of the backup: keep a copy of it elsewhere");
  });
};

const verify: Verb = async ({ flags }, folder, config) => {
  const isOfArchive = isArchive(folder);
  // It is read once: the user may be unable to read the program.
  knownSchema();
  if (isOfArchive) becomeArchiveUser(folder, undefined, say);
  const base = isOfArchive ? chooseBase(folder, undefined) : undefined;
  const manifest = readManifest(base?.path ?? folder);
  const faults = await findFaults(base?.path ?? folder, manifest, percent("read"));
  if (base !== undefined) faults.push(...(await findWalFaults(base)));
  const isRecovered = flags["recover"] === true && faults.length === 0;
  const rows = isRecovered ? await interruptible((signal) => readRecovered(folder, { isOfArchive, config, faults, signal })) : null;
  const wal = base === undefined ? {} : summaryOfWal(listWal(base));
  print(flags, { ...summaryOf(base?.path ?? folder, manifest), ...wal, faults: faults.length === 0 ? null : faults, rows });
  return faults.length === 0 ? EXIT.done : EXIT.failed;
};

type RecoverOptions = { isOfArchive: boolean; config: Config; faults: string[]; signal: AbortSignal };

/** Restores the backup beside it, or in the archive, reads every row, and returns their number. Adds what is wrong with the contents to the faults. */
async function readRecovered(folder: string, { isOfArchive, config, faults, signal }: RecoverOptions): Promise<number> {
  const dataDir = mkdtempSync(isOfArchive ? join(folder, COPY_PREFIX) : `${folder}.verify-`);
  const options = { dataDir, progress: percent("restored"), say, signal };
  try {
    await (isOfArchive ? restoreArchive(folder, undefined, options) : restoreBackup(folder, options));
    return await readWholeBackup(dataDir, {
      signal,
      onTable: (table, rows) => say(`${table}: ${groupDigits(rows)} rows`),
      inspect: async (db) => void faults.push(...(await findContentFaults(db, config))),
    });
  } finally {
    // If the user of the database cannot reach the folder, the database is elsewhere.
    if (existsSync(clusterPath(dataDir))) rmSync(realpathSync(clusterPath(dataDir)), { recursive: true, force: true });
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const DAY_MS = 86_400_000;

/** A schema that this version cannot use, and breaks in the chains of the audit log. Keyed hashes are verified if the secret key of the service is known. */
async function findContentFaults(db: Database, config: Config): Promise<string[]> {
  const { refusal } = await readSchema(db);
  if (refusal !== undefined) return [refusal.reason];
  const faults: string[] = [];
  const age = { nowMs: Date.now(), keptMs: config.auditRetentionDays * DAY_MS };
  for (const { account_id: accountId } of await listChains(db)) {
    const { fault } = await inSnapshot(db, async (tx) => verifyChain(tx, accountId, { key: await readVerifyingKey(tx, config), age }));
    if (fault !== null) faults.push(`audit log of ${nameOfLog(accountId)}: ${fault}`);
  }
  return faults;
}

/** Does work that Ctrl-C and SIGTERM end, so that it can stop the server and remove what is unfinished. */
async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const signal = interruption();
  try {
    return await work(signal);
  } catch (error) {
    throw signal.aborted ? new StartupError("interrupted: the restored copy was removed", { cause: error }) : error;
  }
}

const restore: Verb = ({ flags }, folder, { dataDir }) =>
  interruptible(async (signal) => {
    const options = { dataDir, progress: percent("restored"), say, signal };
    const to = textFlag(flags, "to");
    if (to === undefined) print(flags, summaryOf(folder, await restoreBackup(folder, options)));
    else {
      const toMs = readTime(to);
      becomeArchiveUser(folder, dataDir, say);
      const { base, lastCommit } = await restoreArchive(folder, toMs, options);
      print(flags, { archive: folder, base, last_commit: lastCommit });
    }
    say(`put the secret key into ${dataDir}/secret.key, or GODWIT_SECRET_KEY; then start the service, and decide with godwit resume`);
  });

/** Undefined is the end of the archive. A time without an offset is refused: it would depend on the machine. So is a day that does not exist. */
function readTime(text: string): number | undefined {
  if (text === "latest") return undefined;
  if (isDateTime(text)) return Date.parse(text);
  throw new UsageError("--to must be a time of RFC 3339 with its offset, such as 2026-11-17T14:05:00Z, or latest");
}

const VERBS: Readonly<Record<string, Verb>> = { create, verify, restore };

const summaryOfWal = (paths: readonly string[]): object => {
  const last = paths.at(-1);
  return { wal_files: paths.length, last_archived: last === undefined ? null : isoTime(Math.floor(statSync(last).mtimeMs)) };
};

const summaryOf = (folder: string, { created_at: createdAt, postgres, schema, files }: BackupManifest): object => ({
  backup: folder,
  created_at: createdAt,
  postgres,
  schema,
  files: files.length,
  bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
});

/** Reports every tenth of the work. */
function percent(verb: string): Progress {
  let reported = 0;
  return (done, all) => {
    const tenths = Math.floor((done / Math.max(all, 1)) * 10);
    if (tenths <= reported) return;
    reported = tenths;
    say(`${verb} ${tenths * 10} % of ${groupDigits(Math.ceil(all / 1_048_576))} MB`);
  };
}
