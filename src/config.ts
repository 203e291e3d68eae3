/** Reads flags, environment variables and the TOML file into one `Config`. No other file reads `process.env`.
 *  All faults are reported together, and the service does not start while there is one. */
import { resolve } from "node:path";
import { readConsent } from "./consent/consent-defaults.ts";
import type { ConsentTable } from "./consent/consent-settings.ts";
import { addressSet, isLoopback, type AddressSet } from "./lib/addresses.ts";
import type { LogLevel, LogStyle } from "./model/log.ts";
import { didYouMean } from "./lib/nearest.ts";
import type { TlsFiles } from "./lib/tls-files.ts";
import { readTomlFile } from "./lib/toml-file.ts";
import { withCarrierFiles } from "./links/carrier-files.ts";
import { readBucket, type BucketSettings } from "./media/bucket-settings.ts";
import { readPlan, type Plan, type Tables } from "./links/plan.ts";
import { secretReader } from "./lib/secret-files.ts";
import { REMOVED_VARIABLES, SETTINGS, type Role, type Setting } from "./settings.ts";
import {
  type SettingValue,
  readWorkers,
  readDomain,
  readDrain,
  readNumber,
  readLogStyle,
  readLogLevel,
  readShare,
  readMigrate,
  readRoles,
  readCidrs,
  readPlaintext,
  readDatabaseUrl,
  readTls,
  secretKeyFrom,
  firstLine,
} from "./setting-values.ts";
import { readTracing, type TracingSettings } from "./tracing/settings.ts";

export type Config = {
  host: string;
  port: number;
  dataDir: string;
  archive: string | undefined;
  archiveDays: number;
  /** Undefined: the embedded PostgreSQL in the data directory is used. */
  databaseUrl: string | undefined;
  /** A standby of the database, for reads that may be behind by `readMaxLagMs`. */
  readUrl: string | undefined;
  readMaxLagMs: number;
  isDatabasePlaintextAllowed: boolean;
  /** Whether a start applies pending migrations. */
  isMigrating: boolean;
  tls: TlsFiles | undefined;
  trustedProxies: readonly string[];
  log: LogStyle;
  logLevel: LogLevel;
  /** The share of the successful requests that are logged. */
  logSample: number;
  twilioHost: string | undefined;
  metricsAllow: AddressSet;
  /** Connections of all peers to all workers. */
  maxConnections: number;
  /** Connections of one peer to each worker. */
  maxConnectionsPerPeer: number;
  /** Undefined: the key that was generated in the data directory is used. */
  secretKey: Buffer | undefined;
  /** The secret key before a change, set for the first start with the new key. */
  previousSecretKey: Buffer | undefined;
  /** Addresses that are not public and that webhooks may be sent to nevertheless, also over plain HTTP. */
  webhookAddresses: { allow: AddressSet; deny: AddressSet };
  /** The tasks of this process: serve requests, deliver messages, deliver webhooks. */
  roles: ReadonlySet<Role>;
  /** The number of processes that share the port and the work. */
  workers: number;
  /** How long the service keeps serving after a stop has begun. */
  drainMs: number;
  simulatorSpeed: number;
  /** The time after which a message without a delivery receipt expires. */
  receiptWaitMs: number;
  retentionDays: number;
  auditRetentionDays: number;
  /** The days for which media are kept after their last use. */
  mediaRetentionDays: number;
  /** The bytes that the files of an environment may have. */
  mediaQuotaBytes: number;
  /** The bucket for new files. Undefined: they are stored in the database. */
  mediaBucket: BucketSettings | undefined;
  /** Links, senders and routes, from the tables of the TOML file. */
  plan: Plan;
  /** The consent settings of environments, from the tables of the TOML file. */
  consent: readonly ConsentTable[];
  /** The collector of traces and the sampling. Undefined: no traces are recorded. */
  tracing: TracingSettings | undefined;
  /** Limits on how often verification codes are sent. */
  verificationLimits: { cooldownSeconds: number; perRecipientHour: number; perPrefixHour: number };
  /** Variables that look like settings and are none. */
  unknownVariables: readonly UnknownVariable[];
};

