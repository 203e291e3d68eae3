/** Deletes media with the files that no others have. Upkeep deletes the bytes of the files. */
import type { Tx } from "../database/database.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Owner } from "../model/owner.ts";
import { deleteMediaOf, lockFiles, releaseFiles } from "./queries.ts";

/** Marks the files of deleted media that no others have. */
export async function releaseFilesOf(tx: Tx, deleted: readonly { file_id: Uuid | null }[]): Promise<void> {
  const ids = deleted.flatMap(({ file_id: id }) => id ?? []);
  if (ids.length === 0) return;
  await lockFiles(tx, ids);
  await releaseFiles(tx, ids);
}

/** Deletes some of the media whose only person this is, and returns their number. Media that were also sent to others stay. */
export async function eraseMediaOf(tx: Tx, owner: Owner, person: string, most: number): Promise<number> {
  const deleted = await deleteMediaOf(tx, owner, person, most);
  await releaseFilesOf(tx, deleted);
  return deleted.length;
}
