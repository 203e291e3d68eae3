/** Notifies other nodes of new work, by the name of its lane and by its group. A notification for each message would make
 *  commits wait for each other, so there is at most one for each group every few hundredths of a second. */
import { errorFields, type Log } from "../model/log.ts";
import type { Database } from "../database/database.ts";
import { listen, notify, type Listening } from "../database/listen.ts";

const CHANNEL = "godwit_work";
const EVERY_MS = 25;
// A notification of many groups would cost more than the scan with which other nodes find the rest.
const MAX_GROUPS = 200;

/** A group of rows in a lane, and when the first of them is due. */
export type Announced = { group: string; dueAtMs: number };

export class Announcer {
  readonly #db: Database;
  readonly #node: string;
  readonly #log: Log;
  /** The lanes and groups to announce, with their due times. */
  readonly #groups = new Map<string, number>();
  readonly #listeners: ((lane: string, announced: Announced) => void)[] = [];
  readonly #onListening: (() => void)[] = [];
  #listening: Listening | undefined;
  /** Whether it has begun to listen. */
  #isListening = false;
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;

  constructor(db: Database, node: string, log: Log) {
    this.#db = db;
    this.#node = node;
    this.#log = log;
  }

  announce(lane: string, { group, dueAtMs }: Announced): void {
    const name = `${lane} ${group}`;
    const known = this.#groups.get(name);
    if (known === undefined && this.#groups.size >= MAX_GROUPS) return;
    this.#groups.set(name, Math.min(dueAtMs, known ?? dueAtMs));
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const payloads = Array.from(this.#groups, ([each, dueMs]) => `${this.#node} ${Math.floor(dueMs)} ${each}`);
      this.#groups.clear();
      void this.#notify(payloads);
    }, EVERY_MS);
  }

  /** As `announce`, and calls the listeners of this process, for work whose origin does not know them. */
  announceToAll(lane: string, announced: Announced): void {
    for (const each of this.#listeners) each(lane, announced);
    this.announce(lane, announced);
  }

  /** Calls `onWork` for each announcement of another node. */
  hear(onWork: (lane: string, announced: Announced) => void): void {
    this.#listeners.push(onWork);
    this.#listening ??= listen(this.#db, CHANNEL, {
      onMessage: (payload) => this.#hear(payload),
      onListening: () => {
        this.#isListening = true;
        this.#onListening.forEach((each) => each());
      },
      onError: (error) =>
        this.#log.warn({ event: "storage.listen_failed", ...errorFields(error) }, "listening for new work failed; logged once"),
    });
  }

  /** Calls `onListening` when the announcements of other nodes arrive, at first or again: earlier ones were lost. */
  onListening(onListening: () => void): void {
    this.#onListening.push(onListening);
    // Another part has begun to listen before, and the announcements since then are lost for this one.
    if (this.#isListening) onListening();
  }

  #hear(payload: string): void {
    const [, node, dueMs, lane, group] = /^(\S+) (\d+) (\S*) (.*)$/.exec(payload) ?? [];
    if (node === this.#node || lane === undefined || group === undefined) return;
    for (const each of this.#listeners) each(lane, { group, dueAtMs: Number(dueMs) });
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#listening?.stop();
  }

  /** A lost announcement does no harm, since every node scans the queues as well. */
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
