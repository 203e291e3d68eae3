/** A godwit to be measured: its own process and embedded database in a temporary folder, as `npm start` runs it. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { chmodSync, mkdtempSync, openSync, realpathSync, rmSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Database } from "../src/storage/database.ts";
import { missingDurability } from "../src/storage/durability.ts";
import { EMBEDDED_USER } from "../src/storage/embedded-postgres.ts";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");
// As `npm start` runs it.
const FLAGS = ["--max-semi-space-size=4", "--v8-pool-size=1", "--no-flush-bytecode"];

export const say = (line: string): void => void process.stderr.write(`${line}\n`);

const root = mkdtempSync(join(tmpdir(), "godwit-bench-"));
chmodSync(root, 0o755);
export const children: ChildProcess[] = [];

/** Stops what was started, and leaves nothing behind. */
export async function cleanUp(): Promise<void> {
  await Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      await new Promise((resolve) => child.once("exit", resolve));
    }),
  );
  rmSync(root, { recursive: true, force: true });
}

export type Peer = { name: string; url: string; child: ChildProcess; path: string; headers: Record<string, string>; hasKey: boolean };
export type GodwitPeer = Peer & { dataDir: string; socketDir: string; account: string; readyMs: number };

export function godwit(dataDir: string, ...args: string[]): Record<string, unknown> {
  const { stdout, status, stderr } = spawnSync(process.execPath, [MAIN, ...args, "--json", "--data-dir", dataDir], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** Starts the service on a data directory and waits until it listens. */
export async function serve(dataDir: string, logPath: string, args: readonly string[]): Promise<{ child: ChildProcess; url: string }> {
  // Logs are on and written to a file, as in production.
  const child = spawn(process.execPath, [...FLAGS, MAIN, "serve", "--port", "0", "--log", "json", "--data-dir", dataDir, ...args], {
    stdio: ["ignore", openSync(logPath, "w"), "pipe"],
  });
  children.push(child);
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    const match = /http:\/\/[\d.:]+/.exec(line);
    if (match !== null) return { child, url: match[0] };
  }
  throw new Error("the service ended before it listened");
}

export const openBenchDatabase = ({ socketDir }: { socketDir: string }): Database =>
  new Database({ socketDir, user: EMBEDDED_USER, database: "postgres" }, "bench", () => undefined);

/** A fresh installation with an account whose quota is never reached. */
export async function startGodwit(name: string, args: readonly string[] = [], moreScopes = ""): Promise<GodwitPeer> {
  const dataDir = join(root, name);
  godwit(dataDir, "accounts", "create", "bench");
  godwit(dataDir, "environments", "define-tier", "bench", "--rate", "1000000", "--burst", "2000000");
  godwit(dataDir, "environments", "set-tier", "test", "bench");
  const { key } = godwit(dataDir, "keys", "create", "--environment", "test", "--scopes", `messages:send,messages:read,${moreScopes}`);
  const startedAt = performance.now();
  const { child, url } = await serve(dataDir, join(root, `${name}.log`), args);
  const readyMs = performance.now() - startedAt;
  const socketDir = realpathSync(join(dataDir, "postgres"));
  const db = openBenchDatabase({ socketDir });
  const off = await missingDurability(db);
  if (off.length > 0) throw new Error(`the database is not durable: ${off.join(", ")} off`);
  const [row] = await db.rows<{ id: string }>({
    name: "account",
    text: "select encode(uuid_send(id), 'hex') as id from accounts where name = 'bench'",
    values: [],
  });
  await db.close();
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${String(key)}` };
  return { name, child, url, path: "/v1/messages", hasKey: true, dataDir, socketDir, account: row?.id ?? "", readyMs, headers };
}

let counter = 0;
export const makeBody = (): string =>
  `{"recipient":"+1415555${String((counter += 1) % 10_000).padStart(4, "0")}","channel":"sms","body":"Your verification code is 123456. It is valid for ten minutes."}`;

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

export const show = (value: number, digits = 0): string =>
  Number.isNaN(value) ? "–" : value.toLocaleString("en-US", { maximumFractionDigits: digits, minimumFractionDigits: digits });

export const machine = (): string =>
  `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model ?? process.arch}, ${cpus().length} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB, Node ${process.versions.node}`;

export const out = (line: string): void => void process.stdout.write(`${line}\n`);
