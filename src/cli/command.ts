/** What a command is, and what all commands share: flags, output, the way to the database. */
import { randomBytes } from "node:crypto";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { listAccounts, type AccountRow } from "../access/queries.ts";
import { CLIENT_SETTINGS, SETTINGS, readConfig, type Config, type Flags } from "../config.ts";
import { decodeId, encodeId } from "../lib/id.ts";
import { DatabaseClock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { migrate } from "../storage/migrate.ts";
import { openDatabase } from "../storage/open-database.ts";
import { say } from "./say.ts";

export type Input = { flags: Flags; words: readonly string[] };

export type Command = {
  name: string;
  /** The forms it takes, a line each, without the program's name. */
  usage: readonly string[];
  /** Flags of its own, besides the settings and --json, --help. */
  flags: Readonly<Record<string, { type: "string" | "boolean"; help: string }>>;
  /** It speaks to a running server, and has the settings of a client alone. */
  isClient?: true;
  /** The exit code; zero when it returns nothing. */
  run: (input: Input) => Promise<number | void>;
};

/** The person at the terminal asked for something that is not there: shown with the command's usage, exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

export const settingFlags = ({ isClient }: Command): Record<string, { help: string }> =>
  Object.fromEntries(
    Object.values(isClient === true ? CLIENT_SETTINGS : SETTINGS)
      .filter(({ flag }) => flag !== "")
      .map(({ flag, env, help }) => [flag, { help: `${help} (${env})` }]),
  );

export function parseInput(command: Command, argv: readonly string[]): Input {
  const options: ParseArgsOptionsConfig = { json: { type: "boolean" }, help: { type: "boolean", short: "h" } };
  for (const name of Object.keys(settingFlags(command))) options[name] = { type: "string" };
  for (const [name, { type }] of Object.entries(command.flags)) options[name] = { type };
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
    return { flags: values as Flags, words: positionals };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

export const textFlag = (flags: Flags, name: string): string | undefined => (typeof flags[name] === "string" ? flags[name] : undefined);

export function neededFlag(flags: Flags, name: string): string {
  const value = textFlag(flags, name);
  if (value === undefined || value === "") throw new UsageError(`--${name} is required`);
  return value;
}

/** One record or a list of them, as JSON for programs or a table for people. */
export function print(flags: Flags, value: object | readonly object[]): void {
  if (flags["json"] === true) process.stdout.write(`${JSON.stringify(value)}\n`);
  else process.stdout.write(Array.isArray(value) ? table(value as Record<string, unknown>[]) : list(value as Record<string, unknown>));
}

const cell = (value: unknown): string =>
  value === null || value === undefined
    ? "-"
    : Array.isArray(value)
      ? value.join(",")
      : typeof value === "object"
        ? JSON.stringify(value)
        : `${value as string | number | boolean}`;

function table(rows: readonly Record<string, unknown>[]): string {
  const [first] = rows;
  if (first === undefined) return "none\n";
  const names = Object.keys(first);
  const lines = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  const widths = names.map((_, index) => Math.max(...lines.map((line) => (line[index] ?? "").length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((text, index) => text.padEnd(widths[index] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

function list(record: Record<string, unknown>): string {
  const width = Math.max(...Object.keys(record).map((name) => name.length));
  return Object.entries(record)
    .map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}\n`)
    .join("");
}

export type Opened = { db: Database; clock: DatabaseClock; config: Config };

/** Opens the configured database, brings it up to date unless told to leave it as it is, and closes it when the work is done. */
export async function withDatabase<T>(
  { flags }: Input,
  command: string,
  work: (opened: Opened) => Promise<T>,
  { shouldMigrate = true } = {},
): Promise<T> {
  const config = readConfig(flags, "database");
  const { db, close } = await openDatabase({
    ...config,
    command,
    mayJoin: true,
    nodeName: randomBytes(6).toString("hex"),
    say,
    onLog: () => undefined,
  });
  const clock = new DatabaseClock(db);
  try {
    if (shouldMigrate) await migrate(db);
    await clock.start();
    return await work({ db, clock, config });
  } finally {
    clock.stop();
    await close();
  }
}

/** The account by id or name; the only one there is when none is named. */
export async function chooseAccount(db: Database, wanted: string | undefined): Promise<AccountRow> {
  const accounts = await listAccounts(db);
  const id = wanted === undefined ? undefined : decodeId("acct", wanted);
  const found = wanted === undefined ? accounts : accounts.filter((account) => account.name === wanted || id?.equals(account.id));
  const [account] = found;
  if (account !== undefined && found.length === 1) return account;
  const known = accounts.map(({ id: each, name }) => `${name} (${encodeId("acct", each)})`).join(", ");
  if (accounts.length === 0) throw new UsageError("there is no account yet: start the service once, or run godwit accounts create NAME");
  throw new UsageError(
    wanted === undefined ? `there are several accounts, name one with --account: ${known}` : `no account ${wanted}; there are: ${known}`,
  );
}
