/** Messages of a link that nobody can reach any more take the next link of their route, where there is one: only those of which it is
 *  certain that no try of theirs has left. */
import { readUpLinks } from "../links/up-links.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, noteOn, type Change } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import { LEASE_MS, SCHEDULED_LANE } from "../queue/place.ts";
import { listLanes, returnRows } from "../queue/queries.ts";
import type { Link } from "../routing/link.ts";
import type { Routes } from "../routing/route.ts";
import type { Database } from "../storage/database.ts";
import { nextLink, senderAfter } from "./next-link.ts";
import { claimDue, type Claimed } from "./queries.ts";
import type { Receipts } from "./receipts.ts";
import { afterHold, holdChange } from "./settle.ts";

// A carrier that drops a connection takes it again within seconds; who is away for longer is away.
const DOWN_AFTER_MS = 15_000;
const BATCH = 100;
// What cannot be moved must not hide what stands behind it; so many looks at one link in a turn.
const MAX_LOOKS = 5;
const NO_ACCOUNT = Buffer.alloc(16);

export type FailoverParts = {
  db: Database;
  routes: Routes;
  advancer: Advancer;
  receipts: Receipts;
  receiptWaitMs: number;
  wake: (lane: string) => void;
  downAfterMs?: number;
};

/** A lane whose link is not in the plan any more has nothing but its name. */
type Lane = { name: string; link: Link | undefined };

export class Failover {
  readonly #parts: FailoverParts;
  readonly #downSince = new Map<string, number>();

  constructor(parts: FailoverParts) {
    this.#parts = parts;
  }

  /** Returns how many messages were moved: there may be more until it is none. */
  async turn(): Promise<number> {
    const { db, routes } = this.#parts;
    const [up, lanes] = await Promise.all([readUpLinks(db), listLanes(db)]);
    let moved = 0;
    for (const name of new Set([...routes.links.map((link) => link.name), ...lanes]))
      if (name !== SCHEDULED_LANE && this.#isDown(name, up)) moved += await this.#empty({ name, link: routes.find(name) }, up);
    return moved;
  }

  #isDown(name: string, up: ReadonlySet<string>): boolean {
    if (up.has(name)) {
      this.#downSince.delete(name);
      return false;
    }
    const since = this.#downSince.get(name) ?? performance.now();
    this.#downSince.set(name, since);
    return performance.now() - since >= (this.#parts.downAfterMs ?? DOWN_AFTER_MS);
  }

  async #empty(lane: Lane, up: ReadonlySet<string>): Promise<number> {
    const { db, advancer } = this.#parts;
    const stay: Message[] = [];
    let moved = 0;
    try {
      for (let look = 0; look < MAX_LOOKS; look += 1) {
        const claimed = await claimDue(db, {
          lane: lane.name,
          most: [BATCH, BATCH, BATCH],
          leaseMs: LEASE_MS,
          after: [NO_ACCOUNT, NO_ACCOUNT, NO_ACCOUNT],
        });
        if (claimed.length === 0) break;
        const decided = claimed.map((each) => ({ message: each.message, change: this.#decide(lane, each, up) }));
        stay.push(...decided.flatMap(({ message, change }) => (change === undefined ? [message] : [])));
        moved += await this.#make(decided.flatMap(({ change }) => change ?? []));
      }
    } finally {
      // In the order in which they came, for when the link is there again.
      const nowMs = advancer.now();
      if (stay.length > 0)
        await returnRows(
          db,
          stay.map(({ id }) => ({ id, dueMs: uuidTimeMs(id) - nowMs })),
        );
    }
    return moved;
  }

  async #make(changes: readonly Change[]): Promise<number> {
    const { advancer, receipts, wake } = this.#parts;
    const done = await Promise.all(changes.map((change) => advancer.submit(change)));
    const made = changes.filter((_, index) => done[index]);
    for (const change of made) {
      receipts.named(change);
      if (change.move.kind === "wait" && change.move.lane !== undefined) wake(change.move.lane);
    }
    return made.length;
  }

  #decide({ name, link }: Lane, { message, state }: Claimed, up: ReadonlySet<string>): Change | undefined {
    const { routes, advancer, receiptWaitMs } = this.#parts;
    const nowMs = advancer.now();
    // Nobody else is there to hold what its node left in mid-air, or to end its hold.
    if (message.status === "sending") {
      const known = link ?? goneLink(name);
      if (state === "held") return changeBy(message, afterHold(known), nowMs);
      return holdChange(message, "the process that handed it over ended before the answer came", { link: known, nowMs, receiptWaitMs });
    }
    if (message.status !== "queued") return undefined;
    const next = nextLink(routes, message, name, (other) => up.has(other.name));
    return next && movedTo(routes, message, { from: name, to: next }, nowMs);
  }
}

// What the plan says of a link that does not say it.
const HOLD_MS = 300_000;

/** Stands for a link that the plan no longer has: what it may have sent is not sent again. */
const goneLink = (name: string): Pick<Link, "name" | "onUnknown"> => ({ name, onUnknown: { holdMs: HOLD_MS, policy: "fail" } });

function movedTo(routes: Routes, message: Message, { from, to }: { from: string; to: Link }, nowMs: number): Change {
  const sender = senderAfter(routes, message, { from, to });
  return noteOn({ ...message, sender }, nowMs, {
    type: "message.rerouted",
    isIgnored: false,
    detail: { reason: `${from} is down: ${to.name} takes it` },
    move: { kind: "wait", state: "waiting", afterMs: 0, lane: to.name },
  });
}
