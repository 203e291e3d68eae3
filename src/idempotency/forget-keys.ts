/** Deletes idempotency keys after their 24 hours. Expired keys have no effect; their deletion frees space. No index shows which keys have
 *  expired, so the table is read in a circle, one slice of blocks at a time. */
import type { Queryable } from "../database/database.ts";
import { deleteExpired } from "./queries.ts";

// Two megabytes, some 11,000 keys: read in a few milliseconds, deleted in fifty if every one of them has expired.
const SLICE_BLOCKS = 256;

/** `nextBlock` is the start of the next slice, and 0 after the last one. Null: another node does the work, and nothing was deleted. */
export type SliceResult = { deleted: number; nextBlock: number } | null;

/** Deletes the expired keys of one slice, which starts at a block. */
export async function deleteSlice(db: Queryable, fromBlock: number, nowMs: number): Promise<SliceResult> {
  const toBlock = fromBlock + SLICE_BLOCKS;
  const [slice] = await deleteExpired(db, fromBlock, toBlock, nowMs);
  if (slice === undefined || !slice.is_mine) return null;
  return { deleted: slice.deleted, nextBlock: toBlock < slice.blocks ? toBlock : 0 };
}

/** Each call of the result takes the next slice, and returns whether slices are left. The position is kept in memory, so after a restart it
 *  begins at the first block. */
export function walkExpiredKeys(db: Queryable): (nowMs: number) => Promise<boolean> {
  let block = 0;
  return async (nowMs) => {
    const slice = await deleteSlice(db, block, nowMs);
    block = slice?.nextBlock ?? block;
    return slice !== null && block > 0;
  };
}
