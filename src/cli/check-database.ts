/** Checks of the database for `godwit doctor`. The database is not migrated, and its transactions are read-only. */
import { lstatSync, realpathSync, statSync } from "node:fs";
import { compareSecretKey } from "../access/secret-key.ts";
import type { Config } from "../config.ts";
import { countKeptInbound, MAX_KEPT_MESSAGES } from "../delivery/kept-inbound.ts";
import { readLaneDepths } from "../delivery/queue.ts";
import { countParked } from "../delivery/receipt-queries.ts";
import { clusterPath, hasCluster, readSecretKey, secretKeyPath } from "../embedded/data-directory.ts";
import { isPlaintextUsed } from "../database/database-address.ts";
import type { Clock } from "../database/database-clock.ts";
import { sharesOf } from "../service/shares.ts";
import type { Queryable } from "../database/database.ts";
import { readHold } from "../links/hold.ts";
import { missingDurability, onlyReading, readChecksums, readCommitWait, readServer, type ServerState } from "../database/health.ts";
import { readSchema, type SchemaVersion } from "../database/migrate.ts";
import { knownMigrations, newestOf } from "../database/migrations.ts";
import { countStrayRows, listWeeks } from "../database/partitions.ts";
import { readRights } from "../database/runtime-role.ts";
import { END_HOLD, errorMessage, fail, ok, runCheck, warn, type Check } from "./check.ts";
import { withUnmigratedDatabase } from "./with-database.ts";

const CLOCK_WARNING_MS = 1_000;
const FEW_CONNECTIONS = 3;
const WEEK_MS = 7 * 86_400_000;
const LATE_SECONDS = 60;
const VERY_LATE_SECONDS = 600;
// A younger receipt may have arrived before the response to its message.
const UNMATCHED_MS = 60_000;

/** A database for statements that only read. */
export type ReadDatabase = { db: Queryable; clock: Clock };

type CheckRest = (database: ReadDatabase | undefined) => Promise<Check[]>;

/** Checks the database, then runs `checkRest` with it, or without it when it cannot be used. Creates nothing and migrates nothing. */
export async function checkDatabase(config: Config, checkRest: CheckRest): Promise<Check[]> {
  const { databaseUrl, dataDir } = config;
  let checks: Check[] = [];
  try {
    if (databaseUrl === undefined && !hasCluster(dataDir)) {
      const none = warn(
        "database",
        `none in ${dataDir} yet: the first start creates it`,
        "run godwit serve, or use the --data-dir of the service",
      );
      return [none, ...(await checkRest(undefined))];
    }
    await withUnmigratedDatabase(config, "doctor", async ({ db, clock }) => {
      checks = await checkContents({ db: onlyReading(db), clock }, config, checkRest);
    });
    return checks;
  } catch (error) {
    const away = fail("database", errorMessage(error), "start it, or correct DATABASE_URL or --data-dir");
    // The checks that were done before the database became unavailable are still reported.
    return checks.length > 0 ? checks : [away, ...(await checkRest(undefined))];
  }
}

async function checkRights(db: Queryable): Promise<Check> {
  const { role, mayCreate, owner, isOwner, foreignTables: foreign, missing } = await readRights(db);
  const advice = "make the role the owner of its database and of all tables in it";
  if (owner !== null && !isOwner) {
    const grant = `run godwit migrate --grant-to ${role} as the role ${owner}`;
    if (missing > 0)
      return fail("rights", `the role ${role} may not use ${missing} tables, sequences or functions of the role ${owner}`, grant);
    const detail = `the role ${role} owns no tables; ${owner} owns them, and applies migrations`;
    return mayCreate
      ? warn("rights", `${detail}; ${role} can create tables`, "revoke create on schema public from public")
      : ok("rights", detail);
  }
  if (!mayCreate) return fail("rights", `the role ${role} cannot create tables in the schema public`, advice);
  if (foreign > 0) return fail("rights", `${foreign} tables do not belong to the role ${role}: it cannot change or drop them`, advice);
  return ok("rights", `the role ${role} owns its tables`);
}

async function checkContents({ db, clock }: ReadDatabase, config: Config, checkRest: CheckRest): Promise<Check[]> {
  const askedAt = Date.now();
  const server = await readServer(db);
  // The server read its clock between these two times; the middle is the best estimate.
  const skewMs = Math.round(server.nowMs - (askedAt + Date.now()) / 2);
  const schema = await readSchema(db);
  const isCurrent = schema.refusal === undefined && schema.version >= newestOf(knownMigrations());
  return [
    ok(
      "database",
      `PostgreSQL ${server.version}, ${config.databaseUrl === undefined ? `embedded in ${clusterLocation(config.dataDir)}` : "of DATABASE_URL"}`,
    ),
    ...checkTransport(config),
    checkSchema(schema),
    await runCheck("rights", () => checkRights(db)),
    await runCheck("durability", () => checkDurability(db)),
    await runCheck("checksums", () => checkChecksums(db)),
    checkConnections(server, config.workers),
    checkClock(skewMs),
    ...(isCurrent
      ? [
          await runCheck("partitions", () => checkPartitions(db, server.nowMs)),
          await runCheck("secret key", () => checkSecretKey(db, config)),
          await runCheck("queue", () => checkQueue(db, server.nowMs)),
          await runCheck("inbound", () => checkInbound(db)),
          await runCheck("receipts", () => checkReceipts(db, server.nowMs)),
          await runCheck("delivery", () => checkHold(db, server.nowMs)),
        ]
      : []),
    // The tables of another schema version may differ from what the queries expect.
    ...(await checkRest(isCurrent ? { db, clock } : undefined)),
  ];
}

