/** The delivery of messages on one node, started and stopped as a whole: lanes, the release of scheduled messages, failover, fallbacks,
 *  receipts and expiry. */
import { RepeatingJob } from "../lib/background-job.ts";
import { within } from "../lib/wait.ts";
import { StateReporter } from "../links/report-states.ts";
import type { Composer } from "../messages/compose.ts";
import type { Handover } from "../messages/handover.ts";
import { SCHEDULED_LANE } from "../messages/queue-entry.ts";
import { startDueFallbacks } from "../messages/start-fallback.ts";
import { reportError } from "../model/log.ts";
import { PacedScan } from "../queue/paced-scan.ts";
import { accountOf, announceQueued } from "./announcements.ts";
import type { DeliveryContext } from "./context.ts";
import { Failover } from "./failover.ts";
import type { Lane } from "./lane.ts";
import { Lanes, type LanesParts } from "./lanes.ts";
import { scanAccounts } from "./queue.ts";
import { PeerLanes, type Peers } from "./peer-lanes.ts";
import { Releaser } from "./release.ts";
import { expireQueued, expireWithoutReceipt } from "./sweep.ts";

export type DeliveryParts = LanesParts & {
  composer: Composer;
  /** How often the lanes read the queue when no node announces messages. */
  pollMs: number;
  /** After how long a link counts as down when no node reports it as up. The default is some seconds. */
  downAfterMs?: number | undefined;
  /** The other workers of this machine. */
  peers?: Peers | undefined;
};

// No wake-up announces that a time has come (`send_at`, time to live), so this is how late a turn finds it. A turn that finds nothing
// is a few probes of an index.
const POLL_MS = 1_000;
// A fallback should start soon after its message has failed, and no wake-up announces it.
const FALLBACK_POLL_MS = 250;
// A link counts as down after 15 seconds without a connection, so two more seconds hardly delay a failover.
const FAILOVER_POLL_MS = 2_000;
// Together with the stop of the lanes, within the time that a shutdown may take.
const GIVE_UP_MS = 1_500;
// A sweep pauses for this many times its duration, so that it takes at most a fiftieth of the time.
const SWEEP_PAUSE_FACTOR = 50;

