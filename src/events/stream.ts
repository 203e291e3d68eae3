/** The event stream (Server-Sent Events), for clients that cannot receive webhooks. Events are sent in the order of their positions, once
 *  all events up to a position are settled (`positions.ts`). A reader that reconnects with the last id it received gets exactly the events
 *  that it has not received. */
import { Problem } from "../http/problem.ts";
import { encodeId, toId, type EventId } from "../lib/id.ts";
import { MAX_UUID, NIL_UUID, uuidFromBytes } from "../lib/uuid.ts";
import { pause } from "../lib/wait.ts";
import type { Database } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { eventText } from "./event.ts";
import { writersEnd, type EventPositions } from "./positions.ts";
import { cursorAt, lastPosition, listEntriesAfter, readEvents, type EventCursor } from "./queries.ts";

const PAGE = 500;
const CHUNK = 50;
const BUSY_POLL_MS = 200;
const IDLE_POLL_MS = 1_000;
const IDLE_AFTER_MS = 10_000;
const HEARTBEAT_MS = 15_000;
const CHECK_EVERY_MS = 5_000;
const RECONNECT_MS = 2_000;
const START_WAIT_MS = 1_000;
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

// The first half of a place is zero, and never that of an id with a time.
const POSITION_OFFSET = 8;

/** A place in the stream in the form of an event's id, for a reader that has received no event yet. */
function placeId(position: number): EventId {
  const bytes = Buffer.alloc(16);
  bytes.writeBigUInt64BE(BigInt(position), POSITION_OFFSET);
  return toId("evt", uuidFromBytes(bytes));
}

/** The position that a place names; undefined for the id of an event. */
const positionOf = (id: EventId): number | undefined =>
  id.readBigUInt64BE(0) === 0n ? Math.min(Number(id.readBigUInt64BE(POSITION_OFFSET)), Number.MAX_SAFE_INTEGER) : undefined;

const isEventId = (after: EventId | undefined): after is EventId => after !== undefined && positionOf(after) === undefined;

/** The streams of this process. */
export class EventStreams {
  readonly #db: Database;
  readonly #positions: EventPositions;
  readonly #heartbeatMs: number;
  readonly #open = new Map<string, number>();

  constructor(db: Database, positions: EventPositions, { heartbeatMs = HEARTBEAT_MS } = {}) {
    this.#db = db;
    this.#positions = positions;
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
      const cursor = await this.#cursorOf(owner, after, signal);
      // A reader that is disconnected before its first event continues from this id.
      yield `retry: ${RECONNECT_MS}\nid: ${encodeId("evt", isEventId(after) ? after : placeId(cursor.position))}\n\n`;
      const reader = new Reader({ db: this.#db, positions: this.#positions, owner, type, cursor });
      let [spokeAt, checkedAt] = [performance.now(), performance.now()];
      while (!signal.aborted) {
        for await (const frame of reader.news()) {
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
        if (reader.isLost) return;
        if (reader.isBehind) continue;
        await pause(now - spokeAt > IDLE_AFTER_MS ? IDLE_POLL_MS : BUSY_POLL_MS, signal);
      }
    } finally {
      close();
    }
  }

  async #cursorOf(owner: Owner, after: EventId | undefined, signal: AbortSignal): Promise<EventCursor> {
    if (after === undefined) return { position: await this.#present(signal), id: MAX_UUID };
    const position = positionOf(after);
    if (position !== undefined) return { position: Math.min(position, await lastPosition(this.#db)), id: MAX_UUID };
    return (await cursorAt(this.#db, owner, after)) ?? { position: 0, id: NIL_UUID };
  }

  /** The position after which events are new. If a transaction that writes events does not end, a reader gets some events of the last
   *  moments before it as well, since otherwise it would not get those of the transaction. */
  async #present(signal: AbortSignal): Promise<number> {
    const last = await lastPosition(this.#db);
    const isSettled = await writersEnd(this.#db, AbortSignal.any([signal, AbortSignal.timeout(START_WAIT_MS)]));
    return isSettled ? last : this.#positions.settled();
  }
}

type ReaderOptions = { db: Database; positions: EventPositions; owner: Owner; type: string; cursor: EventCursor };

/** One reader, and its place in the order of events. */
class Reader {
  readonly #options: ReaderOptions;
  #cursor: EventCursor;
  /** Whether there are settled events that were not read yet. */
  isBehind = true;
  readonly #restores: number;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#cursor = options.cursor;
    this.#restores = options.positions.restores;
  }

  /** Whether the database was restored. Positions are drawn again, so a client has to connect anew, with the last event that it received. */
  get isLost(): boolean {
    return this.#options.positions.restores > this.#restores;
  }

  /** Yields a page of settled events after the last one. */
  async *news(): AsyncGenerator<string> {
    const { db, positions, owner, type } = this.#options;
    const until = await positions.settled();
    this.isBehind = false;
    if (until <= this.#cursor.position || this.isLost) return;
    const page = await listEntriesAfter(db, owner, { after: this.#cursor, until, type, limit: PAGE });
    const wanted = page.filter((entry) => entry.is_wanted);
    for (let at = 0; at < wanted.length; at += CHUNK) yield* this.#read(wanted.slice(at, at + CHUNK));
    this.isBehind = page.length === PAGE;
    const last = page.at(-1);
    this.#cursor = this.isBehind && last !== undefined ? last : { position: until, id: MAX_UUID };
  }

  async *#read(entries: readonly { id: EventId }[]): AsyncGenerator<string> {
    const { db, owner } = this.#options;
    const events = await readEvents(
      db,
      entries.map((entry) => ({ ...owner, entry })),
    );
    for (const event of events) yield `id: ${encodeId("evt", event.id)}\nevent: ${event.type}\ndata: ${eventText(event)}\n\n`;
  }
}