/** `hint` is a clause with the setting that is near, or empty. */
type UnknownVariable = { name: string; hint: string };

/** Returns the host for use in a URL. A service that listens on all addresses is called on loopback. */
export const hostInUrl = (host: string): string =>
  host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host.includes(":") ? `[${host}]` : host;

/** Whether npm started this process, by `npm start` or `npx`. */
export const isUnderNpm = (env: EnvironmentVariables = process.env): boolean => env["npm_lifecycle_event"] !== undefined;

/** How a person who has started this process types the program: npx is needed where it is not on the path. */
export const programName = (env: EnvironmentVariables = process.env): string =>
  env["npm_lifecycle_event"] === "npx" ? "npx godwit" : "godwit";

type SettingName = keyof typeof SETTINGS;
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** Returns the environment variables, for commands whose settings are not in `SETTINGS`. */
export const environmentVariables = (): EnvironmentVariables => process.env;

export class ConfigError extends Error {
  override name = "ConfigError";
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `the configuration has ${faults.length} fault${faults.length === 1 ? "" : "s"}:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`,
    );
    this.faults = faults;
  }
}

/** The use of the configuration. Only `serve` needs a safe address and a secret key. */
export type Purpose = "serve" | "database";

export function readConfig(flags: Flags, purpose: Purpose, env: EnvironmentVariables = process.env): Config {
  const { config, faults } = inspectConfig(flags, purpose, env);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** The configuration with all its faults. An invalid setting has a placeholder, so that validation can report the remaining faults. */
export type ConfigInspection = { config: Config; faults: readonly string[]; file: string | undefined; tables: Tables };

export function inspectConfig(flags: Flags, purpose: Purpose, env: EnvironmentVariables = process.env): ConfigInspection {
  const faults: string[] = [];
  const path = nonEmptyFlag(flags["config"]) ?? nonEmpty(env[SETTINGS.config.env]);
  const { values: file, tables } = readFile(path, faults);
  const readSecret = secretReader(env, faults);
  // The variables that the file names, such as those of `password_env`.
  const namedByFile = new Set<string>();
  const secretOf = (variable: string): string | undefined => {
    namedByFile.add(variable).add(`${variable}_FILE`);
    return readSecret(variable);
  };
  const read = (name: SettingName): SettingValue => {
    const setting: Setting = SETTINGS[name];
    const fromFlag = setting.isSecret ? undefined : nonEmptyFlag(flags[setting.flag]);
    if (fromFlag !== undefined) return { text: fromFlag, from: `--${setting.flag}` };
    const fromEnv = setting.isSecret || name === "databaseUrl" || name === "readUrl" ? secretOf(setting.env) : nonEmpty(env[setting.env]);
    if (fromEnv !== undefined) return { text: fromEnv, from: setting.env };
    return {
      text: file.get(name) ?? setting.fallback,
      from: file.has(name) ? `${tomlKey(setting)} in the configuration file` : setting.env,
    };
  };

  const host = read("host").text ?? "";
  const tls = readTls(read("tlsCert").text, read("tlsKey").text, faults);
  // A certificate with a fault has its own message.
  const isTlsWanted = read("tlsCert").text !== undefined || read("tlsKey").text !== undefined;
  const proxies = readCidrs(read("trustedProxies"), faults);
  const isDatabasePlaintextAllowed = readPlaintext(read("databasePlaintext"), faults);
  const secretKey = read("secretKey");
  const databaseUrl = readDatabaseUrl(read("databaseUrl"), isDatabasePlaintextAllowed, faults);
  const config: Config = {
    host,
    port: readNumber(read("port"), { least: 0, most: 65_535, what: "a port" }, faults),
    dataDir: resolve(read("dataDir").text ?? ""),
    archive: read("archive").text && resolve(read("archive").text ?? ""),
    archiveDays: readNumber(read("archiveDays"), { least: 1, most: 365, what: "a number of days" }, faults),
    databaseUrl,
    readUrl: readDatabaseUrl(read("readUrl"), isDatabasePlaintextAllowed, faults),
    readMaxLagMs: readNumber(read("readMaxLag"), { least: 2, most: 300, what: "a number of seconds" }, faults) * 1_000,
    isDatabasePlaintextAllowed,
    isMigrating: readMigrate(read("migrate"), faults),
    tls,
    trustedProxies: proxies.map(({ address, bits }) => `${address}/${bits}`),
    log: readLogStyle(read("log"), faults),
    logLevel: readLogLevel(read("logLevel"), faults),
    logSample: readShare(read("logSample"), faults),
    metricsAllow: addressSet(readCidrs(read("metricsAllow"), faults)),
    maxConnections: readNumber(read("maxConnections"), CONNECTIONS, faults),
    maxConnectionsPerPeer: readNumber(read("maxConnectionsPerPeer"), CONNECTIONS, faults),
    secretKey: secretKeyFrom(secretKey, faults),
    previousSecretKey: secretKeyFrom(read("previousSecretKey"), faults),
    webhookAddresses: {
      allow: addressSet(readCidrs(read("webhookAllow"), faults)),
      deny: addressSet(readCidrs(read("webhookDeny"), faults)),
    },
    twilioHost: readDomain(read("twilioHost"), faults),
    roles: readRoles(read("roles"), faults),
    workers: readWorkers(read("workers"), databaseUrl === undefined, faults),
    drainMs: readDrain(read("drain"), isLoopback(host) && proxies.length === 0, faults),
    simulatorSpeed: readNumber(read("simulatorSpeed"), { least: 1, most: 1_000_000, what: "a factor" }, faults),
    receiptWaitMs: readNumber(read("receiptWait"), { least: 1, most: 604_800, what: "a number of seconds" }, faults) * 1_000,
    retentionDays: readNumber(read("retentionDays"), { least: 40, most: 3_650, what: "a number of days" }, faults),
    auditRetentionDays: readNumber(read("auditRetentionDays"), { least: 40, most: 3_650, what: "a number of days" }, faults),
    mediaRetentionDays: readNumber(read("mediaRetentionDays"), { least: 1, most: 3_650, what: "a number of days" }, faults),
    mediaQuotaBytes: readNumber(read("mediaQuota"), { least: 1, most: 1_000_000, what: "a number of gigabytes" }, faults) * 1_000_000_000,
    mediaBucket: readBucket(read, faults),
    // Only a command that opens links needs their secrets.
    plan: readPlan(
      withCarrierFiles(tables, path, faults),
      (variable) => secretOf(variable) ?? (purpose === "serve" ? undefined : ""),
      faults,
    ),
    consent: readConsent(tables.consent, faults),
    tracing: readTracing(read, faults),
    verificationLimits: {
      cooldownSeconds: readNumber(read("verifyCooldown"), { least: 0, most: 3_600, what: "a number of seconds" }, faults),
      perRecipientHour: readNumber(read("verifyPerRecipient"), { least: 1, most: 1_000, what: "a number of codes" }, faults),
      perPrefixHour: readNumber(read("verifyPerPrefix"), { least: 1, most: 100_000, what: "a number of codes" }, faults),
    },
    // After the plan, which names variables.
    unknownVariables: findUnknown(env, namedByFile),
  };
  if (purpose === "serve") {
    for (const [variable, now] of Object.entries(REMOVED_VARIABLES))
      if (nonEmpty(env[variable]) !== undefined) faults.push(`${variable}: is no longer a setting: ${now}; unset it`);
    if (!isLoopback(host) && !isTlsWanted && proxies.length === 0) faults.push(clearTextRefusal(host));
    if (databaseUrl && config.archive) faults.push("GODWIT_ARCHIVE: is for the embedded database, not for DATABASE_URL (docs/backup.md)");
    if (databaseUrl === undefined && config.readUrl !== undefined)
      faults.push("GODWIT_READ_URL: is a standby of DATABASE_URL, which is not set");
    if (databaseUrl !== undefined && secretKey.text === undefined)
      faults.push("GODWIT_SECRET_KEY: is needed with DATABASE_URL, the same on every node; create one with: openssl rand -base64 32");
  }
  return { config, faults, file: path, tables };
}

const PREFIX = "GODWIT_";
// Settings of the other commands.
const CLIENT_VARIABLES = ["GODWIT_URL", "GODWIT_KEY", "GODWIT_KEY_FILE"];
const SETTING_VARIABLES = Object.values<Setting>(SETTINGS).map(({ env }) => env);
const SECRET_FILES = Object.values<Setting>(SETTINGS).flatMap(({ env, isSecret }) => (isSecret ? [`${env}_FILE`] : []));
const VARIABLES = [...SETTING_VARIABLES, ...SECRET_FILES, ...Object.keys(REMOVED_VARIABLES), ...CLIENT_VARIABLES];
// Kubernetes and Docker describe a service of the name godwit, or of one that begins with it, in variables of its containers (enableServiceLinks).
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)(?:_[A-Z0-9_]+)?$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/;
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//;

