/** Starts everything in order, and stops it in reverse. */
import { createMetrics } from "../api/metrics.ts";
import type { Config } from "../config.ts";
import type { LogOutput } from "../model/log.ts";
import { remembered } from "../lib/remembered.ts";
import { within } from "../lib/wait.ts";
import { Announcer } from "../queue/announcer.ts";
import type { Database } from "../database/database.ts";
import { watchStorage } from "../embedded/metrics.ts";
import { TIMINGS, type Timings } from "../timings.ts";
import { VERSION } from "../version.ts";
import { newNodeName, openStorage, stopAll, type Stops } from "./open-storage.ts";
import { startServer } from "./start-server.ts";
import { startBackground, type ReloadedConfig } from "./start-background.ts";
import type { WorkerChannel } from "./worker-channel.ts";

export type Service = {
  url: string;
  /** The test key of the first start, shown once. */
  firstKey: string | undefined;
  /** Reads the certificate again; false when there is none to read. */
  reloadTls(): boolean;
  /** Follows another plan of links, senders and routes, and other consent settings; links that have not changed keep their connection. */
  reloadPlan(config: ReloadedConfig): Promise<void>;
  /** Fails readiness and asks clients to leave, while requests are served. */
  drain(): void;
  /** Begins to create base backups. Called when the process has its final user. */
  startArchive(): void;
  stop(): Promise<void>;
};

type StartOptions = { timings?: Timings; channel?: WorkerChannel | undefined; freePort?: () => Promise<void> };

/** `channel` is present in a worker. `freePort` is called immediately before the service listens. */
export async function startService(
  config: Config,
  { log, writeLine }: LogOutput,
  say: (line: string) => void,
  { timings = TIMINGS, channel, freePort }: StartOptions = {},
): Promise<Service> {
  const node = newNodeName();
  const stops: Stops = [];
  try {
    const storage = await openStorage({ config, node, isWorker: channel !== undefined, log, say, stops });
    const { db, clock, embedded, archiveJob, firstKey } = storage;
    const metrics = createMetrics(VERSION);
    const isDatabaseUp = readiness(db);
    let hasDrained = false;
    const isDraining = (): boolean => hasDrained || channel?.isDraining === true;
    if (config.databaseUrl !== undefined || config.archive !== undefined) stops.push(keepCommitting(isDatabaseUp));
    const isExternal = config.databaseUrl !== undefined;
    watchStorage(metrics.registry, { db, clock, embedded, archiveJob, isExternal, isReady: isDatabaseUp });
    const announcer = new Announcer(db, node, log);
    stops.push(() => announcer.stop());
    // Without a collector in the configuration the code of tracing is not loaded.
    const tracing = config.tracing && new (await import("../tracing/recorder.ts")).Recorder(config.tracing, { node, watch: metrics, log });
    stops.push(() => tracing?.stop());
    const shared = { ...storage, config, timings, node, announcer, metrics, log, tracing, peers: channel, stops };
    const background = await startBackground(shared);
    channel?.report(metrics.registry);
    const readMetrics = (): Promise<string> => channel?.readMetrics() ?? metrics.registry.metrics();
    const { url, reloadTls } = await startServer(shared, background, {
      isDraining,
      isDatabaseUp,
      readMetrics,
      writeLine,
      freePort,
    });
    channel?.listening(url);
    log.info({ url, version: VERSION, node }, "listening");
    const drain = (): void => void (hasDrained = true);
    const startArchive = (): void => archiveJob?.start();
    return { url, firstKey, drain, startArchive, stop: () => stopAll(stops), reloadTls, reloadPlan: background.reloadPlan };
  } catch (error) {
    await stopAll(stops);
    throw error;
  }
}

/** Commits once a second also without probes: the last commit that an idle node saw tells it that a server was recovered to an earlier time, and a
 *  recovery from the archive to a time ends at the next commit. */
function keepCommitting(isDatabaseUp: () => Promise<boolean>): () => void {
  const timer = setInterval(() => void isDatabaseUp(), READY_TRUST_MS);
  return () => clearInterval(timer);
}

// A database that works responds in milliseconds. A node whose database takes longer than this must get no requests.
const READY_TIMEOUT_MS = 2_000;
// A load balancer acts after several failed checks, seconds apart, so a result that is one second old does not delay it.
const READY_TRUST_MS = 1_000;

/** Every load balancer reads the readiness. One commit a second reaches the database. */
const readiness = (db: Database): (() => Promise<boolean>) =>
  remembered(READY_TRUST_MS, async () => {
    const isUp = db.probeWrite().then(
      () => true,
      () => false,
    );
    return (await within(isUp, READY_TIMEOUT_MS)) ?? false;
  });
