/** A real Godwit for tests, with its own database, reached over HTTP. The service runs in the process of the test unless the test needs to
 *  kill, stop or signal it. */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { request as send } from "undici";
import { createAccount } from "../../src/access/accounts.ts";
import { createKey } from "../../src/access/api-key.ts";
import { listAccounts } from "../../src/access/queries.ts";
import { SCOPES, type Scope } from "../../src/access/scope.ts";
import { parseInput } from "../../src/cli/command.ts";
import { serve } from "../../src/cli/serve.ts";
import { readConfig } from "../../src/config.ts";
import { logTo, type LoggedError } from "../../src/model/log.ts";
import type { LogEvent } from "../../src/model/log-events.ts";
import { SYSTEM_ORIGIN } from "../../src/model/origin.ts";
import { poll } from "../../src/lib/wait.ts";
import { startService } from "../../src/service/start-service.ts";
import { Database } from "../../src/database/database.ts";
import { seedTemplates } from "../../src/templates/seed.ts";
import { TIMINGS, type Timings } from "../../src/timings.ts";
import { RUN_VARIABLE } from "../../scripts/test/process-tree.ts";
import { atEnd } from "./at-end.ts";
import { cachedFolder } from "./cache.ts";
import { writeConfig } from "./config-file.ts";
import { assertDeclared } from "./contract.ts";
import { createDatabase, inspectionOf } from "./database.ts";
import { canRunHere, runHere, type CommandResult } from "./command-here.ts";
import { childProcesses, signalProcess } from "./child-processes.ts";
import { programPath } from "./programs.ts";
import type { Environment } from "../../src/model/owner.ts";

export const SECRET_KEY = Buffer.alloc(32, 7).toString("base64");
const START_TIMEOUT_MS = 240_000;

export type LogLine = Record<string, unknown> & { msg?: string; event?: LogEvent; error?: LoggedError };

/** A log that keeps its lines for a test. */
export function keepLines(): ReturnType<typeof logTo> & { lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write = (text: string): void => {
    for (const line of text.split("\n")) if (line !== "") lines.push(JSON.parse(line) as LogLine);
  };
  return { ...logTo({ write }), lines };
}

/** The level of an error in the log. */
export const ERROR = 50;

/** `isDeclared: false` where the test has put rows into the database that the service would not write, and where a service has no API. */
export type RequestOptions = {
  key?: string | undefined;
  body?: unknown;
  headers?: Record<string, string>;
  idempotencyKey?: string;
  isDeclared?: false;
};
export type Reply = { status: number; headers: Headers; text: string; json: Record<string, unknown> };

export type KeyOptions = {
  scopes?: readonly Scope[];
  environment?: Environment;
  account?: string;
  expiresAt?: Date | null;
  allowedIps?: string[] | null;
};

/** A running service: its URL, its output, and the function that stops it. */
type Started = {
  url: string;
  /** Undefined where the service runs in the test's process. */
  child: ChildProcess | undefined;
  logs: LogLine[];
  /** The lines of both streams that are not JSON. */
  output: string[];
  stop: (signal: NodeJS.Signals) => Promise<number | null>;
};

export class Godwit {
  readonly url: string;
  readonly #started: Started;
  readonly databaseUrl: string | undefined;
  /** The path of the file that has the text of the option `config`. */
  readonly configFile: string | undefined;
  readonly logs: LogLine[];
  readonly output: string[];
  /** A connection of the test to the database of the service. */
  readonly db: Database | undefined;
  #closing: Promise<void> | undefined;

  constructor(started: Started, databaseUrl: string | undefined, configFile: string | undefined) {
    this.#started = started;
    this.url = started.url;
    this.logs = started.logs;
    this.output = started.output;
    this.databaseUrl = databaseUrl;
    this.configFile = configFile;
    this.db = databaseUrl === undefined ? undefined : new Database(inspectionOf(databaseUrl), "test", () => undefined);
  }

  get child(): ChildProcess {
    const { child } = this.#started;
    if (child === undefined) throw new Error("this service runs in the test's process: start it with asProcess");
    return child;
  }

