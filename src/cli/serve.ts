/** godwit serve: runs the service until a signal stops it. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { environmentVariables, inspectConfig, isUnderNpm, readConfig, type Config, type Flags } from "../config.ts";
import { checkPort } from "../api/listening.ts";
import { createLog, type Log, type LogOutput } from "../model/log.ts";
import { within } from "../lib/wait.ts";
import { newNodeName, openStorage, stopAll, type Stops, type Storage } from "../service/open-storage.ts";
import { notifySystemd } from "../service/notify-systemd.ts";
import { DatabaseWait } from "../service/wait-for-database.ts";
import { startService, type Service } from "../service/start-service.ts";
import { Supervisor } from "../service/supervisor.ts";
import { WORKER_PORT, WorkerChannel } from "../service/worker-channel.ts";
import { watchEmbedded } from "../embedded/metrics.ts";
import { StartupError } from "../database/startup-error.ts";
import { TIMINGS, type Timings } from "../timings.ts";
import { CLIENT_SETTINGS } from "./client-config.ts";
import type { Command } from "./command.ts";
import { dropRoot } from "./drop-root.ts";
import { say } from "./output.ts";

export const serve: Command = {
  name: "serve",
  about: [
    "Runs the service. Without --database-url it starts its own PostgreSQL in the data directory. The first start creates an account and prints a test key.",
    "SIGTERM and SIGINT stop it gracefully. SIGHUP reloads the certificate, the links and the routes.",
    "A flag takes precedence over a variable, and a variable over the file. GODWIT_SECRET_KEY (32 bytes in base64, needed with DATABASE_URL) and GODWIT_PREVIOUS_SECRET_KEY are read only from the environment.",
  ],
  usage: ["serve [settings]"],
  flags: {},
  settings: "service",
  hasNoJson: true,
  examples: [
    ["On this machine, with its own database:", "godwit serve"],
    ["One of several nodes:", "DATABASE_URL=postgres://godwit@db.example.com/godwit godwit serve --config godwit.toml"],
  ],
  exitCodes: {
    0: "stopped by a signal",
    1: "could not start, or was stopped during the start",
    2: "a fault in the configuration; nothing was started",
  },
  run: ({ flags }) => runService(flags, TIMINGS),
};

/** Runs the service until a signal stops it, and returns the exit code. With several workers this process supervises them, and runs again as
 *  each of them. */
export async function runService(flags: Flags, timings: Timings): Promise<number> {
  const read = readConfig(flags, "serve");
  const workerPort = environmentVariables()[WORKER_PORT];
  const config = workerPort ? { ...read, port: Number(workerPort) } : read;
  const channel = workerPort === undefined ? undefined : new WorkerChannel();
  const output = createLog(config.log, { isShared: config.workers > 1, level: config.logLevel });
  const { flush } = output;
  const stopped = channel === undefined ? stopSignal() : workerStop(channel);
  const run = { flags, config, output, timings, channel, stopped };
  try {
    if (channel === undefined) {
      for (const { name, hint } of config.unknownVariables)
        output.log.warn({ event: "service.variable_unknown", variable: name }, `${name} is not a setting, and is ignored${hint}`);
      await checkPort(config);
    }
    return await (config.workers > 1 && channel === undefined ? supervise(run) : runNode(run));
  } finally {
    await flush();
    channel?.close();
  }
}

type Run = {
  flags: Flags;
  config: Config;
  output: LogOutput;
  timings: Timings;
  channel: WorkerChannel | undefined;
  /** Resolves with the reason of the stop. */
  stopped: Promise<string>;
};

/** Runs the service in this process. */
async function runNode({ flags, config, output, timings, channel, stopped }: Run): Promise<number> {
  const { log } = output;
  // The supervisor speaks to the operator, and a worker to the log.
  const tell = channel === undefined ? say : (line: string): void => log.info(line);
  // A reload during the start does nothing: the start has just read the files.
  let service: Service | undefined;
  let reloading: Promise<void> = Promise.resolve();
  // Reloads run one after the other, so that the latest file wins.
  process.on("SIGHUP", () => {
    reloading = reloading.then(() => service && reload(service, flags, { tell, log }));
  });
  const wait = new DatabaseWait({ config, log, stop: abortedBy(stopped) });
  const starting = wait.run(() => startService(config, output, tell, { timings, channel, freePort: wait.end }));
  // A stop during a long start (a migration, a recovery) does not wait for the end of the start: the next start continues it.
  service = await Promise.race([starting, stopped.then(() => within(starting, START_AFTER_STOP_MS))]);
  if (service === undefined) return wait.hasBegun ? 0 : EXIT_UNFINISHED;
  dropRoot(config, inspectConfig(flags, "serve").file, log);
  service.startArchive();
  if (channel === undefined) {
    say(welcome(service));
    notifySystemd(log);
  }
  const signal = await stopped;
  log.info({ signal, drain_seconds: config.drainMs / 1_000 }, "stopping");
  service.drain();
  await sleep(config.drainMs);
  const isStopped =
    (await within(
      service.stop().then(() => true),
      STOP_LIMIT_MS,
    )) === true;
  if (!isStopped) exitUnfinished();
  log.info("stopped");
  return 0;
}

/** Ends the process although a part of it has not stopped, such as a statement that waits for a synchronous standby. A kill at any moment loses
 *  nothing that was accepted. */
function exitUnfinished(): never {
  say(`the service did not stop within ${STOP_LIMIT_MS / 1_000} seconds, and exits now; nothing that was accepted is lost`);
  process.exit(EXIT_UNFINISHED);
}

