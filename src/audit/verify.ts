/** Verifies the hash chain of an account's audit log. */
import { encodeId, type AccountId } from "../model/id.ts";
import { NIL_UUID, type Uuid } from "../lib/uuid.ts";
import type { Queryable } from "../database/database.ts";
import type { AuditRow } from "./audit-event.ts";
import { CHAIN_START, nextChainLink, type ChainLink } from "./chain.ts";
import { listChainLinks, listEntryStates, type ChainRow, type EntryState } from "./queries.ts";

/** `head` is the last link. A copy of it, kept elsewhere, shows later that no entry was removed from the end. */
export type ChainReport = { links: number; head: ChainLink; fault: string | null };

const PAGE_ROWS = 1_000;

/** Recomputes every hash. `expected` is a head that was noted before, which must still be part of the chain. */
export async function verifyChain(
  db: Queryable,
  accountId: AccountId,
  expected: ChainLink | undefined,
  onProgress: (links: number) => void = () => undefined,
): Promise<ChainReport> {
  let links = 0;
  let head = CHAIN_START;
  let isExpectedFound = isSame(head, expected);
  for (let after = 0; ;) {
    const page = await listChainLinks(db, accountId, after, PAGE_ROWS);
    for (const row of page) {
      const isCheckpoint = row.event_id === null && links === 0;
      const fault = isCheckpoint ? null : faultOf(row, head);
      if (fault !== null) return { links, head, fault };
      head = { sequence: row.sequence, hash: row.hash };
      if (!isCheckpoint) links += 1;
      isExpectedFound ||= isSame(head, expected);
    }
    onProgress(links);
    if (page.length < PAGE_ROWS) break;
    after = head.sequence;
  }
  return { links, head, fault: await remainingFault(db, accountId, { head, expected, isExpectedFound }) };
}

const isSame = (link: ChainLink, expected: ChainLink | undefined): boolean =>
  expected !== undefined && link.sequence === expected.sequence && link.hash.equals(expected.hash);

function faultOf(row: ChainRow, before: ChainLink): string | null {
  if (row.sequence !== before.sequence + 1) return `the links from ${before.sequence + 1} to ${row.sequence - 1} are missing`;
  if (row.event_id === null) return `the entry of link ${row.sequence} is missing`;
  const name = encodeId("aud", row.event_id);
  if (row.id === null) return `the entry ${name} of link ${row.sequence} is missing`;
  const { hash } = nextChainLink(before, row as AuditRow);
  return hash.equals(row.hash)
    ? null
    : `the entry ${name} of link ${row.sequence} does not fit its hash: it, or an earlier link, was changed`;
}

type Expectation = { head: ChainLink; expected: ChainLink | undefined; isExpectedFound: boolean };

async function remainingFault(
  db: Queryable,
  accountId: AccountId,
  { head, expected, isExpectedFound }: Expectation,
): Promise<string | null> {
  if (expected !== undefined && !isExpectedFound)
    return expected.sequence > head.sequence
      ? `the chain ends at ${head.sequence}, and the expected head is ${expected.sequence}: entries were removed from its end`
      : `the link ${expected.sequence} does not have the expected hash`;
  return findUnlinked(db, accountId);
}

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