  async rows<T>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    if (this.db === undefined) throw new Error("the service has an embedded database");
    return this.db.rows<T>({ name: `test_${randomBytes(8).toString("hex")}`, text, values });
  }

  /** Creates a key, by default with all scopes of the test environment. Creates a named account if it is missing. */
  async key({ scopes = SCOPES, environment = "test", account, expiresAt = null, allowedIps = null }: KeyOptions = {}): Promise<string> {
    if (this.db === undefined) throw new Error("the service has an embedded database");
    const clock = { now: () => Date.now() };
    if (account !== undefined)
      await createAccount(this.db, clock, { name: account, origin: SYSTEM_ORIGIN }, (tx, owner) => seedTemplates(tx, clock, owner));
    const accounts = await listAccounts(this.db);
    const owner = accounts.find(({ name }) => name === (account ?? "default"));
    if (owner === undefined) throw new Error("no account");
    const request = { accountId: owner.id, environment, scopes, name: null, expiresAt, allowedIps, origin: SYSTEM_ORIGIN };
    return (await createKey(this.db, clock, request)).secret;
  }

  /** Turns quotas off, for tests of other features. */
  async unlimited(): Promise<void> {
    // The rows are locked in a fixed order, so that concurrent calls cannot deadlock.
    await this.rows(`with listed as materialized (
                       select account_id, environment from environments where tier <> 'unlimited' order by 1, 2 for update
                     )
                     update environments e set tier = 'unlimited' from listed
                      where e.account_id = listed.account_id and e.environment = listed.environment`);
  }

  async request(method: string, path: string, { key, body, idempotencyKey, isDeclared, ...options }: RequestOptions = {}): Promise<Reply> {
    const headers = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
      ...options.headers,
    };
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const response = await send(`${this.url}${path}`, { method, headers, ...(text === undefined ? {} : { body: text }) });
    const received = new Headers(
      Object.entries(response.headers).flatMap(([name, value]) => [value ?? []].flat().map((each): [string, string] => [name, each])),
    );
    const reply = replyOf(response.statusCode, received, await response.body.text());
    if (isDeclared !== false) assertDeclared({ method, path, headers, body: text }, reply);
    return reply;
  }

  async send(key: string, body: object = {}, options: RequestOptions = {}): Promise<Reply> {
    return this.request("POST", "/v1/messages", { key, idempotencyKey: randomUUID(), ...options, body: { ...sms(), ...body } });
  }

  /** Sends raw bytes, and returns all bytes that arrive until the server closes the connection or `untilMs` has passed. */
  async raw(bytes: string | Buffer, untilMs = 5_000): Promise<string> {
    const { hostname, port } = new URL(this.url);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(bytes));
      const chunks: Buffer[] = [];
      const timer = setTimeout(() => socket.destroy(), untilMs);
      socket.on("data", (chunk) => chunks.push(chunk));
      socket.on("error", reject);
      socket.on("close", () => {
        clearTimeout(timer);
        resolve(Buffer.concat(chunks).toString());
      });
    });
  }

  /** Sends the signal, by default SIGTERM, and waits until the process has ended. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    await (this.#closing ??= this.db?.close());
    return this.#started.stop(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

export function replyOf(status: number, headers: Headers, text: string): Reply {
  const isJson = /^application\/(problem\+)?json\b/.test(headers.get("content-type") ?? "");
  return { status, headers, text, json: isJson && text !== "" ? (JSON.parse(text) as Reply["json"]) : {} };
}

/** The smallest valid message. */
export const sms = (): Record<string, unknown> => ({ recipient: "+14155550123", channel: "sms", body: "Your code is 123456" });

export type StartOptions = {
  databaseUrl?: string | undefined;
  env?: Record<string, string>;
  args?: readonly string[];
  /** The text of the configuration file. */
  config?: string;
  /** The factor by which the simulator is faster than a carrier. */
  simulatorSpeed?: number;
  /** By default only `api`, so that accepted messages stay queued. */
  roles?: string;
  /** Starts a separate process, which the test can kill, stop and signal. */
  asProcess?: boolean;
  /** One process also in a run with several workers: the test concerns the caches, the limits or the end of one process. */
  isOneProcess?: boolean;
  /** Replace timings of production. */
  timings?: Partial<Timings>;
  /** The `src/main.ts` of another checkout, which is started as a process with its own timings. */
  main?: string;
};

/** With another number, the services of the tests are processes with so many workers. */
const TEST_WORKERS = process.env["GODWIT_TEST_WORKERS"] ?? "1";

/** Starts the service on a new database, or on the given one; with GODWIT_DATA_DIR as a process with its embedded server. */
export async function startGodwit(options: StartOptions = {}): Promise<Godwit> {
  const { databaseUrl, env = {}, args = [], config, simulatorSpeed, roles = "api", asProcess, isOneProcess = false } = options;
  // Many tests fail to authenticate again and again, and need not wait for it.
  const timings = { failureDelayMs: 0, ...options.timings };
  const url = env["GODWIT_DATA_DIR"] === undefined ? (databaseUrl ?? (await createDatabase())) : undefined;
  const configFile = config === undefined ? undefined : writeConfig(config);
  const settings = {
    GODWIT_PORT: "0",
    GODWIT_LOG: "json",
    GODWIT_WORKERS: isOneProcess ? "1" : TEST_WORKERS,
    GODWIT_ROLES: roles,
    ...(url === undefined ? {} : { DATABASE_URL: url, GODWIT_SECRET_KEY: SECRET_KEY }),
    ...(configFile === undefined ? {} : { GODWIT_CONFIG: configFile }),
    ...(simulatorSpeed === undefined ? {} : { GODWIT_SIMULATOR_SPEED: String(simulatorSpeed) }),
    ...env,
  };
  const { main } = options;
  const isProcess = asProcess ?? (main !== undefined || url === undefined || settings.GODWIT_WORKERS !== "1");
  const started = await (isProcess ? startProcess(args, settings, { timings, main }) : startHere(args, settings, timings));
  const godwit = new Godwit(started, url, configFile);
  atEnd(() => godwit.stop(asProcess === true ? "SIGKILL" : "SIGTERM"));
  return godwit;
}