/** Prepares the database, and runs the service in several workers. */
async function supervise({ config, output: { log }, stopped }: Run): Promise<number> {
  const stops: Stops = [];
  try {
    const wait = new DatabaseWait({ config, log, stop: abortedBy(stopped) });
    const starting = wait.run(() => openSupervised({ config, log, stops }));
    const storage = await Promise.race([starting, stopped.then(() => within(starting, START_AFTER_STOP_MS))]);
    if (storage === undefined) return wait.hasBegun ? 0 : EXIT_UNFINISHED;
    const supervisor = new Supervisor({ workers: config.workers, log });
    if (storage.embedded !== undefined) watchEmbedded(supervisor.registry, storage.embedded, storage.archiveJob);
    storage.archiveJob?.start();
    stops.push(() => supervisor.stop());
    process.on("SIGHUP", () => supervisor.reload());
    const url = await Promise.race([supervisor.start(), stopped.then(() => undefined)]);
    if (url === undefined) return EXIT_UNFINISHED;
    // The workers give up root. This process serves no request, and needs it to start a worker again on a low port.
    log.info({ url, workers: config.workers }, "all workers listen");
    say(welcome({ url, firstKey: storage.firstKey }));
    notifySystemd(log);
    const signal = await Promise.race([stopped, supervisor.failed.then((reason) => Promise.reject(new StartupError(reason)))]);
    log.info({ signal, drain_seconds: config.drainMs / 1_000 }, "stopping all workers");
    supervisor.drain();
    await sleep(config.drainMs);
    return 0;
  } finally {
    await stopAll(stops);
  }
}

/** Opens the database for the supervisor. Leaves nothing open after an error, so that it can be repeated. */
async function openSupervised({ config, log, stops }: { config: Config; log: Log; stops: Stops }): Promise<Storage> {
  try {
    return await openStorage({ config, node: newNodeName(), isWorker: false, log, say, stops });
  } catch (error) {
    await stopAll(stops);
    throw error;
  }
}

/** A signal that is aborted when the promise resolves. */
function abortedBy(stopped: Promise<unknown>): AbortSignal {
  const controller = new AbortController();
  void stopped.then(() => controller.abort());
  return controller.signal;
}

const START_AFTER_STOP_MS = 15_000;
// Service managers kill a process after a while: ours waits for 40 seconds, Kubernetes for 30 by default. The drain comes before it.
const STOP_LIMIT_MS = 25_000;
const EXIT_UNFINISHED = 1;

// One Ctrl-C arrives twice under npm: the terminal signals the whole process group, and npm forwards its own signal. The stop of a
// service manager arrives twice as well. Only a later signal means that the operator does not want to wait.
const ECHO_MS = 2_000;

/** Resolves with the first signal, which stops the service gracefully. A later signal exits at once. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const onSignal = (signal: string): void => {
      firstAt ??= performance.now();
      if (performance.now() - firstAt > ECHO_MS) process.exit(EXIT_UNFINISHED);
      resolve(signal);
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, onSignal);
    if (isUnderNpm()) whenOrphaned(() => resolve("npm is gone"));
  });
}

/** A worker stops when its supervisor says so, or when it gets a SIGTERM of its own. A Ctrl-C at the terminal reaches all processes, and the
 *  supervisor stops its workers. */
function workerStop({ stopped }: WorkerChannel): Promise<string> {
  process.on("SIGINT", () => undefined);
  const signal = new Promise<string>((resolve) => process.once("SIGTERM", resolve));
  return Promise.race([stopped, signal]);
}

const LOOK_FOR_PARENT_MS = 500;

/** Calls back when the parent process has ended. npm passes a SIGTERM only to its shell; both end, and the service would run on without
 *  a parent that can stop it. */
function whenOrphaned(onOrphaned: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onOrphaned();
  }, LOOK_FOR_PARENT_MS);
  timer.unref();
}

/** Reloads the certificate and the plan. Links whose settings have not changed keep their connections. */
async function reload(service: Service, flags: Flags, { tell, log }: { tell: (line: string) => void; log: Log }): Promise<void> {
  const fail = (text: string, error: unknown): void => log.warn({ event: "service.reload_failed" }, `${text}: ${(error as Error).message}`);
  try {
    if (service.reloadTls()) tell("certificate reloaded");
  } catch (error) {
    fail("the certificate was not reloaded, and the old one stays in use", error);
  }
  try {
    await service.reloadPlan(readConfig(flags, "serve"));
    tell("links, senders and routes reloaded");
  } catch (error) {
    fail("links, senders and routes were not reloaded, and the old ones stay in use", error);
  }
}

function welcome({ url, firstKey }: Pick<Service, "url" | "firstKey">): string {
  const listening = `Godwit listens on ${url}  (console: ${url}/console, documentation: ${url}/docs)`;
  if (firstKey === undefined) return listening;
  // Commands and SDKs use the default address without it, where another service may listen.
  const address = url === CLIENT_SETTINGS.url.fallback ? "" : `  export ${CLIENT_SETTINGS.url.env}=${url}\n`;
  return `${listening}

Copy this test key now: it is shown only once. Its messages reach no phone. It also signs you in to the console:

  export GODWIT_KEY=${firstKey}
${address}
Send a first message, in another terminal:

  curl -sS ${url}/v1/messages \\
    -H "Authorization: Bearer $GODWIT_KEY" \\
    -H "Idempotency-Key: ${randomUUID()}" \\
    -H "Content-Type: application/json" \\
    -d '{"recipient":"+14155550123","channel":"sms","body":"Hello from Godwit"}'
`;
}
