/** Notifies other nodes of new work, by the name of its lane. A notification for each message would make commits wait for each other, so
 *  there is at most one every few hundredths of a second. */
import { errorFields, type Log } from "../lib/log.ts";
import type { Database } from "./database.ts";
import { listen, notify, type Listening } from "./listen.ts";

const CHANNEL = "godwit_work";
const EVERY_MS = 25;

export class Announcer {
  readonly #db: Database;
  readonly #node: string;
  readonly #log: Log;
  readonly #lanes = new Set<string>();
  readonly #listeners: ((lane: string) => void)[] = [];
  #listening: Listening | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;

  constructor(db: Database, node: string, log: Log) {
    this.#db = db;
    this.#node = node;
    this.#log = log;
  }

  announce(lane: string): void {
    this.#lanes.add(lane);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const payloads = Array.from(this.#lanes, (name) => `${this.#node} ${name}`);
      this.#lanes.clear();
      void this.#notify(payloads);
    }, EVERY_MS);
  }

  /** Calls `onWork` for each announcement of another node. */
  hear(onWork: (lane: string) => void): void {
    this.#listeners.push(onWork);
    this.#listening ??= listen(this.#db, CHANNEL, {
      onMessage: (payload) => {
        const space = payload.indexOf(" ");
        if (payload.slice(0, space) !== this.#node) for (const each of this.#listeners) each(payload.slice(space + 1));
      },
      onError: (error) =>
        this.#log.warn({ event: "storage.listen_failed", ...errorFields(error) }, "listening for new work failed; logged once"),
    });
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#listening?.stop();
  }

  /** A lost announcement does no harm, since every node polls as well. */
  async #notify(payloads: readonly string[]): Promise<void> {
    try {
      await notify(this.#db, CHANNEL, payloads);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        this.#log.warn(
          { event: "storage.notify_failed", ...errorFields(error) },
          "other nodes could not be notified of new work; logged once",
        );
      this.#isFailing = true;
    }
  }
}
