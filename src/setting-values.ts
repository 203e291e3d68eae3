/** Reads the text of one setting into its value, or adds a fault. */
import { availableParallelism } from "node:os";
import { findAddressFault } from "./database/database-address.ts";
import { parseCidr, type CidrBlock } from "./lib/addresses.ts";
import { readTlsFiles, type TlsFiles } from "./lib/tls-files.ts";
import { LOG_LEVELS, type LogLevel, type LogStyle } from "./model/log.ts";
import { ROLES, type Role } from "./settings.ts";

/** The text of a setting, and its source for error messages: a flag, a variable or the file. */
export type SettingValue = { text: string | undefined; from: string };

const MAX_WORKERS = 32;
// The embedded PostgreSQL has connections for them and their supervisor.
const MAX_EMBEDDED_WORKERS = 9;
const MAX_AUTO_WORKERS = 4;

// If the system can give each process a socket of its own for one port.
const CAN_SHARE_PORT = process.platform === "linux" || process.platform === "freebsd";

/** One processor is left for PostgreSQL. */
export function readWorkers(value: SettingValue, isEmbedded: boolean, faults: string[]): number {
  if (value.text === "auto" && !CAN_SHARE_PORT) return 1;
  if (value.text === "auto") return Math.min(MAX_AUTO_WORKERS, Math.max(1, availableParallelism() - 1));
  const most = CAN_SHARE_PORT ? (isEmbedded ? MAX_EMBEDDED_WORKERS : MAX_WORKERS) : 1;
  return readNumber(value, { least: 1, most, what: "auto or a number of processes" }, faults);
}

// The Caddyfile of the package and the documented HAProxy check every one or two seconds, and act on the first or third failure.
const DEFAULT_DRAIN_SECONDS = 5;

/** Without a load balancer a drain is only a slower stop. */
export function readDrain(value: SettingValue, isDirect: boolean, faults: string[]): number {
  if (value.text === undefined) return isDirect ? 0 : DEFAULT_DRAIN_SECONDS * 1_000;
  return readNumber(value, { least: 0, most: 300, what: "a number of seconds" }, faults) * 1_000;
}

export function readNumber(
  { text, from }: SettingValue,
  { least, most, what }: { least: number; most: number; what: string },
  faults: string[],
): number {
  const value = text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  faults.push(`${from}: must be ${what} from ${least} to ${most}, not "${text}"`);
  return least;
}

export function readLogStyle({ text, from }: SettingValue, faults: string[]): LogStyle {
  if (text === undefined) return process.stdout.isTTY ? "pretty" : "json";
  if (text === "json" || text === "pretty" || text === "silent") return text;
  faults.push(`${from}: must be json, pretty or silent, not "${text}"`);
  return "json";
}

export function readLogLevel({ text, from }: SettingValue, faults: string[]): LogLevel {
  const level = LOG_LEVELS.find((each) => each === text);
  if (level === undefined) faults.push(`${from}: must be one of ${LOG_LEVELS.join(", ")}, not "${text}"`);
  return level ?? "info";
}

export function readShare({ text = "", from }: SettingValue, faults: string[]): number {
  const share = /^\d(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (share >= 0 && share <= 1) return share;
  faults.push(`${from}: must be a share from 0 to 1, not "${text}"`);
  return 1;
}

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const DOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL}){0,20}$`);

export function readDomain({ text, from }: SettingValue, faults: string[]): string | undefined {
  const domain = text?.toLowerCase();
  if (domain !== undefined && !DOMAIN.test(domain)) faults.push(`${from}: must be a domain such as twilio.example.com, not "${text}"`);
  return domain;
}

export function readMigrate({ text, from }: SettingValue, faults: string[]): boolean {
  if (text !== "auto" && text !== "off") faults.push(`${from}: must be auto or off, not "${text}"`);
  return text !== "off";
}

export function readRoles({ text, from }: SettingValue, faults: string[]): ReadonlySet<Role> {
  const words = (text ?? "").split(",").map((word) => word.trim());
  const isRole = (word: string): word is Role => (ROLES as readonly string[]).includes(word);
  for (const word of words) if (!isRole(word)) faults.push(`${from}: "${word}" is not a role; known are ${ROLES.join(", ")}`);
  return new Set(words.filter(isRole));
}

export function readCidrs({ text, from }: SettingValue, faults: string[]): CidrBlock[] {
  const blocks: CidrBlock[] = [];
  for (const item of (text ?? "").split(",").map((part) => part.trim())) {
    if (item === "") continue;
    const block = parseCidr(item);
    if (block === undefined) faults.push(`${from}: "${item}" is not an address or CIDR such as 10.0.0.0/8`);
    else blocks.push(block);
  }
  return blocks;
}

export function readPlaintext({ text, from }: SettingValue, faults: string[]): boolean {
  if (text !== undefined && text !== "allow") faults.push(`${from}: must be allow or not set, not "${text}"`);
  return text === "allow";
}

export function readDatabaseUrl({ text, from }: SettingValue, isPlaintextAllowed: boolean, faults: string[]): string | undefined {
  const fault = text === undefined ? undefined : findAddressFault({ url: text, isPlaintextAllowed });
  if (fault !== undefined) faults.push(`${from}: ${fault}`);
  return text;
}

export function readTls(certPath: string | undefined, keyPath: string | undefined, faults: string[]): TlsFiles | undefined {
  if (certPath === undefined && keyPath === undefined) return undefined;
  if (certPath === undefined) faults.push("GODWIT_TLS_CERT: is needed with GODWIT_TLS_KEY");
  else if (keyPath === undefined) faults.push("GODWIT_TLS_KEY: is needed with GODWIT_TLS_CERT");
  else {
    const files = { certPath, keyPath };
    try {
      readTlsFiles(files);
      return files;
    } catch (error) {
      faults.push(`GODWIT_TLS_CERT, GODWIT_TLS_KEY: ${firstLine(error)}`);
    }
  }
  return undefined;
}

const SECRET_KEY_BYTES = 32;

export function secretKeyFrom({ text, from }: SettingValue, faults: string[]): Buffer | undefined {
  if (text === undefined) return undefined;
  const key = Buffer.from(text, "base64");
  if (/^[A-Za-z0-9+/_-]+=*$/.test(text) && key.length === SECRET_KEY_BYTES) return key;
  faults.push(`${from}: must be ${SECRET_KEY_BYTES} bytes in base64; create one with: openssl rand -base64 32`);
  return undefined;
}

export const firstLine = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
