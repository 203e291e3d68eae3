/** Limits of how often codes are sent. They protect against SMS pumping: many codes to one number, or to adjacent numbers. */
import { Problem } from "../http/problem.ts";
import type { Recipient } from "../model/phone-number.ts";

export type Limits = { cooldownSeconds: number; perRecipientHour: number; perPrefixHour: number };

// Carriers and their customers get numbers in blocks of ten thousand.
const OWN_DIGITS = 4;

/** The digits that adjacent numbers share. */
export const prefixOf = (recipient: Recipient): string => recipient.slice(0, -OWN_DIGITS);

/** The codes of the last hour, counted up to the limits, and the time of the last one. */
export type Recent = { ofRecipient: number; ofPrefix: number; lastAtMs: number | null };

export function limitProblem({ ofRecipient, ofPrefix, lastAtMs }: Recent, limits: Limits, nowMs: number): Problem | undefined {
  // The clocks of nodes differ a little, so the last code may seem to lie in the future. Without a cooldown there is no wait.
  const waitMs = lastAtMs === null || limits.cooldownSeconds === 0 ? 0 : lastAtMs + limits.cooldownSeconds * 1_000 - nowMs;
  if (waitMs > 0) return tooSoon(Math.ceil(waitMs / 1_000));
  if (ofRecipient >= limits.perRecipientHour)
    return problem("verification_limit_reached", `at most ${limits.perRecipientHour} codes per hour are sent to one recipient`);
  if (ofPrefix >= limits.perPrefixHour)
    return problem(
      "verification_limit_reached",
      `at most ${limits.perPrefixHour} codes per hour are sent to numbers with the same beginning`,
    );
  return undefined;
}

function tooSoon(seconds: number): Problem {
  const wait = `${seconds} second${seconds === 1 ? "" : "s"}`;
  return problem("verification_too_soon", `the next code can be sent in ${wait}`, { "retry-after": String(seconds) });
}

const problem = (
  code: "verification_too_soon" | "verification_limit_reached",
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Problem => new Problem(code, { detail, errors: [{ pointer: "/recipient", code, detail }], headers });
