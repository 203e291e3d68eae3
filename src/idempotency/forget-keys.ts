/** Deletes idempotency keys after their 24 hours. Expired keys have no effect; their deletion frees space.
 *
 *  No index shows which keys have expired. A job walks through the table in a circle, one slice of blocks at a time, with long pauses
 *  between the slices. */
import { RepeatingJob } from "../lib/background-job.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable } from "../database/database.ts";
import { deleteExpired } from "./queries.ts";

// Two megabytes, some 11,000 keys: read in a few milliseconds, deleted in fifty if every one of them has expired.
const SLICE_BLOCKS = 256;

// A job that finds few expired keys takes a fiftieth of one connection's time. A job that finds many is falling behind and may take
// a tenth: at about 3 µs per key that is more than the accept can produce.
const REST_RATIO = 50;
const BUSY_REST_RATIO = 10;
const MANY_DELETED = 2_000;
const MIN_REST_MS = 100;
// A key stays for half an hour more than its 24 hours, which makes the table 2 % larger. A small table is hardly ever read.
const LAP_EVERY_MS = 30 * 60_000;
const FIRST_AFTER_MS = 60_000;
// After an error of the database, or while another node does the work, there is no hurry.
const SETBACK_REST_MS = 60_000;
const STOP_WITHIN_MS = 5_000;

/** `nextBlock` is the start of the next slice, and 0 after the last one. Null: another node does the work, and nothing was deleted. */
export type SliceResult = { deleted: number; nextBlock: number } | null;

/** Deletes the expired keys of one slice, which starts at a block. */
export async function deleteSlice(db: Queryable, fromBlock: number, nowMs: number): Promise<SliceResult> {
  const toBlock = fromBlock + SLICE_BLOCKS;
  const [slice] = await deleteExpired(db, fromBlock, toBlock, nowMs);
  if (slice === undefined || !slice.is_mine) return null;
  return { deleted: slice.deleted, nextBlock: toBlock < slice.blocks ? toBlock : 0 };
}

/** Walks through the whole table without a pause. Returns false when another node does the work, and leaves the rest to that node. */
export async function deleteExpiredKeys(db: Queryable, nowMs: number): Promise<boolean> {
  let block = 0;
  do {
    const slice = await deleteSlice(db, block, nowMs);
    if (slice === null) return false;
    block = slice.nextBlock;
  } while (block > 0);
  return true;
}

/** The job that walks through the table. Its position is kept in memory, so after a restart it begins at the first block. */
export function keyCleanup(db: Database, clock: Clock, onError: (error: unknown) => void): RepeatingJob {
  let block = 0;
  const runSlice = async (): Promise<number> => {
    const startedAt = performance.now();
    const slice = await deleteSlice(db, block, clock.now());
    block = slice?.nextBlock ?? block;
    return restAfter(slice, performance.now() - startedAt);
  };
  return new RepeatingJob({
    turns: [runSlice],
    onError,
    afterErrorMs: SETBACK_REST_MS,
    firstAfterMs: FIRST_AFTER_MS,
    isSpread: true,
    stopWithinMs: STOP_WITHIN_MS,
  });
}

export function restAfter(slice: SliceResult, tookMs: number): number {
  if (slice === null) return SETBACK_REST_MS;
  if (slice.nextBlock === 0) return LAP_EVERY_MS;
  return Math.max(MIN_REST_MS, tookMs * (slice.deleted >= MANY_DELETED ? BUSY_REST_RATIO : REST_RATIO));
}
