/** The hash chain of an account's audit log. Each hash covers one entry and the hash before it, so that an entry cannot be changed, removed or
 *  inserted without a change of every later hash. The hashes are keyed: only a process with the secret key can compute one. */
import { createHash, createHmac, randomBytes } from "node:crypto";
import canonicalize from "canonicalize";
import type { SecretBox } from "../lib/secret-box.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { encodeId, type AccountId, type AuditEventId } from "../model/id.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import { auditEventRecord, type AuditRow } from "./audit-event.ts";
import {
  findNewestSealed,
  insertChainKey,
  listUnsignedCheckpoints,
  permitRetention,
  readSealedChainKey,
  replaceChainKey,
  signCheckpoint,
  type ChainLink,
} from "./queries.ts";

/** The chain begins before its first link. */
export const CHAIN_START: ChainLink = { sequence: 0, hash: Buffer.alloc(32) };

/** The random key of the chains of all accounts. It is stored sealed with the secret key, and does not change with it: a chain has one key for ever.
 *  Links of entries after `unkeyedUntilMs`, the time of the newest entry that 0.2 has sealed, are keyed. */
export type ChainKey = { bytes: Buffer; unkeyedUntilMs: number };

/** The link of an entry. Without a key, as 0.2 computed it. */
export function nextChainLink(before: ChainLink, row: AuditRow, key: ChainKey | undefined): ChainLink {
  const sequence = before.sequence + 1;
  const { hash: _hash, ...record } = auditEventRecord(row, null);
  const link = { sequence, previous: before.hash.toString("hex"), record };
  if (key !== undefined) return { sequence, hash: keyedHash(key, { account: encodeId("acct", row.account_id), ...link }) };
  return {
    sequence,
    hash: createHash("sha256")
      .update(canonicalize(link) ?? "")
      .digest(),
  };
}

/** Proves that retention has deleted the entries up to a link. Its entry is null if 0.2 has deleted it. */
export const checkpointMac = (key: ChainKey, account: AccountId, { sequence, hash }: ChainLink, event: AuditEventId | null): Buffer =>
  keyedHash(key, {
    account: encodeId("acct", account),
    checkpoint: sequence,
    hash: hash.toString("hex"),
    entry: event && encodeId("aud", event),
  });

const keyedHash = ({ bytes }: ChainKey, content: object): Buffer =>
  createHmac("sha256", bytes)
    .update(canonicalize(content) ?? "")
    .digest();

const CONTEXT = "audit key";
const KEY_BYTES = 32;

const sealKey = (box: SecretBox, { bytes, unkeyedUntilMs }: ChainKey): string =>
  box.seal(JSON.stringify({ key: bytes.toString("base64"), unkeyed_until_ms: unkeyedUntilMs }), CONTEXT);

/** Reads the key. Undefined before the first start of a version with keyed chains. */
export async function readChainKey(db: Queryable, box: SecretBox): Promise<ChainKey | undefined> {
  const sealed = await readSealedChainKey(db);
  if (sealed === null) return undefined;
  const { key, unkeyed_until_ms: unkeyedUntilMs } = JSON.parse(box.open(sealed, CONTEXT)) as { key: string; unkeyed_until_ms: number };
  return { bytes: Buffer.from(key, "base64"), unkeyedUntilMs };
}

/** Reads the key, or makes it at the first start. Another node may make it at the same time: the first one counts. */
export async function openChainKey(db: Database, box: SecretBox): Promise<ChainKey> {
  const stored = await readChainKey(db, box);
  if (stored !== undefined) return stored;
  const made = await db.transaction(async (tx) => {
    const newest = await findNewestSealed(tx);
    const key = { bytes: randomBytes(KEY_BYTES), unkeyedUntilMs: newest === undefined ? -1 : uuidTimeMs(newest) };
    if (!(await insertChainKey(tx, sealKey(box, key)))) return undefined;
    await signCheckpoints(tx, key);
    return key;
  });
  return made ?? openChainKey(db, box);
}

/** Signs the checkpoints that 0.2 has left. From now on, a checkpoint without a signature is forged. */
async function signCheckpoints(tx: Tx, key: ChainKey): Promise<void> {
  await permitRetention(tx);
  for (const { account_id: accountId, ...link } of await listUnsignedCheckpoints(tx))
    await signCheckpoint(tx, accountId, link.sequence, checkpointMac(key, accountId, link, null));
}

/** Seals the key again after a change of the secret key. */
export async function resealChainKey(tx: Tx, box: SecretBox): Promise<void> {
  const key = await readChainKey(tx, box);
  if (key !== undefined) await replaceChainKey(tx, sealKey(box, key));
}
