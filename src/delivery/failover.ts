/** Messages of a link that nobody can reach any more take the next link of their route, where there is one: only those of which it is
 *  certain that no try of theirs has left. */
import { idKey, NO_ID } from "../lib/id.ts";
import { readUpLinks } from "../links/up-links.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, noteOn, type Change } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import { SCHEDULED_LANE } from "../messages/queue-entry.ts";
import { listLanes, readWaiting, takeRows, type QueueCursor, type Waiting } from "./queue.ts";
import type { Link } from "../links/link.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import type { Database } from "../storage/database.ts";
import { nextLink, senderAfter } from "./next-link.ts";
import type { Receipts } from "./receipts.ts";
import { afterHold, holdChange } from "./settle.ts";

// A carrier that drops a connection takes it again within seconds; who is away for longer is away.
const DOWN_AFTER_MS = 15_000;
const BATCH = 200;
// So many looks at one link in a turn; the next turn goes on where this one ended, since what cannot be moved must not hide what
// stands behind it.
const MAX_LOOKS = 10;
const BEGINNING: QueueCursor = { priority: -1, accountId: NO_ID, dueAt: "-infinity", id: NO_ID };

export type FailoverParts = {
  db: Database;
  linkChooser: LinkChooser;
  advancer: Advancer;
  receipts: Receipts;
  receiptWaitMs: number;
  leaseMs: number;
  wake: (lane: string) => void;
  downAfterMs?: number;
};

/** A lane whose link is not in the plan any more has nothing but its name. */
type Lane = { name: string; link: Link | undefined };

export class Failover {
  readonly #parts: FailoverParts;
  readonly #downSince = new Map<string, number>();
  /** How far a lane has been looked through. */
  readonly #places = new Map<string, QueueCursor>();

  constructor(parts: FailoverParts) {
    this.#parts = parts;
  }

  /** Returns how many messages were moved: there may be more until it is none. */
  async turn(): Promise<number> {
    const { db, linkChooser } = this.#parts;
    const [up, lanes] = await Promise.all([readUpLinks(db), listLanes(db)]);
    let moved = 0;
    for (const name of new Set([...linkChooser.links.map((link) => link.name), ...lanes]))
      if (name !== SCHEDULED_LANE && this.#isDown(name, up)) moved += await this.#empty({ name, link: linkChooser.find(name) }, up);
    return moved;
  }

  #isDown(name: string, up: ReadonlySet<string>): boolean {
    if (up.has(name)) {
      this.#downSince.delete(name);
      this.#places.delete(name);
      return false;
    }
    const since = this.#downSince.get(name) ?? performance.now();
    this.#downSince.set(name, since);
    return performance.now() - since >= (this.#parts.downAfterMs ?? DOWN_AFTER_MS);
  }

  async #empty(lane: Lane, up: ReadonlySet<string>): Promise<number> {
    let moved = 0;
    for (let look = 0; look < MAX_LOOKS; look += 1) {
      const waiting = await readWaiting(this.#parts.db, lane.name, this.#places.get(lane.name) ?? BEGINNING, BATCH);
      moved += await this.#move(lane, waiting, up);
      const last = waiting.at(-1);
      if (last === undefined || waiting.length < BATCH) {
        this.#places.delete(lane.name);
        break;
      }
      this.#places.set(lane.name, last.place);
    }
    return moved;
  }

  /** Only what goes elsewhere is taken: the rest stays as due as it ever was, for when the link is there again. */
  async #move(lane: Lane, waiting: readonly Waiting[], up: ReadonlySet<string>): Promise<number> {
    const changes = waiting.flatMap((each) => this.#decide(lane, each, up) ?? []);
    if (changes.length === 0) return 0;
    const ids = changes.map(({ before }) => before.id);
    const taken = new Set((await takeRows(this.#parts.db, lane.name, ids, this.#parts.leaseMs)).map(idKey));
    return this.#make(changes.filter(({ before }) => taken.has(idKey(before.id))));
  }

  async #make(changes: readonly Change[]): Promise<number> {
    const { advancer, receipts, wake } = this.#parts;
    const done = await Promise.all(changes.map((change) => advancer.submit(change)));
    const made = changes.filter((_, index) => done[index]);
    for (const change of made) {
      receipts.referenceStored(change);
      if (change.move.kind === "wait" && change.move.lane !== undefined) wake(change.move.lane);
    }
    return made.length;
  }

  #decide({ name, link }: Lane, { message, state }: Waiting, up: ReadonlySet<string>): Change | undefined {
    const { linkChooser, advancer, receiptWaitMs } = this.#parts;
    const nowMs = advancer.now();
    // Nobody else is there to hold what its node left in mid-air, or to end its hold.
    if (message.status === "sending") {
      const known = link ?? goneLink(name);
      if (state === "held") return changeBy(message, afterHold(known), nowMs);
      return holdChange(message, "the process that handed it over ended before the answer came", { link: known, nowMs, receiptWaitMs });
    }
    if (message.status !== "queued") return undefined;
    const next = nextLink(linkChooser, message, name, (other) => up.has(other.name));
    return next && movedTo(linkChooser, message, { from: name, to: next }, nowMs);
  }
}

// What the plan says of a link that does not say it.
const HOLD_MS = 300_000;

/** Stands for a link that the plan no longer has: what it may have sent is not sent again. */
const goneLink = (name: string): Pick<Link, "name" | "onUnknown"> => ({ name, onUnknown: { holdMs: HOLD_MS, policy: "fail" } });

function movedTo(linkChooser: LinkChooser, message: Message, { from, to }: { from: string; to: Link }, nowMs: number): Change {
  const sender = senderAfter(linkChooser, message, { from, to });
  return noteOn({ ...message, sender }, nowMs, {
    type: "message.rerouted",
    isIgnored: false,
    detail: { reason: `${from} is down: ${to.name} takes it` },
    move: { kind: "wait", state: "waiting", afterMs: 0, lane: to.name },
  });
}
