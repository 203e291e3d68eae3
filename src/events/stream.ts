/** The event stream (Server-Sent Events), for clients that cannot receive webhooks. Events are sent in the order of their positions, once
 *  all events up to a position are settled (`positions.ts`). A reader that reconnects with the last id it received gets exactly the events
 *  that it has not received. */
import type { Credential } from "../access/authenticate.ts";
import type { Limiter } from "../access/limiter.ts";
import { Problem } from "../http/problem.ts";
import { encodeId, idKey, toId, type EventId } from "../model/id.ts";
import { MAX_UUID, NIL_UUID } from "../lib/uuid.ts";
import { pause } from "../lib/wait.ts";
import type { Database } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { storedEventText, type StoredEvent } from "./event.ts";
import { writersEnd, type EventPositions } from "./positions.ts";
import { cursorAt, lastPosition, listEntriesAfter, newestEventUntil, readEvents, type EventCursor } from "./queries.ts";

const PAGE = 500;
// As long as a page of `GET /v1/events`, since both cost one request of the quota.
const HISTORY_PAGE = 100;
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
const HISTORY_PAUSE_MS = 250;

export type StreamRequest = {
  owner: Credential;
  /** The last event that the reader received; undefined: only new events. */
  after: EventId | undefined;
  /** A type, a kind such as `message.*`, or all. */
  type: string;
  isAdmitted: () => Promise<boolean>;
  /** Aborted when the reader disconnects or the service stops. */
  signal: AbortSignal;
};

/** The place before the first event of an environment, in the form of an id. */
const FIRST_PLACE = toId("evt", NIL_UUID);

/** The position that a place names; undefined for the id of an event. Readers of 0.2 that had received no event have such places: the first half is
 *  zero, unlike that of an id with a time, and the second half is the position. */
const positionOf = (id: EventId): number | undefined =>
  id.readBigUInt64BE(0) === 0n ? Math.min(Number(id.readBigUInt64BE(8)), Number.MAX_SAFE_INTEGER) : undefined;

const isEventId = (after: EventId | undefined): after is EventId => after !== undefined && positionOf(after) === undefined;

export type EventStreamsParts = {
  db: Database;
  positions: EventPositions;
  limiter: Pick<Limiter, "take">;
  /** Runs a query for events of the past when it is the account's turn. */
  readInTurn: <T>(owner: Credential, work: () => Promise<T>) => Promise<T>;
  heartbeatMs?: number;
  maxStreams?: number;
};

export class EventStreams {
  readonly #parts: Required<EventStreamsParts>;
  /** The open streams of each account, the oldest first. */
  readonly #open = new Map<string, Set<AbortController>>();

  constructor(parts: EventStreamsParts) {
    this.#parts = { heartbeatMs: HEARTBEAT_MS, maxStreams: MAX_STREAMS, ...parts };
  }

  get count(): number {
    return this.#open.values().reduce((sum, each) => sum + each.size, 0);
  }

