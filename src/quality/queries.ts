/** All SQL of the outcomes on links. */
import { batchStatement, column, type Column } from "../database/batch.ts";
import type { Queryable } from "../database/database.ts";
import { sql } from "../database/sql.ts";
import type { LinkOutcome, OutcomeCount } from "./outcomes.ts";
import type { Windows } from "./windows.ts";

const columns: readonly Column<OutcomeCount>[] = [
  column("link", "text", ({ link }) => link),
  column("country", "text", ({ country }) => country),
  column("prefix", "text", ({ prefix }) => prefix),
  column("cohort", "timestamptz", ({ cohortMs }) => cohortMs),
  column("outcome", "text", ({ outcome }) => outcome),
  column("code", "text", ({ code }) => code),
  column("messages", "integer", ({ messages }) => messages),
  column("wait_ms", "text", ({ waitMs }) => String(waitMs)),
];

const addCounts = batchStatement(
  columns,
  (items) => `
insert into link_outcomes as stored (link, country, prefix, cohort, outcome, code, messages, wait_ms)
select link, country, prefix, cohort, outcome, code, messages, wait_ms::bigint
  from ${items}
on conflict (link, country, prefix, cohort, outcome, code) do update
   set messages = stored.messages + excluded.messages,
       wait_ms = stored.wait_ms + excluded.wait_ms`,
);

/** Adds counts to those of the other processes. All processes write rows in the same order, so that two of them cannot deadlock. */
export const storeCounts = async (db: Queryable, counts: readonly OutcomeCount[]): Promise<void> => {
  const keyed = counts.map((count) => ({
    count,
    key: [count.link, count.country, count.prefix, count.cohortMs, count.outcome, count.code],
  }));
  await db.rows(addCounts(keyed.toSorted((a, b) => compareKeys(a.key, b.key)).map(({ count }) => count)));
};

function compareKeys(one: readonly (string | number)[], other: readonly (string | number)[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at === -1 ? 0 : (one[at] as string) < (other[at] as string) ? -1 : 1;
}

export const deleteOldCounts = async (db: Queryable, { windowMs }: Windows, nowMs: number): Promise<void> => {
  await db.rows(sql`
  delete from link_outcomes
   where cohort < ${new Date(nowMs - windowMs)}`);
};

/** The outcomes of one network on a link. A message counts the less, the longer ago it was sent. */
export type DecayedRow = {
  link: string;
  country: string;
  prefix: string;
  delivered: number;
  failed: number;
  /** Messages that were sent long enough ago for a report, and that have none. */
  overdue: number;
  /** How many reports of the carrier there were in the window, each counted as one. */
  reports: number;
};

export const readDecayed = (
  db: Queryable,
  links: readonly string[],
  { halfLifeMs, windowMs, overdueMs, cohortMs }: Windows,
  nowMs: number,
): Promise<DecayedRow[]> =>
  db.rows<DecayedRow>(sql`
  select link, country, prefix,
         coalesce(sum(messages * weight) filter (where outcome = 'delivered'), 0)::float8 as delivered,
         coalesce(sum(messages * weight) filter (where outcome in ('failed', 'refused')), 0)::float8 as failed,
         coalesce(sum(messages * weight * case when outcome = 'sent' then 1 else -1 end)
                    filter (where cohort <= ${new Date(nowMs - cohortMs)}::timestamptz - overdue_after and outcome <> 'refused'), 0)::float8
           as overdue,
         coalesce(sum(messages) filter (where outcome in ('delivered', 'failed')), 0)::float8 as reports
    from (select link, country, prefix, cohort, outcome, messages,
                 power(0.5::float8,
                       greatest(0, extract(epoch from ${new Date(nowMs)}::timestamptz - cohort)::float8) * 1000 / ${halfLifeMs}::float8)
                   as weight,
                 interval '1 millisecond'
                   * least(${overdueMs.most}::float8,
                           greatest(${overdueMs.least}::float8,
                                    (2 * sum(wait_ms) over of_link
                                       / greatest(1, sum(messages) filter (where outcome = 'delivered') over of_link))::float8))
                   as overdue_after
            from link_outcomes
           where link = any (${links}::text[]) and cohort > ${new Date(nowMs - windowMs)}
          window of_link as (partition by link)) counted
   group by link, country, prefix`);

/** The outcomes of the whole window, each counted as one. */
export type CountRow = { link: string; country: string; outcome: LinkOutcome; code: string; messages: number; wait_ms: number };

/** The counts of some links, or of all. */
export const readCounts = (db: Queryable, links: readonly string[] | null, { windowMs }: Windows, nowMs: number): Promise<CountRow[]> =>
  db.rows<CountRow>(sql`
  select link, country, outcome, code, sum(messages)::float8 as messages, sum(wait_ms)::float8 as wait_ms
    from link_outcomes
   where (link = any (${links}::text[]) or ${links}::text[] is null) and cohort > ${new Date(nowMs - windowMs)}
   group by link, country, outcome, code`);
