/** The providers there are: one line each. */
import { simulator } from "./simulator/simulator.ts";

export const PROVIDERS = { simulator } as const;

export type ProviderName = keyof typeof PROVIDERS;
