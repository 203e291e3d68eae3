/** Tiers: how many requests an environment may make. */
import type { Environment } from "../storage/owner.ts";

/** `limit` is null where there is none. */
export type Tier = { name: string; limit: { requestsPerSecond: number; burst: number } | null };

export const FIRST_TIER: Readonly<Record<Environment, string>> = { test: "sandbox", live: "standard" };
