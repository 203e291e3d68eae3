/** Takes over deliveries from the statements of this process that commit events (`events/handover.ts`). Only endpoints whose last call
 *  succeeded are offered, while they have room and no due rows in the queue. All others wait in the queue, which keeps the turns. */
import type { HandedDelivery, Offer, WebhookHandover } from "../events/handover.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { pause } from "../lib/wait.ts";
import { idKey, type EndpointId } from "../model/id.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import type { Endpoint } from "./endpoint.ts";
import { queuedEndpoint, readEndpointsOf, type ClaimedRow, type ReadEndpoint } from "./queue.ts";

// Deliveries of several commits share one read of their endpoints.
const READ_DELAY_MS = 5;
// The statement compares each subscribed endpoint with all that are offered. Those beyond this number get their deliveries through the queue.
const MAX_OFFERED = 250;
// Beyond this number the owners that were known first are forgotten, and learned again with the next claim.
const MAX_OWNERS = 5_000;
// A statement that took longer may have waited for a lock, and endpoints may have changed since it saw them. They are read again then. The time of
// a call that is under way is longer.
const RECENT_MS = 25;
// Endpoints that were read last, to be used while they do not change.
const MAX_READ = 2_000;

export type EndpointHandoverParts = {
  db: Database;
  clock: Clock;
  leaseMs: number;
  hasRoom: (name: string) => boolean;
  /** Takes rows, with those endpoints of theirs that exist. */
  take: (rows: readonly ClaimedRow[], endpoints: ReadonlyMap<string, Endpoint>, leaseEndsAtMs: number) => void;
  giveBack: (rows: readonly ClaimedRow[]) => Promise<void>;
  onError: (error: unknown) => void;
};

type Handed = { rows: ClaimedRow[]; leaseEndsAtMs: number };

export class EndpointHandover implements WebhookHandover {
  readonly #parts: EndpointHandoverParts;
  /** Endpoints that were read, by owner. Deleted ones stay until newer ones replace them. */
  readonly #known = new BoundedMap<string, BoundedMap<string, EndpointId>>(MAX_OWNERS);
  readonly #read = new BoundedMap<string, ReadEndpoint>(MAX_READ);
  readonly #handed: Handed[] = [];
  #reading: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor(parts: EndpointHandoverParts) {
    this.#parts = parts;
  }

  /** Takes note of endpoints that were read. Those that are enabled may be offered from now on. */
  learn(endpoints: Iterable<ReadEndpoint>): void {
    for (const endpoint of endpoints) {
      const { accountId, environment, id, status } = endpoint;
      this.#read.renew(idKey(id), endpoint);
      const owner = ownerKey({ accountId, environment });
      const known = this.#known.get(owner) ?? new BoundedMap<string, EndpointId>(MAX_OFFERED);
      if (status === "enabled") known.set(idKey(id), id);
      else known.delete(idKey(id));
      this.#known.set(owner, known);
    }
  }

  offer(owners: Iterable<Owner>): Offer | undefined {
    if (this.#stopping.signal.aborted) return undefined;
    const endpoints: EndpointId[] = [];
    const seen = new Set<string>();
    for (const owner of owners) {
      const key = ownerKey(owner);
      if (seen.has(key)) continue;
      seen.add(key);
      for (const [name, id] of this.#known.get(key) ?? [])
        if (endpoints.length < MAX_OFFERED && this.#parts.hasRoom(name)) endpoints.push(id);
    }
    if (endpoints.length === 0) return undefined;
    const { clock, leaseMs } = this.#parts;
    return { endpoints, leasedUntilMs: Math.floor(clock.now()) + leaseMs, leaseEndsAtMs: performance.now() + leaseMs };
  }

  take({ leasedUntilMs, leaseEndsAtMs }: Offer, deliveries: readonly HandedDelivery[]): void {
    const leasedUntil = new Date(leasedUntilMs);
    const isRecent = performance.now() - (leaseEndsAtMs - this.#parts.leaseMs) < RECENT_MS && !this.#stopping.signal.aborted;
    const unchanged: ClaimedRow[] = [];
    const others: ClaimedRow[] = [];
    for (const each of deliveries) (isRecent && this.#isUnchanged(each) ? unchanged : others).push(rowOf(each, leasedUntil));
    if (unchanged.length > 0) this.#parts.take(unchanged, this.#read, leaseEndsAtMs);
    if (others.length === 0) return;
    this.#handed.push({ rows: others, leaseEndsAtMs });
    this.#reading ??= this.#readAll();
  }

  /** Whether the statement that committed the event saw the endpoint as it was read last. The previous secret of an endpoint ends by itself. */
  #isUnchanged({ endpointId, endpointVersion }: HandedDelivery): boolean {
    const known = this.#read.get(idKey(endpointId));
    return known !== undefined && known.version === endpointVersion && known.previousSecret === null;
  }

  /** Takes no more, and returns what has not been taken to the queue. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#reading;
  }

  /** Reads endpoints that are not known or have changed, after the commit. All deliveries that arrive during one read share the next one. */
  async #readAll(): Promise<void> {
    while (this.#handed.length > 0) {
      await pause(READ_DELAY_MS, this.#stopping.signal);
      const handed = this.#handed.splice(0);
      const rows = handed.flatMap((each) => each.rows);
      if (this.#stopping.signal.aborted) await this.#parts.giveBack(rows);
      else await this.#readFor(handed, rows);
    }
    this.#reading = undefined;
  }

  async #readFor(handed: readonly Handed[], rows: readonly ClaimedRow[]): Promise<void> {
    const { db, take, giveBack, onError } = this.#parts;
    try {
      const named = new Map(rows.map((row) => [idKey(row.endpoint_id), queuedEndpoint(row.account_id, row.environment, row.endpoint_id)]));
      const endpoints = await readEndpointsOf(db, [...named.values()]);
      this.learn(endpoints.values());
      for (const each of handed) take(each.rows, endpoints, each.leaseEndsAtMs);
    } catch (error) {
      onError(error);
      await giveBack(rows);
    }
  }
}

const ownerKey = ({ accountId, environment }: Owner): string => idKey(accountId) + environment;

const rowOf = ({ id, endpointId, accountId, event }: HandedDelivery, leasedUntil: Date): ClaimedRow => ({
  id,
  account_id: accountId,
  environment: event.environment,
  endpoint_id: endpointId,
  event_id: event.id,
  is_retry: false,
  attempts: 0,
  leased_until: leasedUntil,
  was_due_at: leasedUntil,
  type: event.type,
  sequence: event.sequence,
  record: event.record,
  previous_status: event.previous_status,
  fallback_message_id: event.fallback_message_id,
  trace: event.trace,
});
