/** All SQL of the downloads of inbound files. The `due_at` of a waiting file is the time of its next attempt, or the end of the lease that the
 *  downloading node has. */
import { batchStatement, column } from "../database/batch.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { prepare } from "../database/sql.ts";
import { uuidToText, type Uuid } from "../lib/uuid.ts";
import type { MediaKind } from "../model/content.ts";
import type { AccountId, MediaId, MessageId } from "../model/id.ts";
import type { Environment, Owner } from "../model/owner.ts";

export type PendingMedia = Owner & {
  id: MediaId;
  kind: MediaKind;
  fileName: string | null;
  messageId: MessageId;
  link: string;
  carrierFile: string;
  /** The person who sent the file; null if the carrier names none. */
  person: string | null;
  keepUntilMs: number;
  dueAtMs: number;
};

const insert = batchStatement<PendingMedia>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("id", "uuid", ({ id }) => id),
    column("kind", "text", ({ kind }) => kind),
    column("file_name", "text", ({ fileName }) => fileName),
    column("message_id", "uuid", ({ messageId }) => messageId),
    column("link", "text", ({ link }) => link),
    column("carrier_file", "text", ({ carrierFile }) => carrierFile),
    column("person", "text", ({ person }) => person),
    column("keep_until", "timestamptz", ({ keepUntilMs }) => keepUntilMs),
    column("due_at", "timestamptz", ({ dueAtMs }) => dueAtMs),
  ],
  (items) => `
insert into media (account_id, environment, id, status, kind, file_name, source, person, keep_until, message_id, link, carrier_file, due_at)
select account_id, environment, id, 'pending', kind, file_name, 'inbound', person, keep_until, message_id, link, carrier_file, due_at
  from ${items}`,
);

/** Stores the files of an inbound message, which are due at once. */
export const insertPending = (tx: Tx, files: readonly PendingMedia[]): Promise<unknown> => tx.rows(insert(files));

export type DueFile = {
  account_id: AccountId;
  environment: Environment;
  id: MediaId;
  kind: MediaKind;
  link: string;
  carrier_file: string;
  attempts: number;
};

// A turn looks at so many of the first files of an account. Those behind them wait for a link that is busy.
const FIRST_FILES = 100;

const claim = prepare(`
with recursive waiting as (
  (select account_id
     from media
    where due_at is not null
    order by account_id
    limit 1)
  union all
  select (select m.account_id
            from media m
           where m.due_at is not null and m.account_id > waiting.account_id
           order by m.account_id
           limit 1)
    from waiting
   where waiting.account_id is not null
), due as (
  select first.account_id, first.environment, first.id, first.due_at
    from waiting
   cross join lateral (select account_id, environment, id, due_at
                         from (select account_id, environment, id, due_at, link
                                 from media
                                where account_id = waiting.account_id and due_at is not null and due_at <= $1
                                order by due_at
                                limit ${FIRST_FILES}) found
                        where link <> all ($4::text[])
                        order by due_at, id
                        limit 1) first
   where waiting.account_id <> all ($3::uuid[])
   order by random()
   limit $5
)
update media m
   set due_at = $2, attempts = m.attempts + 1
  from due
 where m.account_id = due.account_id and m.environment = due.environment and m.id = due.id and m.due_at = due.due_at
returning m.account_id, m.environment, m.id, m.kind, m.link, m.carrier_file, m.attempts`);

export type ClaimedRange = {
  nowMs: number;
  leasedUntilMs: number;
  /** Accounts and links that have no room. */
  busyAccounts: readonly AccountId[];
  busyLinks: readonly string[];
  most: number;
};

/** Claims one file of each account that has any due. */
export const claimDownloads = (db: Queryable, { nowMs, leasedUntilMs, busyAccounts, busyLinks, most }: ClaimedRange): Promise<DueFile[]> =>
  db.rows<DueFile>({ ...claim, values: [new Date(nowMs), new Date(leasedUntilMs), busyAccounts.map(uuidToText), busyLinks, most] });

type OwnedFile = Owner & { id: MediaId };

const putOff = batchStatement<OwnedFile & { dueAtMs: number }>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("id", "uuid", ({ id }) => id),
    column("due_at", "timestamptz", ({ dueAtMs }) => dueAtMs),
  ],
  (items) => `
update media m
   set due_at = item.due_at
  from ${items}
 where m.account_id = item.account_id and m.environment = item.environment and m.id = item.id and m.status = 'pending'`,
);

/** Sets the end of the leases of files, or the time of their next attempt. */
export const storeDue = async (db: Queryable, files: readonly OwnedFile[], dueAtMs: number): Promise<void> => {
  if (files.length > 0) await db.rows(putOff(files.map(({ accountId, environment, id }) => ({ accountId, environment, id, dueAtMs }))));
};

/** A media row that has changed, with what its record needs. */
export type SettledRow = {
  kind: MediaKind;
  file_name: string | null;
  message_id: MessageId | null;
  keep_until: Date;
  created_by: string | null;
};

const ready = prepare(`
update media
   set status = 'ready', file_id = $4, kind = $5, content_type = $6, bytes = $7, sha256 = $8, due_at = null
 where account_id = $1 and environment = $2 and id = $3 and status = 'pending'
returning kind, file_name, message_id, keep_until, created_by`);

export type DownloadedFile = { fileId: Uuid; contentType: string; bytes: number; sha256: Buffer };

/** Gives media their file. Returns no row if they were deleted, or if another node was faster. */
export const storeReady = async (
  tx: Tx,
  { accountId, environment, id }: OwnedFile,
  { fileId, kind, contentType, bytes, sha256 }: DownloadedFile & { kind: MediaKind },
): Promise<SettledRow | undefined> =>
  (await tx.rows<SettledRow>({ ...ready, values: [accountId, environment, id, fileId, kind, contentType, bytes, sha256] }))[0];

const failed = prepare(`
update media
   set status = 'failed', due_at = null, error = $4
 where account_id = $1 and environment = $2 and id = $3 and status = 'pending'
returning kind, file_name, message_id, keep_until, created_by`);

/** Gives up the download of a file. */
export const storeFailed = async (tx: Tx, { accountId, environment, id }: OwnedFile, error: string): Promise<SettledRow | undefined> =>
  (await tx.rows<SettledRow>({ ...failed, values: [accountId, environment, id, error] }))[0];
