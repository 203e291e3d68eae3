/** Tells other processes that there is work for them, by the name of its lane. A notification for each message would make
 *  commits wait for each other, so there is one in a few hundredths of a second at most. */
import type { Database } from "./database.ts";
import { listen, notify, type Listening } from "./listen.ts";

const CHANNEL = "godwit_work";
const EVERY_MS = 25;

export class Announcer {
  readonly #db: Database;
  readonly #node: string;
  readonly #lanes = new Set<string>();
  readonly #hearers: ((lane: string) => void)[] = [];
  #listening: Listening | undefined;
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

  /** Hears what other processes announce. */
  hear(onWork: (lane: string) => void): void {
    this.#hearers.push(onWork);
    this.#listening ??= listen(this.#db, CHANNEL, (payload) => {
      const space = payload.indexOf(" ");
      if (payload.slice(0, space) !== this.#node) for (const each of this.#hearers) each(payload.slice(space + 1));
    });
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#listening?.stop();
  }
}
