/** The groups of a queue that may have due rows, as far as this node knows: the accounts of a lane, or the endpoints of webhooks. A claim asks
 *  for the rows of some groups, each from a due time on.
 *
 *  A claim that searched the queue for its groups would read every row that was deleted before, as long as a backup or another old snapshot
 *  keeps the deleted rows in the indexes. With the groups and the times from memory a claim reads only rows that are due. The writers of
 *  this node add the groups for which they queue rows, other nodes announce theirs, and a scan of the whole queue finds what was
 *  missed: rows of a node that died, and rows that were committed late. */

/** `hasBacklog`: the last claim of the group may have left rows. */
type Entry<G> = { group: G; dueAtMs: number; hasBacklog: boolean };

/** A group whose rows are claimed from a due time on. */
export type TakenGroup<G> = { key: string; group: G; fromMs: number };

/** A group with the first due time of its rows. */
export type FoundGroup<G> = { key: string; group: G; dueAtMs: number };

// The group is being claimed, and nothing is known of further rows.
const UNKNOWN = Number.POSITIVE_INFINITY;

export class WaitingGroups<G> {
  /** In the order of turns: the group that was claimed last is the last one. */
  readonly #entries = new Map<string, Entry<G>>();

  /** The group has a row that is due at this time. */
  add({ key, group, dueAtMs }: FoundGroup<G>): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) this.#entries.set(key, { group, dueAtMs, hasBacklog: false });
    else entry.dueAtMs = Math.min(entry.dueAtMs, dueAtMs);
  }

  /** Takes over the result of a scan. Times in the future are replaced, since the rows that had them may be gone. */
  refresh(found: readonly FoundGroup<G>[], nowMs: number): void {
    const keys = new Set(found.map(({ key }) => key));
    for (const [key, entry] of this.#entries) {
      if (entry.dueAtMs <= nowMs || entry.dueAtMs === UNKNOWN) continue;
      if (keys.has(key)) entry.dueAtMs = UNKNOWN;
      else this.#entries.delete(key);
    }
    for (const each of found) this.add(each);
  }

  /** Whether the group may have a row that is due. While a claim of a group with a backlog runs, it may have more rows than that. */
  isDue(key: string, nowMs: number): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && (entry.dueAtMs <= nowMs || (entry.dueAtMs === UNKNOWN && entry.hasBacklog));
  }

  /** The number of groups that may have due rows. */
  countDue(nowMs: number): number {
    let count = 0;
    for (const { dueAtMs } of this.#entries.values()) if (dueAtMs <= nowMs) count += 1;
    return count;
  }

  /** Takes the next groups that may have due rows, in turn. The caller reports the end of the claim for each. */
  take(nowMs: number, most: number): TakenGroup<G>[] {
    const taken: TakenGroup<G>[] = [];
    for (const [key, { group, dueAtMs }] of this.#entries) {
      if (taken.length >= most) break;
      if (dueAtMs <= nowMs) taken.push({ key, group, fromMs: dueAtMs });
    }
    for (const { key, group } of taken) {
      const hasBacklog = this.#entries.get(key)?.hasBacklog === true;
      this.#entries.delete(key);
      this.#entries.set(key, { group, dueAtMs: UNKNOWN, hasBacklog });
    }
    return taken;
  }

  /** The claim of a group has ended. `moreFromMs`: from which due time on it may have more due rows; undefined where it has none. */
  end({ key }: Pick<TakenGroup<G>, "key">, moreFromMs: number | undefined): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.dueAtMs = Math.min(entry.dueAtMs, moreFromMs ?? UNKNOWN);
    entry.hasBacklog = moreFromMs !== undefined;
    if (entry.dueAtMs === UNKNOWN) this.#entries.delete(key);
  }
}
