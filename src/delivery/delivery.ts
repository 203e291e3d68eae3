/** Everything that makes messages travel, started and stopped as one: the links, their lanes, the release of scheduled
 *  messages, receipts, and what time alone does. */
import type { Log } from "../lib/log.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { Turns } from "../lib/turns.ts";
import { within } from "../lib/wait.ts";
import { Advancer } from "../messages/advance.ts";
import type { Composer } from "../messages/compose.ts";
import type { Handover } from "../messages/handover.ts";
import type { Message } from "../messages/message.ts";
import type { Bell } from "../outbox/bell.ts";
import type { Provider } from "../providers/provider.ts";
import { LEASE_MS, SCHEDULED_LANE } from "../queue/place.ts";
import type { Link } from "../routing/link.ts";
import type { Routes } from "../routing/route.ts";
import type { Announcer } from "../storage/announce.ts";
import type { DatabaseClock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { Attempts } from "./attempt.ts";
import { Deadlines } from "./deadlines.ts";
import { startDueFallbacks } from "./fallbacks.ts";
import { Inbound } from "./inbound.ts";
import { Lane } from "./lane.ts";
import { Receipts } from "./receipts.ts";
import { releaseDue } from "./release.ts";
import { expireLapsed, expireUnanswered, forgetInbound, forgetParkedForGood } from "./sweep.ts";

/** Told of everything that is counted. */
export type DeliveryWatch = {
  handedOver(link: string, message: Message, nowMs: number): void;
  attempted(link: string, outcome: string): void;
  advanced(status: string): void;
  received(link: string, status: string, isIgnored: boolean): void;
  parked(link: string, count: number): void;
  inbound(link: string, outcome: "received" | "repeated" | "unowned"): void;
};

export type DeliveryParts = {
  db: Database;
  clock: DatabaseClock;
  announcer: Announcer;
  /** Rung when a change is to be told to someone. */
  bell: Bell;
  links: readonly Link[];
  providers: Readonly<Record<string, Provider<never>>>;
  routes: Routes;
  composer: Composer;
  /** Opens what only a carrier is to see. */
  box: SecretBox;
  receiptWaitMs: number;
  /** How long a provider has for an answer. */
  answerWithinMs: number;
  watch: DeliveryWatch;
  log: Log;
};

const POLL_MS = 1_000;
// What ends badly is to be followed soon: nobody else tells of it.
const FALLBACK_POLL_MS = 250;
// Together with the time a carrier has to say goodbye, within what a stop may take.
const DRAIN_MS = 5_000;
const GIVE_UP_MS = 1_500;
const CLOSE_MS = 3_000;
// A sweep takes at most a fiftieth of the time.
const SWEEP_PAUSE = 50;

export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #lanes = new Map<string, Lane>();
  readonly #advancer: Advancer;
  readonly #receipts: Receipts;
  readonly #inbound: Inbound;
  readonly #deadlines: Deadlines;
  readonly #turns: Turns;
  readonly #stopping = new AbortController();

  constructor(parts: DeliveryParts) {
    const { db, clock, bell, watch, receiptWaitMs, log } = parts;
    this.#parts = parts;
    this.#advancer = new Advancer({ db, clock, bell, watch });
    this.#receipts = new Receipts({ db, advancer: this.#advancer, watch, receiptWaitMs, log });
    this.#inbound = new Inbound({ db, clock, bell, watch, log });
    this.#deadlines = new Deadlines(parts.answerWithinMs);
    this.#turns = new Turns((error) => log.error({ message: String(error) }, "delivery met trouble"));
  }

  get lanes(): ReadonlyMap<string, Lane> {
    return this.#lanes;
  }

  async start(): Promise<void> {
    const { db, clock, announcer, bell, links, routes, composer, box } = this.#parts;
    for (const link of links) this.#lanes.set(link.name, await this.#openLane(link));
    announcer.hear((lane) => this.#lanes.get(lane)?.wake());
    const release = async (): Promise<number> => {
      const { lanes, released } = await releaseDue({ db, advancer: this.#advancer, routes });
      for (const lane of lanes) this.#wake(lane);
      return released > 0 ? 0 : POLL_MS;
    };
    this.#turns.every(async () => {
      for (const lane of this.#lanes.values()) lane.wake();
      return POLL_MS;
    });
    this.#turns.every(release);
    const fallbacks = { db, clock, composer, box, handover: this.handover, bell };
    this.#turns.every(async () => ((await startDueFallbacks(fallbacks)) > 0 ? 0 : FALLBACK_POLL_MS));
    this.#turns.every(paced(() => expireLapsed(db, this.#advancer)));
    this.#turns.every(paced(() => expireUnanswered(db, this.#advancer)));
    this.#turns.every(paced(() => this.#receipts.takeUpForgotten()));
    this.#turns.every(paced(() => forgetParkedForGood(db)));
    this.#turns.every(paced(() => forgetInbound(db)));
  }

  /** New messages come to the lanes of this process through here. */
  get handover(): Handover {
    return {
      leaseMs: LEASE_MS,
      reserve: (lane, message) => this.#lanes.get(lane)?.reserve(message) ?? false,
      release: (lane) => this.#lanes.get(lane)?.release(),
      stored: (name, message, isReserved) => {
        const lane = this.#lanes.get(name);
        if (isReserved) lane?.take(message);
        else if (name !== SCHEDULED_LANE) {
          lane?.lineUp();
          this.#parts.announcer.announce(name);
        }
      },
    };
  }

  /** No new work; what may have left is waited for, and what is not settled then is told as unknown. */
  async stop(): Promise<void> {
    await this.#turns.stop();
    const lanes = Array.from(this.#lanes.values());
    await Promise.all(lanes.map((lane) => lane.drain(DRAIN_MS)));
    // Who has not answered by now is told to end; what may have left is of unknown outcome, and put on record as such.
    this.#deadlines.abortAll();
    await Promise.all(lanes.map((lane) => lane.drain(GIVE_UP_MS)));
    this.#stopping.abort();
    await Promise.all(lanes.map((lane) => within(lane.close(), CLOSE_MS)));
    await within(this.#receipts.settled(), GIVE_UP_MS);
    this.#deadlines.stop();
  }

  async #openLane(link: Link): Promise<Lane> {
    const { db, clock, providers, watch, receiptWaitMs, log } = this.#parts;
    const provider = providers[link.provider];
    if (provider === undefined) throw new Error(`the link ${link.name} names a provider that is not there: ${link.provider}`);
    const connection = await provider.open(link.settings as never, {
      receive: (receipts) => this.#receipts.receive(link.name, receipts),
      receiveMessages: (messages) => this.#inbound.receive(link, messages),
      changed: () => this.#lanes.get(link.name)?.wake(),
      now: () => clock.now(),
      log,
    });
    const attempts = new Attempts({
      db,
      advancer: this.#advancer,
      receipts: this.#receipts,
      deadlines: this.#deadlines,
      watch,
      box: this.#parts.box,
      receiptWaitMs,
      stopping: this.#stopping.signal,
    });
    return new Lane({ db, link, connection, attempts, log });
  }

  #wake(lane: string): void {
    this.#lanes.get(lane)?.wake();
    this.#parts.announcer.announce(lane);
  }
}

/** A sweep that tells when to run it again: soon while there is more, and never so often that it weighs. One slow turn says
 *  little: the first one opens its connection, and any may have waited for others. Two in a row tell what a sweep costs. */
function paced(sweep: () => Promise<number>): () => Promise<number> {
  let beforeMs = 0;
  return async () => {
    const startedAt = performance.now();
    const found = await sweep();
    const tookMs = performance.now() - startedAt;
    const costMs = Math.min(tookMs, beforeMs);
    beforeMs = tookMs;
    return found > 0 ? tookMs : Math.max(POLL_MS, costMs * SWEEP_PAUSE);
  };
}

/** For a process that accepts and does not deliver: every message waits in the queue, and the others are told. */
export function announcingHandover(announcer: Announcer): Handover {
  return {
    leaseMs: 0,
    reserve: () => false,
    release: () => undefined,
    stored: (lane) => {
      if (lane !== SCHEDULED_LANE) announcer.announce(lane);
    },
  };
}
