/** Groups the statuses of messages by outcome: delivered, not delivered, or in progress. */

export type Outcome = "delivered" | "notDelivered" | "inProgress" | "other";

const OUTCOMES: Readonly<Record<string, Outcome>> = {
  delivered: "delivered",
  read: "delivered",
  undelivered: "notDelivered",
  failed: "notDelivered",
  expired: "notDelivered",
  scheduled: "inProgress",
  queued: "inProgress",
  sending: "inProgress",
  sent: "inProgress",
};

/** Counts messages by outcome. Canceled, received and unknown statuses count as other. */
export function countOutcomes(byStatus: Readonly<Record<string, number>>): Readonly<Record<Outcome, number>> {
  const sums = { delivered: 0, notDelivered: 0, inProgress: 0, other: 0 };
  for (const [status, messages] of Object.entries(byStatus)) sums[OUTCOMES[status] ?? "other"] += messages;
  return sums;
}
