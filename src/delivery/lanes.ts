/** The lanes of one node: one for each link, opened and closed as the plan of links changes. */
import { isDeepStrictEqual } from "node:util";
import type { SecretBox } from "../lib/secret-box.ts";
import { within } from "../lib/wait.ts";
import { linkCursor } from "../links/cursor.ts";
import { LinkLease } from "../links/lease.ts";
import { LeasedConnection } from "../links/leased-connection.ts";
import type { Composer } from "../messages/compose.ts";
import type { Link } from "../links/link.ts";
import { cannotBeOpened } from "../links/pauses.ts";
import type { OpenLink } from "../links/report-states.ts";
import type { Message } from "../messages/message.ts";
import { errorFields, reportError } from "../model/log.ts";
import type { Connection, LeasedHost } from "../providers/provider.ts";
import { announceDue } from "./announcements.ts";
import { Attempts } from "./attempt.ts";
import type { DeliveryContext } from "./context.ts";
import { Deadlines } from "./deadlines.ts";
import { Lane } from "./lane.ts";
import type { ProviderHosts } from "./provider-hosts.ts";
import { SlowedAccounts } from "./slowed-accounts.ts";

export type LanesParts = {
  node: string;
  hosts: ProviderHosts;
  composer: Pick<Composer, "media">;
  /** Opens sealed content, which only the carrier may see. */
  box: SecretBox;
  /** The time limit for the response of a carrier. */
  responseTimeoutMs: number;
  /** How long a claim of queued messages lasts, and how long the lease of an exclusive link, which only one node may open. */
  queueLeaseMs: number;
  linkLeaseMs: number;
};

// These three together stay within the time that a shutdown may take.
const DRAIN_MS = 5_000;
const GIVE_UP_MS = 1_500;
const CLOSE_MS = 3_000;
// More requests of an account at a time make its messages wait in the queue, from which a claim takes a fifth more of the processor than
// handing them over at once.
const MAX_REQUESTS = 100;

export class Lanes {
  readonly #parts: LanesParts;
  readonly #context: DeliveryContext;
  readonly #lanes = new Map<string, Lane>();
  readonly #attempts: Attempts;
  readonly #deadlines: Deadlines;
  readonly #slowed: SlowedAccounts;
  readonly #stopping = new AbortController();
  /** Why links of accounts could not be opened, by their names. */
  readonly #faults = new Map<string, string>();
  /** The changes of links under way, by the names of links. */
  readonly #changes = new Map<string, Promise<void>>();
  #isStopped = false;

  constructor(parts: LanesParts) {
    const { hosts, box, responseTimeoutMs } = parts;
    const { media } = parts.composer;
    const { advancer, receipts, consent, context } = hosts;
    this.#parts = parts;
    this.#context = context;
    this.#slowed = new SlowedAccounts(context.announcer);
    this.#deadlines = new Deadlines(responseTimeoutMs);
    const { signal: stopping } = this.#stopping;
    this.#attempts = new Attempts({ ...context, advancer, receipts, consent, deadlines: this.#deadlines, box, media, stopping });
  }

  get all(): ReadonlyMap<string, Lane> {
    return this.#lanes;
  }

