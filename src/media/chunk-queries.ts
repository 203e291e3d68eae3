/** All SQL of the bytes of files in the database. */
import { batchStatement, column } from "../database/batch.ts";
import type { Queryable } from "../database/database.ts";
import { sql } from "../database/sql.ts";
import type { Uuid } from "../lib/uuid.ts";

type Chunk = { fileId: Uuid; number: number; bytes: Buffer; nowMs: number };

// Parameters of a batch are written into a buffer that is used again. The driver would copy each chunk several times, into new buffers.
const chunk = batchStatement<Chunk>(
  [
    column("file_id", "uuid", ({ fileId }) => fileId),
    column("number", "integer", ({ number }) => number),
    column("bytes", "bytea", ({ bytes }) => bytes),
    column("touched_at", "timestamptz", ({ nowMs }) => nowMs),
  ],
  (items) => `
with written as (
  update media_files f
     set touched_at = item.touched_at
    from ${items}
   where f.id = item.file_id and f.state = 'writing'
  returning f.id, item.number, item.bytes
)
insert into media_chunks (file_id, number, bytes)
select id, number, bytes
  from written
returning 1`,
);

/** Adds a chunk to a file that is being received. Returns no row if the file was given up. */
export const insertChunk = (db: Queryable, added: Chunk): Promise<unknown[]> => db.rows(chunk([added]));

export const readChunk = async (db: Queryable, fileId: Uuid, number: number): Promise<Buffer | undefined> =>
  (await db.rows<{ bytes: Buffer }>(sql`select bytes from media_chunks where file_id = ${fileId} and number = ${number}`))[0]?.bytes;

/** Deletes some chunks of a file, and returns how many. */
export const deleteChunks = async (db: Queryable, fileId: Uuid, most: number): Promise<number> =>
  (
    await db.rows(sql`
  delete from media_chunks
   where file_id = ${fileId}
     and number = any (array(select number
                               from media_chunks
                              where file_id = ${fileId}
                              limit ${most}))
  returning 1`)
  ).length;
