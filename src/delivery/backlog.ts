/** The messages that this node has stored in the queue of its own lanes and has not claimed yet, by account. */
import { idKey } from "../model/id.ts";
import type { Message } from "../messages/message.ts";
import { PRIORITY_RANK } from "../messages/queue-entry.ts";
import type { EndedShare, Group } from "../queue/waiting-groups.ts";

export class Backlog {
  readonly #counts = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** `account`: its id as a key. */
  countOf(account: string): number {
    return this.#counts.get(account) ?? 0;
  }

  add(account: string, count: number): void {
    const sum = this.countOf(account) + count;
    if (sum > 0) this.#counts.set(account, sum);
    else this.#counts.delete(account);
    this.#total += count;
  }
}

/** The part of one lane, by priority and account. */
export class LaneBacklog {
  readonly #backlog: Backlog;
  readonly #counts = new Map<string, { account: string; count: number }>();

  constructor(backlog: Backlog) {
    this.#backlog = backlog;
  }

  /** Counts a message that this node has stored in the queue. Urgent ones do not make others wait, and batches are meant to wait. */
  stored({ priority, accountId, batchId }: Pick<Message, "priority" | "accountId" | "batchId">): void {
    if (priority === "high" || batchId !== null) return;
    const account = idKey(accountId);
    const name = `${PRIORITY_RANK[priority]} ${account}`;
    const { count } = this.#counts.get(name) ?? { count: 0 };
    this.#counts.set(name, { account, count: count + 1 });
    this.#backlog.add(account, 1);
  }

  /** Messages were claimed. Without more in the queue, other nodes have claimed the rest. */
  claimed({ share: { rank, group }, count, mayHaveMore }: EndedShare<Group>): void {
    const account = group.key;
    const name = `${rank} ${account}`;
    const known = this.#counts.get(name)?.count ?? 0;
    const taken = mayHaveMore ? Math.min(count, known) : known;
    if (taken === known) this.#counts.delete(name);
    else this.#counts.set(name, { account, count: known - taken });
    this.#backlog.add(account, -taken);
  }

  /** Counts nothing any more: the lane cannot send, so its messages wait for the link, and not for this node. */
  clear(): void {
    for (const { account, count } of this.#counts.values()) this.#backlog.add(account, -count);
    this.#counts.clear();
  }
}
