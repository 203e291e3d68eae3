/** All SQL of the parts of long inbound messages. */
import { batchStatement, column, type Column } from "../database/batch.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { LINK_LOCKS } from "../database/locks.ts";
import { sql } from "../database/sql.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { AddressType } from "../providers/provider.ts";

/** The parts of messages that may belong together have one key. */
export type PartKey = { link: string; from_address: string; to_address: string; reference: string; total: number };
export type PartId = { set_id: Uuid; number: number };
export type PartRow = PartKey &
  PartId & {
    from_type: AddressType | null;
    to_type: AddressType | null;
    data_coding: number;
    has_header: boolean;
    user_data: Buffer;
    /** `gone`: the row is to be deleted. */
    state: "open" | "ended" | "joined" | "gone";
    is_answered: boolean;
    is_doubtful: boolean;
    due_at: Date;
  };

/** Takes the lock of a link until the transaction ends: one transaction at a time adds parts to the sets of a link, or ends sets. */
export const lockParts = (tx: Tx, link: string): Promise<unknown> =>
  tx.rows(sql`select pg_advisory_xact_lock(${LINK_LOCKS.inboundParts}, hashtext(${link}))`);

const keyColumns: readonly Column<PartKey>[] = [
  column("link", "text", ({ link }) => link),
  column("from_address", "text", ({ from_address: from }) => from),
  column("to_address", "text", ({ to_address: to }) => to),
  column("reference", "text", ({ reference }) => reference),
  column("total", "smallint", ({ total }) => total),
];

const COLUMNS = `p.link, p.from_address, p.to_address, p.reference, p.total, p.set_id, p.number, p.from_type, p.to_type,
       p.data_coding, p.has_header, p.user_data, p.state, p.is_answered, p.is_doubtful, p.due_at`;

const withKeys = batchStatement<PartKey>(
  keyColumns,
  (items) => `
select ${COLUMNS}
  from ${items}
  join inbound_parts p on p.link = item.link and p.from_address = item.from_address and p.to_address = item.to_address
                      and p.reference = item.reference and p.total = item.total`,
);

/** The stored parts with these keys, each of which is in the list once. */
export const findParts = (tx: Tx, keys: readonly PartKey[]): Promise<PartRow[]> => tx.rows<PartRow>(withKeys(keys));

const insert = batchStatement<PartRow & { receivedAtMs: number }>(
  [
    ...keyColumns,
    column("set_id", "uuid", ({ set_id: setId }) => setId),
    column("number", "smallint", ({ number }) => number),
    column("from_type", "text", ({ from_type: type }) => type),
    column("to_type", "text", ({ to_type: type }) => type),
    column("data_coding", "smallint", ({ data_coding: dataCoding }) => dataCoding),
    column("has_header", "boolean", ({ has_header: hasHeader }) => hasHeader),
    column("user_data", "bytea", ({ user_data: userData }) => userData),
    column("state", "text", ({ state }) => state),
    column("is_doubtful", "boolean", ({ is_doubtful: isDoubtful }) => isDoubtful),
    column("received_at", "timestamptz", ({ receivedAtMs }) => receivedAtMs),
    column("due_at", "timestamptz", ({ due_at: dueAt }) => dueAt.getTime()),
  ],
  (items) => `
insert into inbound_parts
  (link, from_address, to_address, reference, total, set_id, number, from_type, to_type, data_coding, has_header, user_data,
   state, is_doubtful, received_at, due_at)
select link, from_address, to_address, reference, total, set_id, number, from_type, to_type, data_coding, has_header, user_data,
       state, is_doubtful, received_at, due_at
  from ${items}`,
);

export const insertParts = (tx: Tx, rows: readonly PartRow[], receivedAtMs: number): Promise<unknown> =>
  tx.rows(insert(rows.map((row) => ({ ...row, receivedAtMs }))));

const end = batchStatement<Uuid>(
  [column("set_id", "uuid", (setId) => setId)],
  (items) => `
update inbound_parts p
   set state = 'ended'
  from ${items}
 where p.set_id = item.set_id and p.state = 'open'`,
);

/** Ends sets. The caller has the lock of their link. */
export const endSets = (tx: Tx, setIds: readonly Uuid[]): Promise<unknown> =>
  tx.rows(end(setIds.toSorted((one, other) => Buffer.compare(one, other))));

/** Ends the oldest open sets of a link, which have at least this many parts together if there are so many. Any node stores them. */
export const endOldestSets = (tx: Tx, link: string, parts: number, nowMs: number): Promise<unknown> =>
  tx.rows(sql`
  update inbound_parts
     set state = 'ended', due_at = ${new Date(nowMs)}
   where state = 'open'
     and set_id = any (array(select set_id
                               from inbound_parts
                              where link = ${link} and state = 'open'
                              order by due_at
                              limit ${parts}))`);