function checkTransport({ databaseUrl, isDatabasePlaintextAllowed }: Config): Check[] {
  if (databaseUrl === undefined || !isPlaintextUsed({ url: databaseUrl, isPlaintextAllowed: isDatabasePlaintextAllowed })) return [];
  return [
    warn(
      "database transport",
      "GODWIT_DATABASE_PLAINTEXT=allow is set: messages may travel to the database in clear text",
      "switch on ssl in PostgreSQL, put sslmode=verify-full into DATABASE_URL, and remove the setting",
    ),
  ];
}

/** The data directory, and the folder of the database if that is elsewhere. */
function clusterLocation(dataDir: string): string {
  const cluster = clusterPath(dataDir);
  return lstatSync(cluster).isSymbolicLink() ? `${realpathSync(cluster)}, linked from ${dataDir}` : dataDir;
}

function checkSchema({ version, refusal }: SchemaVersion): Check {
  const known = newestOf(knownMigrations());
  if (refusal !== undefined) return fail("schema", refusal.reason, refusal.advice);
  if (version === known) return ok("schema", `version ${version}`);
  if (version < known)
    return warn(
      "schema",
      `version ${version}, and this godwit has ${known}: the next start, or godwit migrate, updates it`,
      "run godwit migrate, or start the service",
    );
  return ok("schema", `version ${version}, of a newer godwit; this one has ${known} and is compatible`);
}

// Commits that do not wait until a synchronous standby has written them to its disk.
const LESS_THAN_ON: ReadonlySet<string> = new Set(["local", "remote_write"]);

async function checkDurability(db: Queryable): Promise<Check> {
  const off = await missingDurability(db);
  if (off.length > 0)
    return fail("durability", `off: ${off.join(", ")}; confirmed messages can be lost`, "switch them on in the server's settings");
  const { synchronousCommit, standbyNames } = await readCommitWait(db);
  const detail = `fsync and full_page_writes are on, and synchronous_commit is ${synchronousCommit}`;
  if (standbyNames === "" || !LESS_THAN_ON.has(synchronousCommit)) return ok("durability", detail);
  return warn(
    "durability",
    `${detail}: confirmed messages can be lost in a failover to a standby of synchronous_standby_names`,
    "set synchronous_commit to on or remote_apply, for the role of the service as well",
  );
}

/** With checksums a damaged page is an error; without them it is a wrong response. */
async function checkChecksums(db: Queryable): Promise<Check> {
  const { areOn, failures } = await readChecksums(db);
  if (!areOn)
    return warn(
      "checksums",
      "data_checksums is off: a damaged page is not noticed",
      "stop PostgreSQL, run pg_checksums --enable, and start it",
    );
  if (failures === 0) return ok("checksums", "data_checksums is on, and no damaged page was read");
  return fail("checksums", `${failures} damaged pages were read`, "check the disk, and restore a backup (docs/backup.md)");
}

async function checkHold(db: Queryable, nowMs: number): Promise<Check> {
  const hold = await readHold(db, nowMs);
  return hold === undefined ? ok("delivery", "not on hold") : warn("delivery", hold.reason, END_HOLD);
}

const SUPERVISOR_CONNECTIONS = 2;

/** Each worker of a node has its pool, and one connection for LISTEN. */
function checkConnections({ mostConnections: most, usedConnections: used }: ServerState, workers: number): Check {
  const needed = (sharesOf(workers).pool + 1) * workers + (workers === 1 ? 0 : SUPERVISOR_CONNECTIONS);
  const left = Math.max(0, most - used);
  const detail = `${left} of ${most} left`;
  if (left < FEW_CONNECTIONS) return fail("connections", detail, "raise max_connections, or check which programs use so many");
  return left < needed
    ? warn("connections", detail, `a node needs ${needed}: raise max_connections before another one starts`)
    : ok("connections", detail);
}

function checkClock(skewMs: number): Check {
  const detail = `${Math.abs(skewMs)} ms ${skewMs > 0 ? "behind" : "ahead of"} the database's`;
  return Math.abs(skewMs) < CLOCK_WARNING_MS
    ? ok("clock", detail)
    : warn(
        "clock",
        detail,
        "synchronize both machines (NTP); the service uses the clock of the database, and scheduled messages wait for the later one",
      );
}

