/** API keys: their form, their creation and their rotation. A key is `gw_live_` and 32 random base-62 digits (190 bits), then eight digits
 *  of a checksum. The checksum is keyed by the installation, so that a mistyped or made-up key is recognized without the database. Keys of
 *  the first form have six digits of a CRC instead. Only the hash of a key is stored. */
import { createHmac, hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { AuditedChange } from "../audit/audit-event.ts";
import { recordChange } from "../audit/record-change.ts";
import { Problem } from "../http/problem.ts";
import { randomBase62, toBase62 } from "../lib/base62.ts";
import { encodeId, newId, type AccountId } from "../model/id.ts";
import { actorText, type ChangeOrigin } from "../model/origin.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx, Queryable } from "../database/database.ts";
import type { Environment } from "../model/owner.ts";
import { expireKey, findKey, findMaxKeyLife, insertKey, insertKeyHash, readInstallation, revokeKey, type KeyRow } from "./queries.ts";
import type { Scope } from "./scope.ts";
import { listHashesOfFirstForm, type Installation } from "./queries.ts";

const SECRET_DIGITS = 32;
const CHECKSUM_DIGITS = 8;
// 62^8 is greater than 2^47, so six bytes without their highest bit always fit.
const CHECKSUM_BYTES = 6;
const MAX_CHECKSUM = 2 ** 47;
const CRC_DIGITS = 6;
const FORM = new RegExp(`^gw_(?:test|live)_[0-9A-Za-z]{${SECRET_DIGITS + CHECKSUM_DIGITS}}$`);
const FIRST_FORM = new RegExp(`^gw_(?:test|live)_[0-9A-Za-z]{${SECRET_DIGITS + CRC_DIGITS}}$`);
const HINT_DIGITS = 4;

function checksum(text: string, checksumSecret: Buffer): string {
  const bytes = createHmac("sha256", checksumSecret).update(text).digest();
  return toBase62(bytes.readUIntBE(0, CHECKSUM_BYTES) % MAX_CHECKSUM, CHECKSUM_DIGITS);
}

export function newApiKey(environment: Environment, checksumSecret: Buffer): string {
  const text = `gw_${environment}_${randomBase62(SECRET_DIGITS)}`;
  return text + checksum(text, checksumSecret);
}

/** Whether the installation with this secret made the key. */
export const hasKeyedChecksum = (text: string, checksumSecret: Buffer): boolean =>
  FORM.test(text) && checksum(text.slice(0, -CHECKSUM_DIGITS), checksumSecret) === text.slice(-CHECKSUM_DIGITS);

/** Whether the text has the length and the characters of a key, also if it is made up. */
export const hasKeyForm = (text: string): boolean => FORM.test(text) || FIRST_FORM.test(text);

/** Whether the text is a key of the first form, which anybody can make up. */
export const isOfFirstForm = (text: string): boolean =>
  FIRST_FORM.test(text) && toBase62(crc32(text.slice(0, -CRC_DIGITS)), CRC_DIGITS) === text.slice(-CRC_DIGITS);

/** A plain SHA-256 is enough: 190 random bits cannot be guessed, so a slow hash has no benefit. */
export const hashApiKey = (text: string): Buffer => hash("sha256", text, "buffer");

/** The beginning of the key, such as `gw_live_Ab3x…`, by which people recognize it. */
export const apiKeyHint = (text: string): string => `${text.slice(0, "gw_live_".length + HINT_DIGITS)}…`;

export type KeyRequest = {
  accountId: AccountId;
  environment: Environment;
  scopes: readonly Scope[];
  name: string | null;
  /** Null: as late as the account allows. */
  expiresAt: Date | null;
  /** CIDR blocks. Null: any address. */
  allowedIps?: readonly string[] | null;
  origin: ChangeOrigin;
};

/** Only this result contains the secret. The database has its hash. */
export type CreatedKey = { secret: string; key: KeyRow };

export const createKey = async (db: Database, clock: Clock, request: KeyRequest): Promise<CreatedKey> =>
  db.transaction((tx) => createKeyIn(tx, clock, request));

export async function createKeyIn(tx: Tx, clock: Clock, request: KeyRequest): Promise<CreatedKey> {
  const created = await insertNewKey(tx, clock, request);
  await recordKeyChange(
    tx,
    clock,
    { key: created.key, origin: request.origin },
    { action: "key.created", changes: describeKey(created.key) },
  );
  return created;
}

export type Rotation = { overlapSeconds: number; expiresAt: Date | null; origin: ChangeOrigin };

/** Creates a new key with the scopes and the addresses of the old one. The old key works until the overlap ends. */
export async function rotateKeyIn(tx: Tx, clock: Clock, old: KeyRow, { overlapSeconds, expiresAt, origin }: Rotation): Promise<CreatedKey> {
  const { account_id: accountId, environment, scopes, name, allowed_ips: allowedIps } = old;
  const created = await insertNewKey(tx, clock, { accountId, environment, scopes, name, expiresAt, allowedIps, origin });
  await expireKey(tx, accountId, old.id, overlapSeconds);
  const changes = { new_key_id: encodeId("key", created.key.id), overlap_seconds: overlapSeconds, ...describeKey(created.key) };
  await recordKeyChange(tx, clock, { key: old, origin }, { action: "key.rotated", changes });
  return created;
}

/** Revokes a key. A second revocation changes nothing. */
export async function revokeKeyIn(tx: Tx, clock: Clock, key: KeyRow, origin: ChangeOrigin): Promise<KeyRow> {
  const [revoked] = await revokeKey(tx, key.account_id, key.id);
  if (revoked === undefined) return (await findKey(tx, key.id))[0] ?? key;
  await recordKeyChange(tx, clock, { key, origin }, { action: "key.revoked" });
  return revoked;
}

async function insertNewKey(tx: Tx, clock: Clock, request: KeyRequest): Promise<CreatedKey> {
  const { accountId, environment, scopes, name, allowedIps = null, origin } = request;
  const expiresAt = await boundedExpiry(tx, clock, request);
  const secret = newApiKey(environment, (await readInstallation(tx)).key_checksum_secret);
  const id = newId("key", clock.now());
  const [key] = await insertKey(tx, {
    account_id: accountId,
    id,
    environment,
    scopes: [...scopes],
    name,
    expires_at: expiresAt,
    hint: apiKeyHint(secret),
    allowed_ips: allowedIps && [...allowedIps],
    created_by: actorText(origin.actor),
  });
  await insertKeyHash(tx, hashApiKey(secret), accountId, id);
  return { secret, key: key as KeyRow };
}

/** The requested expiry, or the latest one that the account allows. Throws for an expiry beyond it. */
async function boundedExpiry(tx: Tx, clock: Clock, { accountId, expiresAt }: KeyRequest): Promise<Date | null> {
  const maxSeconds = await findMaxKeyLife(tx, accountId);
  if (maxSeconds === null) return expiresAt;
  const latest = new Date(clock.now() + maxSeconds * 1_000);
  if (expiresAt !== null && expiresAt > latest)
    throw expiresTooLate(`the keys of this account are valid for at most ${maxSeconds} seconds`);
  return expiresAt ?? latest;
}

export const expiresTooLate = (detail: string): Problem =>
  new Problem("invalid_request_payload", { errors: [{ pointer: "/expires_at", code: "too_late", detail }] });

const describeKey = ({ name, scopes, expires_at: expiresAt, allowed_ips: allowedIps }: KeyRow): Record<string, unknown> => ({
  name,
  scopes,
  expires_at: expiresAt?.toISOString() ?? null,
  allowed_ips: allowedIps,
});

function recordKeyChange(
  tx: Tx,
  clock: Clock,
  { key, origin }: { key: KeyRow; origin: ChangeOrigin },
  change: Omit<AuditedChange, "target">,
): Promise<void> {
  const target = { type: "key", id: encodeId("key", key.id) } as const;
  return recordChange(tx, clock.now(), { accountId: key.account_id, environment: key.environment, origin }, { ...change, target });
}

/** Whether this installation may have made the key. It may be revoked or expired. */
export type RecognizeKey = (text: string) => boolean;

/** Recognizes keys without a query, so that made-up ones cost no work of the database. Only version 0.1 created keys of the first form, so their hashes are read once. */
export async function keyRecognizer(db: Queryable, { key_checksum_secret: checksumSecret }: Installation): Promise<RecognizeKey> {
  const hashes = await readHashesOfFirstForm(db);
  return (text) => hasKeyedChecksum(text, checksumSecret) || (isOfFirstForm(text) && hashes.has(setEntry(hashApiKey(text))));
}

const PAGE_ROWS = 5_000;

async function readHashesOfFirstForm(db: Queryable): Promise<ReadonlySet<string>> {
  const hashes = new Set<string>();
  for (let after: Buffer | undefined = Buffer.alloc(0); after !== undefined;) {
    const page: { hash: Buffer }[] = await listHashesOfFirstForm(db, after, PAGE_ROWS);
    for (const row of page) hashes.add(setEntry(row.hash));
    after = page.length < PAGE_ROWS ? undefined : page.at(-1)?.hash;
  }
  return hashes;
}

/** A string of one byte per character takes half the memory of hexadecimal digits. */
const setEntry = (keyHash: Buffer): string => keyHash.toString("latin1");
