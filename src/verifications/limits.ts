/** How often codes are sent. Whoever earns from messages to numbers of their own asks for many: to one number, or to a row of
 *  numbers side by side. */
import { Problem } from "../http/problem.ts";
import type { Recipient } from "../lib/phone-number.ts";

export type Limits = { cooldownSeconds: number; perRecipientHour: number; perPrefixHour: number };

export const HOUR_MS = 3_600_000;

// Numbers are given to carriers and their customers in rows of ten thousand.
const OWN_DIGITS = 4;

/** What a number has in common with those beside it. */
export const prefixOf = (recipient: Recipient): string => recipient.slice(0, -OWN_DIGITS);

/** What was sent within the last hour: counted no further than the limits, and when it was last. */
export type Recent = { ofRecipient: number; ofPrefix: number; lastAtMs: number | null };

export function limitProblem({ ofRecipient, ofPrefix, lastAtMs }: Recent, limits: Limits, nowMs: number): Problem | undefined {
  // Clocks of nodes differ a little: where there is nothing to wait for, the last one may seem to be still to come.
  const waitMs = lastAtMs === null || limits.cooldownSeconds === 0 ? 0 : lastAtMs + limits.cooldownSeconds * 1_000 - nowMs;
  if (waitMs > 0) return problem("verification_too_soon", `the next code can be sent in ${seconds(Math.ceil(waitMs / 1_000))}`);
  if (ofRecipient >= limits.perRecipientHour)
    return problem("verification_limit_reached", `${limits.perRecipientHour} codes an hour are sent to one recipient`);
  if (ofPrefix >= limits.perPrefixHour)
    return problem("verification_limit_reached", `${limits.perPrefixHour} codes an hour are sent to numbers that begin alike`);
  return undefined;
}

const seconds = (count: number): string => `${count} second${count === 1 ? "" : "s"}`;

const problem = (code: "verification_too_soon" | "verification_limit_reached", detail: string): Problem =>
  new Problem(code, { detail, errors: [{ pointer: "/recipient", code, detail }] });
