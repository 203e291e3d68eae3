/** All SQL of verifications. */
import type { MessageId, VerificationId } from "../model/id.ts";
import type { Recipient } from "../model/phone-number.ts";
import { firstUuidAt, uuidTimeMs, type Uuid } from "../lib/uuid.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { lockOwner, OWNER_LOCKS } from "../database/locks.ts";
import type { Owner } from "../model/owner.ts";
import { rowReader, type StoredRow } from "../database/row-reader.ts";
import { readPage, scanStatement, type ListPage } from "../database/scan-page.ts";
import { prepare, sql } from "../database/sql.ts";
import { prefixOf, type Limits, type Recent } from "./limits.ts";
import type { Verification, VerificationStatus } from "./verification.ts";

const HOUR_MS = 3_600_000;

const COLUMNS = `account_id, environment, id, recipient, channels, code_length, code_hash, status, attempts, message_id, expires_at,
       verified_at, updated_at`;

const toVerification = rowReader<Verification>(COLUMNS, ["expiresAtMs", "verifiedAtMs", "updatedAtMs"]);

const find = (suffix: string) => {
  const statement = prepare(`
select ${COLUMNS}
  from verifications
 where account_id = $1 and environment = $2 and id = $3${suffix}`);
  return async (db: Queryable, { accountId, environment }: Owner, id: VerificationId): Promise<Verification | undefined> => {
    const [row] = await db.rows<StoredRow>({ ...statement, values: [accountId, environment, id] });
    return row && toVerification(row);
  };
};

export const findVerification = find("");
/** Locks a verification until the transaction ends. */
export const lockVerification = find("\n   for update");

/** Waits for other transactions that send to the recipient or to adjacent numbers, so that the limits hold on any number of nodes. */
export const waitForTurn = (tx: Tx, owner: Owner, recipient: Recipient): Promise<unknown[]> =>
  lockOwner(tx, OWNER_LOCKS.verifications, owner, prefixOf(recipient));

/** Reads the recent codes to a recipient and to adjacent numbers. They do not change after `waitForTurn`. */
export async function readRecent(tx: Tx, owner: Owner, recipient: Recipient, limits: Limits, nowMs: number): Promise<Recent> {
  const { accountId, environment } = owner;
  const prefix = prefixOf(recipient);
  const since = firstUuidAt(nowMs - HOUR_MS);
  const [row] = await tx.rows<{ of_recipient: number; of_prefix: number; last_id: VerificationId | null }>(sql`
  select (select count(*)
            from (select
                    from verifications
                   where account_id = ${accountId} and environment = ${environment} and recipient = ${recipient} and id >= ${since}
                   limit ${limits.perRecipientHour}) sent)::integer as of_recipient,
         (select count(*)
            from (select
                    from verifications
                   where account_id = ${accountId} and environment = ${environment} and prefix = ${prefix} and id >= ${since}
                   limit ${limits.perPrefixHour}) sent)::integer as of_prefix,
         (select id
            from verifications
           where account_id = ${accountId} and environment = ${environment} and recipient = ${recipient}
           order by id desc
           limit 1) as last_id`);
  return {
    ofRecipient: row?.of_recipient ?? 0,
    ofPrefix: row?.of_prefix ?? 0,
    lastAtMs: row?.last_id ? uuidTimeMs(row.last_id) : null,
  };
}

const listOf = prepare(`
select ${COLUMNS}
  from verifications
 where account_id = $1 and environment = $2 and recipient = $3 and id < $4
 order by id desc
 limit $5`);

/** The verifications of a recipient, newest first, before `before`. */
export const listVerifications = async (
  db: Queryable,
  { accountId, environment, recipient }: Owner & { recipient: Recipient },
  before: Uuid,
  limit: number,
): Promise<Verification[]> =>
  (await db.rows<StoredRow>({ ...listOf, values: [accountId, environment, recipient, before, limit] })).map(toVerification);

export type VerificationFilter = { from: Uuid; before: Uuid; status: VerificationStatus | null; recipient: Recipient | null };

/** A pending verification expires without a write: $8 is the present time. */
const listWith = (recipient: string) =>
  scanStatement({
    scan: `
  select id, case when status = 'pending' and expires_at <= $8 then 'expired' else status end as status
    from verifications
   where account_id = $1 and environment = $2 and id >= $5 and id < $6 and ${recipient}`,
    filter: "($7::text is null or status = $7)",
    whole: `
  select ${COLUMNS}
    from verifications
   where account_id = $1 and environment = $2 and id = found.id`,
  });

// Two statements, because the index of recipients serves only one of them.
const listAll = listWith("$9::text is null");
const listOfRecipient = listWith("recipient = $9");

/** A page of verifications, newest first. */
export async function listPage(
  db: Queryable,
  owner: Owner,
  { from, before, status, recipient }: VerificationFilter,
  { limit, nowMs }: { limit: number; nowMs: number },
): Promise<ListPage<Verification>> {
  const { items, next } = await readPage<StoredRow & { id: VerificationId }>(db, recipient === null ? listAll : listOfRecipient, {
    owner,
    limit,
    isFiltered: status !== null,
    values: [from, before, status, new Date(nowMs), recipient],
  });
  return { items: items.map(toVerification), next };
}

/** Invalidates earlier codes, because each valid code makes guessing easier. Returns their messages. */
export const supersede = (tx: Tx, { accountId, environment, recipient, updatedAtMs }: Verification): Promise<{ message_id: MessageId }[]> =>
  tx.rows<{ message_id: MessageId }>(sql`
  update verifications
     set status = 'canceled', updated_at = to_timestamp(${updatedAtMs / 1_000}::float8)
   where account_id = ${accountId} and environment = ${environment} and recipient = ${recipient}
     and id >= ${firstUuidAt(updatedAtMs - 2 * HOUR_MS)} and status = 'pending'
  returning message_id`);

export const insertVerification = (tx: Tx, verification: Verification): Promise<unknown[]> => {
  const { accountId, environment, id, recipient, channels, codeLength, codeHash, status, messageId, expiresAtMs, updatedAtMs } =
    verification;
  return tx.rows(sql`
  insert into verifications (account_id, environment, id, recipient, prefix, channels, code_length, code_hash, status, message_id,
                             expires_at, updated_at)
  values (${accountId}, ${environment}, ${id}, ${recipient}, ${prefixOf(recipient)}, ${channels}::text[], ${codeLength}, ${codeHash},
          ${status}, ${messageId}, to_timestamp(${expiresAtMs / 1_000}::float8), to_timestamp(${updatedAtMs / 1_000}::float8))`);
};

export const storeVerification = (tx: Tx, verification: Verification): Promise<unknown[]> => {
  const { accountId, environment, id, status, attempts, verifiedAtMs, updatedAtMs } = verification;
  return tx.rows(sql`
  update verifications
     set status = ${status}, attempts = ${attempts}, verified_at = to_timestamp(${verifiedAtMs && verifiedAtMs / 1_000}::float8),
         updated_at = to_timestamp(${updatedAtMs / 1_000}::float8)
   where account_id = ${accountId} and environment = ${environment} and id = ${id}`);
};
