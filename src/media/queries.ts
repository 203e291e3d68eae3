/** All SQL of media and their files. */
import { lockOwner, OWNER_LOCKS } from "../database/locks.ts";
import { prepare, sql } from "../database/sql.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { rowReader, type StoredRow } from "../database/row-reader.ts";
import { readPage, scanStatement, type ListPage } from "../database/scan-page.ts";
import { uuidToText, type Uuid } from "../lib/uuid.ts";
import type { MediaKind } from "../model/content.ts";
import type { MediaId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import type { Media } from "./media.ts";

const time = (ms: number): Date => new Date(ms);

const COLUMNS = `m.account_id, m.environment, m.id, m.status, m.file_id, m.kind, m.content_type, m.bytes, m.sha256, m.file_name, m.source,
       m.message_id, m.error, m.keep_until, m.created_by`;

const toMedia = rowReader<Media>(COLUMNS, ["keepUntilMs"]);

const findOne = prepare(`
select ${COLUMNS}
  from media m
 where m.account_id = $1 and m.environment = $2 and m.id = $3`);

export async function findMedia(db: Queryable, { accountId, environment }: Owner, id: MediaId): Promise<Media | undefined> {
  const [row] = await db.rows<StoredRow>({ ...findOne, values: [accountId, environment, id] });
  return row && toMedia(row);
}

const findAny = prepare(`
select ${COLUMNS}
  from media m
 where m.id = $1`);

/** Media of any account. Only the holder of a signed URL may ask for them. */
export async function findMediaOfAny(db: Queryable, id: MediaId): Promise<Media | undefined> {
  const [row] = await db.rows<StoredRow>({ ...findAny, values: [id] });
  return row && toMedia(row);
}

export type MediaFilter = {
  from: Uuid;
  before: Uuid;
  kind: MediaKind | null;
  source: Media["source"] | null;
  status: Media["status"] | null;
};

const list = scanStatement({
  scan: `
  select id, kind, source, status
    from media
   where account_id = $1 and environment = $2 and id >= $5 and id < $6`,
  filter: `($7::text is null or kind = $7)
     and ($8::text is null or source = $8)
     and ($9::text is null or status = $9)`,
  whole: `
  select ${COLUMNS}
    from media m
   where m.account_id = $1 and m.environment = $2 and m.id = found.id`,
});

/** A page of media, newest first. */
export async function listMedia(db: Queryable, owner: Owner, filter: MediaFilter, limit: number): Promise<ListPage<Media>> {
  const { from, before, kind, source, status } = filter;
  const isFiltered = kind !== null || source !== null || status !== null;
  const page = await readPage<StoredRow & { id: Uuid }>(db, list, {
    owner,
    limit,
    isFiltered,
    values: [from, before, kind, source, status],
  });
  return { ...page, items: page.items.map(toMedia) };
}

const ofPerson = prepare(`
select ${COLUMNS}
  from media m
 where m.account_id = $1 and m.environment = $2 and m.person = $3 and m.id < $4
 order by m.id desc
 limit $5`);

/** The media whose only person this is, newest first. */
export const listMediaOf = async (
  db: Queryable,
  { accountId, environment }: Owner,
  person: string,
  before: Uuid,
  limit: number,
): Promise<Media[]> => (await db.rows<StoredRow>({ ...ofPerson, values: [accountId, environment, person, before, limit] })).map(toMedia);

export type FilePlaceName = "database" | "bucket";

/** Begins a file that is being received. */
export const insertFile = (
  db: Queryable,
  { accountId, environment }: Owner,
  { id, place, nowMs }: { id: Uuid; place: FilePlaceName; nowMs: number },
): Promise<unknown[]> =>
  db.rows(sql`
  insert into media_files (id, account_id, environment, place, touched_at)
  values (${id}, ${accountId}, ${environment}, ${place}, ${time(nowMs)})`);

/** Records the progress of a file that is being received. Returns no row if the file was given up. */
export const touchFile = (db: Queryable, fileId: Uuid, nowMs: number): Promise<unknown[]> =>
  db.rows(sql`
  update media_files
     set touched_at = ${time(nowMs)}
   where id = ${fileId} and state = 'writing'
  returning 1`);

export const findPlace = async (db: Queryable, fileId: Uuid): Promise<FilePlaceName | undefined> =>
  (await db.rows<{ place: FilePlaceName }>(sql`select place from media_files where id = ${fileId}`))[0]?.place;

/** The stored file with this hash, which stays until the transaction ends. Other transactions that store the same file wait for this one. */
export async function lockFileByHash(tx: Tx, owner: Owner, sha256: Buffer): Promise<Uuid | undefined> {
  const { accountId, environment } = owner;
  await lockOwner(tx, OWNER_LOCKS.files, owner, sha256.toString("hex"));
  const [row] = await tx.rows<{ id: Uuid }>(sql`
  select id
    from media_files
   where account_id = ${accountId} and environment = ${environment} and sha256 = ${sha256} and state = 'stored'
     for share`);
  return row?.id;
}

/** Counts the bytes of a file, unless the owner would have more than `most` then. Returns whether they were counted. */
export async function countBytes(tx: Tx, { accountId, environment }: Owner, bytes: number, most: number): Promise<boolean> {
  if (bytes > most) return false;
  const counted = await tx.rows(sql`
  insert into media_usage as used (account_id, environment, bytes)
  values (${accountId}, ${environment}, ${bytes})
  on conflict (account_id, environment) do update
     set bytes = used.bytes + excluded.bytes
   where used.bytes + excluded.bytes <= ${most}
  returning 1`);
  return counted.length > 0;
}

/** Ends the receipt of a file. Returns no row if the file was given up. */
export const storeFile = (tx: Tx, fileId: Uuid, { sha256, bytes }: { sha256: Buffer; bytes: number }): Promise<unknown[]> =>
  tx.rows(sql`
  update media_files
     set state = 'stored', sha256 = ${sha256}, bytes = ${bytes}
   where id = ${fileId} and state = 'writing'
  returning 1`);

export const insertMedia = (tx: Tx, media: Media): Promise<unknown[]> => {
  const { accountId, environment, id, status, fileId, kind, contentType, bytes, sha256, fileName, source, createdBy } = media;
  return tx.rows(sql`
  insert into media (account_id, environment, id, status, file_id, kind, content_type, bytes, sha256, file_name, source, created_by, keep_until)
  values (${accountId}, ${environment}, ${id}, ${status}, ${fileId}, ${kind}, ${contentType}, ${bytes}, ${sha256}, ${fileName}, ${source},
          ${createdBy}, ${time(media.keepUntilMs)})`);
};

export type Usable = Media & { person: string | null; isShared: boolean };

const findUsable = prepare(`
select ${COLUMNS}, m.person, m.is_shared
  from media m
 where m.account_id = $1 and m.environment = $2 and m.id = $3 and m.status = 'ready'`);

export async function findUsableMedia(db: Queryable, { accountId, environment }: Owner, id: MediaId): Promise<Usable | undefined> {
  const [row] = await db.rows<StoredRow & { person: string | null; is_shared: boolean }>({
    ...findUsable,
    values: [accountId, environment, id],
  });
  return row && { ...toMedia(row), person: row.person, isShared: row.is_shared };
}

/** Moves the end of media. Returns no row if they were deleted. */
export const keepMedia = (db: Queryable, { accountId, environment }: Owner, id: MediaId, keepUntilMs: number): Promise<unknown[]> =>
  db.rows(sql`
  update media
     set keep_until = greatest(keep_until, ${time(keepUntilMs)})
   where account_id = ${accountId} and environment = ${environment} and id = ${id} and status = 'ready'
  returning 1`);

/** Records that media are sent to a person. Returns no row if they were deleted. */
export const storePerson = (db: Queryable, { accountId, environment }: Owner, id: MediaId, person: string): Promise<unknown[]> =>
  db.rows(sql`
  update media
     set is_shared = is_shared or coalesce(person <> ${person}, false),
         person = case when is_shared or person <> ${person} then null else ${person} end
   where account_id = ${accountId} and environment = ${environment} and id = ${id} and status = 'ready'
  returning 1`);

/** The id that a carrier has given to a file, while it lasts. */
export const findUpload = async (db: Queryable, fileId: Uuid, carrierAccount: string, nowMs: number): Promise<string | undefined> =>
  (
    await db.rows<{ carrier_file: string }>(sql`
  select carrier_file
    from media_uploads
   where file_id = ${fileId} and carrier_account = ${carrierAccount} and expires_at > ${time(nowMs)}`)
  )[0]?.carrier_file;

/** Does nothing for a file that was deleted meanwhile. */
export const storeUpload = (
  db: Queryable,
  fileId: Uuid,
  { carrierAccount, carrierFile, expiresAtMs }: { carrierAccount: string; carrierFile: string; expiresAtMs: number },
): Promise<unknown[]> =>
  db.rows(sql`
  insert into media_uploads (file_id, carrier_account, carrier_file, expires_at)
  select id, ${carrierAccount}, ${carrierFile}, ${time(expiresAtMs)}
    from media_files
   where id = ${fileId} and state = 'stored'
     for key share
  on conflict (file_id, carrier_account) do update
     set carrier_file = excluded.carrier_file, expires_at = excluded.expires_at`);

type Deleted = { id: MediaId; file_id: Uuid | null };

/** Deletes media by their ids. */
export const deleteMedia = (tx: Tx, { accountId, environment }: Owner, ids: readonly MediaId[]): Promise<Deleted[]> =>
  tx.rows<Deleted>(sql`
  delete from media
   where account_id = ${accountId} and environment = ${environment} and id = any (${ids.map(uuidToText)}::uuid[])
  returning id, file_id`);

/** Deletes some of the media whose only person this is. */
export const deleteMediaOf = (tx: Tx, { accountId, environment }: Owner, person: string, most: number): Promise<Deleted[]> =>
  tx.rows<Deleted>(sql`
  delete from media
   where account_id = ${accountId} and environment = ${environment}
     and id = any (array(select id
                           from media
                          where account_id = ${accountId} and environment = ${environment} and person = ${person}
                          limit ${most}))
     and person = ${person}
  returning id, file_id`);

/** Deletes some of the media whose time is over. A use at the same time keeps them. */
export const deleteOldMedia = (tx: Tx, nowMs: number, most: number): Promise<Deleted[]> =>
  tx.rows<Deleted>(sql`
  delete from media
   where ctid = any (array(select ctid
                             from media
                            where keep_until < ${time(nowMs)}
                            order by keep_until
                            limit ${most}
                              for update skip locked))
     and keep_until < ${time(nowMs)}
  returning id, file_id`);

/** Locks files, so that no transaction begins to use them. */
export const lockFiles = (tx: Tx, ids: readonly Uuid[]): Promise<unknown[]> =>
  tx.rows(sql`
  select id
    from media_files
   where id = any (${ids.map(uuidToText)}::uuid[])
   order by id
     for update`);

/** Marks locked files that no media have any more, and no longer counts their bytes. A statement after the one that locked them, which has
 *  a newer snapshot. */
export const releaseFiles = (tx: Tx, ids: readonly Uuid[]): Promise<unknown[]> =>
  tx.rows(sql`
  with released as (
    update media_files f
       set state = 'deleted'
     where f.id = any (${ids.map(uuidToText)}::uuid[]) and f.state = 'stored' and not exists (select from media m where m.file_id = f.id)
    returning f.account_id, f.environment, f.bytes
  ), freed as (
    select account_id, environment, sum(bytes)::bigint as bytes
      from released
     group by account_id, environment
  )
  update media_usage u
     set bytes = u.bytes - freed.bytes
    from freed
   where u.account_id = freed.account_id and u.environment = freed.environment`);

/** Gives up a file that is being received. */
export const giveUpFile = (db: Queryable, fileId: Uuid): Promise<unknown[]> =>
  db.rows(sql`
  update media_files
     set state = 'deleted'
   where id = ${fileId} and state = 'writing'
  returning 1`);

/** Gives up files that have not grown since a time. */
export const giveUpFiles = (db: Queryable, beforeMs: number): Promise<unknown[]> =>
  db.rows(sql`
  update media_files
     set state = 'deleted'
   where state = 'writing' and touched_at < ${time(beforeMs)}
  returning 1`);

export type DeletedFile = { id: Uuid; place: FilePlaceName };

/** Some of the files in these places whose bytes are to be deleted. A request to a bucket may have an effect until some time after the last progress
 *  of its file. */
export const listDeletedFiles = (
  db: Queryable,
  { places, beforeMs, most }: { places: readonly FilePlaceName[]; beforeMs: number; most: number },
): Promise<DeletedFile[]> =>
  db.rows<DeletedFile>(sql`
  select id, place
    from media_files
   where state = 'deleted' and place = any (${places}::text[]) and (place <> 'bucket' or touched_at < ${time(beforeMs)})
   order by id
   limit ${most}`);

/** Deletes a file whose bytes are deleted. */
export const deleteFile = (db: Queryable, fileId: Uuid): Promise<unknown[]> =>
  db.rows(sql`
  delete from media_files
   where id = ${fileId} and state = 'deleted'
     and not exists (select from media_chunks where file_id = ${fileId})`);

/** The bytes of the stored files of an owner. */
export const usedBytes = async (db: Queryable, { accountId, environment }: Owner): Promise<number> =>
  (
    await db.rows<{ bytes: number }>(sql`
  select bytes from media_usage where account_id = ${accountId} and environment = ${environment}`)
  )[0]?.bytes ?? 0;

/** The bytes of all stored files. */
export const allUsedBytes = async (db: Queryable): Promise<number> =>
  (await db.rows<{ bytes: number }>(sql`select coalesce(sum(bytes), 0)::bigint as bytes from media_usage`))[0]?.bytes ?? 0;
