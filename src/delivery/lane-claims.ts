/** The claims of a lane: which accounts wait in its queue, and how many messages of each account the next claim takes. The accounts of a
 *  priority take turns, with equal shares of a claim (`queue/waiting-groups.ts`). */
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { Advancer } from "../messages/advance.ts";
import type { Message, Priority } from "../messages/message.ts";
import { PRIORITY_RANK } from "../messages/queue-entry.ts";
import { idKey } from "../model/id.ts";
import { ClaimLoop } from "../queue/claim-loop.ts";
import { WaitingGroups, type DueGroup, type TakenGroup } from "../queue/waiting-groups.ts";
import type { LaneLoad } from "./lane-load.ts";
import { LanePace, type PlannedClaim } from "./lane-pace.ts";
import { claimDue, placeOf, type Claimed, type WaitingAccount } from "./queue.ts";
import type { SlowedAccounts } from "./slowed-accounts.ts";

export type LaneClaimsParts = {
  db: Database;
  clock: Clock;
  lane: string;
  /** How long a claim lasts. */
  leaseMs: number;
  load: LaneLoad;
  advancer: Advancer;
  mayWork: () => boolean;
  slowed: SlowedAccounts;
  onClaimed: (claimed: readonly Claimed[]) => void;
  onError: (error: unknown) => void;
};

// A claim serves at most this many accounts of a priority. The next claim continues after them.
const MAX_ACCOUNTS = 32;

export class LaneClaims extends ClaimLoop {
  readonly #parts: LaneClaimsParts;
  readonly #pace = new LanePace();
  readonly #accounts = new WaitingGroups<WaitingAccount>(Object.keys(PRIORITY_RANK).length);
  #bulkTimer: NodeJS.Timeout | undefined;

  constructor(parts: LaneClaimsParts) {
    super({
      isAnyDue: () => this.#accounts.isAnyDue(parts.clock.now()),
      begin: (isWoken) => this.#begin(isWoken),
      onError: parts.onError,
    });
    this.#parts = parts;
  }

  /** Whether a new message must wait in the queue, behind older ones of its account and priority. */
  mustWait(message: Message): boolean {
    this.saw(message);
    return this.#accounts.mayBeDue(PRIORITY_RANK[message.priority], idKey(message.accountId), this.#parts.clock.now());
  }

  /** A new message comes to the lane without a claim. */
  saw({ priority }: Message): void {
    if (priority !== "bulk") this.#pace.sawUrgent(performance.now());
  }

  /** Whether messages of this priority may wait in the queue. */
  mayAnyWait(priority: Priority): boolean {
    return this.#accounts.mayAnyBeDue(PRIORITY_RANK[priority], this.#parts.clock.now());
  }

  /** A message of the lane waits in the queue, and is due at this time. */
  expect({ priority, accountId }: Message, dueAtMs: number): void {
    this.add({ rank: PRIORITY_RANK[priority], group: { key: idKey(accountId), accountId }, dueAtMs });
  }

  add(account: DueGroup<WaitingAccount>): void {
    this.#accounts.add(account);
  }

  /** The queue was scanned: these accounts have messages in the lane. */
  refresh(found: readonly DueGroup<WaitingAccount>[]): void {
    this.#accounts.refresh(found, this.#parts.clock.now());
  }

  override stop(): Promise<void> {
    clearTimeout(this.#bulkTimer);
    return super.stop();
  }

  #begin(isWoken: boolean): Promise<void> | undefined {
    const { load, advancer, mayWork, clock } = this.#parts;
    if (!mayWork()) return undefined;
    const nowMs = performance.now();
    const room = { high: load.room("high"), normal: load.room("normal"), bulk: load.room("bulk") };
    const planned = this.#pace.plan({ room, bulkCapacity: load.capacity("bulk"), pending: advancer.pending }, isWoken, nowMs);
    if (planned === undefined) return undefined;
    if (planned.bulkAfterMs !== null) this.#wakeForBulk(planned.bulkAfterMs);
    const nowDbMs = clock.now();
    const most = planned.most.map((each) => Math.min(each, MAX_ACCOUNTS));
    const taken = this.#accounts.take(nowDbMs, most);
    if (taken.length === 0) return undefined;
    this.#pace.began(nowMs);
    return this.#claim(planned.most, taken, nowDbMs);
  }

  #wakeForBulk(afterMs: number): void {
    this.#bulkTimer ??= setTimeout(() => {
      this.#bulkTimer = undefined;
      this.wake();
    }, afterMs);
  }

  async #claim(most: PlannedClaim["most"], taken: readonly TakenGroup<WaitingAccount>[], nowMs: number): Promise<void> {
    const { db, lane, leaseMs, advancer, slowed, onClaimed } = this.#parts;
    const [limit] = most;
    const shares = taken.map((each) => ({ ...each, most: equalShare(most, taken, each.rank) }));
    let claimed: Claimed[];
    try {
      claimed = await claimDue(db, { lane, shares, most: limit, nowMs, leaseMs });
    } catch (error) {
      this.#accounts.giveBack(taken);
      throw error;
    }
    const mayHaveMore = this.#accounts.end(shares, claimed.map(placeOf), limit);
    if (advancer.isBusy && mayHaveMore) slowed.slowDown(claimed, nowMs);
    if (claimed.some(({ message }) => message.priority !== "bulk")) this.#pace.sawUrgent(performance.now());
    onClaimed(claimed);
  }
}

/** The accounts of a priority share its room equally. */
const equalShare = (most: PlannedClaim["most"], taken: readonly { rank: number }[], rank: number): number =>
  Math.max(1, Math.floor((most[rank] ?? 0) / taken.filter((each) => each.rank === rank).length));