export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #context: DeliveryContext;
  readonly #lanes: Lanes;
  readonly #peerLanes: PeerLanes | undefined;
  readonly #reporter: StateReporter;
  readonly #job: RepeatingJob;
  /** The lanes that had messages at the last scan. */
  #queuedLanes: readonly string[] = [];

  constructor(parts: DeliveryParts) {
    const { log } = parts.hosts.context;
    this.#parts = parts;
    this.#context = parts.hosts.context;
    this.#lanes = new Lanes(parts);
    const { peers, queueLeaseMs: leaseMs } = parts;
    this.#peerLanes = peers && new PeerLanes({ peers, clock: parts.hosts.context.clock, lanes: this.lanes, leaseMs });
    this.#reporter = new StateReporter({
      ...this.#context,
      node: parts.node,
      links: () => this.#lanes.openLinks(),
      onError: reportError(log, "links.state_report_failed", "the states of links could not be stored"),
    });
    this.#job = new RepeatingJob({ onError: reportError(log, "delivery.task_failed", "a background task of delivery failed") });
  }

  get isOnHold(): boolean {
    return this.#context.linkDirectory.current.hold !== undefined;
  }

  get lanes(): ReadonlyMap<string, Lane> {
    return this.#lanes.all;
  }

  async start(): Promise<void> {
    const { composer, box, queueLeaseMs: leaseMs, pollMs, downAfterMs, hosts } = this.#parts;
    const { db, clock, announcer, linkDirectory, log } = this.#context;
    const { advancer, receipts } = hosts;
    await this.#lanes.open();
    // Opening and closing connections takes seconds, and no request waits for it.
    const followPlan = (): void => void this.reload().catch(reportError(log, "links.created_unread", "created links could not be opened"));
    linkDirectory.onChange(followPlan);
    // The plan may have changed while the links were opened.
    followPlan();
    this.#reporter.start();
    announcer.hear((lane, group) => {
      const account = accountOf(group);
      if (account !== undefined) this.lanes.get(lane)?.announced(account);
    });
    const releaser = new Releaser({ db, clock, advancer, linkDirectory, leaseMs });
    this.#job.repeat(async () => {
      for (const lane of this.lanes.values()) lane.wake();
      this.#peerLanes?.reportAll();
      return pollMs;
    });
    const scan = new PacedScan(() => this.#scanQueue(), pollMs);
    announcer.onListening(() => scan.request());
    this.#job.repeat(scan.turn);
    this.#job.repeat(async () => {
      const { released, hasMore } = await releaser.release();
      for (const { message, lane, dueAtMs } of released) this.#lanes.passOn(lane, message, dueAtMs);
      return hasMore ? 0 : POLL_MS;
    });
    const failover = new Failover({
      ...this.#context,
      advancer,
      receipts,
      leaseMs,
      queuedLanes: () => this.#queuedLanes,
      passOn: (lane, message, dueAtMs) => this.#lanes.passOn(lane, message, dueAtMs),
      downAfterMs,
    });
    this.#job.repeat(async () => ((await failover.turn()) > 0 ? 0 : FAILOVER_POLL_MS));
    const fallbacks = { ...this.#context, composer, box, handover: this.handover, leaseMs };
    // During a hold, whether these messages were handed over is not known.
    const unlessHeld = (work: () => Promise<number>) => (): Promise<number> => (this.isOnHold ? Promise.resolve(0) : work());
    const startFallbacks = unlessHeld(() => startDueFallbacks(fallbacks));
    this.#job.repeat(async () => ((await startFallbacks()) > 0 ? 0 : FALLBACK_POLL_MS));
    this.#job.repeat(paced(unlessHeld(() => expireQueued(db, advancer, clock.dueNow()))));
    this.#job.repeat(paced(unlessHeld(() => expireWithoutReceipt(db, advancer))));
    this.#job.repeat(paced(() => receipts.parked.applyDue()));
    this.#job.repeat(paced(() => hosts.inboundParts.sweep()));
  }

  /** The handover of accepted messages to the lanes of this machine. */
  get handover(): Handover {
    return {
      leaseMs: this.#parts.queueLeaseMs,
      reserve: (name, message) => {
        const lane = this.lanes.get(name);
        return lane?.reserve(message) === true ? lane : this.#peerLanes?.reserve(name, message);
      },
      queued: (lane, messages) => {
        if (lane === SCHEDULED_LANE) return;
        for (const message of messages) this.lanes.get(lane)?.queued(message, message.updatedAtMs);
        announceQueued(this.#context.announcer, lane, messages);
      },
      roomFor: (account) => this.#lanes.roomFor(account),
    };
  }

  /** Stops new work and waits for submitted messages. */
  async stop(): Promise<void> {
    this.#peerLanes?.stop();
    // The lanes send nothing more from now on, although a background task may still wait for the database.
    await Promise.all([this.#job.stop(), this.#lanes.stop()]);
    await within(this.#reporter.stop(), GIVE_UP_MS);
    const { receipts, inboundParts } = this.#parts.hosts;
    const { parked } = receipts;
    await within(Promise.all([parked.settled(), inboundParts.flush()]), GIVE_UP_MS);
    parked.stop();
  }

  reload(): Promise<void> {
    return this.#lanes.reload();
  }

  /** Reads the queue for messages that no node announced. */
  async #scanQueue(): Promise<void> {
    const found = await scanAccounts(this.#context.db);
    this.#queuedLanes = [...found.keys()];
    for (const [name, lane] of this.lanes) lane.scanned(found.get(name) ?? []);
  }
}

/** Wraps a sweep so that it returns the pause until its next run: short while there is more work, long if the sweep is expensive.
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
