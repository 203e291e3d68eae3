/** All SQL of links: the leases, the states that nodes report, and the positions in reports of carriers. */
import type { Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { sql } from "../database/sql.ts";

/** Takes or renews the lease of a link. Returns whether this node holds it now. The first node to ask gets a lease that is free or has
 *  expired. */
export const takeLease = async (
  db: Queryable,
  link: string,
  node: string,
  { nowMs, leaseMs }: { nowMs: number; leaseMs: number },
): Promise<boolean> =>
  (
    await db.rows(sql`
  insert into link_leases as lease (link, node, expires_at)
  values (${link}, ${node}, ${new Date(nowMs + leaseMs)})
  on conflict (link) do update
     set node = excluded.node, expires_at = excluded.expires_at
   where lease.node = excluded.node or lease.expires_at <= ${new Date(nowMs)}
  returning 1`)
  ).length > 0;

/** Gives the lease up, so that another node can take it at once. */
export const dropLease = async (db: Queryable, link: string, node: string): Promise<void> => {
  await db.rows(sql`
  delete from link_leases
   where link = ${link} and node = ${node}`);
};

/** An error of a link, and its time: a state is reported repeatedly, and a repetition is not a new error. */
export type LinkError = { code: string; atMs: number };
export type ReportedState = { state: string; reason: string | null; inFlight: number; lastError: LinkError | null; atMs: number };

export const writeState = async (db: Queryable, link: string, node: string, reported: ReportedState): Promise<void> => {
  const { state, reason, inFlight, lastError, atMs } = reported;
  await db.rows(sql`
  insert into link_states as stored (link, node, state, reason, in_flight, last_error, last_error_at, updated_at)
  values (${link}, ${node}, ${state}, ${reason}, ${inFlight}, ${lastError?.code ?? null},
          to_timestamp(${lastError?.atMs ?? null}::float8 / 1000), ${new Date(atMs)})
  on conflict (link, node) do update
     set state = excluded.state, reason = excluded.reason, in_flight = excluded.in_flight, updated_at = excluded.updated_at,
         last_error = coalesce(excluded.last_error, stored.last_error),
         last_error_at = coalesce(excluded.last_error_at, stored.last_error_at)`);
};

const DAY_MS = 24 * 3_600_000;

/** Deletes the state of a link that this node has closed, and states that are older than a day. */
export const dropState = async (db: Queryable, link: string, node: string, nowMs: number): Promise<void> => {
  await db.rows(sql`
  delete from link_states
   where (link = ${link} and node = ${node}) or updated_at < ${new Date(nowMs - DAY_MS)}`);
};

export type StateRow = {
  link: string;
  node: string;
  state: string;
  reason: string | null;
  in_flight: number;
  last_error: string | null;
  last_error_at: Date | null;
  updated_at: Date;
};

/** The states reported since a time. A node that reports none is gone. */
export const readStates = (db: Queryable, sinceMs: number): Promise<StateRow[]> =>
  db.rows<StateRow>(sql`
  select link, node, state, reason, in_flight, last_error, last_error_at, updated_at
    from link_states
   where updated_at > ${new Date(sinceMs)}
   order by link, node`);

// A message at a carrier has a lease, which lasts seconds. Other rows with such due times are retries that are due soon.
const MAX_LEASE_MS = 60_000;
const MAX_ROWS = 1_000;

/** How many messages of an owner are `sending` on each link, in the hands of a node. */
export async function countSending(
  db: Queryable,
  { accountId, environment }: Owner,
  links: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db.rows<{ link: string; count: number }>(sql`
  select lane.link, count(*)::integer as count
    from unnest(${links}::text[]) as lane(link)
   cross join (values (0::smallint), (1::smallint), (2::smallint)) as rank(priority)
   cross join lateral (select message_id
                         from delivery_queue
                        where link = lane.link and priority = rank.priority and account_id = ${accountId}
                          and environment = ${environment}
                          and due_at > ${new Date(nowMs)} and due_at <= ${new Date(nowMs + MAX_LEASE_MS)}
                        limit ${MAX_ROWS}) leased
   cross join lateral (select
                         from messages m
                        where m.account_id = ${accountId} and m.environment = ${environment} and m.id = leased.message_id
                          and m.status = 'sending'
                        limit 1) sending
   group by lane.link`);
  return new Map(rows.map(({ link, count }) => [link, count]));
}

export const readCursor = async (db: Queryable, link: string): Promise<string | null> =>
  (
    await db.rows<{ position: string }>(sql`
  select position
    from link_cursors
   where link = ${link}`)
  )[0]?.position ?? null;

export const storeCursor = async (db: Queryable, link: string, position: string): Promise<void> => {
  await db.rows(sql`
  insert into link_cursors (link, position)
  values (${link}, ${position})
  on conflict (link) do update
     set position = excluded.position`);
};

/** Deletes the position of a link that no longer exists. */
export const deleteCursor = async (tx: Tx, link: string): Promise<void> => {
  await tx.rows(sql`
  delete from link_cursors
   where link = ${link}`);
};
