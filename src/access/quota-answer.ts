/** What a client is told of its quota: the fields of IETF draft-ietf-httpapi-ratelimit-headers-11, and the refusal. */
import { Problem } from "../http/problem.ts";
import type { Credential } from "./authenticate.ts";
import type { Verdict } from "./limiter.ts";

/** An environment without a limit has none to show. */
export function quotaHeaders({ tier }: Pick<Credential, "tier">, { remaining, resetSeconds }: Verdict): Record<string, string> {
  if (tier.limit === null) return {};
  const { requestsPerSecond, burst } = tier.limit;
  return {
    "ratelimit-policy": `"${tier.name}";q=${burst};w=${Math.max(1, Math.ceil(burst / requestsPerSecond))}`,
    ratelimit: `"${tier.name}";r=${remaining};t=${resetSeconds}`,
  };
}

export const overQuota = ({ tier, environment }: Credential, { retryAfterSeconds }: Verdict): Problem =>
  new Problem("rate_limit_exceeded", {
    detail: `the ${environment} environment's tier ${tier.name} allows ${tier.limit?.requestsPerSecond} requests a second`,
    headers: { "retry-after": String(retryAfterSeconds) },
  });
