/** The rules of the shared token bucket: pure, so that the promise can be read and tested here.
 *
 *  An environment has one bucket in the database. Nodes do not ask it for each request: they lease a few tokens, spend
 *  them in memory, and settle. At every moment `level + all unexpired leases ≤ burst` holds, a token that is held keeps
 *  its place from being refilled, and only time adds to the sum; hence all nodes together never admit more than
 *  burst + rate × t in any span t. */

export type Limit = { requestsPerSecond: number; burst: number };
/** The quota of an environment, by name. `limit` is null for a tier without a limit. */
export type Tier = { name: string; limit: Limit | null };

type Lease = { tokens: number; expiresAtMs: number };
export type Bucket = { level: number; refilledAtMs: number; leases: Readonly<Record<string, Lease>> };

/** A node spends a lease for one second after it *asked*; the database counts it for two after it was *granted*. So no
 *  token is spent that others count as free, and a crashed node's tokens are missing for two seconds only. */
export const LEASE_SPEND_MS = 1_000;
const LEASE_COUNT_MS = 2_000;

/** `kept`: tokens of its lease that the node goes on spending. `returned`: those it gives back. */
export type Report = { node: string; kept: number; returned: number; want: number; nowMs: number };

/** Refills by the time passed, takes back what a node returns, and adds to its lease. */
export function settle(bucket: Bucket, limit: Limit, report: Report): { bucket: Bucket; granted: number } {
  const { node, want, nowMs } = report;
  const others = Object.entries(bucket.leases).filter(([name, { expiresAtMs }]) => name !== node && expiresAtMs > nowMs);
  const heldByOthers = others.reduce((sum, [, { tokens }]) => sum + tokens, 0);
  // A node cannot keep or return more than it was given: after a lost settlement the two sides may disagree.
  const mine = bucket.leases[node]?.tokens ?? 0;
  const kept = Math.min(report.kept, mine);
  const returned = Math.min(report.returned, mine - kept);
  const level = Math.max(0, Math.min(limit.burst - heldByOthers - kept, refilled(bucket, limit, nowMs) + returned));
  const granted = Math.min(want, Math.floor(level));
  const leases = Object.fromEntries(others);
  if (kept + granted > 0) leases[node] = { tokens: kept + granted, expiresAtMs: nowMs + LEASE_COUNT_MS };
  return { bucket: { level: level - granted, refilledAtMs: Math.max(nowMs, bucket.refilledAtMs), leases }, granted };
}

/** The level after the time since the last settlement: up to the burst, less what was held meanwhile. A lease whose holder
 *  has just spent it was still held until now; counting its place as free for all that time would refill it twice. */
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
