/** Forgets keys whose 24 hours are over. They mean nothing to anyone by then; this gives their room back.
 *
 *  No index knows which keys have expired, so a walker goes round the table, a slice of its blocks at a time, and rests long
 *  between slices. */
import { RepeatingJob } from "../lib/background-job.ts";
import type { Database, Queryable } from "../storage/database.ts";
import { forgetExpired } from "./queries.ts";

// Two megabytes, some 11,000 keys: read in a few milliseconds, deleted in fifty if every one of them has expired.
const SLICE_BLOCKS = 256;

// A walker that finds little takes a fiftieth of one connection's time. Where it finds much it is falling behind, and may take
// a tenth: at some 3 µs a key that is more than the accept can bring.
const REST_RATIO = 50;
const BUSY_REST_RATIO = 10;
const MUCH = 2_000;
const MIN_REST_MS = 100;
// A key lies there for half an hour more than its 24 hours: 2 % more of a table, and a small one is hardly ever read.
const LAP_EVERY_MS = 30 * 60_000;
const FIRST_AFTER_MS = 60_000;
// The database has something wrong with it, or another node walks: no hurry in either case.
const SETBACK_REST_MS = 60_000;
const STOP_WITHIN_MS = 5_000;

/** `nextBlock` is where the next slice begins: 0 after the last one. Null: another node is at it, and nothing was done. */
export type Forgetting = { forgotten: number; nextBlock: number } | null;

/** One slice of the table, from a block on. */
export async function forgetSlice(db: Queryable, fromBlock: number): Promise<Forgetting> {
  const toBlock = fromBlock + SLICE_BLOCKS;
  const [slice] = await forgetExpired(db, fromBlock, toBlock);
  if (slice === undefined || !slice.is_mine) return null;
  return { forgotten: slice.forgotten, nextBlock: toBlock < slice.blocks ? toBlock : 0 };
}

/** A whole lap without a rest. False when another node came in between; what is left is left to it. */
export async function forgetExpiredKeys(db: Queryable): Promise<boolean> {
  let block = 0;
  do {
    const slice = await forgetSlice(db, block);
    if (slice === null) return false;
    block = slice.nextBlock;
  } while (block > 0);
  return true;
}

/** The job that goes round the table. Its place is kept in memory: after a restart it begins at the first block. */
export function keyCleanup(db: Database, onError: (error: unknown) => void): RepeatingJob {
  let block = 0;
  const turn = async (): Promise<number> => {
    const startedAt = performance.now();
    const slice = await forgetSlice(db, block);
    block = slice?.nextBlock ?? block;
    return restAfter(slice, performance.now() - startedAt);
  };
  return new RepeatingJob({
    turns: [turn],
    onError,
    afterErrorMs: SETBACK_REST_MS,
    firstAfterMs: FIRST_AFTER_MS,
    isSpread: true,
    stopWithinMs: STOP_WITHIN_MS,
  });
}

export function restAfter(slice: Forgetting, tookMs: number): number {
  if (slice === null) return SETBACK_REST_MS;
  if (slice.nextBlock === 0) return LAP_EVERY_MS;
  return Math.max(MIN_REST_MS, tookMs * (slice.forgotten >= MUCH ? BUSY_REST_RATIO : REST_RATIO));
}
