/** The event stream (Server-Sent Events), for clients that cannot receive webhooks. Ids are in the order of time, commits are not. So the
 *  last seconds are read repeatedly, without the events that a reader already has. A reader that reconnects with the last id it received
 *  gets the events that it missed, and some again. */
import { Problem } from "../http/problem.ts";
import { encodeId, idKey, toId, type EventId } from "../lib/id.ts";
import { firstUuidAt, uuidTimeMs, type Uuid } from "../lib/uuid.ts";
import { pause } from "../lib/wait.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { eventText } from "./event.ts";
import { listIdsAfter, readEvents } from "./queries.ts";

// The id of an event is made before its transaction, which may wait for others and then run for ten seconds.
const LATE_MS = 20_000;
// Nearly all commits follow within a second, so the whole time is read less often.
const USUALLY_LATE_MS = 1_000;
const LOOK_BACK_EVERY_MS = 5_000;
const PAGE = 500;
const CHUNK = 50;
const BUSY_POLL_MS = 200;
const IDLE_POLL_MS = 1_000;
const IDLE_AFTER_MS = 10_000;
const HEARTBEAT_MS = 15_000;
const CHECK_EVERY_MS = 5_000;
const RECONNECT_MS = 2_000;
// Each stream queries the database by itself.
const MAX_STREAMS = 100;
const MAX_STREAMS_EACH = 20;

export type StreamRequest = {
  owner: Owner & { environmentKey: string };
  /** The last event that the reader received; undefined: only new events. */
  after: EventId | undefined;
  /** A type, a kind such as `message.*`, or all. */
  type: string;
  /** Whether the credential is still valid. */
  isAdmitted: () => Promise<boolean>;
  /** Aborted when the reader disconnects or the service stops. */
  signal: AbortSignal;
};

/** The streams of this process. */
export class EventStreams {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #heartbeatMs: number;
  readonly #open = new Map<string, number>();

  constructor(db: Database, clock: Clock, { heartbeatMs = HEARTBEAT_MS } = {}) {
    this.#db = db;
    this.#clock = clock;
    this.#heartbeatMs = heartbeatMs;
  }

  get count(): number {
    return this.#open.values().reduce((sum, each) => sum + each, 0);
  }

  /** Yields frames until the signal, or until the credential ends. Throws at once when there are too many streams. */
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
      const nowMs = this.#clock.now();
      const last = after ?? toId("evt", firstUuidAt(nowMs));
      // A reader that is disconnected before its first event continues from this id.
      yield `retry: ${RECONNECT_MS}\nid: ${encodeId("evt", last)}\n\n`;
      // Late events may have been committed while the reader was disconnected.
      const reader = new Reader(this.#db, { owner, type, nowMs, fromMs: after === undefined ? nowMs : uuidTimeMs(last) - LATE_MS });
      let [spokeAt, checkedAt] = [performance.now(), performance.now()];
      while (!signal.aborted) {
        for await (const frame of reader.news(this.#clock.now())) {
          yield frame;
          if (signal.aborted) return;
          spokeAt = performance.now();
        }
        const now = performance.now();
        if (now - spokeAt > this.#heartbeatMs) {
          yield ":\n\n";
          spokeAt = now;
        }
        if (now - checkedAt > CHECK_EVERY_MS) {
          if (!(await isAdmitted())) return;
          checkedAt = now;
        }
        if (reader.isBehind) continue;
        await pause(now - spokeAt > IDLE_AFTER_MS ? IDLE_POLL_MS : BUSY_POLL_MS, signal);
      }
    } finally {
      close();
    }
  }
}

type ReaderOptions = Pick<StreamRequest, "owner" | "type"> & { nowMs: number; fromMs: number };

/** The position of one reader and the events that it has. A scan reads all events from some time on, page by page. An event that a scan
 *  misses, because it was not committed, was made shortly before the scan began or later: the next scan starts there. */
class Reader {
  readonly #db: Database;
  readonly #owner: StreamRequest["owner"];
  readonly #type: string;
  /** The times of sent events by id, only of those that will be read again. */
  readonly #seen = new Map<string, number>();
  /** Events before this time are not read again. */
  #fromMs: number;
  #cursor: Uuid;
  /** When the last scan began, and the last one that went back all the way. */
  #lookedMs: number;
  #lookedBackMs: number;
  /** Whether there are events that were not read yet. */
  isBehind = true;

  constructor(db: Database, { owner, type, nowMs, fromMs }: ReaderOptions) {
    this.#db = db;
    this.#owner = owner;
    this.#type = type;
    this.#fromMs = fromMs;
    this.#cursor = firstUuidAt(fromMs);
    [this.#lookedMs, this.#lookedBackMs] = [nowMs, nowMs];
  }

  /** Yields a page of events that were not sent yet, oldest first. */
  async *news(nowMs: number): AsyncGenerator<string> {
    this.#turn(nowMs);
    const page = await listIdsAfter(this.#db, this.#owner, this.#cursor, this.#type, PAGE);
    const fresh = page.filter(({ id }) => !this.#seen.has(idKey(id)));
    for (let at = 0; at < fresh.length; at += CHUNK) yield* this.#read(fresh.slice(at, at + CHUNK));
    this.#cursor = page.at(-1)?.id ?? this.#cursor;
    this.isBehind = page.length === PAGE;
  }

  async *#read(ids: readonly { id: EventId }[]): AsyncGenerator<string> {
    const events = await readEvents(
      this.#db,
      ids.map((entry) => ({ ...this.#owner, entry })),
    );
    for (const event of events) {
      const madeMs = uuidTimeMs(event.id);
      if (madeMs >= this.#lookedBackMs - LATE_MS) this.#seen.set(idKey(event.id), madeMs);
      yield `id: ${encodeId("evt", event.id)}\nevent: ${event.type}\ndata: ${eventText(event)}\n\n`;
    }
  }

  /** Begins a scan when the last one has ended. A long scan, of a slow reader, is interrupted for a scan that goes back, because otherwise
   *  the events that the reader has could not be forgotten. */
  #turn(nowMs: number): void {
    const sinceMs = nowMs - this.#lookedBackMs;
    if (sinceMs > (this.isBehind ? LATE_MS : LOOK_BACK_EVERY_MS)) this.#lookBack(nowMs);
    else if (!this.isBehind) {
      this.#cursor = firstUuidAt(Math.max(this.#lookedMs - USUALLY_LATE_MS, this.#fromMs));
      this.#lookedMs = nowMs;
    }
  }

  #lookBack(nowMs: number): void {
    this.#fromMs = Math.max(this.#lookedBackMs - LATE_MS, this.#fromMs);
    const from = firstUuidAt(this.#fromMs);
    if (!this.isBehind || Buffer.compare(from, this.#cursor) < 0) this.#cursor = from;
    for (const [id, madeMs] of this.#seen) if (madeMs < this.#fromMs) this.#seen.delete(id);
    [this.#lookedMs, this.#lookedBackMs] = [nowMs, nowMs];
  }
}