async function checkPartitions(db: Queryable, nowMs: number): Promise<Check> {
  const weeks = await listWeeks(db);
  const last = weeks.at(-1);
  if (last === undefined) return warn("partitions", "none yet", "the first start creates them");
  const stray = await countStrayRows(db);
  if (stray > 0)
    return warn(
      "partitions",
      `${stray} rows outside the weeks, in the default partitions: a clock was wrong`,
      "check the clock of the database's machine; the service moves rows of the coming weeks, and retention deletes old ones",
    );
  const ahead = Math.floor((last.toMs - nowMs) / WEEK_MS);
  if (last.toMs > nowMs + WEEK_MS) return ok("partitions", `${ahead} weeks ahead, ${weeks.length} in all`);
  const detail = last.toMs > nowMs ? "the last one ends within a week" : "the last one has ended";
  return warn("partitions", detail, "a running service creates them: start it, or check its log for partitions");
}

async function checkSecretKey(db: Queryable, { secretKey, previousSecretKey, databaseUrl, dataDir }: Config): Promise<Check> {
  if (secretKey === undefined && databaseUrl !== undefined)
    return warn(
      "secret key",
      "GODWIT_SECRET_KEY is not set here",
      "every node needs it with DATABASE_URL; set it so that doctor can compare it",
    );
  const mine = secretKey ?? readKeyFile(secretKeyPath(dataDir));
  if (!Buffer.isBuffer(mine)) return mine;
  const compared = await compareSecretKey(db, { secretKey: mine, previousSecretKey });
  if (compared !== "different")
    return ok(
      "secret key",
      { same: "the one of the database", previous: "a new one: the next start replaces the old one", none: "none in use yet" }[compared],
    );
  return fail(
    "secret key",
    "is not the secret key of this database",
    "use the same key on every node; to change it, set the old one as GODWIT_PREVIOUS_SECRET_KEY",
  );
}

/** Returns the secret key in the data directory, or a check that describes what is wrong with the file. */
function readKeyFile(path: string): Buffer | Check {
  try {
    const key = readSecretKey(path);
    return (statSync(path).mode & 0o077) === 0 ? key : warn("secret key", `${path} can be read by others`, `chmod 600 ${path}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      return fail("secret key", `there is no ${path}`, "restore it from a backup: without it the encrypted secrets cannot be read");
    return fail("secret key", errorMessage(error), "restore it from a backup, or run doctor as the user of the service");
  }
}

async function checkQueue(db: Queryable, nowMs: number): Promise<Check> {
  const lanes = await readLaneDepths(db);
  const [rows, held] = [lanes.reduce((sum, lane) => sum + lane.rows, 0), lanes.reduce((sum, lane) => sum + lane.held, 0)];
  const slowest = lanes.toSorted((a, b) => b.oldest_due_seconds - a.oldest_due_seconds)[0];
  const seconds = Math.round(slowest?.oldest_due_seconds ?? 0);
  const detail = `${rows} waiting${held > 0 ? `, ${held} of unknown outcome` : ""}; the oldest due has waited ${seconds} s${seconds > 0 ? ` for ${slowest?.link}` : ""}`;
  if (seconds >= LATE_SECONDS && (await readHold(db, nowMs)) !== undefined)
    return warn("queue", `${detail}; delivery is on hold`, END_HOLD);
  const hint = "check that a node with the role dispatch is running, and that the link is connected";
  if (seconds >= VERY_LATE_SECONDS) return fail("queue", detail, hint);
  return seconds >= LATE_SECONDS ? warn("queue", detail, hint) : ok("queue", detail);
}

async function checkInbound(db: Queryable): Promise<Check> {
  const { messages, notifications } = await countKeptInbound(db);
  if (messages === 0 && notifications === 0) return ok("inbound", "every message has an owner");
  const detail = `${messages} messages without an owner and ${notifications} notifications without a link are kept`;
  const hint = "list them with godwit inbound list; assign the messages, and configure a sender, an inbound_account or a link";
  return messages >= MAX_KEPT_MESSAGES ? fail("inbound", `${detail}: further ones are refused`, hint) : warn("inbound", detail, hint);
}

async function checkReceipts(db: Queryable, nowMs: number): Promise<Check> {
  const unmatched = await countParked(db, nowMs - UNMATCHED_MS);
  if (unmatched.length === 0) return ok("receipts", "every delivery receipt has matched a message");
  const detail = unmatched.map(({ link, count }) => `${count} of ${link}`).join(", ");
  const hint = "compare the ids of the log event delivery.receipt_unmatched with those of messages; the link may need receipt_ids";
  return warn("receipts", `delivery receipts that match no message: ${detail}`, hint);
}
