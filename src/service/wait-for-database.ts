/** Starts a node as soon as its database can be used. Until then the node listens, is alive and not ready, so that a power failure of a whole site
 *  needs no operator: the database may return after its nodes. */
import { WaitingServer } from "../api/waiting-server.ts";
import type { Config } from "../config.ts";
import { healsByWaiting, MustWait } from "../database/healing.ts";
import { readTlsFiles } from "../lib/tls-files.ts";
import { pause } from "../lib/wait.ts";
import type { Log } from "../model/log.ts";
import { notifySystemd } from "./notify-systemd.ts";

// A node is ready soon after its database, and each attempt is a few connections.
const ATTEMPT_MS = 1_000;
const LOG_MS = 60_000;

type WaitOptions = { config: Config; log: Log; stop: AbortSignal };

export class DatabaseWait {
  readonly #options: WaitOptions;
  #server: WaitingServer | undefined;
  #reason = "";
  #sinceMs: number | undefined;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: WaitOptions) {
    this.#options = options;
  }

  /** Whether the start failed at least once, and waits or has waited. */
  get hasBegun(): boolean {
    return this.#sinceMs !== undefined;
  }

  /** Repeats the start until it succeeds, or fails with an error that waiting does not heal. Returns undefined if the wait was stopped. */
  async run<T>(start: () => Promise<T>): Promise<T | undefined> {
    const { config, log, stop } = this.#options;
    try {
      for (;;) {
        try {
          const started = await start();
          if (this.#sinceMs !== undefined) log.info({ waited_ms: Math.round(performance.now() - this.#sinceMs) }, "the wait has ended");
          return started;
        } catch (error) {
          // The embedded database is a child of this process, and its faults are those of this machine.
          if (config.databaseUrl === undefined || !healsByWaiting(error)) throw error;
          await this.#note(error);
        }
        if (!stop.aborted) await pause(ATTEMPT_MS, stop);
        if (stop.aborted) return undefined;
      }
    } finally {
      await this.end();
    }
  }

  /** Leaves the port to the service. */
  readonly end = async (): Promise<void> => {
    await this.#server?.close();
    this.#server = undefined;
  };

  async #note(error: unknown): Promise<void> {
    const { config, log } = this.#options;
    const nowMs = performance.now();
    this.#sinceMs ??= nowMs;
    // Addresses are for the log only.
    this.#reason = error instanceof MustWait ? error.reason : "the service waits for its database";
    if (nowMs - this.#loggedAtMs >= LOG_MS) {
      this.#loggedAtMs = nowMs;
      const waitedMs = Math.round(nowMs - this.#sinceMs);
      log.warn({ event: "service.waiting", reason: reasonOf(error), waited_ms: waitedMs }, this.#reason);
    }
    if (this.#server !== undefined) return;
    const server = new WaitingServer({ ...config, tls: config.tls && readTlsFiles(config.tls) }, () => this.#reason);
    await server.listen();
    this.#server = server;
    notifySystemd(log);
  }
}

/** The message of an error, with that of its cause if the cause says more. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  const causes = cause instanceof AggregateError ? cause.errors : [cause];
  const more = causes.flatMap((each: unknown) => (each instanceof Error && !message.includes(each.message) ? [each.message] : []));
  return [message, ...more].join(": ");
}
