/** The handover between the workers of one machine. A link that one process at a time may open is open in one worker; a message that another
 *  worker accepts for it reaches that worker in memory.
 *
 *  No promise depends on it. The queue row of such a message carries a lease from its accept on, and is claimed after it if the message does
 *  not arrive. A message that arrives twice, or after a claim of its row, is sent once: the change to `sending` names the sequence that it
 *  expects. The worker that has the link reports how many messages its lane can take, and which ones have arrived; the others pass no more. */
import type { Clock } from "../database/database-clock.ts";
import { LeasedConnection } from "../links/leased-connection.ts";
import type { LanePlace } from "../messages/handover.ts";
import { messageOfValues, valuesOf, type MessageValues } from "../messages/message-text.ts";
import type { Message } from "../messages/message.ts";
import { PRIORITY_RANK } from "../messages/queue-entry.ts";
import type { Lane } from "./lane.ts";

/** The other workers of this machine. A worker is known by its number. */
export type Peers = {
  /** The number of this worker. */
  readonly self: number;
  /** Sends a text to one worker, or to all others. It may be lost. */
  send(text: string, to?: number): void;
  /** Calls `onText` for each text of another worker, and without a text when that worker has ended. */
  hear(onText: (from: number, text: string | null) => void): void;
};

/** How many messages of each rank of priority a lane can take. */
type Room = readonly [number, number, number];

/** `seen`: by the numbers of workers, how many messages each of them had passed to the lane with the last one that arrived. */
type LaneReport = { lane: string; room: Room; seen: Readonly<Record<number, number>> };

/** `number`: how many messages its worker has passed to the lane, with this one. */
type Passed = { lane: string; number: number; message: MessageValues };

type PeerText = { kind: "reports"; reports: readonly LaneReport[] } | { kind: "messages"; messages: readonly Passed[] };

export type PeerLanesParts = {
  peers: Peers;
  clock: Clock;
  /** The lanes of this process. */
  lanes: ReadonlyMap<string, Lane>;
  /** The lease that the messages are stored with. */
  leaseMs: number;
};

// Each report costs two messages between processes for each worker. A lane is filled in no less time.
const REPORT_AFTER_MS = 10;
// A full lane has room again soon, and no event announces it.
const REPORT_AGAIN_MS = 25;
// A worker that works reports once a second at least.
const VALID_MS = 3_000;
// These two bound the memory of a worker that does not turn, and of the supervisor.
const MAX_IN_FLIGHT = 1_000;
const MAX_TEXT = 8_192;
const NO_ROOM: Room = [0, 0, 0];

export class PeerLanes {
  readonly #parts: PeerLanesParts;
  readonly #remote = new Map<string, RemoteLane>();
  /** The texts of messages that leave at the end of this turn, by the numbers of the workers that they go to. */
  readonly #leaving = new Map<number, string[]>();
  /** The number of the last message of each worker that arrived, by the lanes of this process. */
  readonly #seen = new Map<string, Map<number, number>>();
  readonly #toReport = new Set<string>();
  #reporting: NodeJS.Timeout | undefined;
  #inFlight = 0;
  #isStopped = false;

