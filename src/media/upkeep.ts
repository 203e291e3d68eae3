/** The job that deletes old media and the bytes that no media have. */
import { RepeatingJob } from "../lib/background-job.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { releaseFilesOf } from "./delete-media.ts";
import type { FilePlaces } from "./places.ts";
import { deleteOldMedia, giveUpFiles, listDeletedFiles } from "./queries.ts";
import { removeFile } from "./receive-file.ts";

type UpkeepParts = { db: Database; clock: Clock; places: FilePlaces };

const BATCH = 100;
const EVERY_MS = 60_000;
// A batch that left rows is followed by a pause of this part of its duration, so that the job takes at most a fifth of one connection.
const REST_RATIO = 4;
const FIRST_AFTER_MS = 60_000;
const STOP_WITHIN_MS = 5_000;
// An upload that still runs has stored a chunk or a part since: the slowest takes minutes for one.
const GIVEN_UP_AFTER_MS = 3_600_000;

/** Deletes a batch of the media whose time is over. Returns whether it may have left some. */
export const deleteOldBatch = ({ db, clock }: UpkeepParts): Promise<boolean> =>
  db.transaction(async (tx) => {
    const deleted = await deleteOldMedia(tx, clock.now(), BATCH);
    await releaseFilesOf(tx, deleted);
    return deleted.length === BATCH;
  });

/** Deletes the bytes of files that no media have: deleted ones, and those whose upload has ended without them. Returns whether it may have left
 *  some. Files of a place that this process does not know stay. */
export async function deleteUnusedFiles({ db, clock, places }: UpkeepParts, stopping?: AbortSignal): Promise<boolean> {
  const beforeMs = clock.now() - GIVEN_UP_AFTER_MS;
  await giveUpFiles(db, beforeMs);
  const files = await listDeletedFiles(db, { places: places.names, beforeMs, most: BATCH });
  for (const { id, place: name } of files) {
    if (stopping?.aborted === true) return true;
    const place = places.named(name);
    if (place !== undefined) await removeFile(db, place, id);
  }
  return files.length === BATCH;
}

export function mediaUpkeepJob(parts: UpkeepParts, onError: (error: unknown) => void): RepeatingJob {
  const turnOf = (deleteBatch: (stopping: AbortSignal) => Promise<boolean>) => async (stopping: AbortSignal) => {
    const startedAt = performance.now();
    return (await deleteBatch(stopping)) ? (performance.now() - startedAt) * REST_RATIO : EVERY_MS;
  };
  return new RepeatingJob({
    turns: [turnOf(() => deleteOldBatch(parts)), turnOf((stopping) => deleteUnusedFiles(parts, stopping))],
    onError,
    afterErrorMs: EVERY_MS,
    firstAfterMs: FIRST_AFTER_MS,
    isSpread: true,
    stopWithinMs: STOP_WITHIN_MS,
  });
}
