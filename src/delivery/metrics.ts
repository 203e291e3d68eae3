/** The metrics of delivery, for Prometheus. */
import type { Registry } from "prom-client";
import { gaugesOfDatabase, metricsIn } from "../lib/metrics.ts";
import { startTimeMs } from "../messages/compose.ts";
import type { Message } from "../messages/message.ts";
import type { Database } from "../database/database.ts";
import { readHealth } from "../database/health.ts";
import type { OutcomeCounts } from "../quality/outcomes.ts";
import type { Delivery } from "./delivery.ts";
import { countKeptInbound } from "./kept-inbound.ts";
import { readLaneDepths } from "./queue.ts";
import type { SendOutcome } from "../providers/provider.ts";
import type { DeliveryWatch } from "./context.ts";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600];
// A phone that is on receives a message within seconds, and a phone that is off when it is switched on again.
const DELIVERED_SECONDS = [0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400];

const OUTCOMES: readonly SendOutcome["kind"][] = ["accepted", "refused", "throttled", "unknown"];

/** `outcomes`: the counts by which routes choose links. */
export function deliveryWatch(registry: Registry, outcomes: OutcomeCounts): DeliveryWatch {
  const { counter, histogram } = metricsIn(registry);
  const attempts = counter("godwit_attempts_total", "Attempts at a carrier, by outcome.", ["link", "outcome"]);
  const transitions = counter("godwit_transitions_total", "Status changes of messages, by new status.", ["status"]);
  const receipts = counter("godwit_receipts_total", "Delivery receipts, by their effect; ignored: the status did not change.", [
    "link",
    "status",
    "ignored",
  ]);
  const parked = counter("godwit_receipts_parked_total", "Receipts that arrived before the carrier id of their message was known.", [
    "link",
  ]);
  const inbound = counter(
    "godwit_inbound_total",
    "Inbound messages: received, repeated by the carrier, unrouted (to the link's inbound_account), or kept for the operator.",
    ["link", "outcome"],
  );
  const refused = counter("godwit_reports_refused_total", "Messages and receipts beyond the limits of an account's link.", [
    "link",
    "what",
  ]);
  const handover = histogram("godwit_handover_seconds", "Time from when a message is due to its first submission to a carrier.", SECONDS, [
    "link",
  ]);
  const delivered = histogram(
    "godwit_delivered_seconds",
    "Time from when a message is due until its delivery receipt is stored.",
    DELIVERED_SECONDS,
    ["link"],
  );
  return {
    submitted(link, message, nowMs) {
      if (message.attempts === 0) handover.observe({ link }, secondsSinceDue(message, nowMs));
    },
    opened: (link) => OUTCOMES.forEach((outcome) => attempts.inc({ link, outcome }, 0)),
    attempted: (link, outcome) => attempts.inc({ link, outcome }),
    advanced(after) {
      outcomes.count(after);
      transitions.inc({ status: after.status });
      if (after.status === "delivered") delivered.observe({ link: after.provider?.link ?? "" }, secondsSinceDue(after, after.updatedAtMs));
    },
    received: (link, status, isIgnored) => receipts.inc({ link, status, ignored: String(isIgnored) }),
    inbound: (link, outcome) => inbound.inc({ link, outcome }),
    parked: (link, count) => parked.inc({ link }, count),
    refused: (link, what, count) => refused.inc({ link, what }, count),
  };
}

const secondsSinceDue = (message: Message, nowMs: number): number => Math.max(0, nowMs - startTimeMs(message)) / 1_000;

/** Gauges of this node's lanes, read at each scrape. */
export function watchLanes(registry: Registry, delivery: Delivery): void {
  const { gauge } = metricsIn(registry);
  gauge(
    "godwit_messages_in_hand",
    "Messages that this process has claimed, without an outcome yet.",
    (inHand) => delivery.lanes.forEach((lane, link) => inHand.set({ link }, lane.ownedCount)),
    { labelNames: ["link"] },
  );
  gauge(
    "godwit_delivery_on_hold",
    "1 while no link sends, after a backup was restored, until godwit resume.",
    () => (delivery.isOnHold ? 1 : 0),
    { aggregator: "max" },
  );
  gauge(
    "godwit_link_throttled",
    "1 while the carrier throttles this process.",
    (paused) => delivery.lanes.forEach((lane, link) => paused.set({ link }, lane.isPaused ? 1 : 0)),
    { aggregator: "max", labelNames: ["link"] },
  );
}

/** The depth of the queue, and the health of the database. */
export function watchQueue(registry: Registry, db: Database): void {
  const gauge = gaugesOfDatabase(registry, async () => {
    const [lanes, health, waiting] = await Promise.all([readLaneDepths(db), readHealth(db), countKeptInbound(db)]);
    for (const each of [depth, held, oldest]) each.reset();
    for (const lane of lanes) {
      depth.set({ lane: lane.link }, lane.rows);
      held.set({ lane: lane.link }, lane.held);
      oldest.set({ lane: lane.link }, lane.oldest_due_seconds);
    }
    for (const { table, rows } of health.deadTuples) dead.set({ table }, rows);
    horizon.set(health.oldestXminAge);
    kept.set({ kind: "message" }, waiting.messages);
    kept.set({ kind: "notification" }, waiting.notifications);
  });
  const depth = gauge("godwit_queue_depth", "Messages in the queue, counted up to a million.", ["lane"]);
  const held = gauge("godwit_queue_held", "Messages in the queue with an unknown outcome.", ["lane"]);
  const oldest = gauge("godwit_queue_oldest_due_seconds", "Waiting time of the oldest due message.", ["lane"]);
  const dead = gauge("godwit_dead_tuples", "Rows that autovacuum has not removed yet.", ["table"]);
  const kept = gauge("godwit_inbound_kept", "Inbound messages and notifications that wait for the operator.", ["kind"]);
  const horizon = gauge(
    "godwit_oldest_xmin_age",
    "Age, in transactions, of the oldest one that a session still needs; dead rows since then cannot be removed.",
  );
}
