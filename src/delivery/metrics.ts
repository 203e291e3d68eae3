/** The metrics of delivery, for Prometheus. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { remembered } from "../lib/remembered.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Message } from "../messages/message.ts";
import type { Database } from "../database/database.ts";
import { readHealth } from "../database/health.ts";
import type { Delivery } from "./delivery.ts";
import { countKeptInbound } from "./kept-inbound.ts";
import { readLaneDepths } from "./queue.ts";
import type { DeliveryWatch } from "./context.ts";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600];
// A phone that is on receives a message within seconds, and a phone that is off when it is switched on again.
const DELIVERED_SECONDS = [0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400];

export function deliveryWatch(registry: Registry): DeliveryWatch {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[]): Counter => new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[]): Histogram =>
    new Histogram({ name, help, labelNames: ["link"], buckets, registers });
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
  const handover = histogram("godwit_handover_seconds", "Time from when a message is due to its first submission to a carrier.", SECONDS);
  const delivered = histogram(
    "godwit_delivered_seconds",
    "Time from when a message is due until its delivery receipt is stored.",
    DELIVERED_SECONDS,
  );
  return {
    submitted(link, message, nowMs) {
      if (message.attempts === 0) handover.observe({ link }, secondsSinceDue(message, nowMs));
    },
    attempted: (link, outcome) => attempts.inc({ link, outcome }),
    advanced(after) {
      transitions.inc({ status: after.status });
      if (after.status === "delivered") delivered.observe({ link: after.provider?.link ?? "" }, secondsSinceDue(after, after.updatedAtMs));
    },
    received: (link, status, isIgnored) => receipts.inc({ link, status, ignored: String(isIgnored) }),
    inbound: (link, outcome) => inbound.inc({ link, outcome }),
    parked: (link, count) => parked.inc({ link }, count),
  };
}

const secondsSinceDue = ({ id, sendAtMs }: Message, nowMs: number): number =>
  Math.max(0, nowMs - Math.max(sendAtMs ?? 0, uuidTimeMs(id))) / 1_000;

/** Gauges of this node's lanes, read at each scrape. */
export function watchLanes(registry: Registry, delivery: Delivery): void {
  const inHand: Gauge = new Gauge({
    name: "godwit_messages_in_hand",
    help: "Messages that this process has claimed, without an outcome yet.",
    labelNames: ["link"],
    registers: [registry],
    collect: () => delivery.lanes.forEach((lane, link) => inHand.set({ link }, lane.ownedCount)),
  });
  const held: Gauge = new Gauge({
    name: "godwit_delivery_on_hold",
    help: "1 while no link sends, after a backup was restored, until godwit resume.",
    aggregator: "max",
    registers: [registry],
    collect: () => held.set(delivery.isOnHold ? 1 : 0),
  });
  const paused: Gauge = new Gauge({
    name: "godwit_link_throttled",
    help: "1 while the carrier throttles this process.",
    aggregator: "max",
    labelNames: ["link"],
    registers: [registry],
    collect: () => delivery.lanes.forEach((lane, link) => paused.set({ link }, lane.isPaused ? 1 : 0)),
  });
}

// Counting a long queue is expensive. All scrapes within this time get the same values.
const CACHE_MS = 5_000;

/** Gauges that are read from the database at a scrape. All nodes report the same values. */
export function watchQueue(registry: Registry, db: Database): void {
  const registers = [registry];
  // Every gauge waits for the same read. Otherwise it would report the values of the previous scrape.
  const gauge = (name: string, help: string, labelNames: string[]): Gauge =>
    new Gauge({ name, help, labelNames, registers, aggregator: "first", collect: () => refresh() });
  const depth = gauge("godwit_queue_depth", "Messages in the queue, counted up to a million.", ["lane"]);
  const held = gauge("godwit_queue_held", "Messages in the queue with an unknown outcome.", ["lane"]);
  const oldest = gauge("godwit_queue_oldest_due_seconds", "Waiting time of the oldest due message.", ["lane"]);
  const dead = gauge("godwit_dead_tuples", "Rows that autovacuum has not removed yet.", ["table"]);
  const kept = gauge("godwit_inbound_kept", "Inbound messages and notifications that wait for the operator.", ["kind"]);
  const horizon = gauge(
    "godwit_oldest_xmin_age",
    "Age, in transactions, of the oldest one that a session still needs; dead rows since then cannot be removed.",
    [],
  );
  const refresh = remembered(CACHE_MS, async () => {
    try {
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
    } catch {
      // Other metrics show that the database is unavailable. These gauges keep their last values.
    }
  });
}
