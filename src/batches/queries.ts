/** All SQL of batches. */
import type { BatchId } from "../model/id.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { rowReader, type StoredRow } from "../database/row-reader.ts";
import { readPage, scanStatement, type ListPage } from "../database/scan-page.ts";
import { sql } from "../database/sql.ts";
import type { Batch, BatchStatus } from "./batch.ts";

const toBatch = rowReader<Batch>("account_id, environment, id, accepted, refused, completed_at", ["completedAtMs"]);

export type BatchFilter = { from: Uuid; before: Uuid; status: BatchStatus | null };
type CountedRow = StoredRow & { id: BatchId; statuses: Record<string, number> };

const list = scanStatement({
  scan: `
  select id, completed_at
    from batches
   where account_id = $1 and environment = $2 and id >= $5 and id < $6`,
  filter: `($7::text is null or (completed_at is not null) = ($7 = 'completed'))`,
  whole: `
  select b.account_id, b.environment, b.id, b.accepted, b.refused, b.completed_at, counted.statuses
    from batches b
   cross join lateral (select coalesce(jsonb_object_agg(status, messages), '{}') as statuses
                         from (select m.status, count(*) as messages
                                 from messages m
                                where m.account_id = $1 and m.environment = $2 and m.batch_id = found.id and m.id > found.id
                                group by m.status) of_status) counted
   where b.account_id = $1 and b.environment = $2 and b.id = found.id`,
});

/** A page of batches with the counts of their messages, newest first. */
export async function listBatches(
  db: Queryable,
  owner: Owner,
  { from, before, status }: BatchFilter,
  limit: number,
): Promise<ListPage<{ batch: Batch; statuses: Record<string, number> }>> {
  const { items, next } = await readPage<CountedRow>(db, list, {
    owner,
    limit,
    isFiltered: status !== null,
    values: [from, before, status],
  });
  return { items: items.map((row) => ({ batch: toBatch(row), statuses: row.statuses })), next };
}

const FIRST_LOOK_MS = 1_000;

export const insertBatch = (
  tx: Tx,
  { accountId, environment, id, accepted, refused, completedAtMs }: Batch,
  nowMs: number,
): Promise<unknown[]> =>
  tx.rows(sql`
  insert into batches (account_id, environment, id, accepted, refused, completed_at, look_at)
  values (${accountId}, ${environment}, ${id}, ${accepted}, ${refused}, to_timestamp(${completedAtMs && completedAtMs / 1_000}::float8),
          ${new Date(nowMs + FIRST_LOOK_MS)})`);

export async function findBatch(db: Queryable, { accountId, environment }: Owner, id: BatchId): Promise<Batch | undefined> {
  const [row] = await db.rows<StoredRow>(sql`
  select account_id, environment, id, accepted, refused, completed_at
    from batches
   where account_id = ${accountId} and environment = ${environment} and id = ${id}`);
  return row && toBatch(row);
}

export type StatusCount = { status: string; messages: number };

/** Counts the messages of a batch by status. They are newer than the batch, and an index finds them. */
export const countStatuses = (db: Queryable, { accountId, environment, id }: Batch): Promise<StatusCount[]> =>
  db.rows<StatusCount>(sql`
  select status, count(*)::integer as messages
    from messages
   where account_id = ${accountId} and environment = ${environment} and batch_id = ${id} and id > ${id}
   group by status
   order by status`);

/** Claims batches whose check is due. The next check follows after a tenth of their age. */
export const claimOpenBatches = async (db: Queryable, nowMs: number, most: number): Promise<Batch[]> =>
  (
    await db.rows<StoredRow>(sql`
  update batches b
     set look_at = ${new Date(nowMs)}::timestamptz
                   + greatest(interval '1 second', least(interval '1 minute',
                       (${nowMs}::bigint - ('x' || translate(left(b.id::text, 13), '-', ''))::bit(48)::bigint)
                       * interval '100 microseconds'))
   where (b.account_id, b.environment, b.id) in (select account_id, environment, id
                                                   from batches
                                                  where completed_at is null and look_at <= ${new Date(nowMs)}
                                                  order by look_at
                                                  limit ${most}
                                                    for update skip locked)
  returning b.account_id, b.environment, b.id, b.accepted, b.refused, b.completed_at`)
  ).map(toBatch);

/** Completes a batch. Returns false when another node has completed it. */
export const completeBatch = async (tx: Tx, { accountId, environment, id }: Batch, atMs: number): Promise<boolean> =>
  (
    await tx.rows(sql`
  update batches
     set completed_at = to_timestamp(${atMs / 1_000}::float8)
   where account_id = ${accountId} and environment = ${environment} and id = ${id} and completed_at is null
  returning 1`)
  ).length > 0;
