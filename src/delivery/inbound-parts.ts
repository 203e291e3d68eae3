/** Long inbound messages, which carriers deliver in parts. A part is committed to a table and acknowledged at once, and the last part of a message
 *  stores the message. Any node stores a message whose parts do not all come in time, with marks.
 *
 *  A part is a repetition only if the response to its first delivery was not written. The process that has the connection knows this at once, and
 *  stores it with the next part or within a second. After a crash, responses that were written count as not written: `placeParts`. */
import { GroupCommit } from "../database/group-commit.ts";
import type { Tx } from "../database/database.ts";
import { ConcurrencyLimit } from "../lib/concurrency-limit.ts";
import { newUuid, type Uuid } from "../lib/uuid.ts";
import type { Link } from "../links/link.ts";
import { idKey } from "../model/id.ts";
import { errorFields } from "../model/log.ts";
import type { InboundMessage, InboundPart, Provider } from "../providers/provider.ts";
import type { DeliveryContext } from "./context.ts";
import type { Inbound } from "./inbound.ts";
import {
  countParts,
  deleteAnsweredOf,
  deleteJoined,
  deleteParts,
  endOldestSets,
  endSets,
  findDueSets,
  findParts,
  insertParts,
  lockParts,
  markJoined,
  putOffSet,
  readEndedSet,
  storeAnswered,
  type DueSet,
  type PartId,
  type PartKey,
  type PartRow,
} from "./part-queries.ts";
import { keyName, placeParts } from "./place-parts.ts";
import type { ReportLimits } from "./report-limits.ts";

type InboundPartsContext = Pick<DeliveryContext, "db" | "clock" | "linkDirectory" | "log"> & {
  inbound: Inbound;
  limits: ReportLimits;
  providers: Readonly<Record<string, Provider<never>>>;
};

type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** The parts of a link that this node receives. */
type LinkParts = {
  commits: GroupCommit<InboundPart, PartRow>;
  /** Parts whose responses were written, which is not stored yet. */
  answered: Map<string, PartId>;
  /** The parts and bytes since the bounds were checked. */
  uncheckedParts: number;
  uncheckedBytes: number;
};

const MAX_BATCH = 100;
// Carriers send at most a hundred at a time on each connection.
const MAX_WAITING = 10_000;
// For a link of the operator, or for all links that an account has created. Beyond them, the oldest messages are stored without their missing
// parts. Few carriers lose a part at all.
const MAX_PARTS = 10_000;
const MAX_BYTES = 8 * 1_048_576;
// Counting takes milliseconds, so the bounds are checked after so many parts or bytes. At twice the bounds the carrier is asked to wait.
const CHECK_PARTS = 1_000;
const CHECK_BYTES = 1_048_576;
// Carriers repeat an unacknowledged part after the next bind, or within minutes.
const REPEATED_WITHIN_MS = 600_000;
// A turn of the sweep handles the sets of so many parts, and this many at a time.
const SWEPT_PARTS = 500;
const MAX_CONCURRENT = 4;
// A message that could not be stored is tried again after this time.
const RETRY_MS = 60_000;

export class InboundParts {
  readonly #context: InboundPartsContext;
  readonly #links = new Map<string, LinkParts>();
  /** The sets that this node is storing. */
  readonly #joining = new Map<string, Promise<void>>();

  constructor(context: InboundPartsContext) {
    this.#context = context;
  }

  /** Resolves when the part is committed; the last part of a message, when the message is. Returns the function that reports that its response was
   *  written. */
  async receive(link: Link, part: InboundPart, inTurn: InTurn): Promise<() => void> {
    const { commits, answered } = this.#partsOf(link, inTurn);
    const row = await commits.submit(part);
    if (row.state === "ended") await this.#join(row.set_id, inTurn);
    return () => void answered.set(partName(row), row);
  }

