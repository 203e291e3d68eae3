/** The groups of a queue that may have due rows, as far as this node knows: the accounts of a lane, or the endpoints of webhooks. Each group
 *  has a rank, and a claim serves the lower ranks first.
 *
 *  A claim that searched the queue for its groups would read every row that was deleted before, as long as a backup or another old snapshot
 *  keeps the deleted rows in the indexes. With the groups and the times from memory, a claim reads only rows that are due. The writers of
 *  this node add the groups for which they queue rows, other nodes announce theirs, and a scan of the whole queue finds the rest: rows of a
 *  node that died, and rows that were committed late.
 *
 *  Fairness: a rank is a list in the order of turns. `take` takes groups from the front and puts them at the end, and nothing else changes
 *  the order. So of n groups of a rank that stay due and have room, each is taken at least once in every ceil(n / most) claims, however many
 *  rows the others have. A claim gives each group a share, and a group that gets its whole share stays due and waits for its next turn. */

export type Group = { readonly key: string };

/** `hasBacklog`: the last claim of the group may have left rows. */
type Entry<G> = { group: G; dueAtMs: number; hasBacklog: boolean };

/** A group with the first due time of its rows. */
export type DueGroup<G> = { rank: number; group: G; dueAtMs: number };

/** A group whose rows are claimed from a due time on. */
export type TakenGroup<G> = { rank: number; group: G; fromMs: number };

/** A taken group, and how many of its rows the claim may take. With 0 the group waits as before. */
export type Share<G> = TakenGroup<G> & { most: number };

/** A row that a claim took. */
export type ClaimedPlace = { rank: number; key: string; dueAtMs: number };

// The group is being claimed, and nothing is known of further rows.
const UNKNOWN = Number.POSITIVE_INFINITY;
const anyRoom = (): boolean => true;
const mayBeDue = ({ dueAtMs, hasBacklog }: Entry<unknown>, nowMs: number): boolean =>
  dueAtMs <= nowMs || (dueAtMs === UNKNOWN && hasBacklog);

export class WaitingGroups<G extends Group> {
  /** For each rank the groups in the order of turns: the group that was claimed last is the last one. */
  readonly #ranks: readonly Map<string, Entry<G>>[];
  /** Before the first scan any group may have rows. */
  #isScanned = false;
  /** No group is due earlier. */
  #earliestMs = UNKNOWN;

  constructor(ranks: number) {
    this.#ranks = Array.from({ length: ranks }, () => new Map<string, Entry<G>>());
  }

  /** The group has a row that is due at this time. */
  add({ rank, group, dueAtMs }: DueGroup<G>): void {
    const entry = this.#entry(rank, group.key);
    if (entry === undefined) this.#ranks[rank]?.set(group.key, { group, dueAtMs, hasBacklog: false });
    else entry.dueAtMs = Math.min(entry.dueAtMs, dueAtMs);
    this.#earliestMs = Math.min(this.#earliestMs, dueAtMs);
  }

  /** Takes over the result of a scan. Times in the future are replaced, since the rows that had them may be gone. */
  refresh(found: readonly DueGroup<G>[], nowMs: number): void {
    this.#isScanned = true;
    const keys = this.#ranks.map((_, rank) => new Set(found.filter((each) => each.rank === rank).map(({ group }) => group.key)));
    for (const [rank, entries] of this.#ranks.entries())
      for (const [key, entry] of entries) {
        if (entry.dueAtMs <= nowMs || entry.dueAtMs === UNKNOWN) continue;
        if (keys[rank]?.has(key) === true) entry.dueAtMs = UNKNOWN;
        else entries.delete(key);
      }
    for (const each of found) this.add(each);
  }

  /** Whether the group may have a row that is due. While a claim of a group with a backlog runs, it may have more rows than that. */
  mayBeDue(rank: number, key: string, nowMs: number): boolean {
    if (!this.#isScanned) return true;
    const entry = this.#entry(rank, key);
    return entry !== undefined && mayBeDue(entry, nowMs);
  }

  /** Whether any group of the rank may have a row that is due. */
  mayAnyBeDue(rank: number, nowMs: number): boolean {
    if (!this.#isScanned) return true;
    for (const entry of this.#ranks[rank]?.values() ?? []) if (mayBeDue(entry, nowMs)) return true;
    return false;
  }

  /** Whether a group with room may have a due row that no claim of this node is taking. */
  isAnyDue(nowMs: number, hasRoom: (group: G) => boolean = anyRoom): boolean {
    if (nowMs < this.#earliestMs) return false;
    let earliestMs = UNKNOWN;
    for (const entries of this.#ranks)
      for (const { group, dueAtMs } of entries.values()) {
        if (dueAtMs <= nowMs && hasRoom(group)) return true;
        if (dueAtMs < earliestMs) earliestMs = dueAtMs;
      }
    this.#earliestMs = earliestMs;
    return false;
  }

  /** Takes the next groups that have room and may have due rows: so many of each rank. The caller reports the end of the claim. */
  take(nowMs: number, most: readonly number[], hasRoom: (group: G) => boolean = anyRoom): TakenGroup<G>[] {
    return this.#ranks.flatMap((entries, rank) => {
      const taken: TakenGroup<G>[] = [];
      for (const { group, dueAtMs } of entries.values()) {
        if (taken.length >= (most[rank] ?? 0)) break;
        if (dueAtMs <= nowMs && hasRoom(group)) taken.push({ rank, group, fromMs: dueAtMs });
      }
      for (const { group } of taken) {
        const hasBacklog = entries.get(group.key)?.hasBacklog === true;
        entries.delete(group.key);
        entries.set(group.key, { group, dueAtMs: UNKNOWN, hasBacklog });
      }
      return taken;
    });
  }

  /** A claim has ended. A group that got its whole share may have more rows, and so may every group if the claim reached its limit. Returns
   *  whether any group may have more. */
  end(shares: readonly Share<G>[], claimed: readonly ClaimedPlace[], limit = UNKNOWN): boolean {
    const placesOf = this.#ranks.map((_, rank) =>
      Map.groupBy(
        claimed.filter((place) => place.rank === rank),
        ({ key }) => key,
      ),
    );
    let isAnyLeft = false;
    for (const share of shares) {
      const places = placesOf[share.rank]?.get(share.group.key) ?? [];
      const mayHaveMore = places.length >= share.most || claimed.length >= limit;
      this.#end(share, mayHaveMore ? Math.max(share.fromMs, ...places.map(({ dueAtMs }) => dueAtMs)) : undefined);
      isAnyLeft ||= mayHaveMore;
    }
    return isAnyLeft;
  }

  /** A claim took nothing, because it failed: its groups wait as before. */
  giveBack(taken: readonly TakenGroup<G>[]): void {
    for (const each of taken) this.#end(each, each.fromMs);
  }

  #end({ rank, group }: TakenGroup<G>, moreFromMs: number | undefined): void {
    const entry = this.#entry(rank, group.key);
    if (entry === undefined) return;
    entry.hasBacklog = moreFromMs !== undefined;
    entry.dueAtMs = Math.min(entry.dueAtMs, moreFromMs ?? UNKNOWN);
    this.#earliestMs = Math.min(this.#earliestMs, entry.dueAtMs);
    if (entry.dueAtMs === UNKNOWN) this.#ranks[rank]?.delete(group.key);
  }

  #entry(rank: number, key: string): Entry<G> | undefined {
    return this.#ranks[rank]?.get(key);
  }
}
