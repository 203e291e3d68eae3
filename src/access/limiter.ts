/** The quota on this node: each environment has a share of its quota as a counter in memory. The share is settled with the bucket in the
 *  database a few times a second at most, and never for each request. */
import { Problem } from "../http/problem.ts";
import { assert } from "../lib/assert.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { Credential } from "./authenticate.ts";
import { insertBucket, lockBucket, writeBucket } from "./queries.ts";
import { LEASE_SPEND_MS, settle, type Limit, type Report } from "./quota.ts";

export type QuotaDecision = { isAdmitted: boolean; remaining: number; resetSeconds: number; retryAfterSeconds: number };

type Share = {
  tokens: number;
  granted: number;
  /** The time until which the leased tokens may be spent, on the monotonic clock of this process. */
  spendUntil: number;
  /** The level of the bucket after the last settlement, and the time of the settlement. */
  level: number;
  settledAt: number;
  /** The bucket was empty. A settlement before this time would grant nothing. */
  emptyUntil: number;
  waiting: number;
  settling: Promise<void> | undefined;
};

// A lease is at least a tenth of the burst: enough to spare the database, and little enough to leave tokens to other nodes.
const CHUNK_OF_BURST = 0.1;
// A busy node leases the tokens that it is likely to spend until the settlement after the next one.
const LEASE_AHEAD_SECONDS = 0.2;
const SETTLE_AHEAD_MS = LEASE_SPEND_MS / 4;
const EMPTY_PAUSE_MS = 50;
const MAX_SHARES = 10_000;
// Each round is one settlement. A request that gets nothing in this many rounds is refused.
const MAX_ROUNDS = 4;

export class Limiter {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #node: string;
  readonly #shares = new Map<string, Share>();

  constructor(db: Database, clock: Clock, node: string) {
    this.#db = db;
    this.#clock = clock;
    this.#node = node;
  }

  /** Takes requests from the quota of the environment: all of them, or none. Returns without a promise while this node has tokens. */
  take(credential: Credential, count = 1): QuotaDecision | Promise<QuotaDecision> | undefined {
    const { limit } = credential.tier;
    if (limit === null) return undefined;
    const share = this.#shareFor(credential);
    const now = performance.now();
    if (share.tokens >= count && now < share.spendUntil) return this.#spend(share, credential, limit, count);
    return this.#takeAfterSettling(share, credential, limit, count);
  }

  #shareFor({ environmentKey }: Credential): Share {
    let share = this.#shares.get(environmentKey);
    if (share === undefined) {
      if (this.#shares.size >= MAX_SHARES) this.#dropIdle();
      share = { tokens: 0, granted: 0, spendUntil: 0, level: 0, settledAt: 0, emptyUntil: 0, waiting: 0, settling: undefined };
      this.#shares.set(environmentKey, share);
    }
    return share;
  }

