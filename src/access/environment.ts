/** An account's two worlds: `test` never leaves the machine, `live` does. */

export const ENVIRONMENTS = ["test", "live"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

export const isEnvironment = (text: unknown): text is Environment => text === "test" || text === "live";

/** How often an environment may ask. Null: without limit. */
export type Tier = { name: string; limit: { requestsPerSecond: number; burst: number } | null };

export const FIRST_TIER: Readonly<Record<Environment, string>> = { test: "sandbox", live: "standard" };
