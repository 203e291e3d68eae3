/** How long, as people write it: 30s, 5m, 24h, 90d. */
import { textFlag, UsageError, type Input } from "./command.ts";

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** In seconds; undefined when the flag was not given. */
export function readDuration({ flags }: Input, name: string): number | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  if (match === null) throw new UsageError(`--${name} must be a number and a unit, such as 30m, 24h or 90d`);
  return Number(match[1]) * (UNIT_SECONDS[match[2] ?? "s"] ?? 1);
}
