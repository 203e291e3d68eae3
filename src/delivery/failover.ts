/** Failover: moves the messages of a link that is down on all nodes to the next link of their route. A message moves only if it is certain
 *  that no attempt of it has left. */
import { idKey, NO_ID } from "../model/id.ts";
import type { LinkDirectory } from "../links/directory.ts";
import type { Link } from "../links/link.ts";
import { readUpLinks } from "../links/link-record.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, noteOn, type Change } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import type { DeliveryContext } from "./context.ts";
import { chosenAfter, nextLink } from "./next-link.ts";
import { readWaiting, claimRows, type QueueCursor, type Waiting } from "./queue.ts";
import type { Receipts } from "./receipts.ts";
import { afterHold, holdChange, PROCESS_ENDED } from "./settle.ts";

// A carrier that drops a connection usually accepts a new one within seconds. After this time the link counts as down.
const DOWN_AFTER_MS = 15_000;
const BATCH = 200;
// Reads per lane in one turn. The next turn continues where this one ended, so that messages that cannot move do not hide the ones behind
// them.
const MAX_READS = 10;
const BEGINNING: QueueCursor = { priority: -1, accountId: NO_ID, dueAt: "-infinity", id: NO_ID };

export type FailoverParts = DeliveryContext & {
  advancer: Advancer;
  receipts: Receipts;
  leaseMs: number;
  queuedLanes: () => Iterable<string>;
  /** Hands a message to another lane, where it is due at this time. */
  passOn: (lane: string, message: Message, dueAtMs: number) => void;
  downAfterMs?: number | undefined;
};

/** A lane of the queue. Its link is undefined if the plan no longer has it. */
type QueuedLane = { name: string; link: Link | undefined };

export class Failover {
  readonly #parts: FailoverParts;
  readonly #downSince = new Map<string, number>();
  /** The position in each lane up to which its messages have been read. */
  readonly #cursors = new Map<string, QueueCursor>();

  constructor(parts: FailoverParts) {
    this.#parts = parts;
  }

  /** Runs one turn. Returns the number of moved messages; there may be more until it is zero. */
  async turn(): Promise<number> {
    const { db, advancer, linkDirectory, queuedLanes } = this.#parts;
    const up = await readUpLinks(db, advancer.now());
    let moved = 0;
    const names = new Set([...linkDirectory.current.links.map((link) => link.name), ...queuedLanes()]);
    for (const known of this.#downSince.keys()) if (!names.has(known)) this.#downSince.delete(known);
    for (const name of names)
      if (this.#isDown(name, up)) moved += await this.#moveLane({ name, link: linkDirectory.current.find(name) }, up);
    return moved;
  }

  #isDown(name: string, up: ReadonlySet<string>): boolean {
    if (up.has(name)) {
      this.#downSince.delete(name);
      this.#cursors.delete(name);
      return false;
    }
    const since = this.#downSince.get(name) ?? performance.now();
    this.#downSince.set(name, since);
    return performance.now() - since >= (this.#parts.downAfterMs ?? DOWN_AFTER_MS);
  }

  async #moveLane(lane: QueuedLane, up: ReadonlySet<string>): Promise<number> {
    let moved = 0;
    for (let read = 0; read < MAX_READS; read += 1) {
      const after = this.#cursors.get(lane.name) ?? BEGINNING;
      const waiting = await readWaiting(this.#parts.db, lane.name, { after, nowMs: this.#parts.advancer.now(), most: BATCH });
      moved += await this.#moveMessages(lane, waiting, up);
      const last = waiting.at(-1);
      if (last === undefined || waiting.length < BATCH) {
        this.#cursors.delete(lane.name);
        break;
      }
      this.#cursors.set(lane.name, last.cursor);
    }
    return moved;
  }

  /** Claims only the messages that move. The others keep their due time, for when the link is up again. */
  async #moveMessages(lane: QueuedLane, waiting: readonly Waiting[], up: ReadonlySet<string>): Promise<number> {
    const changes = waiting.flatMap((each) => this.#decide(lane, each, up) ?? []);
    if (changes.length === 0) return 0;
    const ids = changes.map(({ before }) => before.id);
    const { db, advancer, leaseMs } = this.#parts;
    const taken = new Set((await claimRows(db, lane.name, ids, { nowMs: advancer.now(), leaseMs })).map(idKey));
    return this.#store(changes.filter(({ before }) => taken.has(idKey(before.id))));
  }

  async #store(changes: readonly Change[]): Promise<number> {
    const { receipts, passOn } = this.#parts;
    const done = await Promise.all(changes.map((change) => receipts.store(change)));
    const made = changes.filter((_, index) => done[index]);
    for (const { move, after } of made)
      if (move.kind === "wait" && move.lane !== undefined && move.atMs !== undefined) passOn(move.lane, after, move.atMs);
    return made.length;
  }

  #decide({ name, link }: QueuedLane, { message, state }: Waiting, up: ReadonlySet<string>): Change | undefined {
    const { linkDirectory, advancer, receiptWaitMs } = this.#parts;
    const nowMs = advancer.now();
    // No lane serves this link, so a message whose node stopped during the attempt is held here, and its hold ends here.
    if (message.status === "sending") {
      const known = link ?? removedLink(name);
      if (state === "held") return changeBy(message, afterHold(known), nowMs);
      return holdChange(message, PROCESS_ENDED, { link: known, nowMs, receiptWaitMs });
    }
    if (message.status !== "queued") return undefined;
    const next = nextLink(linkDirectory, message, name, (other) => up.has(other.name));
    return next && movedMessage(linkDirectory, message, { from: name, to: next }, nowMs);
  }
}

// The default of the plan for a link without the setting.
const HOLD_MS = 300_000;

/** Stands for a link that the plan no longer has. Its messages of unknown outcome are not sent again. */
const removedLink = (name: string): Pick<Link, "name" | "onUnknown"> => ({ name, onUnknown: { holdMs: HOLD_MS, policy: "fail" } });

function movedMessage(linkDirectory: LinkDirectory, message: Message, { from, to }: { from: string; to: Link }, nowMs: number): Change {
  const moved = { ...message, ...chosenAfter(linkDirectory, message, to) };
  const note = noteOn(moved, nowMs, {
    type: "message.rerouted",
    isIgnored: false,
    detail: { reason: `${from} is down: ${to.name} takes it` },
    move: { kind: "wait", state: "waiting", afterMs: 0, lane: to.name },
  });
  return { ...note, before: message };
}
