/** godwit doctor: looks at everything the service stands on, and says what is wrong and what to do. */
import { X509Certificate } from "node:crypto";
import { existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { readConfig, readTlsFiles, type Config } from "../config.ts";
import { missingDurability } from "../storage/durability.ts";
import { clusterPath } from "../storage/data-directory.ts";
import { knownMigrations, schemaVersion } from "../storage/migrate.ts";
import { sql } from "../storage/sql.ts";
import { print, withDatabase, type Command, type Input, type Opened } from "./command.ts";

type Check = { check: string; state: "ok" | "warning" | "failed"; detail: string };

const LOW_DISK_BYTES = 2 * 1024 ** 3;
const CERTIFICATE_WARNING_DAYS = 21;
const CLOCK_WARNING_MS = 1_000;
const NODE_MAJOR = 24;

export const doctor: Command = {
  name: "doctor",
  usage: ["doctor [--json]"],
  flags: {},
  async run(input) {
    const config = readConfig(input.flags, "database");
    const checks = [checkNode(), checkDisk(config), checkTls(config), ...(await checkDatabase(input, config)), await checkServer(config)];
    print(input.flags, checks);
    return checks.some(({ state }) => state === "failed") ? 1 : 0;
  },
};

const ok = (check: string, detail: string): Check => ({ check, state: "ok", detail });
const warning = (check: string, detail: string): Check => ({ check, state: "warning", detail });
const failed = (check: string, detail: string): Check => ({ check, state: "failed", detail });
const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function checkNode(): Check {
  const { node } = process.versions;
  return Number(node.split(".")[0]) >= NODE_MAJOR ? ok("node", node) : failed("node", `${node}; ${NODE_MAJOR} or newer is needed`);
}

function checkDisk({ dataDir, databaseUrl }: Config): Check {
  if (databaseUrl !== undefined) return ok("disk", "the database is elsewhere");
  const place = existsSync(dataDir) ? dataDir : dirname(dataDir);
  try {
    const { bavail, bsize } = statfsSync(place);
    const free = bavail * bsize;
    const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free at ${place}`;
    return free < LOW_DISK_BYTES ? warning("disk", detail) : ok("disk", detail);
  } catch (error) {
    return failed("disk", reason(error));
  }
}

function checkTls({ tls }: Config): Check {
  if (tls === undefined) return ok("tls", "not configured: plain HTTP on loopback, or behind a proxy that ends TLS");
  const { validTo } = new X509Certificate(readTlsFiles(tls).cert);
  const days = Math.floor((Date.parse(validTo) - Date.now()) / 86_400_000);
  const detail = `certificate valid until ${validTo}`;
  return days < 0 ? failed("tls", detail) : days < CERTIFICATE_WARNING_DAYS ? warning("tls", detail) : ok("tls", detail);
}

/** Looks, and changes nothing: no cluster is made, no schema migrated. */
async function checkDatabase(input: Input, { databaseUrl, dataDir }: Config): Promise<Check[]> {
  if (databaseUrl === undefined && !existsSync(clusterPath(dataDir)))
    return [warning("database", `none in ${dataDir} yet: the first start makes it`)];
  try {
    return await withDatabase(input, "doctor", lookInside, { shouldMigrate: false });
  } catch (error) {
    return [failed("database", reason(error))];
  }
}

async function lookInside({ db }: Opened): Promise<Check[]> {
  const [server] = await db.rows<{ version: string; now_ms: number }>(sql`
    select current_setting('server_version') as version, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`);
  const skewMs = Math.round(Math.abs((server?.now_ms ?? 0) - Date.now()));
  const off = await missingDurability(db);
  return [
    ok("database", `PostgreSQL ${server?.version}`),
    checkSchema(await schemaVersion(db)),
    off.length === 0
      ? ok("durability", "fsync, synchronous_commit and full_page_writes are on")
      : failed("durability", `off: ${off.join(", ")}; confirmed messages can be lost`),
    skewMs < CLOCK_WARNING_MS
      ? ok("clock", `${skewMs} ms from the database's`)
      : warning("clock", `${skewMs} ms from the database's; the service goes by the database's`),
  ];
}

function checkSchema(version: number): Check {
  const known = knownMigrations().length;
  if (version === known) return ok("schema", `version ${version}`);
  if (version < known)
    return warning("schema", `version ${version}, this godwit brings ${known}: the next start or godwit migrate applies it`);
  return failed("schema", `version ${version} is newer than the ${known} this godwit knows`);
}

/** Whether one runs is for the operator to judge: none is fine, one that does not answer is not. */
async function checkServer({ host, port, tls }: Config): Promise<Check> {
  const url = `${tls === undefined ? "http" : "https"}://${host}:${port}`;
  if (port === 0) return ok("service", "the port is chosen at start");
  try {
    const { status } = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(3_000) });
    return status === 200 ? ok("service", `ready at ${url}`) : failed("service", `${url}/readyz answers ${status}`);
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    return code === "ECONNREFUSED"
      ? warning("service", `nothing listens at ${url}`)
      : failed("service", `${url}: ${code ?? reason(error)}`);
  }
}