async function startHere(args: readonly string[], env: Record<string, string>, timings?: Partial<Timings>): Promise<Started> {
  const { lines: logs, ...log } = keepLines();
  const output: string[] = [];
  const config = readConfig(parseInput(serve, args).flags, "serve", env);
  const service = await startService(config, log, (line) => output.push(line), { timings: { ...TIMINGS, ...timings } });
  let stopped: Promise<number> | undefined;
  const stop = (signal: NodeJS.Signals): Promise<number> => {
    if (signal !== "SIGTERM") throw new Error(`a service in the test's process takes no ${signal}: start it with asProcess`);
    return (stopped ??= service.stop().then(() => 0));
  };
  return { url: service.url, child: undefined, logs, output, stop };
}

type ProcessOptions = { timings: Partial<Timings>; main: string | undefined };

async function startProcess(args: readonly string[], env: Record<string, string>, { timings, main }: ProcessOptions): Promise<Started> {
  const { child, logs, output, waitFor, exit } =
    main !== undefined
      ? spawnGodwit(["serve", ...args], env, { main })
      : spawnGodwit([JSON.stringify({ ...TIMINGS, ...timings }), ...args], env, { main: programPath("serve-node") });
  if (env["GODWIT_WORKERS"] !== "1") signalWorkersToo(child);
  const listening = await waitFor((line) => line.msg === (env["GODWIT_WORKERS"] === "1" ? "listening" : "all workers listen"));
  const stop = (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return exit;
  };
  return { url: String(listening["url"]), child, logs, output, stop };
}

/** A test that kills or freezes a node means all of its processes. Workers whose supervisor is gone would stop in order. */
function signalWorkersToo(child: ChildProcess): void {
  const kill = child.kill.bind(child);
  child.kill = (signal) => {
    if (signal === "SIGKILL" || signal === "SIGSTOP" || signal === "SIGCONT")
      // The embedded PostgreSQL is another program.
      for (const pid of childProcesses(child.pid, process.execPath)) signalProcess(pid, signal);
    return kill(signal);
  };
}

export type Run = {
  child: ChildProcess;
  logs: LogLine[];
  /** The lines of both streams that are not JSON. */
  output: string[];
  waitFor: (test: (line: LogLine) => boolean) => Promise<LogLine>;
  exit: Promise<number | null>;
};

/** The environment of every process. The compile cache saves most of the time that a process takes to start. */
export const baseEnv = (): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  // Without the profiles of the user that runs the tests.
  XDG_CONFIG_HOME: "/nonexistent",
  // The same on every machine.
  GODWIT_WORKERS: "1",
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? cachedFolder("compiled"),
  // By which the runner finds what a test process left behind.
  [RUN_VARIABLE]: process.env[RUN_VARIABLE] ?? "",
});

/** Starts any godwit command as a process with only the given environment and the base environment. */
export function spawnGodwit(
  args: readonly string[],
  env: Record<string, string>,
  identity: { uid?: number; gid?: number; cwd?: string; main?: string } = {},
): Run {
  const { main = programPath("godwit"), ...options } = identity;
  const child = spawn(process.execPath, [main, ...args], {
    ...options,
    env: { ...baseEnv(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  atEnd(async () => void child.kill("SIGKILL"));
  const logs: LogLine[] = [];
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (text) => {
      if (text.startsWith("{")) logs.push(JSON.parse(text) as LogLine);
      else output.push(text);
    });
  }
  const exit = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const waitFor = async (test: (line: LogLine) => boolean): Promise<LogLine> => {
    let hasEnded = false;
    void exit.then(() => (hasEnded = true));
    const look = async (): Promise<LogLine | "ended" | undefined> => logs.find(test) ?? (hasEnded ? "ended" : undefined);
    const found = await poll(look, { timeoutMs: START_TIMEOUT_MS, everyMs: 20 });
    if (found === undefined || found === "ended")
      throw new Error(`the awaited log line did not appear (exit code ${child.exitCode}):\n${output.join("\n")}`);
    return found;
  };
  return { child, logs, output, waitFor, exit };
}

/** Runs a command and waits for its end: in the process of the test if it can. */
export async function runGodwit(args: readonly string[], env: Record<string, string>, stdin?: string): Promise<CommandResult> {
  const whole = { ...baseEnv(), ...env };
  if (stdin === undefined && canRunHere(args, env)) return runHere(args, whole);
  const child = spawn(process.execPath, [programPath("godwit"), ...args], { env: whole, stdio: ["pipe", "pipe", "pipe"] });
  // A command may end without reading its input.
  child.stdin.on("error", () => undefined).end(stdin);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", (exitCode) => resolve(exitCode)));
  return { code, stdout, stderr };
}