  /** How many requests of an account may run at a time. */
  roomFor(account: string): number {
    return Math.min(this.#slowed.limitOf(account), MAX_REQUESTS);
  }

  async open(): Promise<void> {
    for (const link of this.#context.linkDirectory.current.links) await this.#add(link);
  }

  /** Opens the lane of a link. A link of an account that cannot be opened is skipped, and reported with its fault. */
  async #add(link: Link): Promise<void> {
    this.#faults.delete(link.name);
    try {
      this.#lanes.set(link.name, await this.#openLane(link));
    } catch (error) {
      if (link.source === "file") throw error;
      this.#faults.set(link.name, cannotBeOpened(String(error)));
      this.#context.log.error({ event: "links.open_failed", link: link.name, ...errorFields(error) }, "a link could not be opened");
    }
  }

  /** A message was moved to a lane, where it is due at this time. */
  passOn(lane: string, message: Message, dueAtMs: number): void {
    this.#lanes.get(lane)?.expect(message, dueAtMs);
    announceDue(this.#context.announcer, lane, message, dueAtMs);
  }

  /** Stops new work and waits for submitted messages. Messages without a response by then get an unknown outcome. The lanes send nothing
   *  more from the call on. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#changes.values());
    const lanes = Array.from(this.#lanes.values());
    await Promise.all(lanes.map((lane) => lane.drain(DRAIN_MS)));
    // Calls without a response are aborted. Their messages may have left, so an unknown outcome is stored.
    this.#deadlines.abortAll();
    await Promise.all(lanes.map((lane) => lane.drain(GIVE_UP_MS)));
    this.#stopping.abort();
    await Promise.all(lanes.map((lane) => within(lane.close(), CLOSE_MS)));
    this.#deadlines.stop();
  }

  /** Applies a new plan. Unchanged links continue; removed and changed links are drained and closed. No link waits for another one. */
  async reload(): Promise<void> {
    const names = new Set([
      ...this.#lanes.keys(),
      ...this.#faults.keys(),
      ...this.#context.linkDirectory.current.links.map(({ name }) => name),
    ]);
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
    const { linkDirectory } = this.#context;
    const lane = this.#lanes.get(name);
    // A link may be resumed.
    if (lane !== undefined && isDeepStrictEqual(linkDirectory.current.find(name), lane.link)) return lane.wake();
    if (lane !== undefined) {
      // The lane stays in the map while it drains, so that messages with a reservation still find it.
      await lane.drain(DRAIN_MS);
      this.#lanes.delete(name);
      await within(lane.close(), CLOSE_MS);
    }
    const link = linkDirectory.current.find(name);
    if (link === undefined) this.#faults.delete(name);
    else await this.#add(link);
  }

  async #openLane(link: Link): Promise<Lane> {
    this.#context.watch.opened(link.name);
    return new Lane({
      ...this.#context,
      link,
      connection: await this.#connect(link),
      attempts: this.#attempts,
      advancer: this.#parts.hosts.advancer,
      leaseMs: this.#parts.queueLeaseMs,
      slowed: this.#slowed,
      passOn: (lane, message, dueAtMs) => this.passOn(lane, message, dueAtMs),
    });
  }

  async #connect(link: Link): Promise<Connection> {
    const { node, hosts, linkLeaseMs } = this.#parts;
    const { db, clock, log } = this.#context;
    const provider = hosts.providers[link.provider];
    if (provider === undefined) throw new Error(`the link ${link.name} names a provider that does not exist: ${link.provider}`);
    const changed = (): void => this.#lanes.get(link.name)?.wake();
    const host = hosts.hostFor(link, changed);
    if (provider.isExclusive !== true) return provider.open(link.settings as never, host);
    const { window = 1 } = link.settings as { window?: number };
    const linkLog = log.child({ link: link.name });
    const leaseFailed = reportError(linkLog, "links.lease_failed", "the lease of a link could not be taken or renewed");
    const lease = new LinkLease({ db, clock, link: link.name, node, leaseMs: linkLeaseMs, onError: leaseFailed });
    // A node that was suspended finds what the carrier sent meanwhile, perhaps before it notices that another node has the link.
    const whileHeld = async <Result>(receive: () => Promise<Result>): Promise<Result> => {
      if (!lease.isHeld) throw new Error("another node may have the link");
      return receive();
    };
    const leasedHost: LeasedHost = {
      ...host,
      receive: (receipts) => whileHeld(() => host.receive(receipts)),
      receiveMessages: (messages) => whileHeld(() => host.receiveMessages(messages)),
      receivePart: (part) => whileHeld(() => host.receivePart(part)),
      receivePreferences: (preferences) => whileHeld(() => host.receivePreferences(preferences)),
      receiveUnmatched: (reports) => whileHeld(() => host.receiveUnmatched(reports)),
      hasLease: () => lease.isHeld,
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

  /** The links that this node has open, or cannot open. Other nodes report theirs. */
  openLinks(): OpenLink[] {
    const faulty = Array.from(this.#faults, ([name, reason]): OpenLink => {
      return { name, state: { kind: "paused", reason }, inFlight: 0, lastError: null };
    });
    const open = [...this.#lanes].flatMap(([name, { connection, ownedCount, lastError }]) => {
      if (connection instanceof LeasedConnection && !connection.isHere) return [];
      const pause = this.#context.linkDirectory.current.hold ?? this.#context.linkDirectory.current.pauseOf(name);
      const own = connection.state ?? { kind: connection.isReady ? "connected" : "connecting", reason: null };
      const state = pause === undefined ? own : { kind: "paused" as const, reason: pause.detail };
      return [{ name, state, inFlight: ownedCount, lastError }];
    });
    return [...open, ...faulty];
  }
}
