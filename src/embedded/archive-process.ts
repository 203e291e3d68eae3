/** The process that works on the folder of the archive for the service. It runs as the user of the server: another user could follow a link of
 *  that one. A folder that does not respond, such as that of an NFS server that is away, holds up this process and no other. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { RepeatingJob } from "../lib/background-job.ts";
import { errorFields } from "../model/log.ts";
import { basesOf, continueSeries, listBases, nameAt, pruneArchive, removeOldCopies } from "./archive.ts";
import { removeBackup } from "./backup-files.ts";
import { createBackup } from "./create-backup.ts";
import { connectAsAdmin } from "./embedded-roles.ts";
import { becomeUser, isRoot, type RunAs } from "./run-as.ts";

export type ArchiveTask = {
  cluster: string;
  sockets: string;
  series: string;
  days: number;
  runAs: RunAs | null;
};

export type ArchiveReport =
  | { kind: "newest"; createdAtMs: number }
  | { kind: "created"; path: string; files: number }
  | ({ kind: "failed" } & ReturnType<typeof errorFields>);

const DAY_MS = 86_400_000;
// The replay of a day of WAL takes minutes. A backup more often would cost more than it saves.
const BASE_EVERY_MS = DAY_MS;
const LOOK_EVERY_MS = 600_000;
// The folder of a disk that is mounted late gets its series within the minute after which the archiver of the server tries again.
const SERIES_AGAIN_MS = 30_000;

const report = (message: ArchiveReport): void => void process.send?.(message);
const reportFailure = (error: unknown): void => report({ kind: "failed", ...errorFields(error) });

async function work(task: ArchiveTask): Promise<number> {
  const { series, days } = task;
  let schema: number;
  try {
    const database = await inspectDatabase(task.sockets);
    schema = database.schema;
    continueSeries({ ...task, installation: database.installation });
  } catch (error) {
    reportFailure(error);
    return SERIES_AGAIN_MS;
  }
  await removeOldCopies(dirname(series), Date.now() - DAY_MS).catch(reportFailure);
  // A full archive gets room before the next base backup needs it.
  pruneArchive(series, Date.now() - days * DAY_MS);
  const newest = listBases(dirname(series)).findLast((base) => base.series === series);
  if (newest !== undefined) report({ kind: "newest", createdAtMs: newest.createdAtMs });
  if (newest === undefined || Date.now() - newest.createdAtMs >= BASE_EVERY_MS) await createBase(task, schema);
  return LOOK_EVERY_MS;
}

/** The number that `initdb` has given to the cluster, which a restored copy shares, and the version of the schema. */
async function inspectDatabase(sockets: string): Promise<{ installation: string; schema: number }> {
  const admin = await connectAsAdmin(sockets);
  try {
    const { rows } = await admin.query<{ installation: string; schema: number }>(
      "select system_identifier::text as installation, (select max(version) from schema_migrations) as schema from pg_control_system()",
    );
    return rows[0] ?? { installation: "", schema: 0 };
  } finally {
    await admin.end();
  }
}

async function createBase({ cluster, sockets, series }: ArchiveTask, schema: number): Promise<void> {
  const path = join(basesOf(series), nameAt(Date.now()));
  try {
    const manifest = await createBackup({ cluster: realpathSync(cluster), sockets, schema }, path, () => undefined);
    report({ kind: "newest", createdAtMs: Date.parse(manifest.created_at) });
    report({ kind: "created", path, files: manifest.files.length });
  } catch (error) {
    if (existsSync(path)) removeBackup(path);
    throw error;
  }
}

// The parent has ended.
process.once("disconnect", () => process.exit(0));
process.once("message", (task: ArchiveTask) => {
  // The modules are loaded: the user may be unable to read the program.
  if (task.runAs !== null && isRoot()) becomeUser(task.runAs);
  new RepeatingJob({ turns: [() => work(task)], onError: reportFailure, afterErrorMs: LOOK_EVERY_MS }).start();
});