  /** Stores which responses were written. */
  async flush(): Promise<void> {
    for (const { answered } of this.#links.values()) {
      const written = [...answered.values()];
      await storeAnswered(this.#context.db, written);
      forget(answered, written);
    }
  }

  /** Stores messages that wait no longer for their parts, of any node. Returns the number of messages. */
  async sweep(): Promise<number> {
    const { db, clock } = this.#context;
    await this.flush();
    await deleteJoined(db, clock.now(), SWEPT_PARTS);
    const due = await findDueSets(db, clock.now(), SWEPT_PARTS);
    await this.#endOpen(due.filter((set) => set.is_open));
    const limit = new ConcurrencyLimit(MAX_CONCURRENT);
    await Promise.all(due.map((set) => limit.run(() => this.#tryJoin(set.link, set.set_id))));
    return due.length;
  }

  #partsOf(link: Link, inTurn: InTurn): LinkParts {
    const known = this.#links.get(link.name);
    if (known !== undefined) return known;
    const commits = new GroupCommit<InboundPart, PartRow>({
      run: (parts) => inTurn(() => this.#commit(link, created, { parts, inTurn })),
      isItemFault: () => false,
      maxBatch: MAX_BATCH,
      maxWaiting: MAX_WAITING,
      // One transaction at a time has the lock of the link, and parts keep their order.
      maxConcurrent: 1,
      minConcurrentBatch: MAX_BATCH,
      maxWaitMs: REPEATED_WITHIN_MS,
    });
    const created: LinkParts = { commits, answered: new Map(), uncheckedParts: CHECK_PARTS, uncheckedBytes: 0 };
    this.#links.set(link.name, created);
    return created;
  }

  /** Commits parts in their order, and returns their rows. */
  async #commit(link: Link, state: LinkParts, { parts, inTurn }: { parts: readonly InboundPart[]; inTurn: InTurn }): Promise<PartRow[]> {
    const { db, clock } = this.#context;
    const written = [...state.answered.values()];
    const isAnswered = (row: PartRow): boolean => row.is_answered || state.answered.has(partName(row));
    const { placed, added, ended } = await db.transaction(async (tx) => {
      await lockParts(tx, link.name);
      await this.#keepBounds(tx, link, state);
      await storeAnswered(tx, written);
      const nowMs = clock.now();
      const arrived = parts.map((part) => ({ part, key: keyOf(link, part) }));
      const known = await findParts(tx, [...new Map(arrived.map(({ key }) => [keyName(key), key])).values()]);
      const changes = placeParts(arrived, known, { isAnswered, newSetId: () => newUuid(nowMs), nowMs });
      if (changes.gone.length > 0) await deleteParts(tx, changes.gone);
      if (changes.added.length > 0) await insertParts(tx, changes.added, nowMs);
      if (changes.ended.length > 0) await endSets(tx, changes.ended);
      return changes;
    });
    // A repetition is stored already, and changes nothing.
    if (added.length < parts.length) await db.confirmRead();
    forget(state.answered, written);
    state.uncheckedParts += parts.length;
    state.uncheckedBytes += parts.reduce((sum, { userData }) => sum + userData.length, 0);
    // Messages that others have ended. The sender of a part in this batch waits for its message itself.
    const own = new Set(placed.map((row) => idKey(row.set_id)));
    for (const setId of ended) if (!own.has(idKey(setId))) void this.#tryJoin(link.name, setId, inTurn);
    return placed;
  }

  /** Ends the oldest messages of a link that has too many parts. Throws if they are not stored as fast as they come. */
  async #keepBounds(tx: Tx, link: Link, state: LinkParts): Promise<void> {
    if (state.uncheckedParts < CHECK_PARTS && state.uncheckedBytes < CHECK_BYTES) return;
    const { clock, linkDirectory, limits } = this.#context;
    const ofAccount = link.accountId === null ? [] : linkDirectory.current.ownLinks(link.accountId).map(({ name }) => name);
    const { parts, bytes } = await countParts(tx, [...new Set([link.name, ...ofAccount])]);
    const excess = Math.max(parts / MAX_PARTS, bytes / MAX_BYTES);
    if (excess >= 2) throw limits.refuse(link.name, "messages", 1);
    if (excess >= 1) await endOldestSets(tx, link.name, Math.ceil(parts * (1 - 1 / excess)) + CHECK_PARTS, clock.now());
    state.uncheckedParts = 0;
    state.uncheckedBytes = 0;
  }

  async #endOpen(due: readonly DueSet[]): Promise<void> {
    for (const [link, sets] of Map.groupBy(due, (set) => set.link))
      await this.#context.db.transaction(async (tx) => {
        await lockParts(tx, link);
        await endSets(
          tx,
          sets.map(({ set_id: setId }) => setId),
        );
      });
  }

  /** Stores the message of an ended set. If that fails, the sweep tries it again. */
  async #tryJoin(link: string, setId: Uuid, inTurn?: InTurn): Promise<void> {
    const { db, clock, log } = this.#context;
    try {
      await this.#join(setId, inTurn);
    } catch (error) {
      const facts = { event: "delivery.parts_not_joined", link, ...errorFields(error) } as const;
      log.warn(facts, "an inbound message in parts could not be stored: it is tried again");
      // The sweep comes to it in any case.
      await putOffSet(db, setId, clock.now() + RETRY_MS).catch(() => undefined);
    }
  }

  /** Stores the message of an ended set, once. */
  #join(setId: Uuid, inTurn: InTurn = (work) => work()): Promise<void> {
    const name = idKey(setId);
    const joining = this.#joining.get(name) ?? inTurn(() => this.#storeSet(setId)).finally(() => this.#joining.delete(name));
    this.#joining.set(name, joining);
    return joining;
  }

  async #storeSet(setId: Uuid): Promise<void> {
    const { db, clock, linkDirectory, inbound, log } = this.#context;
    const rows = await readEndedSet(db, setId);
    const [first] = rows;
    if (first === undefined) return db.confirmRead();
    // Repetitions of the parts of a message that is stored.
    if (rows.every((row) => row.is_doubtful)) return void (await deleteParts(db, rows));
    const link = linkDirectory.current.findListed(first.link);
    if (link === undefined) throw new Error("the link of the message is not configured");
    const isStored = await inbound.receiveJoined(link, this.#toMessage(link, rows), async (tx) => {
      if (!(await markJoined(tx, setId, clock.now() + REPEATED_WITHIN_MS))) return false;
      const answered = this.#links.get(link.name)?.answered;
      await storeAnswered(
        tx,
        rows.filter((row) => answered?.has(partName(row)) === true),
      );
      await deleteAnsweredOf(tx, setId);
      return true;
    });
    if (!isStored) await db.confirmRead();
    else if (rows.length < first.total)
      log.warn(
        { event: "delivery.inbound_incomplete", link: link.name, missing: first.total - rows.length, total: first.total },
        "parts of an inbound message did not come: it is stored with marks in their places",
      );
  }

  #toMessage(link: Link, rows: readonly PartRow[]): InboundMessage {
    const [first] = rows;
    const byNumber = new Map(rows.map((row) => [row.number, row]));
    const parts = Array.from({ length: first?.total ?? 0 }, (_, index) => {
      const row = byNumber.get(index + 1);
      return row && { dataCoding: row.data_coding, hasHeader: row.has_header, userData: row.user_data };
    });
    const text = this.#context.providers[link.provider]?.joinParts?.(link.settings as never, parts);
    if (first === undefined || text === undefined) throw new Error(`the provider ${link.provider} receives no messages in parts`);
    return {
      providerMessageId: null,
      channel: "sms",
      from: first.from_address,
      ...(first.from_type === null ? {} : { fromType: first.from_type }),
      to: first.to_address,
      ...(first.to_type === null ? {} : { toType: first.to_type }),
      text,
      inReplyTo: null,
    };
  }
}

const keyOf = (link: Link, { addresses, reference, total }: InboundPart): PartKey => ({
  link: link.name,
  from_address: addresses.from,
  to_address: addresses.to,
  reference,
  total,
});

const partName = ({ set_id: setId, number }: PartId): string => `${idKey(setId)} ${number}`;

function forget(answered: Map<string, PartId>, written: readonly PartId[]): void {
  for (const part of written) answered.delete(partName(part));
}
