/** The progress of a batch as a bar with its counts. */
import type { Batch } from "godwit-sdk";
import type { JSX } from "preact";
import { formatCount, formatPercent } from "../lib/format.ts";
import { progressOf } from "./batch.ts";

export function BatchProgress({ batch }: { batch: Batch }): JSX.Element {
  const { finished, all, share } = progressOf(batch);
  return (
    <span class="batch-progress">
      <progress aria-label={`Progress of ${batch.id}`} max={Math.max(1, all)} value={all === 0 ? 1 : finished} />
      <span>
        {formatCount(finished)} of {formatCount(all)} <span class="quiet">({formatPercent(share)})</span>
      </span>
    </span>
  );
}