/** The set variables that begin like a setting, and that nothing reads. */
function findUnknown(env: EnvironmentVariables, named: ReadonlySet<string>): UnknownVariable[] {
  const known = new Set([...VARIABLES, ...named]);
  return Object.entries(env).flatMap(([name, value]) => {
    if (!name.startsWith(PREFIX) || known.has(name) || nonEmpty(value) === undefined) return [];
    if (SERVICE_LINK.test(name) || (name.endsWith("_PORT") && SERVICE_ADDRESS.test(value ?? ""))) return [];
    return [{ name, hint: didYouMean(name, SETTING_VARIABLES) }];
  });
}

const CONNECTIONS = { least: 1, most: 1_000_000, what: "a number of connections" };

const clearTextRefusal = (host: string): string =>
  `GODWIT_HOST: ${host} is not a loopback address, and messages would travel in clear text; set GODWIT_TLS_CERT and GODWIT_TLS_KEY, ` +
  "or GODWIT_TRUSTED_PROXIES to the CIDRs of the proxy that terminates TLS";

export const nonEmpty = (text: string | undefined): string | undefined =>
  text === undefined || text.trim() === "" ? undefined : text.trim();
export const nonEmptyFlag = (flag: Flags[string]): string | undefined => (typeof flag === "string" ? nonEmpty(flag) : undefined);
const tomlKey = (setting: Setting): string => setting.flag.replaceAll("-", "_");

