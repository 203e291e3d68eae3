/** The delivery of messages on one node, started and stopped as a whole: links, lanes, the release of scheduled messages, failover,
 *  fallbacks, receipts and expiry. */
import { isDeepStrictEqual } from "node:util";
import { RepeatingJob } from "../lib/background-job.ts";
import { toId } from "../model/id.ts";
import { reportError, type Log } from "../model/log.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { uuidFromText, uuidToText } from "../lib/uuid.ts";
import { within } from "../lib/wait.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import { linkCursor } from "../links/cursor.ts";
import { LinkLease } from "../links/lease.ts";
import { LeasedConnection } from "../links/leased-connection.ts";
import type { Link } from "../links/link.ts";
import { readReceiptForm, storeReceiptForm } from "../links/receipt-forms.ts";
import { StateReporter, type OpenLink } from "../links/report-states.ts";
import type { Advancer } from "../messages/advance.ts";
import type { Composer } from "../messages/compose.ts";
import type { Handover } from "../messages/handover.ts";
import type { Message } from "../messages/message.ts";
import { PRIORITY_RANK, SCHEDULED_LANE } from "../messages/queue-entry.ts";
import type { Connection, LeasedHost, Provider } from "../providers/provider.ts";
import type { Announced, Announcer } from "../database/announce.ts";
import type { DatabaseClock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { PacedScan } from "../database/paced-scan.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { Attempts } from "./attempt.ts";
import { Backlog } from "./backlog.ts";
import { Deadlines } from "./deadlines.ts";
import { startDueFallbacks } from "./due-fallbacks.ts";
import { Failover } from "./failover.ts";
import { Lane } from "./lane.ts";
import type { ProviderHosts } from "./provider-hosts.ts";
import { readParked, readRecentCarrierIds } from "./receipt-queries.ts";
import type { Receipts } from "./receipts.ts";
import { scanAccounts, type QueuedAccount } from "./queue.ts";
import { Releaser } from "./release.ts";
import { SlowedAccounts } from "./slowed-accounts.ts";
import { expireQueued, expireWithoutReceipt, deleteOldInboundIds, deleteOldParked } from "./sweep.ts";
import type { DeliveryWatch } from "./watch.ts";

export type DeliveryParts = {
  db: Database;
  clock: DatabaseClock;
  announcer: Announcer;
  /** Wakes the webhook workers when a change has queued a delivery. */
  wakeWebhooks: () => void;
  /** The name of this node. */
  node: string;
  hosts: ProviderHosts;
  providers: Readonly<Record<string, Provider<never>>>;
  linkChooser: LinkChooser;
  composer: Composer;
  /** Opens sealed content, which only the carrier may see. */
  box: SecretBox;
  receiptWaitMs: number;
  /** The time limit for the response of a carrier. */
  responseTimeoutMs: number;
  /** How long a claim of queued messages lasts, and how long the lease of an exclusive link, which only one node may open. */
  queueLeaseMs: number;
  linkLeaseMs: number;
  /** How often the lanes read the queue when no node announces messages. */
  pollMs: number;
  /** After how long a link counts as down when no node reports it as up. The default is some seconds. */
  downAfterMs?: number;
  watch: DeliveryWatch;
  log: Log;
  tracing?: Tracing | undefined;
};

// No wake-up announces that a time has come (`send_at`, time to live), so this is how late a turn finds it. A turn that finds nothing
// is a few probes of an index.
const POLL_MS = 1_000;
// A fallback should start soon after its message has failed, and no wake-up announces it.
const FALLBACK_POLL_MS = 250;
// A link counts as down after 15 seconds without a connection, so two more seconds hardly delay a failover.
const FAILOVER_POLL_MS = 2_000;
// These three together stay within the time that a shutdown may take.
const DRAIN_MS = 5_000;
const GIVE_UP_MS = 1_500;
const CLOSE_MS = 3_000;
// Messages beyond those in hand are claimed from the queue, which takes a fifth more of the processor than handing them over at once.
const MAX_BACKLOG = 100;
// An account with a longer backlog continues with few requests at a time.
const LEAST_REQUESTS = 16;
// A sweep pauses for this many times its duration, so that it takes at most a fiftieth of the time.
const SWEEP_PAUSE_FACTOR = 50;

export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #lanes = new Map<string, Lane>();
  readonly #advancer: Advancer;
  readonly #receipts: Receipts;
  readonly #reporter: StateReporter;
  readonly #deadlines: Deadlines;
  readonly #job: RepeatingJob;
  readonly #stopping = new AbortController();
  readonly #backlog = new Backlog();
  readonly #slowed: SlowedAccounts;
  /** The changes of links under way, by the names of links. */
  readonly #changes = new Map<string, Promise<void>>();
  #isStopped = false;
  /** The lanes that had messages at the last scan. */
  #queuedLanes: readonly string[] = [];

  constructor(parts: DeliveryParts) {
    const { db, clock, node, hosts, log } = parts;
    this.#parts = parts;
    this.#slowed = new SlowedAccounts(parts.announcer);
    this.#advancer = hosts.advancer;
    this.#receipts = hosts.receipts;
    this.#reporter = new StateReporter({
      db,
      clock,
      node,
      links: () => this.#openLinks(),
      onError: reportError(log, "links.state_report_failed", "the states of links could not be stored"),
    });
    this.#deadlines = new Deadlines(parts.responseTimeoutMs);
    this.#job = new RepeatingJob({ onError: reportError(log, "delivery.task_failed", "a background task of delivery failed") });
  }

  /** The number of messages that wait for this node, and not for a carrier. */
  get backlog(): number {
    return this.#advancer.isBusy ? this.#backlog.total : 0;
  }

  get isOnHold(): boolean {
    return this.#parts.linkChooser.hold !== undefined;
  }

  get lanes(): ReadonlyMap<string, Lane> {
    return this.#lanes;
  }

  async start(): Promise<void> {
    const { db, clock, announcer, wakeWebhooks, linkChooser, composer, box, receiptWaitMs, queueLeaseMs, pollMs, downAfterMs } =
      this.#parts;
    for (const link of linkChooser.links) this.#lanes.set(link.name, await this.#openLane(link));
    this.#reporter.start();
    announcer.hear((lane, group) => this.#announced(lane, group));
    const releaser = new Releaser({ db, advancer: this.#advancer, linkChooser, leaseMs: queueLeaseMs });
    this.#job.repeat(async () => {
      for (const lane of this.#lanes.values()) lane.wake();
      return pollMs;
    });
    const scan = new PacedScan(() => this.#scanQueue(), pollMs);
    announcer.onListening(() => scan.request());
    this.#job.repeat(scan.turn);
    this.#job.repeat(async () => {
      const { released, hasMore } = await releaser.release();
      for (const { message, lane, dueAtMs } of released) this.#passOn(lane, message, dueAtMs);
      return hasMore ? 0 : POLL_MS;
    });
    const failover = new Failover({
      db,
      linkChooser,
      advancer: this.#advancer,
      receipts: this.#receipts,
      receiptWaitMs,
      leaseMs: queueLeaseMs,
      queuedLanes: () => this.#queuedLanes,
      passOn: (lane, message, dueAtMs) => this.#passOn(lane, message, dueAtMs),
      ...(downAfterMs === undefined ? {} : { downAfterMs }),
    });
    this.#job.repeat(async () => ((await failover.turn()) > 0 ? 0 : FAILOVER_POLL_MS));
    const fallbacks = { db, clock, composer, box, handover: this.handover, wakeWebhooks, leaseMs: queueLeaseMs };
    // During a hold, whether these messages were handed over is not known.
    const unlessHeld = (work: () => Promise<number>) => (): Promise<number> =>
      this.#parts.linkChooser.hold === undefined ? work() : Promise.resolve(0);
    const startFallbacks = unlessHeld(() => startDueFallbacks(fallbacks));
    this.#job.repeat(async () => ((await startFallbacks()) > 0 ? 0 : FALLBACK_POLL_MS));
    this.#job.repeat(paced(unlessHeld(() => expireQueued(db, this.#advancer))));
    this.#job.repeat(paced(unlessHeld(() => expireWithoutReceipt(db, this.#advancer))));
    this.#job.repeat(paced(() => this.#receipts.applyMissed()));
    this.#job.repeat(paced(() => deleteOldParked(db, clock.now())));
    this.#job.repeat(paced(() => deleteOldInboundIds(db, clock.now())));
  }

  /** The handover of accepted messages to the lanes of this node. */
  get handover(): Handover {
    return {
      leaseMs: this.#parts.queueLeaseMs,
      reserve: (lane, message) => this.#lanes.get(lane)?.reserve(message) ?? false,
      release: (lane) => this.#lanes.get(lane)?.release(),
      take: (lane, message) => this.#lanes.get(lane)?.take(message),
      queued: (lane, messages) => {
        if (lane === SCHEDULED_LANE) return;
        for (const message of messages) this.#lanes.get(lane)?.queued(message, message.updatedAtMs);
        announceQueued(this.#parts.announcer, lane, messages);
      },
      roomFor: (account) => this.#roomFor(account),
    };
  }

  /** Messages wait for this node while many changes wait to be stored, and for their carriers otherwise. */
  #roomFor(account: string): number {
    const waiting = this.#advancer.isBusy ? this.#backlog.countOf(account) : 0;
    return Math.min(this.#slowed.limitOf(account), Math.max(LEAST_REQUESTS, MAX_BACKLOG - waiting));
  }

  /** Stops new work and waits for submitted messages. Messages without a response by then get an unknown outcome. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#changes.values());
    const lanes = Array.from(this.#lanes.values());
    // The lanes send nothing more from now on, although a background task may still wait for the database.
    await Promise.all([this.#job.stop(), ...lanes.map((lane) => lane.drain(DRAIN_MS))]);
    // Calls without a response are aborted. Their messages may have left, so an unknown outcome is stored.
    this.#deadlines.abortAll();
    await Promise.all(lanes.map((lane) => lane.drain(GIVE_UP_MS)));
    this.#stopping.abort();
    await Promise.all(lanes.map((lane) => within(lane.close(), CLOSE_MS)));
    await within(this.#reporter.stop(), GIVE_UP_MS);
    await within(this.#receipts.settled(), GIVE_UP_MS);
    this.#receipts.stop();
    this.#deadlines.stop();
  }

  /** Applies a new plan. Unchanged links continue; removed and changed links are drained and closed. No link waits for another one. */
  async reload(): Promise<void> {
    const names = new Set([...this.#lanes.keys(), ...this.#parts.linkChooser.links.map(({ name }) => name)]);
    await Promise.all(Array.from(names, (name) => this.#change(name)));
  }

  /** Applies the plan to a link after the changes of the link that are under way: two at once would open it twice. */
  async #change(name: string): Promise<void> {
    const changed = (this.#changes.get(name) ?? Promise.resolve()).then(() => this.#applyPlan(name));
    // The caller gets the error; the next change only waits for the end of this one.
    const ended = changed.catch(() => undefined);
    this.#changes.set(name, ended);
    try {
      await changed;
    } finally {
      if (this.#changes.get(name) === ended) this.#changes.delete(name);
    }
  }

  async #applyPlan(name: string): Promise<void> {
    if (this.#isStopped) return;
    const { linkChooser } = this.#parts;
    const lane = this.#lanes.get(name);
    // A link may be resumed.
    if (lane !== undefined && isDeepStrictEqual(linkChooser.find(name), lane.link)) return lane.wake();
    if (lane !== undefined) {
      // The lane stays in the map while it drains, so that messages with a reservation still find it.
      await lane.drain(DRAIN_MS);
      this.#lanes.delete(name);
      await within(lane.close(), CLOSE_MS);
    }
    const link = linkChooser.find(name);
    if (link !== undefined) this.#lanes.set(name, await this.#openLane(link));
  }

  async #openLane(link: Link): Promise<Lane> {
    const { db, box, linkChooser, watch, receiptWaitMs, queueLeaseMs, tracing, log } = this.#parts;
    const connection = await this.#connect(link);
    const attempts = new Attempts({
      db,
      advancer: this.#advancer,
      receipts: this.#receipts,
      consent: this.#parts.hosts.consent,
      deadlines: this.#deadlines,
      linkChooser,
      watch,
      box,
      receiptWaitMs,
      log,
      tracing,
      stopping: this.#stopping.signal,
    });
    return new Lane({
      db,
      link,
      connection,
      attempts,
      now: () => this.#advancer.now(),
      leaseMs: queueLeaseMs,
      rateOf: (sender) => linkChooser.rateOf(link.name, sender),
      backlog: this.#backlog,
      slowed: this.#slowed,
      isHalted: () => (linkChooser.hold ?? linkChooser.pauseOf(link.name)) !== undefined,
      announce: (message, dueAtMs) => announceDue(this.#parts.announcer, link.name, message, dueAtMs),
      passOn: (lane, message, dueAtMs) => this.#passOn(lane, message, dueAtMs),
      log,
    });
  }

  async #connect(link: Link): Promise<Connection> {
    const { db, clock, node, hosts, providers, receiptWaitMs, linkLeaseMs, log } = this.#parts;
    const provider = providers[link.provider];
    if (provider === undefined) throw new Error(`the link ${link.name} names a provider that does not exist: ${link.provider}`);
    const changed = (): void => this.#lanes.get(link.name)?.wake();
    const host = hosts.hostFor(link, changed);
    if (provider.isExclusive !== true) return provider.open(link.settings as never, host);
    const { window = 1 } = link.settings as { window?: number };
    const linkLog = log.child({ link: link.name });
    const leaseFailed = reportError(linkLog, "links.lease_failed", "the lease of a link could not be taken or renewed");
    const lease = new LinkLease({ db, clock, link: link.name, node, leaseMs: linkLeaseMs, onError: leaseFailed });
    const leasedHost: LeasedHost = {
      ...host,
      hasLease: () => lease.isHeld,
      recentCarrierIds: () => readRecentCarrierIds(db, link.name, clock.now() + receiptWaitMs),
      parkedReceipts: () => readParked(db, link.name),
      readReceiptForm: (account) => readReceiptForm(db, link.name, account),
      storeReceiptForm: (account, form) => storeReceiptForm(db, link.name, { account, form, nowMs: clock.now() }),
      cursor: linkCursor(db, link.name),
    };
    const leased = new LeasedConnection({
      lease,
      window,
      open: () => provider.open(link.settings as never, leasedHost),
      changed,
      log: linkLog,
    });
    leased.start();
    return leased;
  }

  /** The links that this node has open. Other nodes report theirs. */
  #openLinks(): OpenLink[] {
    return [...this.#lanes].flatMap(([name, { connection, ownedCount, lastError }]) => {
      if (connection instanceof LeasedConnection && !connection.isHere) return [];
      const pause = this.#parts.linkChooser.hold ?? this.#parts.linkChooser.pauseOf(name);
      const own = connection.state ?? { kind: connection.isReady ? "connected" : "connecting", reason: null };
      const state = pause === undefined ? own : { kind: "paused" as const, reason: pause };
      return [{ name, state, inFlight: ownedCount, lastError }];
    });
  }

  /** A message was moved to a lane, where it is due at this time. */
  #passOn(lane: string, message: Message, dueAtMs: number): void {
    this.#lanes.get(lane)?.expect(message, dueAtMs);
    announceDue(this.#parts.announcer, lane, message, dueAtMs);
  }

  #announced(lane: string, group: Announced | undefined): void {
    const account = group && accountOf(group);
    if (account !== undefined) this.#lanes.get(lane)?.announced(account);
  }

  /** Reads the queue for messages that no node announced. */
  async #scanQueue(): Promise<void> {
    const found = Map.groupBy(await scanAccounts(this.#parts.db), ({ lane }) => lane);
    this.#queuedLanes = [...found.keys()];
    for (const [name, lane] of this.#lanes) lane.scanned(found.get(name) ?? []);
  }
}

/** Wraps a sweep so that it returns the pause until its next run: short while there is more work, long where the sweep is expensive.
 *  The cost is the smaller of the last two durations: a single slow run may have opened a connection, or waited for other statements. */
function paced(sweep: () => Promise<number>): () => Promise<number> {
  let beforeMs = 0;
  return async () => {
    const startedAt = performance.now();
    const found = await sweep();
    const tookMs = performance.now() - startedAt;
    const costMs = Math.min(tookMs, beforeMs);
    beforeMs = tookMs;
    return found > 0 ? tookMs : Math.max(POLL_MS, costMs * SWEEP_PAUSE_FACTOR);
  };
}

/** The handover of a node that accepts messages and delivers none: all messages wait in the queue, and other nodes are notified. */
export function announcingHandover(announcer: Announcer): Handover {
  const slowed = new SlowedAccounts(announcer);
  return {
    leaseMs: 0,
    reserve: () => false,
    release: () => undefined,
    take: () => undefined,
    queued: (lane, messages) => {
      if (lane !== SCHEDULED_LANE) announceQueued(announcer, lane, messages);
    },
    roomFor: (account) => slowed.limitOf(account),
  };
}

const announceQueued = (announcer: Announcer, lane: string, messages: readonly Message[]): void => {
  for (const message of messages) announceDue(announcer, lane, message, message.updatedAtMs);
};

/** Announces that an account has a message in a lane. */
const announceDue = (announcer: Announcer, lane: string, { priority, accountId }: Message, dueAtMs: number): void =>
  announcer.announce(lane, { group: `${PRIORITY_RANK[priority]} ${uuidToText(accountId)}`, dueAtMs });

/** The account that an announcement names; undefined for one of another version. */
function accountOf({ group, dueAtMs }: Announced): Omit<QueuedAccount, "lane"> | undefined {
  const [, rank, account] = /^([012]) ([0-9a-f-]{36})$/.exec(group) ?? [];
  return rank === undefined || account === undefined
    ? undefined
    : { rank: Number(rank), accountId: toId("acct", uuidFromText(account)), dueAtMs };
}
