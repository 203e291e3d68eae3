/** The check of `godwit doctor --load`: which resource messages and webhooks wait for now, from two readings of the metrics of the service. */
import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { ok, warn, type Check } from "./check.ts";

/** The metrics by name and labels, and the processor times of this machine. */
export type Reading = { atMs: number; metrics: ReadonlyMap<string, number>; busyMs: number; idleMs: number };

// Long enough for a share of the processor, short enough for a person who waits.
const BETWEEN_MS = 3_000;
// A service that keeps up has nothing that has been due for so long.
const LATE_SECONDS = 1;
// The rest of a full processor is that of other threads and processes.
const BUSY_SHARE = 0.85;
const FULL_SHARE = 0.95;
// A commit takes milliseconds.
const SLOW_COMMIT_SECONDS = 0.1;

/** `readMetrics` returns the text of /metrics. */
export async function checkLoad(readMetrics: () => Promise<string>): Promise<Check> {
  const before = readingOf(await readMetrics());
  await sleep(BETWEEN_MS);
  return bottleneckOf(before, readingOf(await readMetrics()));
}

/** Names the resource that is exhausted, the most general one first: a busy processor delays the statements and the links as well. */
export function bottleneckOf(before: Reading, after: Reading): Check {
  const workers = after.metrics.get("godwit_workers") ?? 1;
  const processor = (increase(before, after, "process_cpu_seconds_total") * 1_000) / (after.atMs - before.atMs) / workers;
  const busyMs = after.busyMs - before.busyMs;
  const machine = busyMs / Math.max(1, busyMs + after.idleMs - before.idleMs);
  const facts = `a worker uses ${percent(processor)} of a processor, and this machine ${percent(machine)} of all`;
  const late = lateIn(after.metrics);
  if (late.length === 0) return ok("load", `nothing has waited for ${LATE_SECONDS} second; ${facts}`);
  const found = (cause: string, hint: string): Check => warn("load", `${cause}: ${late.join(", ")}; ${facts}`, hint);
  if (processor >= BUSY_SHARE) return found("the processor of a worker is the bottleneck", "use more workers, or more nodes");
  if (machine >= FULL_SHARE)
    return found("the processors of this machine are the bottleneck", "move PostgreSQL or some nodes to another machine");
  const commits = increase(before, after, "godwit_accept_commit_seconds_count");
  const commitSeconds = commits === 0 ? 0 : increase(before, after, "godwit_accept_commit_seconds_sum") / commits;
  if ((after.metrics.get("godwit_database_waiting") ?? 0) > 0 || commitSeconds >= SLOW_COMMIT_SECONDS)
    return found("the database is the bottleneck", "check its disk, its processors and long transactions");
  return found("the window or the rate of links, or endpoints are the bottleneck", "see GET /v1/links and the deliveries of the endpoints");
}

/** The waiting work that is late. */
function lateIn(metrics: ReadonlyMap<string, number>): string[] {
  return [...metrics].flatMap(([name, seconds]) => {
    if (seconds < LATE_SECONDS) return [];
    const lane = /^godwit_queue_oldest_due_seconds\{lane="([^"]*)"\}$/.exec(name)?.[1];
    if (lane !== undefined) return `messages of the link ${lane} for ${Math.floor(seconds)} s`;
    return name === "godwit_webhook_queue_oldest_due_seconds" ? `webhooks for ${Math.floor(seconds)} s` : [];
  });
}

function readingOf(text: string): Reading {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const metrics = new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]));
  const times = cpus().map((each) => each.times);
  const idleMs = times.reduce((sum, { idle }) => sum + idle, 0);
  const busyMs = times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, 0);
  return { atMs: performance.now(), metrics, busyMs, idleMs };
}

/** A worker that was replaced between the readings makes a counter smaller. */
const increase = (before: Reading, after: Reading, name: string): number =>
  Math.max(0, (after.metrics.get(name) ?? 0) - (before.metrics.get(name) ?? 0));

const percent = (share: number): string => `${Math.round(share * 100)} %`;
