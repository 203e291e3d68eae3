/** The hash chain of an account's audit log. Each hash covers one entry and the hash before it, so that an entry cannot be changed, removed
 *  or inserted without a change of every later hash. */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { auditEventRecord, type AuditRow } from "./audit-event.ts";

export type ChainLink = { sequence: number; hash: Buffer };

/** The chain begins before its first link. */
export const CHAIN_START: ChainLink = { sequence: 0, hash: Buffer.alloc(32) };

export function nextChainLink(before: ChainLink, row: AuditRow): ChainLink {
  const sequence = before.sequence + 1;
  const { hash: _hash, ...record } = auditEventRecord(row, null);
  const text = canonicalize({ sequence, previous: before.hash.toString("hex"), record }) ?? "";
  return { sequence, hash: createHash("sha256").update(text).digest() };
}