/** Counts the parts of links, and their bytes. */
export const countParts = async (tx: Tx, links: readonly string[]): Promise<{ parts: number; bytes: number }> => {
  const [row] = await tx.rows<{ parts: number; bytes: number }>(sql`
  select count(*)::integer as parts, coalesce(sum(octet_length(user_data)), 0)::float8 as bytes
    from inbound_parts
   where link = any (${links}::text[])`);
  return row ?? { parts: 0, bytes: 0 };
};

export const readEndedSet = (db: Queryable, setId: Uuid): Promise<PartRow[]> =>
  db.rows<PartRow>(sql`
  select link, from_address, to_address, reference, total, set_id, number, from_type, to_type,
         data_coding, has_header, user_data, state, is_answered, is_doubtful, due_at
    from inbound_parts
   where set_id = ${setId} and state = 'ended'
   order by number`);

/** Marks the parts of a set as joined until a time. Returns false if another transaction has done so. */
export const markJoined = async (tx: Tx, setId: Uuid, untilMs: number): Promise<boolean> =>
  (
    await tx.rows(sql`
  update inbound_parts
     set state = 'joined', user_data = sha256(user_data), due_at = ${new Date(untilMs)}
   where set_id = ${setId} and state = 'ended'
  returning 1`)
  ).length > 0;

const idColumns: readonly Column<PartId>[] = [
  column("set_id", "uuid", ({ set_id: setId }) => setId),
  column("number", "smallint", ({ number }) => number),
];

const markAnswered = batchStatement<PartId>(
  idColumns,
  (items) => `
update inbound_parts p
   set is_answered = true
  from ${items}
 where p.set_id = item.set_id and p.number = item.number and p.state <> 'joined'
returning 1`,
);

const deleteAnswered = batchStatement<PartId>(
  idColumns,
  (items) => `
delete from inbound_parts p
 using ${items}
 where p.set_id = item.set_id and p.number = item.number and p.state = 'joined'`,
);

/** In the order in which every statement locks parts. */
const inOrder = (parts: readonly PartId[]): PartId[] =>
  parts.toSorted((one, other) => Buffer.compare(one.set_id, other.set_id) || one.number - other.number);

/** Stores that the responses to these parts were written. Two statements: one that waited for a join sees its rows only in the next. */
export async function storeAnswered(db: Queryable, parts: readonly PartId[]): Promise<void> {
  if (parts.length === 0) return;
  const sorted = inOrder(parts);
  const marked = await db.rows(markAnswered(sorted));
  if (marked.length < sorted.length) await db.rows(deleteAnswered(sorted));
}

const remove = batchStatement<PartId>(
  idColumns,
  (items) => `
delete from inbound_parts p
 using ${items}
 where p.set_id = item.set_id and p.number = item.number`,
);

export const deleteParts = (db: Queryable, parts: readonly PartId[]): Promise<unknown> => db.rows(remove(inOrder(parts)));

/** Deletes the joined parts of a set whose responses are known to be written. */
export const deleteAnsweredOf = (tx: Tx, setId: Uuid): Promise<unknown> =>
  tx.rows(sql`
  delete from inbound_parts
   where set_id = ${setId} and state = 'joined' and is_answered`);

/** Deletes joined parts whose repetition is no longer expected. */
export const deleteJoined = (db: Queryable, nowMs: number, limit: number): Promise<unknown> =>
  db.rows(sql`
  delete from inbound_parts
   where ctid = any (array(select ctid
                             from inbound_parts
                            where due_at <= ${new Date(nowMs)} and state = 'joined'
                            limit ${limit}
                              for update skip locked))`);

export type DueSet = { set_id: Uuid; link: string; is_open: boolean };

/** The sets that are due, of the parts that have been due for longest. */
export const findDueSets = (db: Queryable, nowMs: number, limit: number): Promise<DueSet[]> =>
  db.rows<DueSet>(sql`
  select distinct due.set_id, due.link, due.state = 'open' as is_open
    from (select set_id, link, state
            from inbound_parts
           where due_at <= ${new Date(nowMs)} and state <> 'joined'
           order by due_at
           limit ${limit}) due`);

/** Puts off a set that could not be stored. */
export const putOffSet = (db: Queryable, setId: Uuid, untilMs: number): Promise<unknown> =>
  db.rows(sql`
  update inbound_parts
     set due_at = ${new Date(untilMs)}
   where set_id = ${setId} and state = 'ended'`);
