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
import { queuedEndpoint, readEndpointsOf, type ClaimedRow } from "./queue.ts";

// Deliveries of several commits share one read of their endpoints.
const READ_DELAY_MS = 5;
// The statement compares each subscribed endpoint with all that are offered. Those beyond this number get their deliveries through the queue.
const MAX_OFFERED = 250;
// Beyond this number the owners that were known first are forgotten, and learned again with the next claim.
const MAX_OWNERS = 5_000;

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
  readonly #handed: Handed[] = [];
  #reading: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor(parts: EndpointHandoverParts) {
    this.#parts = parts;
  }

  /** Endpoints were read. Those that are enabled may be offered from now on. */
  learn(endpoints: Iterable<Endpoint>): void {
    for (const { accountId, environment, id, status } of endpoints) {
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
    this.#handed.push({ rows: deliveries.map((each) => rowOf(each, leasedUntil)), leaseEndsAtMs });
    this.#reading ??= this.#readAll();
  }

  /** Takes no more, and returns what has not been taken to the queue. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#reading;
  }

  /** Reads the endpoints after the commit: one that was disabled before is not called any more. All deliveries that arrive during one read
   *  share the next one. */
  async #readAll(): Promise<void> {
    while (this.#handed.length > 0) {
      await pause(READ_DELAY_MS, this.#stopping.signal);
      const handed = this.#handed.splice(0);
      const rows = handed.flatMap((each) => each.rows);
      if (this.#stopping.signal.aborted) await this.#parts.giveBack(rows);
      else await this.#read(handed, rows);
    }
    this.#reading = undefined;
  }

  async #read(handed: readonly Handed[], rows: readonly ClaimedRow[]): Promise<void> {
    const { db, take, giveBack, onError } = this.#parts;
    try {
      const named = new Map(rows.map((row) => [idKey(row.endpoint_id), queuedEndpoint(row.account_id, row.environment, row.endpoint_id)]));
      const endpoints = await readEndpointsOf(db, [...named.values()]);
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
