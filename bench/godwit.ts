/** Starts a service to measure, with the flags of `npm start`: its own process and an embedded database in a temporary folder. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { openSync, readFileSync, realpathSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Database } from "../src/database/database.ts";
import { missingDurability } from "../src/database/health.ts";
import { EMBEDDED_USER } from "../src/embedded/embedded-roles.ts";
import { benchDir, children } from "./run.ts";

/** The checkout that this file belongs to. */
export const THIS_CHECKOUT = join(import.meta.dirname, "..");

/** A data directory, and the checkout whose code uses it. */
export type Installation = { checkout: string; dataDir: string };

export const say = (line: string): void => void process.stderr.write(`${line}\n`);

export type Peer = {
  name: string;
  url: string;
  child: ChildProcess;
  path: string;
  headers: Record<string, string>;
  hasKey: boolean;
  makeTarget?: () => string;
  /** Another body than that of our API, and the header of its key. */
  makeForm?: () => string;
  keyHeader?: string;
};
export type GodwitPeer = Peer & Installation & { socketDir: string; account: string; readyMs: number };

const mainFile = (checkout: string): string => join(checkout, "src", "main.ts");

/** The flags with which `npm start` of a checkout runs Node. */
function nodeFlags(checkout: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as { scripts: { start: string } };
  return scripts.start.split(" ").filter((word) => word.startsWith("--"));
}

export function godwit({ checkout, dataDir }: Installation, ...args: string[]): Record<string, unknown> {
  const { stdout, status, stderr } = spawnSync(process.execPath, [mainFile(checkout), ...args, "--json", "--data-dir", dataDir], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** Starts the service of an installation and waits until it listens. */
export async function serve(
  { checkout, dataDir }: Installation,
  logPath: string,
  args: readonly string[],
): Promise<{ child: ChildProcess; url: string }> {
  const command = [...nodeFlags(checkout), mainFile(checkout), "serve", "--port", "0", "--log", "json", "--data-dir", dataDir, ...args];
  // Logs are on and written to a file, as in production.
  const child = spawn(process.execPath, command, { stdio: ["ignore", openSync(logPath, "w"), "pipe"] });
  children.push(child);
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    const match = /http:\/\/[\d.:]+/.exec(line);
    if (match !== null) return { child, url: match[0] };
    lines.push(line);
  }
  throw new Error(`the service in ${checkout} ended before it listened: ${lines.join("\n")}`);
}

export const openBenchDatabase = ({ socketDir }: { socketDir: string }, user = EMBEDDED_USER): Database =>
  new Database({ socketDir, user, database: "postgres" }, "bench", () => undefined);

export type StartOptions = { checkout?: string; args?: readonly string[]; scopes?: readonly string[] };

/** Starts a new installation with an account that has a practically unlimited quota. */
export async function startGodwit(
  name: string,
  { checkout = THIS_CHECKOUT, args = [], scopes = [] }: StartOptions = {},
): Promise<GodwitPeer> {
  const installation = { checkout, dataDir: join(benchDir, name) };
  godwit(installation, "accounts", "create", "bench");
  godwit(installation, "environments", "define-tier", "bench", "--rate", "1000000", "--burst", "2000000");
  godwit(installation, "environments", "set-tier", "test", "bench");
  const granted = ["messages:send", "messages:read", ...scopes].join(",");
  const { key } = godwit(installation, "keys", "create", "--environment", "test", "--scopes", granted);
  const startedAt = performance.now();
  const { child, url } = await serve(installation, join(benchDir, `${name}.log`), args);
  const readyMs = performance.now() - startedAt;
  const socketDir = realpathSync(join(installation.dataDir, "postgres"));
  const account = await findAccount(socketDir);
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${String(key)}` };
  return { ...installation, name, child, url, path: "/v1/messages", hasKey: true, socketDir, account, readyMs, headers };
}

/** Returns the id of the account in hexadecimal. Throws if the database is not durable, because its figures would be meaningless. */
async function findAccount(socketDir: string): Promise<string> {
  const db = openBenchDatabase({ socketDir });
  const off = await missingDurability(db);
  if (off.length > 0) throw new Error(`the database is not durable: ${off.join(", ")} off`);
  const [row] = await db.rows<{ id: string }>({
    name: "account",
    text: "select encode(uuid_send(id), 'hex') as id from accounts where name = 'bench'",
    values: [],
  });
  await db.close();
  return row?.id ?? "";
}

let counter = 0;
export const makeBody = (): string =>
  `{"recipient":"+1415555${String((counter += 1) % 10_000).padStart(4, "0")}","channel":"sms","body":"Your verification code is 123456. It is valid for ten minutes."}`;

/** The path and the query of a Kannel request with the same message. */
export const makeKannelTarget = (user: string): string =>
  `/cgi-bin/sendsms?${user}&from=12345&to=1415555${String((counter += 1) % 10_000).padStart(4, "0")}&text=Your+verification+code+is+123456.+It+is+valid+for+ten+minutes.`;

/** The body of a Twilio request with the same message. */
export const makeTwilioForm = (more: string): string =>
  `To=%2B1415555${String((counter += 1) % 10_000).padStart(4, "0")}&From=12345&Body=Your+verification+code+is+123456.+It+is+valid+for+ten+minutes.${more}`;

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  return (at(Math.floor((sorted.length - 1) / 2)) + at(Math.floor(sorted.length / 2))) / 2;
}

export const show = (value: number, digits = 0): string =>
  Number.isNaN(value) ? "–" : value.toLocaleString("en-US", { maximumFractionDigits: digits, minimumFractionDigits: digits });

export const machine = (): string =>
  `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model ?? process.arch}, ${cpus().length} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB, Node ${process.versions.node}`;

export const out = (line: string): void => void process.stdout.write(`${line}\n`);
