/** Groups the statuses of messages by outcome: delivered, not delivered, or in progress. */

export type Outcome = "delivered" | "notDelivered" | "underWay" | "other";

const OUTCOMES: Readonly<Record<string, Outcome>> = {
  delivered: "delivered",
  read: "delivered",
  undelivered: "notDelivered",
  failed: "notDelivered",
  expired: "notDelivered",
  scheduled: "underWay",
  queued: "underWay",
  sending: "underWay",
  sent: "underWay",
};

/** Counts messages by outcome. Canceled, received and unknown statuses count as other. */
export function countOutcomes(byStatus: Readonly<Record<string, number>>): Readonly<Record<Outcome, number>> {
  const sums = { delivered: 0, notDelivered: 0, underWay: 0, other: 0 };
  for (const [status, messages] of Object.entries(byStatus)) sums[OUTCOMES[status] ?? "other"] += messages;
  return sums;
}
