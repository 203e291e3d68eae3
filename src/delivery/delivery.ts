/** The delivery of messages on one node, started and stopped as a whole: links, lanes, the release of scheduled messages, failover,
 *  fallbacks, receipts and expiry. */
import { isDeepStrictEqual } from "node:util";
import { RepeatingJob } from "../lib/background-job.ts";
import { reportError, type Log } from "../lib/log.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { within } from "../lib/wait.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import { LinkLease } from "../links/lease.ts";
import { LeasedConnection } from "../links/leased-connection.ts";
import type { Link } from "../links/link.ts";
import { StateReporter, type OpenLink } from "../links/report-states.ts";
import type { Advancer } from "../messages/advance.ts";
import type { Composer } from "../messages/compose.ts";
import type { Handover } from "../messages/handover.ts";
import { SCHEDULED_LANE } from "../messages/queue-entry.ts";
import type { Connection, LeasedHost, Provider } from "../providers/provider.ts";
import type { Announcer } from "../storage/announce.ts";
import type { DatabaseClock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { Attempts } from "./attempt.ts";
import { Deadlines } from "./deadlines.ts";
import { startDueFallbacks } from "./due-fallbacks.ts";
import { Failover } from "./failover.ts";
import { Lane } from "./lane.ts";
import type { ProviderHosts } from "./provider-hosts.ts";
import { readRecentCarrierIds } from "./receipt-queries.ts";
import type { Receipts } from "./receipts.ts";
import { releaseDue } from "./release.ts";
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
  #reloading: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(parts: DeliveryParts) {
    const { db, node, hosts, log } = parts;
    this.#parts = parts;
    this.#advancer = hosts.advancer;
    this.#receipts = hosts.receipts;
    this.#reporter = new StateReporter(
      db,
      node,
      () => this.#openLinks(),
      reportError(log, "links.state_report_failed", "the states of links could not be stored"),
    );
    this.#deadlines = new Deadlines(parts.responseTimeoutMs);
    this.#job = new RepeatingJob({ onError: reportError(log, "delivery.task_failed", "a background task of delivery failed") });
  }

  get lanes(): ReadonlyMap<string, Lane> {
    return this.#lanes;
  }

  async start(): Promise<void> {
    const { db, clock, announcer, wakeWebhooks, linkChooser, composer, box, receiptWaitMs, queueLeaseMs, pollMs, downAfterMs } =
      this.#parts;
    for (const link of linkChooser.links) this.#lanes.set(link.name, await this.#openLane(link));
    this.#reporter.start();
    announcer.hear((lane) => this.#lanes.get(lane)?.wake());
    const release = async (): Promise<number> => {
      const { lanes, released } = await releaseDue({ db, advancer: this.#advancer, linkChooser, leaseMs: queueLeaseMs });
      for (const lane of lanes) this.#wake(lane);
      return released > 0 ? 0 : POLL_MS;
    };
    this.#job.repeat(async () => {
      for (const lane of this.#lanes.values()) lane.wake();
      return pollMs;
    });
    this.#job.repeat(release);
    const failover = new Failover({
      db,
      linkChooser,
      advancer: this.#advancer,
      receipts: this.#receipts,
      receiptWaitMs,
      leaseMs: queueLeaseMs,
      wake: (lane) => this.#wake(lane),
      ...(downAfterMs === undefined ? {} : { downAfterMs }),
    });
    this.#job.repeat(async () => ((await failover.turn()) > 0 ? 0 : FAILOVER_POLL_MS));
    const fallbacks = { db, clock, composer, box, handover: this.handover, wakeWebhooks, leaseMs: queueLeaseMs };
    this.#job.repeat(async () => ((await startDueFallbacks(fallbacks)) > 0 ? 0 : FALLBACK_POLL_MS));
    this.#job.repeat(paced(() => expireQueued(db, this.#advancer)));
    this.#job.repeat(paced(() => expireWithoutReceipt(db, this.#advancer)));
    this.#job.repeat(paced(() => this.#receipts.applyMissed()));
    this.#job.repeat(paced(() => deleteOldParked(db)));
    this.#job.repeat(paced(() => deleteOldInboundIds(db)));
  }

  /** The handover of accepted messages to the lanes of this node. */
  get handover(): Handover {
    return {
      leaseMs: this.#parts.queueLeaseMs,
      reserve: (lane, message) => this.#lanes.get(lane)?.reserve(message) ?? false,
      release: (lane) => this.#lanes.get(lane)?.release(),
      take: (lane, message) => this.#lanes.get(lane)?.take(message),
      queued: (lane) => {
        if (lane === SCHEDULED_LANE) return;
        this.#lanes.get(lane)?.queued();
        this.#parts.announcer.announce(lane);
      },
    };
  }

  /** Stops new work and waits for submitted messages. Messages without a response by then get an unknown outcome. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#reloading;
    await this.#job.stop();
    const lanes = Array.from(this.#lanes.values());
    await Promise.all(lanes.map((lane) => lane.drain(DRAIN_MS)));
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

  /** Applies a new plan. Unchanged links continue; removed and changed links are drained and closed. Reloads run one after the other,
   *  since two at once would open a link twice. */
  async reload(): Promise<void> {
    const reloaded = this.#reloading.then(() => this.#applyPlan());
    // The caller gets the error; the next reload only waits for the end of this one.
    this.#reloading = reloaded.catch(() => undefined);
    return reloaded;
  }

  async #applyPlan(): Promise<void> {
    if (this.#isStopped) return;
    const links = this.#parts.linkChooser.links;
    const isSame = ({ link }: Lane): boolean => links.some((other) => isDeepStrictEqual(other, link));
    await Promise.all(
      [...this.#lanes].map(async ([name, lane]) => {
        if (isSame(lane)) return;
        // The lane stays in the map while it drains, so that messages with a reservation still find it.
        await lane.drain(DRAIN_MS);
        this.#lanes.delete(name);
        await within(lane.close(), CLOSE_MS);
      }),
    );
    for (const link of links) if (!this.#lanes.has(link.name)) this.#lanes.set(link.name, await this.#openLane(link));
  }

  async #openLane(link: Link): Promise<Lane> {
    const { db, box, linkChooser, watch, receiptWaitMs, queueLeaseMs, tracing, log } = this.#parts;
    const connection = await this.#connect(link);
    const attempts = new Attempts({
      db,
      advancer: this.#advancer,
      receipts: this.#receipts,
      deadlines: this.#deadlines,
      linkChooser,
      watch,
      box,
      receiptWaitMs,
      log,
      tracing,
      stopping: this.#stopping.signal,
    });
    return new Lane({ db, link, connection, attempts, now: () => this.#advancer.now(), leaseMs: queueLeaseMs, log });
  }

  async #connect(link: Link): Promise<Connection> {
    const { db, node, hosts, providers, receiptWaitMs, linkLeaseMs, log } = this.#parts;
    const provider = providers[link.provider];
    if (provider === undefined) throw new Error(`the link ${link.name} names a provider that does not exist: ${link.provider}`);
    const changed = (): void => this.#lanes.get(link.name)?.wake();
    const host = hosts.hostFor(link, changed);
    if (provider.isExclusive !== true) return provider.open(link.settings as never, host);
    const { window = 1 } = link.settings as { window?: number };
    const linkLog = log.child({ link: link.name });
    const leaseFailed = reportError(linkLog, "links.lease_failed", "the lease of a link could not be taken or renewed");
    const lease = new LinkLease({ db, link: link.name, node, leaseMs: linkLeaseMs, onError: leaseFailed });
    const leasedHost: LeasedHost = {
      ...host,
      hasLease: () => lease.isHeld,
      recentCarrierIds: () => readRecentCarrierIds(db, link.name, receiptWaitMs),
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
      const state = connection.state ?? { kind: connection.isReady ? "connected" : "connecting", reason: null };
      return [{ name, state, inFlight: ownedCount, lastError }];
    });
  }

  #wake(lane: string): void {
    this.#lanes.get(lane)?.wake();
    this.#parts.announcer.announce(lane);
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
  return {
    leaseMs: 0,
    reserve: () => false,
    release: () => undefined,
    take: () => undefined,
    queued: (lane) => {
      if (lane !== SCHEDULED_LANE) announcer.announce(lane);
    },
  };
}
