/** Releases scheduled messages when their time has come: each moves to the lane of a link. The link is chosen at release, not when the
 *  message is accepted. Accounts take turns, as in the lanes, so that the campaign of one does not delay the messages of another. */
import { chooseToWait, type NoRoute } from "../links/choose-links.ts";
import type { LinkDirectory } from "../links/directory.ts";
import { mayChoose, senderOn } from "../links/choose-sender.ts";
import type { Link } from "../links/link.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, endSignal, type Chosen } from "../messages/change.ts";
import { needOfStored } from "../messages/check-content.ts";
import type { Message } from "../messages/message.ts";
import type { DueClock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { keepsSender } from "./next-link.ts";
import { PRIORITY_RANK, SCHEDULED_LANE } from "../messages/queue-entry.ts";
import { WaitingGroups } from "../queue/waiting-groups.ts";
import { claimDue, findScheduled, placeOf, type Claimed, type WaitingAccount } from "./queue.ts";

const BATCH = 100;
const RANKS = Object.keys(PRIORITY_RANK).length;
// The most accounts of a priority that share a batch.
const MAX_ACCOUNTS = Math.floor(BATCH / RANKS);
// Searches start where the last one ended, and from the beginning this often: a scheduled message may have been committed after its time,
// or returned to the schedule when its node died.
const FROM_START_EVERY_MS = 30_000;

export type ReleaseParts = { db: Database; clock: DueClock; advancer: Advancer; linkDirectory: LinkDirectory; leaseMs: number };

/** A released message, and the lane in which it is due. */
export type Released = { message: Message; lane: string; dueAtMs: number };

export class Releaser {
  readonly #parts: ReleaseParts;
  /** The accounts with due messages, as far as they were found. */
  readonly #accounts = new WaitingGroups<WaitingAccount>(RANKS);
  /** Messages that are due before this time were found. */
  #fromMs = 0;
  #startedOverAt = Number.NEGATIVE_INFINITY;

  constructor(parts: ReleaseParts) {
    this.#parts = parts;
  }

  /** Releases due messages. `hasMore`: others may be due. */
  async release(): Promise<{ released: Released[]; hasMore: boolean }> {
    const { db, clock } = this.#parts;
    if (performance.now() - this.#startedOverAt > FROM_START_EVERY_MS) {
      this.#startedOverAt = performance.now();
      this.#fromMs = 0;
    }
    const dueMs = clock.dueNow();
    for (const found of await findScheduled(db, this.#fromMs, dueMs)) this.#accounts.add(found);
    this.#fromMs = dueMs;
    const due = await this.#claim(dueMs);
    const released = await Promise.all(due.map(({ message }) => this.#release(message)));
    return { released: released.filter((each) => each !== undefined), hasMore: this.#accounts.isAnyDue(dueMs) };
  }

  async #claim(dueMs: number): Promise<Claimed[]> {
    const { db, clock, leaseMs } = this.#parts;
    const taken = this.#accounts.take(dueMs, Array<number>(RANKS).fill(MAX_ACCOUNTS));
    if (taken.length === 0) return [];
    const shares = taken.map((each) => ({ ...each, most: Math.floor(BATCH / taken.length) }));
    // The lease ends by the time that all nodes share.
    const claim = { lane: SCHEDULED_LANE, shares, most: BATCH, nowMs: dueMs, leaseMs: clock.now() - dueMs + leaseMs };
    const claimed = await claimDue(db, claim).catch((error: unknown) => {
      this.#accounts.giveBack(taken);
      throw error;
    });
    this.#accounts.end(shares, claimed.map(placeOf));
    return claimed;
  }

  async #release(message: Message): Promise<Released | undefined> {
    const { advancer, linkDirectory } = this.#parts;
    const { link, chosen, refusal } = chooseLink(linkDirectory, message);
    const dueAtMs = advancer.now();
    const queued = changeBy(
      message,
      {
        status: "queued",
        chosen,
        detail: { reason: "send_at has come" },
        move: { kind: "wait", state: "waiting", atMs: dueAtMs, lane: link?.name ?? "" },
      },
      dueAtMs,
    );
    if (queued === undefined || !(await advancer.submit(queued))) return undefined;
    if (link !== undefined) return { message: queued.after, lane: link.name, dueAtMs };
    const failed = changeBy(queued.after, endSignal("failed", { code: refusal, ...REFUSALS[refusal] }, "no route"), advancer.now());
    if (failed !== undefined) await advancer.submit(failed);
    return undefined;
  }
}

type ReleaseLink = { link: Link; chosen: Chosen; refusal: null } | { link: undefined; chosen: Chosen; refusal: NoRoute["kind"] };

/** Chooses a link. A sender that was chosen for the earlier link is kept if it could be chosen for this one as well. */
function chooseLink(linkDirectory: LinkDirectory, message: Message): ReleaseLink {
  const { sender, senderReason, linkReason } = message;
  const isNamed = keepsSender(message);
  const query = message.content === null ? message : { ...message, need: needOfStored(message) };
  const choice = chooseToWait(linkDirectory.current, isNamed ? query : { ...query, sender: null });
  if (choice.kind !== "chosen") return { link: undefined, chosen: { sender, senderReason, linkReason }, refusal: choice.kind };
  const [link] = choice.links;
  const isKept = isNamed || mayChoose(linkDirectory.current, link, sender, message);
  const kept = isKept ? { sender, senderReason } : senderOn(linkDirectory, link, message);
  return { link, chosen: { ...kept, linkReason: choice.reason }, refusal: null };
}

const REFUSALS: Readonly<Record<NoRoute["kind"], { message: string; permanent: boolean }>> = {
  not_carried: { message: "No link of the route could carry the content of the message at its send time.", permanent: true },
  no_route: { message: "There was no route for the message at its send time.", permanent: false },
  destination_not_permitted: {
    message: "Messages to the country of the recipient were no longer permitted at the send time.",
    permanent: true,
  },
  sender_not_allowed: { message: "The sender could not be used for the message at its send time.", permanent: true },
};
