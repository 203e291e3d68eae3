/** A fair walk over a queue: finds the groups that have rows in the queue, so that a claim can give each group an equal share.
 *  A group is an account or a webhook endpoint, for example.
 *
 *  One group may have a million rows in a queue and another group one. A claim in the order of time would let the first group
 *  starve the second. The walk goes through the groups in the order of their ids instead, and reads one row of each:
 *
 *  1. The walk starts at a cursor: the group where the last walk ended. The cursor is the row with `place` 0.
 *  2. Each step probes the index once, for the first row of the next group, however many rows the groups have.
 *  3. Lap 0 leads from the cursor to the greatest id. Lap 1 leads from the smallest id to the cursor, which is the last group found.
 *  4. The walk ends when it is around once, or after `most` groups. The caller then moves the cursor to the last group found. */

// No id of a group is greater, so it bounds lap 0 as the cursor bounds lap 1.
const LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff";

type FairWalk = {
  /** The name of the relation that has the groups found, in the order of `place`. */
  name: string;
  queue: string;
  /** The condition on the rows `q` of the queue that count. An index must lead from the condition to the group. */
  condition: string;
  /** The column that names the group: a uuid. */
  group: string;
  /** The parameter with the group after which the walk starts. */
  cursor: string;
  /** The limit of groups in one walk. */
  most: number;
  /** The first row of a group in the order of `by`: the columns that the relation takes from it, with their types. */
  first?: { by: string; columns: Readonly<Record<string, string>> };
};

/** Builds the walk as a part of `with recursive`. The limit around the two probes of a step ends the step at the first row, so the
 *  second probe, which begins lap 1, runs only where the first finds nothing. */
export function fairWalk({ name, queue, condition, group, cursor, most, first }: FairWalk): string {
  const columns = [group, ...Object.keys(first?.columns ?? {})];
  const columnsOf = (relation: string): string => columns.map((column) => `${relation}.${column}`).join(", ");
  const start = [`${cursor}::uuid`, ...Object.values(first?.columns ?? {}).map((type) => `null::${type}`)];
  const order = first === undefined ? `q.${group}` : `q.${group}, q.${first.by}`;
  return `${name}(${columns.join(", ")}, lap, place) as (
  select ${start.join(", ")}, 0, 0
  union all
  select ${columnsOf("next")}, next.lap, ${name}.place + 1
    from ${name}
   cross join lateral ((select ${columnsOf("q")}, ${name}.lap
                          from ${queue} q
                         where ${condition}
                           and q.${group} > ${name}.${group}
                           and q.${group} <= case ${name}.lap when 0 then '${LAST}'
                                               else ${cursor}::uuid end
                         order by ${order}
                         limit 1)
                       union all
                       (select ${columnsOf("q")}, 1
                          from ${queue} q
                         where ${name}.lap = 0 and ${condition}
                           and q.${group} <= ${cursor}::uuid
                         order by ${order}
                         limit 1)
                       limit 1) next
   where ${name}.place < ${most}
)`;
}
