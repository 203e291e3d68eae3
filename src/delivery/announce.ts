/** Tells other processes that a lane has work. A notification for each message would make commits wait for each other, so
 *  there is one in a few hundredths of a second at most. */
import type { Database } from "../storage/database.ts";
import { listen, notify, type Listening } from "../storage/listen.ts";

const CHANNEL = "godwit_work";
const EVERY_MS = 25;

export class Announcer {
  readonly #db: Database;
  readonly #node: string;
  readonly #lanes = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database, node: string) {
    this.#db = db;
    this.#node = node;
  }

  announce(lane: string): void {
    this.#lanes.add(lane);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const payloads = Array.from(this.#lanes, (name) => `${this.#node} ${name}`);
      this.#lanes.clear();
      // Lost with the database, it is made up for by everyone's poll.
      void notify(this.#db, CHANNEL, payloads).catch(() => undefined);
    }, EVERY_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** Hears what other processes announced. */
export const hearAnnouncements = (db: Database, node: string, onWork: (lane: string) => void): Listening =>
  listen(db, CHANNEL, (payload) => {
    const space = payload.indexOf(" ");
    if (payload.slice(0, space) !== node) onWork(payload.slice(space + 1));
  });
