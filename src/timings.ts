/** How long work stays reserved for the node that took it. A node that dies keeps the work for so long; then another node takes it. Tests
 *  of that use shorter times. */

export type Timings = {
  /** Lease of a message in the delivery queue, renewed after a third of it. */
  queueLeaseMs: number;
  /** Lease of a webhook delivery. Longer than a call may take, because it is not renewed. */
  webhookLeaseMs: number;
  /** A webhook delivery with less than this left of its lease is not started: its call takes time, and so does writing the outcome. */
  webhookCallMs: number;
  /** Lease of a link that one node has open at a time, renewed after a quarter of it. */
  linkLeaseMs: number;
};

/** Seconds, so that another node takes over soon; not less, so that a slow database or a pause of the process does not lose a lease. */
export const TIMINGS: Timings = {
  queueLeaseMs: 15_000,
  webhookLeaseMs: 25_000,
  webhookCallMs: 18_000,
  linkLeaseMs: 6_000,
};
