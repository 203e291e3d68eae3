/** The rules of the shared token bucket, as pure functions.
 *
 *  An environment has one bucket in the database. A node does not use the bucket for each request: it leases a few tokens, spends them in
 *  memory, and settles. `level + all unexpired leases ≤ burst` holds at every moment. A leased token is not refilled, and only time
 *  adds to the sum. Hence all nodes together never admit more than burst + rate × t in any period t. */

export type Limit = { requestsPerSecond: number; burst: number };
/** The quota of an environment, by name. `limit` is null for a tier without a limit. */
export type Tier = { name: string; limit: Limit | null };

type Lease = { tokens: number; expiresAtMs: number };
export type Bucket = { level: number; refilledAtMs: number; leases: Readonly<Record<string, Lease>> };

/** A node spends a lease for one second after its *request*; the bucket counts the lease for two seconds after the *grant*, by the clocks
 *  of the nodes. So no node spends a token that others count as free while their clocks differ by less than a second, and the tokens of a
 *  crashed node are missing for only two seconds. */
export const LEASE_SPEND_MS = 1_000;
const LEASE_COUNT_MS = 2_000;

/** `kept` are the tokens of its lease that the node still spends; `returned` are those that it gives back. */
export type Report = { node: string; kept: number; returned: number; want: number; nowMs: number };

/** Refills the bucket by the elapsed time, takes back the returned tokens of a node, and adds to its lease. */
export function settle(bucket: Bucket, limit: Limit, report: Report): { bucket: Bucket; granted: number } {
  const { node, want, nowMs } = report;
  const others = Object.entries(bucket.leases).filter(([name, { expiresAtMs }]) => name !== node && expiresAtMs > nowMs);
  const heldByOthers = others.reduce((sum, [, { tokens }]) => sum + tokens, 0);
  // A node cannot keep or return more than it was granted: after a lost settlement the node and the database may disagree.
  const leased = bucket.leases[node]?.tokens ?? 0;
  const kept = Math.min(report.kept, leased);
  const returned = Math.min(report.returned, leased - kept);
  const level = Math.max(0, Math.min(limit.burst - heldByOthers - kept, refilled(bucket, limit, nowMs) + returned));
  const granted = Math.min(want, Math.floor(level));
  const leases = Object.fromEntries(others);
  if (kept + granted > 0) leases[node] = { tokens: kept + granted, expiresAtMs: nowMs + LEASE_COUNT_MS };
  return { bucket: { level: level - granted, refilledAtMs: Math.max(nowMs, bucket.refilledAtMs), leases }, granted };
}

/** The level after the time since the last settlement: at most the burst, minus the leased tokens of that time. A lease that has just
 *  been spent counts as leased until now; otherwise its tokens would be refilled twice. */
function refilled(bucket: Bucket, { requestsPerSecond, burst }: Limit, nowMs: number): number {
  const leases = Object.values(bucket.leases).toSorted((a, b) => a.expiresAtMs - b.expiresAtMs);
  let held = leases.reduce((sum, { tokens }) => sum + tokens, 0);
  let { level, refilledAtMs: atMs } = bucket;
  for (const { tokens, expiresAtMs } of [...leases, { tokens: 0, expiresAtMs: Infinity }]) {
    const untilMs = Math.min(expiresAtMs, nowMs);
    if (untilMs > atMs) {
      level = Math.max(0, Math.min(burst - held, level + ((untilMs - atMs) / 1_000) * requestsPerSecond));
      atMs = untilMs;
    }
    if (expiresAtMs <= nowMs) held -= tokens;
  }
  return level;
}
