/** Where the bytes of files are: in the database. Each chunk is committed by itself, so that no transaction waits for a client. */
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { Problem } from "../http/problem.ts";
import type { Uuid } from "../lib/uuid.ts";
import { deleteChunks, insertChunk, readChunk, type FilePlaceName } from "./queries.ts";

/** Writes the bytes of one file in their order. The caller waits for each call, and may change the bytes afterwards. */
type FileWriter = {
  write: (bytes: Buffer) => Promise<void>;
  /** Ends the file. All its bytes are durable then. */
  end: () => Promise<void>;
};

export type FilePlace = {
  name: FilePlaceName;
  open: (fileId: Uuid) => FileWriter;
  /** The bytes of a stored file, in pieces. Fails if the file is deleted meanwhile. */
  read: (fileId: Uuid, bytes: number) => AsyncGenerator<Buffer>;
  /** Deletes some of the bytes. Returns whether some may be left. */
  remove: (fileId: Uuid) => Promise<boolean>;
};

export const CHUNK_BYTES = 262_144;
// Sixteen megabytes, which take some tens of milliseconds.
const REMOVED_CHUNKS = 64;

/** The file was given up as one without progress, or deleted. */
export const fileGone = (): Problem =>
  new Problem("service_unavailable", { detail: "the file took too long to arrive, and was given up", headers: { "retry-after": "1" } });

export const databasePlace = (db: Database, clock: Clock): FilePlace => ({
  name: "database",
  open: (fileId) => {
    let number = 0;
    const write = async (bytes: Buffer): Promise<void> => {
      if ((await insertChunk(db, { fileId, number, bytes, nowMs: clock.now() })).length === 0) throw fileGone();
      number += 1;
    };
    return { write, end: async () => undefined };
  },
  read: async function* (fileId, bytes) {
    let left = bytes;
    for (let number = 0; left > 0; number += 1) {
      const chunk = await readChunk(db, fileId, number);
      if (chunk === undefined) throw new Error("the file was deleted while it was read");
      left -= chunk.length;
      yield chunk;
    }
  },
  remove: async (fileId) => (await deleteChunks(db, fileId, REMOVED_CHUNKS)) === REMOVED_CHUNKS,
});
