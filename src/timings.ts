/** How long work stays reserved for the node that took it, how often a node looks for work, how long refusals wait, and how long clients may take. A node that dies keeps its work until the
 *  lease ends; then another node takes it. Tests use other times, so that they need not wait. */

export type Timings = {
  /** Lease of a message in the delivery queue, renewed after a third of it. */
  queueLeaseMs: number;
  /** Lease of a webhook delivery. Longer than a call may take, because it is not renewed. */
  webhookLeaseMs: number;
  /** A webhook delivery with less than this left of its lease is not started: its call takes time, and so does writing the outcome. */
  webhookCallMs: number;
  /** Lease of a link that one node has open at a time, renewed after a quarter of it. */
  linkLeaseMs: number;
  /** How often a node looks for messages to deliver, and for webhook deliveries, when no node announces any. */
  deliveryPollMs: number;
  webhookPollMs: number;
  /** How much longer each refusal of a peer that keeps failing to authenticate waits. */
  failureDelayMs: number;
  /** How long a client may take to send its request. */
  requestTimeoutMs: number;
  /** How long a connection may take no byte of a response that waits for its client. */
  responseStallMs: number;
  /** How often the request log is stored. */
  requestLogMs: number;
  /** The time after which the outcome of a message counts half in the choice of links. The other times of measurement follow from it. */
  qualityHalfLifeMs: number;
};

// A lease takes seconds, so that another node takes over soon. It takes no less, so that a slow database or a pause of the process does
// not lose it.
export const TIMINGS: Timings = {
  queueLeaseMs: 15_000,
  webhookLeaseMs: 25_000,
  webhookCallMs: 18_000,
  linkLeaseMs: 6_000,
  deliveryPollMs: 1_000,
  webhookPollMs: 1_000,
  failureDelayMs: 50,
  requestTimeoutMs: 30_000,
  responseStallMs: 10_000,
  requestLogMs: 1_000,
  // A bad hour of a carrier must show within a minute, and one bad minute must not count for long.
  qualityHalfLifeMs: 60_000,
};
