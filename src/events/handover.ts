/** The handover of webhook deliveries from the statement that commits an event to the webhook worker of the same process. The worker offers the
 *  endpoints for which it has room. The statement stores a lease in the queue rows of these endpoints, and the worker gets the event from memory:
 *  nothing is claimed or read. If the process dies before the outcome is stored, the lease ends and any node claims the row. */
import { idKey, type DeliveryId, type EndpointId } from "../model/id.ts";
import type { Trace } from "../lib/trace.ts";
import { uuidToText } from "../lib/uuid.ts";
import type { Owner } from "../model/owner.ts";
import type { EventFacts } from "./event.ts";
import type { Ordinals } from "./publish.ts";

/** The endpoints whose deliveries the worker takes, and the end of their leases, in full milliseconds: by the clock of the database, and by that of
 *  `performance.now()`. */
export type Offer = { endpoints: readonly EndpointId[]; leasedUntilMs: number; leaseEndsAtMs: number };

/** An event as its statement stored it, and the trace of its message. */
export type CommittedEvent = EventFacts & { trace: Trace | null };

/** A queued delivery that has a lease for this process. */
export type HandedDelivery = Owner & { id: DeliveryId; endpointId: EndpointId; event: CommittedEvent };

export type WebhookHandover = {
  /** The endpoints of these owners for which the worker has room; undefined if there are none. */
  offer(owners: Iterable<Owner>): Offer | undefined;
  /** Gives the worker the deliveries that a statement has leased to it. */
  take(offer: Offer, deliveries: readonly HandedDelivery[]): void;
};

/** The parameters of a statement that queues deliveries. */
export const offerParameters = (offer: Offer | undefined): (string | undefined)[] =>
  offer === undefined
    ? [undefined, undefined]
    : [new Date(offer.leasedUntilMs).toISOString(), `{${offer.endpoints.map((id) => uuidToText(id)).join(",")}}`];

/** Gives the worker what a statement has leased to it. `eventOf` builds an event by its position in the statement. */
export function handOver<Item>(
  handover: WebhookHandover,
  offer: Offer | undefined,
  { handed }: Pick<Ordinals, "handed">,
  items: readonly Item[],
  eventOf: (item: Item) => CommittedEvent,
): void {
  if (offer === undefined || handed.length === 0) return;
  const events = new Map<string, CommittedEvent>();
  for (const item of items) {
    const event = eventOf(item);
    events.set(idKey(event.id), event);
  }
  const deliveries: HandedDelivery[] = [];
  for (const { id, endpointId, accountId, environment, eventId } of handed) {
    const event = events.get(idKey(eventId));
    if (event !== undefined) deliveries.push({ id, endpointId, accountId, environment, event });
  }
  handover.take(offer, deliveries);
}