  constructor(parts: PeerLanesParts) {
    this.#parts = parts;
    parts.peers.hear((from, text) => (text === null ? this.#ended(from) : this.#hear(from, JSON.parse(text) as PeerText)));
  }

  /** Reserves a place in the lane of the worker that has the link. Undefined if the message must wait in the queue. */
  reserve(lane: string, { priority }: Message): LanePlace | undefined {
    const remote = this.#remote.get(lane);
    if (remote === undefined || this.#inFlight >= MAX_IN_FLIGHT || hasLink(this.#parts.lanes.get(lane))) return undefined;
    return remote.reserve(PRIORITY_RANK[priority]) ? remote : undefined;
  }

  /** Reports the room of all lanes whose links are open in this process. Called once a second. */
  reportAll(): void {
    for (const [name, lane] of this.#parts.lanes) if (hasLink(lane)) this.#reportWithin(name, REPORT_AFTER_MS);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#reporting);
  }

  #hear(from: number, text: PeerText): void {
    if (text.kind === "messages") for (const each of text.messages) this.#receive(from, each);
    else for (const each of text.reports) this.#noteReport(from, each);
  }

  #receive(from: number, { lane: name, number, message: values }: Passed): void {
    const { lanes, clock, leaseMs } = this.#parts;
    const lane = lanes.get(name);
    if (lane === undefined) return;
    const seen = this.#seen.get(name) ?? new Map<number, number>();
    this.#seen.set(name, seen.set(from, number));
    this.#reportWithin(name, REPORT_AFTER_MS);
    const message = messageOfValues(values);
    const ageMs = clock.now() - message.updatedAtMs;
    // A process that was suspended: the lease ends soon, and a claim takes the message.
    if (ageMs < leaseMs / 3) lane.receive(message, ageMs);
  }

  #noteReport(from: number, { lane, room, seen }: LaneReport): void {
    const remote = this.#remote.get(lane) ?? new RemoteLane(lane, (place, message) => this.#pass(place, message));
    this.#remote.set(lane, remote);
    this.#inFlight -= remote.inFlight;
    remote.noteReport(from, room, seen[this.#parts.peers.self] ?? 0);
    this.#inFlight += remote.inFlight;
  }

  /** Passes a stored message on, or to the lane of this process, which returns it to the queue. */
  #pass(remote: RemoteLane, message: Message): void {
    const { owner } = remote;
    const passed: Passed = { lane: remote.name, number: remote.passed + 1, message: valuesOf(message) };
    const text = owner === undefined ? "" : JSON.stringify(passed);
    if (owner === undefined || text.length > MAX_TEXT) return this.#parts.lanes.get(remote.name)?.receive(message, 0);
    remote.passed += 1;
    this.#inFlight += 1;
    if (this.#leaving.size === 0) setImmediate(() => this.#flush());
    const leaving = this.#leaving.get(owner);
    if (leaving === undefined) this.#leaving.set(owner, [text]);
    else leaving.push(text);
  }

  #flush(): void {
    for (const [owner, texts] of this.#leaving) this.#parts.peers.send(`{"kind":"messages","messages":[${texts.join(",")}]}`, owner);
    this.#leaving.clear();
  }

  #ended(worker: number): void {
    for (const seen of this.#seen.values()) seen.delete(worker);
    for (const remote of this.#remote.values()) {
      this.#inFlight -= remote.inFlight;
      remote.forget(worker);
      this.#inFlight += remote.inFlight;
    }
  }

  #reportWithin(name: string, ms: number): void {
    this.#toReport.add(name);
    if (!this.#isStopped) this.#reporting ??= setTimeout(() => this.#report(), ms);
  }

  #report(): void {
    this.#reporting = undefined;
    const reports = Array.from(this.#toReport, (name) => this.#reportOf(name)).filter((report) => report !== undefined);
    this.#toReport.clear();
    if (reports.length > 0) this.#parts.peers.send(JSON.stringify({ kind: "reports", reports } satisfies PeerText));
    for (const { lane, room } of reports)
      if (this.#parts.lanes.get(lane)?.isWorking === true && room.includes(0)) this.#reportWithin(lane, REPORT_AGAIN_MS);
  }

  /** A process without the link reports no room, to those that have passed messages to it. */
  #reportOf(name: string): LaneReport | undefined {
    const lane = this.#parts.lanes.get(name);
    if (lane === undefined) return undefined;
    const seen = this.#seen.get(name) ?? new Map<number, number>();
    const share = (room: number): number => Math.max(0, Math.floor(room / Math.max(1, seen.size)));
    const [high, normal, bulk] = hasLink(lane) ? lane.roomForPeers : NO_ROOM;
    return { lane: name, room: [share(high), share(normal), share(bulk)], seen: Object.fromEntries(seen) };
  }
}

/** The lane of another worker, as far as this one knows it. */
class RemoteLane implements LanePlace {
  readonly name: string;
  readonly #pass: (lane: RemoteLane, message: Message) => void;
  /** How many messages this process has passed to the lane. */
  passed = 0;
  #arrived = 0;
  #reserved = 0;
  #owner: number | undefined;
  #room: Room = NO_ROOM;
  #reportedAtMs = -Infinity;

  constructor(name: string, pass: (lane: RemoteLane, message: Message) => void) {
    this.name = name;
    this.#pass = pass;
  }

  /** The worker that has the link. Undefined if it has not reported for too long. */
  get owner(): number | undefined {
    return performance.now() - this.#reportedAtMs < VALID_MS ? this.#owner : undefined;
  }

  get inFlight(): number {
    return this.passed - this.#arrived;
  }

  reserve(rank: number): boolean {
    if ((this.#room[rank] ?? 0) - this.inFlight - this.#reserved <= 0 || this.owner === undefined) return false;
    this.#reserved += 1;
    return true;
  }

  release(): void {
    this.#reserved -= 1;
  }

  take(message: Message): void {
    this.#reserved -= 1;
    this.#pass(this, message);
  }

  noteReport(from: number, room: Room, arrived: number): void {
    if (from !== this.#owner && room.every((each) => each === 0)) return;
    // The messages on the way to the worker that had the link before are left to their leases.
    if (from !== this.#owner) this.#arrived = this.passed;
    this.#owner = from;
    this.#room = room;
    this.#reportedAtMs = performance.now();
    // The report of a process that had the link before may be older than the messages that went to another one.
    this.#arrived = Math.min(this.passed, Math.max(this.#arrived, arrived));
  }

  forget(worker: number): void {
    if (worker !== this.#owner) return;
    this.#owner = undefined;
    this.#arrived = this.passed;
  }
}

/** Whether this process has the link of the lane, and no other one can have it. */
const hasLink = (lane: Lane | undefined): boolean => lane?.connection instanceof LeasedConnection && lane.connection.isHere;
