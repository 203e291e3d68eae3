/** Verifies the hash chain of an account's audit log. */
import { encodeId, type AccountId } from "../model/id.ts";
import { NIL_UUID, uuidTimeMs, type Uuid } from "../lib/uuid.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import { sql } from "../database/sql.ts";
import type { AuditRow } from "./audit-event.ts";
import { CHAIN_START, checkpointMac, nextChainLink, type ChainKey } from "./chain.ts";
import { listChainLinks, listEntryStates, type ChainLink, type ChainRow, type EntryState } from "./queries.ts";
import type { Age } from "./seal.ts";

/** `none`: no version with keyed chains has started on this database. `withheld`: the caller has no secret key, so that the keyed hashes cannot be
 *  verified. */
export type VerifyingKey = ChainKey | "none" | "withheld";

/** `head` is the last link. A copy of it, kept elsewhere, shows later that no entry was removed from the end. `keyedFrom` is the first link with a
 *  keyed hash. */
export type ChainReport = { links: number; keyedFrom: number | null; head: ChainLink; fault: string | null };

export type VerifyOptions = {
  key: VerifyingKey;
  /** The retention of the entries. A younger checkpoint is refused. */
  age: Age;
  /** A head that was noted before, which must still be part of the chain. */
  expected?: ChainLink | undefined;
  onProgress?: (links: number) => void;
};

const PAGE_ROWS = 1_000;

/** Reads a chain as it is at one moment, since retention and sealing go on meanwhile. */
export const inSnapshot = <T>(db: Database, work: (tx: Tx) => Promise<T>): Promise<T> =>
  db.transaction(async (tx) => {
    await tx.rows(sql`set transaction isolation level repeatable read, read only`);
    return work(tx);
  });

/** Recomputes every hash that can be computed with the key. */
export async function verifyChain(
  db: Queryable,
  accountId: AccountId,
  { key, age, expected, onProgress = () => undefined }: VerifyOptions,
): Promise<ChainReport> {
  let links = 0;
  let head = CHAIN_START;
  let keyedFrom: number | null = null;
  let isExpectedFound = isSame(head, expected);
  for (let after = 0; ;) {
    const page = await listChainLinks(db, accountId, after, PAGE_ROWS);
    for (const row of page) {
      const isCheckpoint = isCheckpointRow(row) && head === CHAIN_START;
      const found = isCheckpoint ? checkCheckpoint(row, accountId, key, age) : checkLink(row, head, key, keyedFrom !== null);
      if (found.kind === "fault") return { links, keyedFrom, head, fault: found.fault };
      head = { sequence: row.sequence, hash: row.hash };
      if (found.kind === "keyed") keyedFrom ??= head.sequence;
      if (!isCheckpoint) links += 1;
      isExpectedFound ||= isSame(head, expected);
    }
    onProgress(links);
    if (page.length < PAGE_ROWS) break;
    after = head.sequence;
  }
  const isMissing = expected !== undefined && !isExpectedFound;
  return { links, keyedFrom, head, fault: isMissing ? missingHead(head, expected) : await findUnlinked(db, accountId) };
}

const isSame = (link: ChainLink, expected: ChainLink | undefined): boolean =>
  expected !== undefined && link.sequence === expected.sequence && link.hash.equals(expected.hash);

const isCheckpointRow = ({ event_id: eventId, checkpoint_mac: mac }: ChainRow): boolean => eventId === null || mac !== null;

/** The result for a link. `plain`: it is a checkpoint, or its hash is not keyed. */
type Found = { kind: "plain" } | { kind: "keyed" } | { kind: "fault"; fault: string };

const PLAIN: Found = { kind: "plain" };
const KEYED: Found = { kind: "keyed" };
const faulty = (fault: string): Found => ({ kind: "fault", fault });

function checkCheckpoint(row: ChainRow, accountId: AccountId, key: VerifyingKey, { nowMs, keptMs }: Age): Found {
  const { sequence, event_id: eventId, checkpoint_mac: mac } = row;
  const isForged =
    typeof key === "string" ? key === "none" && mac !== null : mac?.equals(checkpointMac(key, accountId, row, eventId)) !== true;
  if (isForged)
    return faulty(`the entries up to link ${sequence} were deleted, but not by retention: the checkpoint is not signed by the service`);
  if (eventId !== null && uuidTimeMs(eventId) > nowMs - keptMs)
    return faulty(`the entries up to link ${sequence} were deleted before the end of their retention`);
  return PLAIN;
}

function checkLink(row: ChainRow, before: ChainLink, key: VerifyingKey, isKeyed: boolean): Found {
  const { sequence } = row;
  if (sequence !== before.sequence + 1) return faulty(`the links from ${before.sequence + 1} to ${sequence - 1} are missing`);
  if (row.event_id === null) return faulty(`the entry of link ${sequence} is missing`);
  const name = encodeId("aud", row.event_id);
  if (row.id === null || row.checkpoint_mac !== null) return faulty(`the entry ${name} of link ${sequence} is missing`);
  const entry = row as AuditRow;
  const fits = (by: ChainKey | undefined): boolean => nextChainLink(before, entry, by).hash.equals(row.hash);
  if (typeof key !== "string" && fits(key)) return KEYED;
  const mayBePlain = !isKeyed && (typeof key === "string" || uuidTimeMs(row.id) <= key.unkeyedUntilMs);
  if (mayBePlain && fits(undefined)) return PLAIN;
  if (key === "withheld") return KEYED;
  return faulty(`the entry ${name} of link ${sequence} does not fit its hash: it, or an earlier link, was changed`);
}

const missingHead = (head: ChainLink, expected: ChainLink): string =>
  expected.sequence > head.sequence
    ? `the chain ends at ${head.sequence}, and the expected head is ${expected.sequence}: entries were removed from its end`
    : `the link ${expected.sequence} does not have the expected hash`;

async function findUnlinked(db: Queryable, accountId: AccountId): Promise<string | null> {
  for (let after: Uuid = NIL_UUID; ;) {
    const page: EntryState[] = await listEntryStates(db, accountId, after, PAGE_ROWS);
    const unlinked = page.find((entry) => !entry.is_linked);
    if (unlinked !== undefined) return `the entry ${encodeId("aud", unlinked.id)} is part of no chain`;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) return null;
    after = last.id;
  }
}