  /** Yields frames until the signal, or until the credential ends. Throws at once when there are too many streams. */
  open(request: StreamRequest): AsyncGenerator<string> {
    const account = idKey(request.owner.accountId);
    const mine = this.#open.get(account) ?? new Set();
    if (mine.size >= MAX_STREAMS_EACH) throw tooManyStreams("this account");
    if (this.count >= this.#parts.maxStreams) this.#makeRoom(mine.size);
    const ending = new AbortController();
    this.#open.set(account, mine.add(ending));
    const close = (): void => {
      mine.delete(ending);
      if (mine.size === 0 && this.#open.get(account) === mine) this.#open.delete(account);
    };
    return this.#frames({ ...request, signal: AbortSignal.any([request.signal, ending.signal]) }, close);
  }

  /** Ends the oldest stream of the account that has most, if that has more than the account that asks will have. So no account can
   *  keep another one from its part; the reader of the ended stream continues where it was when it finds room. */
  #makeRoom(mine: number): void {
    const [largest] = [...this.#open.values()].toSorted((one, other) => other.size - one.size);
    const [oldest] = largest ?? [];
    if (largest === undefined || oldest === undefined || largest.size <= mine + 1) throw tooManyStreams("this server");
    largest.delete(oldest);
    oldest.abort();
  }

  async *#frames({ owner, after, type, isAdmitted, signal }: StreamRequest, close: () => void): AsyncGenerator<string> {
    const { heartbeatMs, limiter } = this.#parts;
    try {
      const cursor = await this.#cursorOf(owner, after, signal);
      yield `retry: ${RECONNECT_MS}\nid: ${encodeId("evt", isEventId(after) ? after : await this.#placeOf(owner, cursor))}\n\n`;
      const reader = new Reader({ ...this.#parts, owner, type, cursor });
      let [spokeAt, checkedAt] = [performance.now(), performance.now()];
      while (!signal.aborted) {
        // A page of history takes quota.
        const isPaused = reader.isInHistory && (await limiter.take(owner))?.isAdmitted === false;
        for await (const frame of isPaused ? [] : reader.news()) {
          yield frame;
          if (signal.aborted) return;
          spokeAt = performance.now();
        }
        const now = performance.now();
        if (now - spokeAt > heartbeatMs) {
          yield ":\n\n";
          spokeAt = now;
        }
        if (now - checkedAt > CHECK_EVERY_MS) {
          if (!(await isAdmitted())) return;
          checkedAt = now;
        }
        if (reader.isLost) return;
        if (isPaused) await pause(HISTORY_PAUSE_MS, signal);
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
    if (position !== undefined) return { position: Math.min(position, await lastPosition(this.#parts.db)), id: MAX_UUID };
    return (await cursorAt(this.#parts.db, owner, after)) ?? { position: 0, id: NIL_UUID };
  }

  /** The id from which a reader continues that is disconnected before its first event. It is the last event of the reader's own environment,
   *  since the position would show how many events all accounts have. */
  async #placeOf(owner: Owner, { position }: EventCursor): Promise<EventId> {
    return (await newestEventUntil(this.#parts.db, owner, position)) ?? FIRST_PLACE;
  }

  /** The position after which events are new. If a transaction that writes events does not end, a reader gets some events of the last
   *  moments before it as well, since otherwise it would not get those of the transaction. */
  async #present(signal: AbortSignal): Promise<number> {
    const last = await lastPosition(this.#parts.db);
    const isSettled = await writersEnd(this.#parts.db, signal, START_WAIT_MS);
    return isSettled ? last : this.#parts.positions.settled();
  }
}

const tooManyStreams = (whose: string): Problem =>
  new Problem("rate_limit_exceeded", { detail: `${whose} has reached its limit of event streams`, headers: { "retry-after": "10" } });

type ReaderOptions = Pick<EventStreamsParts, "db" | "positions" | "readInTurn"> & {
  owner: Credential;
  type: string;
  cursor: EventCursor;
};

/** One reader, and its place in the order of events. */
class Reader {
  readonly #options: ReaderOptions;
  #cursor: EventCursor;
  /** Whether there are settled events that were not read yet. */
  isBehind = true;
  /** The position up to which events were there when the stream began. */
  #historyEnd: number | undefined;
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

  /** Whether the next page is one of history, and not the first one. */
  get isInHistory(): boolean {
    return this.isBehind && this.#historyEnd !== undefined && this.#cursor.position < this.#historyEnd;
  }

  /** Yields a page of settled events after the last one. */
  async *news(): AsyncGenerator<string> {
    const { db, positions, owner, type, readInTurn } = this.#options;
    const until = await positions.settled();
    this.#historyEnd ??= until;
    this.isBehind = false;
    if (until <= this.#cursor.position || this.isLost) return;
    const isHistory = this.#cursor.position < this.#historyEnd;
    const limit = isHistory ? HISTORY_PAGE : PAGE;
    const run = <T>(work: () => Promise<T>): Promise<T> => (isHistory ? readInTurn(owner, work) : work());
    const page = await run(() => listEntriesAfter(db, owner, { after: this.#cursor, until, type, limit }));
    const wanted = page.filter((entry) => entry.is_wanted);
    for (let at = 0; at < wanted.length; at += CHUNK) {
      const chunk = wanted.slice(at, at + CHUNK).map((entry) => ({ ...owner, entry }));
      const events = await run(() => readEvents(db, chunk));
      for (const event of events) yield toFrame(event);
    }
    this.isBehind = page.length === limit;
    const last = page.at(-1);
    this.#cursor = this.isBehind && last !== undefined ? last : { position: until, id: MAX_UUID };
  }
}

const toFrame = (event: StoredEvent): string =>
  `id: ${encodeId("evt", event.id)}\nevent: ${event.type}\ndata: ${storedEventText(event)}\n\n`;
