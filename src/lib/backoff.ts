/** The wait before the next attempt: doubles from `firstMs` to `maxMs`, and is a random value in the upper half, so that clients that
 *  failed together do not retry together. `failures` counts the failed attempts, from one. */
export function backoffMs(failures: number, firstMs: number, maxMs: number, random: () => number = Math.random): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(full / 2 + (random() * full) / 2);
}
