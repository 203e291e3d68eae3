/** Groups the statuses of messages by outcome: delivered, not delivered, or in progress. */
import { formatDuration } from "./format.ts";

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

type Delivered = { by_status: Readonly<Record<string, number>>; time_to_delivered_ms: { p95: number } | null };

// One message in twenty is slower than the 95th percentile.
const MIN_FOR_P95 = 20;

/** The 95th percentile of the time to delivered, in milliseconds. Null if there are too few messages for it. */
export const p95Of = ({ by_status: by, time_to_delivered_ms: time }: Delivered): number | null =>
  time === null || countOutcomes(by).delivered < MIN_FOR_P95 ? null : time.p95;

export function formatP95(totals: Delivered): string {
  const p95 = p95Of(totals);
  return p95 === null ? "–" : formatDuration(p95);
}
