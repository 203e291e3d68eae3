/** The owner of a row. Every table of customers' data begins its key with the account and the environment. */
import type { AccountId } from "./id.ts";

/** Messages of `test` never leave the machine; those of `live` do. */
export const ENVIRONMENTS = ["test", "live"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

export const isEnvironment = (text: unknown): text is Environment => text === "test" || text === "live";

export type Owner = { accountId: AccountId; environment: Environment };
