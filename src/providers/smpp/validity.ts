/** validity_period: how long the carrier may try. Relative to now, since the carrier's clock need not be ours. */

// The field has room for years; a carrier that keeps a message for a month keeps it for ever.
const MAX_SECONDS = 30 * 86_400;

const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");

/** `YYMMDDhhmmsstnnR`: years, months, days, hours, minutes, seconds, and nothing smaller. Rounded down, as nothing may be delivered
 *  after its time; yet not to nothing, which would mean the carrier's own default. */
export function validFor(leftMs: number): string {
  const seconds = Math.min(MAX_SECONDS, Math.max(1, Math.floor(leftMs / 1_000)));
  return `0000${two(seconds / 86_400)}${two((seconds / 3_600) % 24)}${two((seconds / 60) % 60)}${two(seconds % 60)}000R`;
}
