/** Pages of a list, newest first, with filters that no index serves.
 *
 *  One statement scans and fetches. The scan walks an index from the newest row on and reads narrow columns only. The fetch reads
 *  the few rows that pass the filter as a whole. The scan ends at a limit, so a page may come back short, with a cursor to the last
 *  row that the scan looked at. */
import type { Uuid } from "../lib/uuid.ts";
import type { Queryable } from "./database.ts";
import type { Owner } from "../model/owner.ts";
import { prepare, type Prepared } from "./sql.ts";

/** $1 and $2 are the account and the environment, $3 and $4 the limits of the scan and of the page. The list's own parameters begin
 *  at $5. */
type ScanParts = {
  /** Selects `id` and the columns of the filter, without order and limit. */
  scan: string;
  /** The condition on a scanned row. */
  filter: string;
  /** Selects the whole row whose id is `found.id`, without limit. */
  whole: string;
};

type PageRequest = {
  /** Without an environment the list has the rows of all. */
  owner: Pick<Owner, "accountId"> & { environment: Owner["environment"] | null };
  limit: number;
  /** Whether the filter can leave out scanned rows. If not, the scan ends with the page. */
  isFiltered: boolean;
  /** The list's own parameters, from $5 on. */
  values: readonly unknown[];
};

/** `next` is the id after which the next page begins, and null on the last page. */
export type ListPage<T> = { items: T[]; next: Uuid | null };

/** A found row with the result of the scan. A scan that found no row returns its result once, with nulls in place of the row. */
type ScanRow<Row> = (Row | { id: null }) & { scanned: number; last_scanned: Uuid | null };

// docs/http.md states this number. A filter that one row in two hundred passes still fills a page of 25, and a filter that no row
// passes costs a bounded part of an index.
const SCAN_LIMIT = 5_000;

/** Builds the statement of a list. The fetch is a lateral probe with a limit: it stays an index probe whatever the planner assumes
 *  about a table without statistics. */
export const scanStatement = ({ scan, filter, whole }: ScanParts): Prepared =>
  prepare(`
with scanned as materialized (${scan}
   order by id desc
   limit $3
), found as (
  select id
    from scanned
   where ${filter}
   order by id desc
   limit $4
)
select whole.*, scan.scanned, scan.last_scanned
  from (select (select count(*) from scanned) as scanned, (select id from scanned order by id limit 1) as last_scanned) scan
  left join (found cross join lateral (${whole}
   limit 1) whole) on true
 order by whole.id desc`);

/** Reads a page with a statement that `scanStatement` built. */
export async function readPage<Row extends { id: Uuid }>(db: Queryable, statement: Prepared, request: PageRequest): Promise<ListPage<Row>> {
  const { owner, limit, isFiltered, values } = request;
  // One row more than the page holds shows whether there is another page.
  const count = limit + 1;
  const scanLimit = isFiltered ? Math.max(SCAN_LIMIT, count) : count;
  const rows = await db.rows<ScanRow<Row>>({ ...statement, values: [owner.accountId, owner.environment, scanLimit, count, ...values] });
  const found = rows.filter((row): row is Row & ScanRow<Row> => row.id !== null);
  const items = found.slice(0, limit);
  if (found.length > limit) return { items, next: items.at(-1)?.id ?? null };
  const [first] = rows;
  return { items, next: first !== undefined && first.scanned >= scanLimit ? first.last_scanned : null };
}
