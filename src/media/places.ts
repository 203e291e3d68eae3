/** Where the bytes of files are: in the database, or in a bucket. Each file names its place, so that files stay readable after a change of the
 *  settings. */
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { Problem, unavailable } from "../http/problem.ts";
import type { Uuid } from "../lib/uuid.ts";
import { deleteChunks, insertChunk, readChunk } from "./chunk-queries.ts";
import { findPlace, type FilePlaceName } from "./queries.ts";

/** Writes the bytes of one file in their order. The caller waits for each call, and may change the bytes afterwards. */
export type FileWriter = {
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

/** A place whose server did not respond as expected: a request may still have an effect. */
export class PlaceFailed extends Problem {
  constructor(cause: unknown) {
    super("service_unavailable", { detail: "the store of files does not respond", headers: { "retry-after": "5" }, cause });
  }
}

/** The places that this process knows. */
export class FilePlaces {
  readonly #db: Database;
  readonly #known: readonly FilePlace[];
  /** The place of new files. */
  readonly newest: FilePlace;

  constructor(db: Database, newest: FilePlace, others: readonly FilePlace[] = []) {
    this.#db = db;
    this.newest = newest;
    this.#known = [newest, ...others];
  }

  get names(): FilePlaceName[] {
    return this.#known.map(({ name }) => name);
  }

  named(name: FilePlaceName): FilePlace | undefined {
    return this.#known.find((each) => each.name === name);
  }

  /** The bytes of a stored file, in pieces. */
  async *read(fileId: Uuid, bytes: number): AsyncGenerator<Buffer> {
    const name = await findPlace(this.#db, fileId);
    const place = name && this.named(name);
    if (place === undefined) throw unavailable("this node does not know the store that has the file");
    yield* place.read(fileId, bytes);
  }
}

export const CHUNK_BYTES = 262_144;
// Sixteen megabytes, which take some tens of milliseconds.
const REMOVED_CHUNKS = 64;

/** The file was given up as one without progress, or deleted. */
export const fileGone = (): Problem =>
  new Problem("service_unavailable", { detail: "the file took too long to arrive, and was given up", headers: { "retry-after": "1" } });

/** Each chunk is committed by itself, so that no transaction waits for a client. */
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
