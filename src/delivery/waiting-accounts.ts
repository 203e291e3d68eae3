/** The accounts whose messages wait in the queue of a lane, as far as this node knows (`database/waiting-groups.ts`). A new message of such
 *  an account must wait behind them. Each priority has its own list, and in each the accounts take turns, with equal shares of a claim. */
import { idKey, type AccountId } from "../model/id.ts";
import type { Message } from "../messages/message.ts";
import { PRIORITY_RANK } from "../messages/queue-entry.ts";
import { WaitingGroups, type TakenGroup } from "../database/waiting-groups.ts";
import type { LaneBacklog } from "./backlog.ts";
import type { AccountShare, Claimed } from "./queue.ts";

type Rank = 0 | 1 | 2;
type Urgency = Pick<Message, "priority" | "accountId">;

/** A share that a claim asks for. */
export type TakenShare = AccountShare & { taken: TakenGroup<AccountId> };

// A claim serves at most this many accounts of a priority. The next claim continues after them.
const MAX_ACCOUNTS = 32;
const RANKS: readonly Rank[] = [0, 1, 2];

export class WaitingAccounts {
  readonly #ranks = [new WaitingGroups<AccountId>(), new WaitingGroups<AccountId>(), new WaitingGroups<AccountId>()] as const;
  /** The queue has not been scanned yet: any account may wait. */
  #mayBeAny = true;
  readonly #backlog: LaneBacklog;

  constructor(backlog: LaneBacklog) {
    this.#backlog = backlog;
  }

  /** Whether older messages of the same account and priority may wait in the queue. */
  has({ priority, accountId }: Urgency, nowMs: number): boolean {
    return this.#mayBeAny || this.#ranks[PRIORITY_RANK[priority]].isDue(idKey(accountId), nowMs);
  }

  /** A message of this account waits in the queue and is due at this time. */
  add(rank: number, accountId: AccountId, dueAtMs: number): void {
    this.#ranks[rank as Rank].add({ key: idKey(accountId), group: accountId, dueAtMs });
  }

  /** Counts a message that this node has stored in the queue. Urgent ones do not make others wait, and batches are meant to wait. */
  count({ priority, accountId, batchId }: Urgency & Pick<Message, "batchId">): void {
    if (priority !== "high" && batchId === null) this.#backlog.stored(PRIORITY_RANK[priority], accountId);
  }

  /** Counts nothing any more, since the lane cannot send: its messages wait for the link, and not for this node. */
  clearCounts(): void {
    this.#backlog.clear();
  }

  /** Takes over the accounts that a scan has found in the lane. */
  refresh(found: readonly { rank: number; accountId: AccountId; dueAtMs: number }[], nowMs: number): void {
    this.#mayBeAny = false;
    for (const rank of RANKS)
      this.#ranks[rank].refresh(
        found.filter((each) => each.rank === rank).map(({ accountId, dueAtMs }) => ({ key: idKey(accountId), group: accountId, dueAtMs })),
        nowMs,
      );
  }

  /** Divides the room of each priority between the accounts whose turn it is. */
  plan(most: readonly [number, number, number], nowMs: number): TakenShare[] {
    return RANKS.flatMap((rank) => {
      const taken = this.#ranks[rank].take(nowMs, Math.min(MAX_ACCOUNTS, most[rank]));
      const share = Math.max(1, Math.floor(most[rank] / Math.max(1, taken.length)));
      return taken.map((each) => ({ rank, accountId: each.group, fromMs: each.fromMs, most: share, taken: each }));
    });
  }

  /** Takes over the result of a claim with a limit of rows. Returns whether the queue may have more that is due. */
  end(shares: readonly TakenShare[], claimed: readonly Claimed[], limit: number): boolean {
    let hasMore = false;
    const rowsOf = Map.groupBy(claimed, ({ message }) => `${PRIORITY_RANK[message.priority]} ${idKey(message.accountId)}`);
    for (const { rank, accountId, most, fromMs, taken } of shares) {
      const rows = rowsOf.get(`${rank} ${idKey(accountId)}`) ?? [];
      // A claim that reached its limit may have left out rows of any share.
      const mayHaveMore = rows.length >= most || claimed.length >= limit;
      this.#ranks[rank as Rank].end(taken, mayHaveMore ? Math.max(fromMs, ...rows.map(({ dueAtMs }) => dueAtMs)) : undefined);
      this.#backlog.claimed(rank, accountId, { count: rows.length, mayHaveMore });
      hasMore ||= mayHaveMore;
    }
    return hasMore;
  }

  /** The claim failed: its accounts wait as before. */
  giveBack(shares: readonly TakenShare[]): void {
    for (const { rank, fromMs, taken } of shares) this.#ranks[rank as Rank].end(taken, fromMs);
  }
}
