/** Asks for templates to be synced sooner than by the clock: one was submitted here, or a carrier seems to have it otherwise. Whoever
 *  syncs finds it in the table, on whatever node. */
import { errorFields, type Log } from "../lib/log.ts";
import type { Link } from "../links/link.ts";
import type { Queryable } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import type { BusinessAccounts } from "./business-accounts.ts";
import { hastenSyncs } from "./queries.ts";

// Several changes in a row are one visit.
const CHANGE_GAP_MS = 2_000;
// Many messages may meet the same trouble.
const DOUBT_GAP_MS = 60_000;
const DOUBT_EVERY_MS = 1_000;

export class SyncRequests {
  readonly #db: Queryable;
  readonly #businessAccounts: BusinessAccounts;
  readonly #log: Log;
  /** When each desk was last doubted in this process: the database is not asked for every message. */
  readonly #doubted = new Map<string, number>();

  constructor(db: Queryable, businessAccounts: BusinessAccounts, log: Log) {
    this.#db = db;
    this.#businessAccounts = businessAccounts;
    this.#log = log;
  }

  /** A template of theirs was submitted, changed or archived. */
  changed(owner: Owner): void {
    this.#hasten(
      this.#businessAccounts.reviewersFor(owner).map(({ businessAccount }) => businessAccount),
      CHANGE_GAP_MS,
    );
  }

  /** The carrier of a link says that it has a template otherwise than we believe. */
  doubt(link: Link): void {
    const businessAccount = this.#businessAccounts.nameOf(link);
    if (businessAccount !== undefined) this.doubtAccount(businessAccount);
  }

  doubtAccount(businessAccount: string): void {
    const now = performance.now();
    if (now - (this.#doubted.get(businessAccount) ?? -Infinity) < DOUBT_EVERY_MS) return;
    this.#doubted.set(businessAccount, now);
    this.#hasten([businessAccount], DOUBT_GAP_MS);
  }

  /** Lost with the database, it is made up for by the next visit. */
  #hasten(businessAccounts: readonly string[], gapMs: number): void {
    if (businessAccounts.length === 0) return;
    hastenSyncs(this.#db, businessAccounts, gapMs).catch((error: unknown) =>
      this.#log.warn({ event: "templates.sync_not_requested", ...errorFields(error) }, "a sync of templates could not be requested"),
    );
  }
}
