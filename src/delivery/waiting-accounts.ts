/** The accounts whose messages wait in the queue of a lane, as far as the last claims show. A new message of such an account must wait
 *  behind them. The accounts take turns, one claim after the other. Each priority has its own list. */
import { idKey, NO_ID, type AccountId } from "../lib/id.ts";
import type { Message } from "../messages/message.ts";
import { PRIORITY_RANK } from "../messages/queue-entry.ts";
import { MAX_ACCOUNTS, type Claim, type Claimed } from "./queue.ts";

type Rank = 0 | 1 | 2;
/** The accounts of one priority. */
type RankAccounts = {
  /** Accounts that may have more messages in the queue than the last claim took. */
  waiting: Set<string>;
  /** No claim has shown which accounts wait, or more wait than one claim reads: any account may wait. */
  mayBeAny: boolean;
  /** The account after which the next claim continues. */
  after: AccountId;
};

const RANKS: readonly Rank[] = [0, 1, 2];

export class WaitingAccounts {
  readonly #ranks: readonly [RankAccounts, RankAccounts, RankAccounts] = [unknownAccounts(), unknownAccounts(), unknownAccounts()];

  /** The accounts after which the next claim continues, by rank of priority. */
  get after(): [AccountId, AccountId, AccountId] {
    const [high, normal, bulk] = this.#ranks;
    return [high.after, normal.after, bulk.after];
  }

  /** Whether older messages of the same account and priority may wait in the queue. */
  has({ priority, accountId }: Pick<Message, "priority" | "accountId">): boolean {
    const { mayBeAny, waiting } = this.#ranks[PRIORITY_RANK[priority]];
    return mayBeAny || waiting.has(idKey(accountId));
  }

  /** A message of this account goes to the queue, because the lane has no room for it. */
  add({ priority, accountId }: Pick<Message, "priority" | "accountId">): void {
    this.#ranks[PRIORITY_RANK[priority]].waiting.add(idKey(accountId));
  }

  /** Takes over the result of a claim, for the priorities that the claim asked for. Returns whether the queue may have more. */
  update(claimed: readonly Claimed[], request: Claim): boolean {
    let hasMore = false;
    for (const rank of RANKS) {
      if (request.most[rank] === 0) continue;
      const accounts = this.#ranks[rank];
      const ofRank = claimed.filter(({ message }) => PRIORITY_RANK[message.priority] === rank);
      const served = inTurn(ofRank, request.after[rank]);
      accounts.after = served.at(-1) ?? request.after[rank];
      accounts.waiting = withFullShare(ofRank);
      accounts.mayBeAny = served.length >= Math.min(MAX_ACCOUNTS, request.most[rank]) || isCrowdedOut(claimed, request, rank);
      hasMore ||= accounts.mayBeAny || accounts.waiting.size > 0;
    }
    return hasMore;
  }
}

const unknownAccounts = (): RankAccounts => ({ waiting: new Set(), mayBeAny: true, after: NO_ID });

/** The accounts that a claim served, in the order of their turns: first those after the cursor. */
function inTurn(claimed: readonly Claimed[], after: AccountId): AccountId[] {
  const accounts = new Map(claimed.map(({ message: { accountId } }) => [idKey(accountId), accountId]));
  const isPast = (account: AccountId): boolean => Buffer.compare(account, after) > 0;
  return Array.from(accounts.values()).toSorted((a, b) => Number(isPast(b)) - Number(isPast(a)) || Buffer.compare(a, b));
}

/** The accounts of which the claim took a full share. They may have more. */
function withFullShare(claimed: readonly Claimed[]): Set<string> {
  const counts = new Map<string, number>();
  const full = new Set<string>();
  for (const { message, share } of claimed) {
    const name = idKey(message.accountId);
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    if (count >= share) full.add(name);
  }
  return full;
}

/** Whether the claim was full and messages of higher priority took places that this priority could have had. */
const isCrowdedOut = (claimed: readonly Claimed[], { most }: Claim, rank: Rank): boolean =>
  claimed.length >= most[0] && claimed.some(({ message }) => PRIORITY_RANK[message.priority] < rank);
