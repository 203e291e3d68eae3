/** Limits the log lines of one failure. During an outage every request and every background task fails in the same way: the first lines of a second
 *  tell all of it, and the rest would fill disks and hide other failures. */
import { BoundedMap } from "../lib/bounded-map.ts";

const LINES_PER_SECOND = 10;
const SECOND_MS = 1_000;
// More kinds of failures at the same time than any outage has.
const MAX_FAILURES = 200;

type Window = { beganAtMs: number; lines: number; suppressed: number };

export class LineLimit {
  readonly #windows = new BoundedMap<string, Window>(MAX_FAILURES);

  /** Returns how many lines of the failure were left out since its last one; undefined if this one is left out as well. */
  take(failure: string, nowMs: number): number | undefined {
    const known = this.#windows.get(failure);
    if (known === undefined || nowMs - known.beganAtMs >= SECOND_MS) {
      this.#windows.set(failure, { beganAtMs: nowMs, lines: 1, suppressed: 0 });
      return known?.suppressed ?? 0;
    }
    if (known.lines < LINES_PER_SECOND) {
      known.lines += 1;
      return 0;
    }
    known.suppressed += 1;
    return undefined;
  }
}
