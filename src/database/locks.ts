/** The numbers of all advisory locks, in one table so that no two purposes share a number. PostgreSQL keeps locks with two numbers
 *  apart from locks with one number. Locks with one number belong to idempotency keys, and the number is a hash of the key. */
import type { Tx } from "./database.ts";
import type { Owner } from "../model/owner.ts";
import { sql } from "./sql.ts";

/** The first number of the locks that exist once in a database. */
export const DATABASE_LOCK = 7361;

/** The second number of these locks. Each lets one node at a time do its work. */
export const LOCKS = {
  /** Migrating the schema. */
  migrations: 1,
  /** Creating partitions. */
  partitions: 2,
  /** Folding changes of usage into hours and minutes, and forgetting old hours and minutes. */
  usage: 3,
  /** Dropping the weeks whose retention has ended. */
  retention: 4,
  /** Deleting expired idempotency keys. */
  expiredKeys: 5,
  /** Rotating and revoking signing keys. */
  signingKeys: 6,
  /** Sealing the audit log, and deleting its old entries. */
  audit: 7,
  /** Holding an accept in mid-transaction, in tests only. */
  heldByTest: 99,
} as const;

/** The first number of the locks of one account and environment. The second number is a hash of the two. */
export const OWNER_LOCKS = {
  /** The number of webhook endpoints, while one is added. */
  endpoints: 7362,
  /** The number of templates, while one is added. */
  templates: 7363,
  /** The number of API keys, while one is added. */
  apiKeys: 7364,
  /** The verifications sent to one prefix of phone numbers, while one is added. */
  verifications: 7365,
  /** The suppressions of the environment. Opt-outs and opt-ins share it, and an erasure takes it, so that none of them finds half of what the
   *  other does. */
  consentChanges: 7368,
  /** The links, senders and routes that an account has created. */
  setup: 7369,
  /** The stored file of one hash, while a file is stored. */
  files: 7371,
} as const;

type OwnerLock = (typeof OWNER_LOCKS)[keyof typeof OWNER_LOCKS];

/** The first number of the locks that keep opt-outs and sends apart. The second number is a hash. A change to `sending` shares the lock of
 *  its environment and that of its recipient. An opt-out of one recipient takes the second, and an import takes the first, so that its
 *  number of locks does not depend on its length. */
export const CONSENT_LOCKS = { environment: 7366, recipient: 7367 } as const;

/** The first number of the locks of one link. The second number is a hash of its name. */
export const LINK_LOCKS = {
  /** The parts of long inbound messages, while parts are added or a message is ended. */
  inboundParts: 7370,
} as const;

/** Takes a lock of an owner until the transaction ends, and waits while another transaction holds it. `detail` narrows the lock to a
 *  part of the owner's rows. */
export const lockOwner = (tx: Tx, lock: OwnerLock, { accountId, environment }: Owner, detail = ""): Promise<unknown[]> =>
  tx.rows(sql`select pg_advisory_xact_lock(${lock}, hashtext(${accountId.toString("hex") + environment + detail}))`);

/** Shares a lock of an owner with other transactions that share it, until the transaction ends. */
export const shareOwner = (tx: Tx, lock: OwnerLock, { accountId, environment }: Owner): Promise<unknown[]> =>
  tx.rows(sql`select pg_advisory_xact_lock_shared(${lock}, hashtext(${accountId.toString("hex") + environment}))`);
