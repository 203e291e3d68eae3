/** How long to wait before the next try. */

/** Doubles from `firstMs` to `mostMs`, and takes a random part of the upper half, so that those who failed together do not
 *  come back together. `tries` counts those that failed, from one. */
export function backoffMs(tries: number, firstMs: number, mostMs: number, random: () => number = Math.random): number {
  const full = Math.min(mostMs, firstMs * 2 ** Math.min(tries - 1, 30));
  return Math.round(full / 2 + (random() * full) / 2);
}