type ConfigFile = { values: Map<SettingName, string>; tables: Tables };

/** The tables of the file, which `readPlan` and `readConsent` read. */
const TABLES: ReadonlySet<string> = new Set(["link", "sender", "route", "allowed_countries", "consent"]);

function readFile(path: string | undefined, faults: string[]): ConfigFile {
  const values = new Map<SettingName, string>();
  if (path === undefined) return { values, tables: {} };
  let table: Record<string, unknown>;
  try {
    table = readTomlFile(path);
  } catch (error) {
    faults.push(`GODWIT_CONFIG: ${path}: ${firstLine(error)}`);
    return { values, tables: {} };
  }
  const names = new Map<string, SettingName>();
  for (const [name, setting] of Object.entries(SETTINGS) as [SettingName, Setting][])
    if (!setting.isSecret && name !== "config") names.set(tomlKey(setting), name);
  for (const [key, value] of Object.entries(table)) {
    if (TABLES.has(key)) continue;
    const name = names.get(key);
    if (name === undefined) faults.push(`GODWIT_CONFIG: ${path}: ${key}: is not a setting${suggestion(key, [...names.keys(), ...TABLES])}`);
    else if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") {
      // An empty value counts as not set, as in the environment.
      if (value !== "") values.set(name, String(value));
    } else if (Array.isArray(value) && value.every((item) => typeof item === "string")) values.set(name, value.join(","));
    else faults.push(`GODWIT_CONFIG: ${path}: ${key}: must be a string, a number or a list of strings`);
  }
  return { values, tables: table };
}

/** The nearest name, or all of them if none is near. */
const suggestion = (key: string, known: readonly string[]): string => didYouMean(key, known) || `; known are ${known.join(", ")}`;
