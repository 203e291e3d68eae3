/** Who lines up in the queue of a lane, as far as the last claims told: accounts with more there than fits, whose new messages
 *  wait behind it, and whose turn comes next. Each priority is a line of its own. */
import type { Uuid } from "../lib/uuid.ts";
import type { Message } from "../messages/message.ts";
import { PRIORITY_RANK } from "../messages/queue-entry.ts";
import { MAX_ACCOUNTS, type Claim, type Claimed } from "./queue.ts";

type Rank = 0 | 1 | 2;
const RANKS: readonly Rank[] = [0, 1, 2];
const NO_ACCOUNT: Uuid = Buffer.alloc(16);

/** One priority. */
type RankLine = {
  /** Accounts that have more in the queue than fits. */
  behind: Set<string>;
  /** Nobody knows yet who has something in the queue, or too many have. */
  isEverybodyBehind: boolean;
  /** After which account the next claim goes on. */
  after: Uuid;
};

const unknownLine = (): RankLine => ({ behind: new Set(), isEverybodyBehind: true, after: NO_ACCOUNT });
const nameOf = (accountId: Uuid): string => accountId.toString("latin1");

type Waiting = Pick<Message, "priority" | "accountId">;

export class Line {
  readonly #ranks: readonly [RankLine, RankLine, RankLine] = [unknownLine(), unknownLine(), unknownLine()];

  /** For the next claim. */
  get after(): [Uuid, Uuid, Uuid] {
    const [high, normal, bulk] = this.#ranks;
    return [high.after, normal.after, bulk.after];
  }

  /** Others of its account wait in the queue, who came first. */
  holds({ priority, accountId }: Waiting): boolean {
    const { isEverybodyBehind, behind } = this.#ranks[PRIORITY_RANK[priority]];
    return isEverybodyBehind || behind.has(nameOf(accountId));
  }

  /** There was no room for one of this account. */
  add({ priority, accountId }: Waiting): void {
    this.#ranks[PRIORITY_RANK[priority]].behind.add(nameOf(accountId));
  }

  /** What a claim tells; returns whether there may be more to claim. What it did not look for stays as it was. */
  learn(claimed: readonly Claimed[], request: Claim): boolean {
    let hasMore = false;
    for (const rank of RANKS) {
      if (request.most[rank] === 0) continue;
      const line = this.#ranks[rank];
      const mine = claimed.filter(({ message }) => PRIORITY_RANK[message.priority] === rank);
      const served = inTurn(mine, request.after[rank]);
      line.after = served.at(-1) ?? request.after[rank];
      line.behind = withMore(mine);
      line.isEverybodyBehind = served.length >= Math.min(MAX_ACCOUNTS, request.most[rank]) || isCrowdedOut(claimed, request, rank);
      hasMore ||= line.isEverybodyBehind || line.behind.size > 0;
    }
    return hasMore;
  }
}

/** The accounts that got all that a claim could give them: they may have more. */
function withMore(claimed: readonly Claimed[]): Set<string> {
  const counts = new Map<string, number>();
  const full = new Set<string>();
  for (const { message, share } of claimed) {
    const name = nameOf(message.accountId);
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    if (count >= share) full.add(name);
  }
  return full;
}

/** The accounts that a claim served, in the order of their turns: those after the cursor first. */
function inTurn(claimed: readonly Claimed[], after: Uuid): Uuid[] {
  const accounts = new Map(claimed.map(({ message: { accountId } }) => [nameOf(accountId), accountId]));
  const isPast = (account: Uuid): boolean => Buffer.compare(account, after) > 0;
  return Array.from(accounts.values()).toSorted((a, b) => Number(isPast(b)) - Number(isPast(a)) || Buffer.compare(a, b));
}

/** Room that the higher ranks took was not there for this one. */
const isCrowdedOut = (claimed: readonly Claimed[], { most }: Claim, rank: Rank): boolean =>
  claimed.length >= most[0] && claimed.some(({ message }) => PRIORITY_RANK[message.priority] < rank);
