/** Measures how long this process took, even if it was suspended meanwhile. */

export type Moment = { monotonicMs: number; wallMs: number };

export const moment = (): Moment => ({ monotonicMs: performance.now(), wallMs: Date.now() });

/** The time since a moment, by the clock that moved further: the monotonic clock stands still while the machine is suspended, and the wall
 *  clock can be set back. */
export const msSince = ({ monotonicMs, wallMs }: Moment): number => Math.max(performance.now() - monotonicMs, Date.now() - wallMs);
