/** Events as they happen, for those who cannot be called: Server-Sent Events. Ids are in the order of time, commits are not: so
 *  the last seconds are looked at again and again, and what a reader has had is left out. A reader that comes back with the last
 *  id it saw gets what it missed, and some of what it had. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Environment } from "../access/environment.ts";
import { Problem } from "../http/problem.ts";
import { encodeId } from "../lib/id.ts";
import { firstUuidAt, uuidTimeMs, type Uuid } from "../lib/uuid.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { eventText } from "./event.ts";
import { listIdsAfter, readEvents } from "./queries.ts";

// An event's id is made before its transaction, which waits for others and has ten seconds by itself.
const LATE_MS = 20_000;
// Nearly all are there within a second: the whole of the time is gone over less often.
const USUALLY_LATE_MS = 1_000;
const LOOK_BACK_EVERY_MS = 5_000;
/** What a reader that comes back is sent again. */
const REPEAT_MS = 5_000;
const PAGE = 500;
const CHUNK = 50;
const BUSY_POLL_MS = 200;
const IDLE_POLL_MS = 1_000;
const IDLE_AFTER_MS = 10_000;
const HEARTBEAT_MS = 15_000;
const RECONNECT_MS = 2_000;
// Each asks the database for itself.
const MAX_STREAMS = 100;
const MAX_STREAMS_EACH = 20;

export type StreamRequest = {
  owner: { accountId: Uuid; environment: Environment; environmentKey: string };
  /** The last event the reader saw; undefined: from now on. */
  after: Uuid | undefined;
  /** A type, a kind such as `message.*`, or all. */
  type: string;
  /** Whether the credential still holds. */
  isAdmitted: () => Promise<boolean>;
  /** The reader left, or the service stops. */
  signal: AbortSignal;
};

/** The streams of this process. */
export class EventStreams {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #open = new Map<string, number>();

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  get count(): number {
    return this.#open.values().reduce((sum, each) => sum + each, 0);
  }

  /** Frames, until the signal or the end of the credential. Throws at once when there are too many streams. */
  open(request: StreamRequest): AsyncGenerator<string> {
    const name = request.owner.environmentKey;
    const mine = this.#open.get(name) ?? 0;
    if (mine >= MAX_STREAMS_EACH || this.count >= MAX_STREAMS)
      throw new Problem("rate_limit_exceeded", {
        detail: `${mine >= MAX_STREAMS_EACH ? "this environment" : "this server"} has as many event streams as it may have`,
        headers: { "retry-after": "10" },
      });
    this.#open.set(name, mine + 1);
    const close = (): void => {
      const left = (this.#open.get(name) ?? 1) - 1;
      if (left === 0) this.#open.delete(name);
      else this.#open.set(name, left);
    };
    return this.#frames(request, close);
  }

  async *#frames({ owner, after, type, isAdmitted, signal }: StreamRequest, close: () => void): AsyncGenerator<string> {
    try {
      yield `retry: ${RECONNECT_MS}\n\n`;
      const reader = new Reader(this.#db, owner, type);
      reader.cursor = firstUuidAt(after === undefined ? this.#clock.now() : Math.max(0, uuidTimeMs(after) - REPEAT_MS));
      let [spokeAt, checkedAt, lookedBackAt] = [performance.now(), performance.now(), performance.now()];
      while (!signal.aborted) {
        for await (const frame of reader.news()) {
          yield frame;
          if (signal.aborted) return;
          spokeAt = performance.now();
        }
        const now = performance.now();
        if (now - spokeAt > HEARTBEAT_MS) {
          yield ":\n\n";
          spokeAt = now;
        }
        if (now - checkedAt > LOOK_BACK_EVERY_MS) {
          if (!(await isAdmitted())) return;
          checkedAt = now;
        }
        const isLookingBack = now - lookedBackAt > LOOK_BACK_EVERY_MS;
        if (isLookingBack) lookedBackAt = now;
        reader.lookBack(this.#clock.now(), isLookingBack ? LATE_MS : USUALLY_LATE_MS);
        await sleep(now - spokeAt > IDLE_AFTER_MS ? IDLE_POLL_MS : BUSY_POLL_MS, undefined, { signal }).catch(() => undefined);
      }
    } finally {
      close();
    }
  }
}

/** What one reader has had, and where it is. */
class Reader {
  readonly #db: Database;
  readonly #owner: StreamRequest["owner"];
  readonly #type: string;
  /** When each was made, by id: of the last seconds alone. */
  readonly #seen = new Map<string, number>();
  /** Nothing before this is looked at again. */
  #start: Uuid | undefined;
  cursor: Uuid = firstUuidAt(0);

  constructor(db: Database, owner: StreamRequest["owner"], type: string) {
    this.#db = db;
    this.#owner = owner;
    this.#type = type;
  }

  /** All that is there after the cursor and was not sent, oldest first. */
  async *news(): AsyncGenerator<string> {
    this.#start ??= this.cursor;
    for (;;) {
      const page = await listIdsAfter(this.#db, this.#owner, this.cursor, this.#type, PAGE);
      const fresh = page.filter(({ id }) => !this.#seen.has(id.toString("latin1")));
      for (let at = 0; at < fresh.length; at += CHUNK) yield* this.#read(fresh.slice(at, at + CHUNK));
      this.cursor = page.at(-1)?.id ?? this.cursor;
      if (page.length < PAGE) return;
    }
  }

  async *#read(ids: readonly { id: Uuid }[]): AsyncGenerator<string> {
    const events = await readEvents(
      this.#db,
      ids.map((entry) => ({ ...this.#owner, entry })),
    );
    for (const event of events) {
      this.#seen.set(event.id.toString("latin1"), uuidTimeMs(event.id));
      yield `id: ${encodeId("evt", event.id)}\nevent: ${event.type}\ndata: ${eventText(event)}\n\n`;
    }
  }

  /** The next look begins so long before now, or before the last event where that was earlier. */
  lookBack(nowMs: number, forMs: number): void {
    const from = firstUuidAt(Math.min(nowMs, uuidTimeMs(this.cursor)) - forMs);
    const start = this.#start ?? from;
    this.cursor = Buffer.compare(from, start) < 0 ? start : from;
    for (const [id, madeAt] of this.#seen) if (madeAt < nowMs - LATE_MS - LOOK_BACK_EVERY_MS) this.#seen.delete(id);
  }
}
