/** The accounts whose messages wait too long for the node that has their link. That node notifies all nodes, which accept fewer messages of these
 *  accounts until a moment after its last notification. A lost notification makes them accept more for a while. */
import { BoundedMap } from "../lib/bounded-map.ts";
import { idKey, toId, type AccountId } from "../model/id.ts";
import { uuidFromText, uuidToText } from "../lib/uuid.ts";
import type { Announcer } from "../queue/announcer.ts";
import type { Claimed } from "./queue.ts";

/** Not the name of a lane. */
const CHANNEL = "@slowed";
// The node that is behind claims more often than this, and each of its claims may notify the others.
const HOLD_MS = 250;
const MAX_ACCOUNTS = 10_000;
// Ages are announced in steps, so that few announcements differ. An age below one step is no reason to slow anything: claims are that late
// on a busy machine.
const STEP_MS = 50;
/** The requests of an account that may run at a time in each process, by the age of its oldest message. */
const LIMITS = [
  { belowMs: 400, requests: 16 },
  { belowMs: 600, requests: 8 },
  { belowMs: 800, requests: 4 },
  { belowMs: 1_000, requests: 2 },
];

export class SlowedAccounts {
  readonly #announcer: Announcer;
  readonly #slowed = new BoundedMap<string, { untilMs: number; limit: number }>(MAX_ACCOUNTS);

  constructor(announcer: Announcer) {
    this.#announcer = announcer;
    announcer.hear((channel, { group }) => {
      const [, account, age] = /^([0-9a-f-]{36}) (\d+)$/.exec(group) ?? [];
      if (channel === CHANNEL && account !== undefined) this.#note(toId("acct", uuidFromText(account)), Number(age) * STEP_MS);
    });
  }

  /** Slows the accounts whose messages had waited for too long when they were claimed, on all nodes. Urgent messages do not count, nor do
   *  messages that may have waited behind a batch. */
  slowDown(claimed: readonly Pick<Claimed, "message" | "dueAtMs">[], nowMs: number): void {
    if (claimed.some(({ message }) => message.batchId !== null)) return;
    const oldest = new Map<string, { accountId: AccountId; dueAtMs: number }>();
    for (const { message, dueAtMs } of claimed) {
      if (message.priority === "high" || nowMs - dueAtMs <= STEP_MS) continue;
      const account = idKey(message.accountId);
      if (dueAtMs < (oldest.get(account)?.dueAtMs ?? Infinity)) oldest.set(account, { accountId: message.accountId, dueAtMs });
    }
    for (const { accountId, dueAtMs } of oldest.values()) {
      const steps = Math.floor((nowMs - dueAtMs) / STEP_MS);
      this.#note(accountId, steps * STEP_MS);
      this.#announcer.announce(CHANNEL, { group: `${uuidToText(accountId)} ${steps}`, dueAtMs });
    }
  }

  /** How many requests of an account may run at a time. `account`: its id as a key. */
  limitOf(account: string): number {
    const slowed = this.#slowed.get(account);
    if (slowed === undefined) return Infinity;
    if (performance.now() < slowed.untilMs) return slowed.limit;
    this.#slowed.delete(account);
    return Infinity;
  }

  #note(accountId: AccountId, ageMs: number): void {
    const limit = LIMITS.find((each) => ageMs < each.belowMs)?.requests ?? 1;
    this.#slowed.renew(idKey(accountId), { untilMs: performance.now() + HOLD_MS, limit });
  }
}