  /** Drops the shares that have expired and that no request waits for. */
  #dropIdle(): void {
    const now = performance.now();
    for (const [name, { spendUntil, waiting, settling }] of this.#shares) {
      if (now >= spendUntil && waiting === 0 && settling === undefined) this.#shares.delete(name);
    }
  }

  #spend(share: Share, credential: Credential, limit: Limit, count: number): QuotaDecision {
    const now = performance.now();
    share.tokens -= count;
    // Settles before the share is empty or its lease ends, so that no request waits under steady load. A failure shows then.
    const isEnding = share.tokens < share.granted / 2 || now >= share.spendUntil - SETTLE_AHEAD_MS;
    if (isEnding && share.settling === undefined && now >= share.emptyUntil) {
      void this.#settleOnce(share, credential, limit).catch(() => undefined);
    }
    return decision(true, share, limit, { now, count });
  }

  async #takeAfterSettling(share: Share, credential: Credential, limit: Limit, count: number): Promise<QuotaDecision> {
    share.waiting += count;
    try {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        if (performance.now() >= share.emptyUntil || share.settling !== undefined) await this.#settleOnce(share, credential, limit);
        const now = performance.now();
        if (share.tokens >= count && now < share.spendUntil) return this.#spend(share, credential, limit, count);
        if (now < share.emptyUntil) break;
      }
      return decision(false, share, limit, { now: performance.now(), count });
    } finally {
      share.waiting -= count;
    }
  }

  #settleOnce(share: Share, credential: Credential, limit: Limit): Promise<void> {
    share.settling ??= this.#settle(share, credential, limit).finally(() => {
      share.settling = undefined;
    });
    return share.settling;
  }

  async #settle(share: Share, credential: Credential, limit: Limit): Promise<void> {
    const startedAt = performance.now();
    const isSpendable = startedAt < share.spendUntil;
    const kept = isSpendable ? share.tokens : 0;
    // A lease that is only renewed grows to what is wanted, and no further.
    const want = Math.max(0, wanted(share, limit, startedAt) - (kept < share.granted / 2 ? 0 : kept));
    const report = { node: this.#node, want, kept, returned: share.tokens - kept };
    if (!isSpendable) share.tokens = 0;
    const { granted, level } = await this.#settleInDatabase(credential, limit, report);
    share.tokens += granted;
    share.granted = share.tokens;
    share.spendUntil = startedAt + LEASE_SPEND_MS;
    share.level = level;
    share.settledAt = startedAt;
    const pauseMs = Math.max(EMPTY_PAUSE_MS, ((1 - level) / limit.requestsPerSecond) * 1_000);
    share.emptyUntil = granted < want ? performance.now() + pauseMs : 0;
  }

  #settleInDatabase(owner: Credential, limit: Limit, report: Omit<Report, "nowMs">): Promise<{ granted: number; level: number }> {
    return this.#db.transaction(async (tx) => {
      let [row] = await lockBucket(tx, owner);
      if (row === undefined) {
        await insertBucket(tx, owner, limit.burst, this.#clock.now());
        [row] = await lockBucket(tx, owner);
      }
      assert(row !== undefined, "a quota bucket that was just created exists");
      // Read under the lock: of two settlements the later one has the later time.
      const nowMs = this.#clock.now();
      const before = { level: row.level, refilledAtMs: row.refilled_at_ms, leases: row.leases };
      const { bucket, granted } = settle(before, limit, { ...report, nowMs });
      await writeBucket(tx, owner, bucket);
      return { granted, level: bucket.level };
    });
  }
}

/** The tokens that this node is likely to spend soon, and at least those that requests wait for. */
function wanted(share: Share, { burst }: Limit, now: number): number {
  const spent = share.granted - share.tokens;
  const perSecond = share.settledAt === 0 ? 0 : (spent / Math.max(1, now - share.settledAt)) * 1_000;
  const ahead = Math.max(burst * CHUNK_OF_BURST, perSecond * LEASE_AHEAD_SECONDS);
  return Math.ceil(Math.min(burst, share.waiting + ahead));
}

/** The decision for a client, from the bucket as this node knows it and the tokens of this node. */
function decision(
  isAdmitted: boolean,
  share: Share,
  { requestsPerSecond, burst }: Limit,
  { now, count }: { now: number; count: number },
): QuotaDecision {
  const refilled = share.level + ((now - share.settledAt) / 1_000) * requestsPerSecond;
  const available = Math.min(burst, Math.max(0, refilled + share.tokens));
  return {
    isAdmitted,
    remaining: isAdmitted ? Math.floor(available) : 0,
    resetSeconds: Math.ceil((burst - available) / requestsPerSecond),
    retryAfterSeconds: Math.max(1, Math.ceil((count - available) / requestsPerSecond)),
  };
}

/** The fields of IETF draft-ietf-httpapi-ratelimit-headers-11. An environment without a limit has none. */
export function quotaHeaders({ tier }: Pick<Credential, "tier">, { remaining, resetSeconds }: QuotaDecision): Record<string, string> {
  if (tier.limit === null) return {};
  const { requestsPerSecond, burst } = tier.limit;
  return {
    "ratelimit-policy": `"${tier.name}";q=${burst};w=${Math.max(1, Math.ceil(burst / requestsPerSecond))}`,
    ratelimit: `"${tier.name}";r=${remaining};t=${resetSeconds}`,
  };
}

export const overQuota = ({ tier, environment }: Credential, { retryAfterSeconds }: QuotaDecision): Problem =>
  new Problem("rate_limit_exceeded", {
    detail: `the tier ${tier.name} of the ${environment} environment allows ${tier.limit?.requestsPerSecond} requests per second`,
    headers: { "retry-after": String(retryAfterSeconds) },
  });
