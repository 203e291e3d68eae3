/** The list of faults of a run. It depends only on the seed, the length and the pace of the run. */
import type { Random } from "./random.ts";

export type FaultKind =
  | { kind: "kill_node"; node: number }
  | { kind: "freeze_node"; node: number; lastsMs: number }
  | { kind: "terminate_backends"; share: number }
  | { kind: "restart_database"; mode: "fast" | "immediate" }
  | { kind: "shift_clock"; bySeconds: number; lastsMs: number }
  | { kind: "lock_table"; table: string; lastsMs: number }
  | { kind: "open_transaction"; mode: "writing" | "snapshot"; lastsMs: number }
  | { kind: "disable_endpoint"; lastsMs: number }
  | { kind: "fail_receivers"; lastsMs: number }
  | { kind: "drop_carrier"; lastsMs: number }
  | { kind: "slow_carrier"; lastsMs: number }
  | { kind: "hang_worker"; node: number; lastsMs: number }
  | { kind: "lock_message"; lastsMs: number }
  | { kind: "slew_clock"; lastsMs: number }
  | { kind: "slow_handshakes"; lastsMs: number };

export type Fault = FaultKind & { atMs: number };

type PlanOptions = { runMs: number; faultsPerMinute: number; nodes: number };

type Draw = (random: Random, nodes: number) => FaultKind;

const SECOND = 1_000;
// Idempotency keys live for 24 hours of the database's clock. A larger step forwards would expire them, rightly.
const STEPS_SECONDS = [2, 30, 300, 3_600, 7_200, 4 * 3_600];
const LOCKED_TABLES = ["batches", "events", "delivery_queue", "webhook_queue", "suppressions", "messages"];

/** A freeze may outlast every lease. */
const freeze: Draw = (random, nodes) => ({
  kind: "freeze_node",
  node: random.between(0, nodes - 1),
  lastsMs: random.between(SECOND, 30 * SECOND),
});
const kill: Draw = (random, nodes) => ({ kind: "kill_node", node: random.between(0, nodes - 1) });
const terminate: Draw = (random) => ({ kind: "terminate_backends", share: random.pick([0.1, 0.5, 1]) });
const restart =
  (mode: "fast" | "immediate"): Draw =>
  () => ({ kind: "restart_database", mode });
const shift: Draw = (random) => ({
  kind: "shift_clock",
  bySeconds: random.pick(STEPS_SECONDS) * random.pick([-1, 1]),
  lastsMs: random.between(2 * SECOND, 15 * SECOND),
});
const lock: Draw = (random) => ({
  kind: "lock_table",
  table: random.pick(LOCKED_TABLES),
  lastsMs: random.between(SECOND / 2, 6 * SECOND),
});
const transaction: Draw = (random) => ({
  kind: "open_transaction",
  mode: random.pick(["writing", "snapshot"] as const),
  lastsMs: random.between(SECOND, 20 * SECOND),
});
const lasting =
  (kind: "disable_endpoint" | "fail_receivers" | "drop_carrier" | "slow_carrier"): Draw =>
  (random) => ({ kind, lastsMs: random.between(SECOND / 2, 5 * SECOND) });

/** Longer than the supervisor lets a worker hang. */
const hang: Draw = (random, nodes) => ({ kind: "hang_worker", node: random.between(0, nodes - 1), lastsMs: 15 * SECOND });
const lockMessage: Draw = (random) => ({ kind: "lock_message", lastsMs: random.between(10 * SECOND, 30 * SECOND) });
/** The clock goes wrong by some seconds. */
const slew: Draw = (random) => ({ kind: "slew_clock", lastsMs: random.between(20 * SECOND, 60 * SECOND) });
const slowHandshakes: Draw = (random) => ({ kind: "slow_handshakes", lastsMs: random.between(2 * SECOND, 10 * SECOND) });

/** Each kind as often as it is drawn in one round. All of a round are drawn before the next one begins, so that a short run has many
 *  kinds. */
const ROUND: readonly Draw[] = [
  kill,
  kill,
  kill,
  freeze,
  freeze,
  terminate,
  terminate,
  restart("fast"),
  restart("immediate"),
  shift,
  shift,
  lock,
  lock,
  transaction,
  lasting("disable_endpoint"),
  lasting("disable_endpoint"),
  lasting("fail_receivers"),
  lasting("drop_carrier"),
  lasting("slow_carrier"),
];

// A shorter run does not have these, which take long.
const LONG_RUN_MS = 60 * SECOND;
const LONG_ROUND: readonly Draw[] = [...ROUND, hang, hang, lockMessage, lockMessage, slew, slowHandshakes, slowHandshakes];

/** Draws the faults of a run. The pause after a fault does not wait for the end of the fault, so that faults overlap. */
export function drawFaults(random: Random, { runMs, faultsPerMinute, nodes }: PlanOptions): Fault[] {
  const meanPauseMs = 60_000 / faultsPerMinute;
  const pause = (): number => meanPauseMs * (0.5 + random.next());
  const faults: Fault[] = [];
  let round: Draw[] = [];
  for (let atMs = pause(); atMs < runMs; atMs += pause()) {
    if (round.length === 0) round = random.shuffle(runMs < LONG_RUN_MS ? ROUND : LONG_ROUND);
    const draw = round.pop();
    if (draw !== undefined) faults.push({ ...shortened(draw(random, nodes), runMs), atMs: Math.round(atMs) });
  }
  return faults;
}

/** No fault takes more than a third of the run. */
const shortened = (fault: FaultKind, runMs: number): FaultKind =>
  "lastsMs" in fault ? { ...fault, lastsMs: Math.min(fault.lastsMs, Math.round(runMs / 3)) } : fault;

/** The kind with its variant, by which faults are counted. */
export function labelOf(fault: FaultKind): string {
  if ("mode" in fault) return `${fault.kind} ${fault.mode}`;
  if ("bySeconds" in fault) return `${fault.kind} ${fault.bySeconds < 0 ? "backwards" : "forwards"}`;
  return fault.kind;
}

/** The parameters of the fault, for its progress line. */
export function describeFault(fault: FaultKind): string {
  const { kind, ...parameters } = { ...fault, atMs: undefined };
  const texts = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${String(value)}`]));
  return [kind, ...texts].join(" ");
}
