/** Requests syncs before their time: a template was submitted here, or a carrier seems to have another version. The request is stored in
 *  the table, where any node finds it. */
import { errorFields, type Log } from "../model/log.ts";
import type { Link } from "../links/link.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Queryable } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import type { BusinessAccounts } from "./business-accounts.ts";
import { hastenSyncs } from "./queries.ts";

// Several changes in a row share one sync.
const CHANGE_GAP_MS = 2_000;
// Many messages may report the same problem.
const DOUBT_GAP_MS = 60_000;
const DOUBT_EVERY_MS = 1_000;

export type SyncRequestsParts = { db: Queryable; clock: Clock; businessAccounts: BusinessAccounts; log: Log };

export class SyncRequests {
  readonly #db: Queryable;
  readonly #clock: Clock;
  readonly #businessAccounts: BusinessAccounts;
  readonly #log: Log;
  /** When this process last requested a sync of each business account, so that not every message writes to the database. */
  readonly #doubted = new Map<string, number>();

  constructor({ db, clock, businessAccounts, log }: SyncRequestsParts) {
    this.#db = db;
    this.#clock = clock;
    this.#businessAccounts = businessAccounts;
    this.#log = log;
  }

  /** Called when a template of the owner was submitted, changed or archived. */
  changed(owner: Owner): void {
    this.#hasten(
      this.#businessAccounts.reviewersFor(owner).map(({ businessAccount }) => businessAccount),
      CHANGE_GAP_MS,
    );
  }

  /** Called when a response of a carrier contradicts the stored state of a template. */
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

  /** A request that is lost because the database is unavailable is made up for by the next sync. */
  #hasten(businessAccounts: readonly string[], gapMs: number): void {
    if (businessAccounts.length === 0) return;
    hastenSyncs(this.#db, businessAccounts, { nowMs: this.#clock.now(), gapMs }).catch((error: unknown) =>
      this.#log.warn({ event: "templates.sync_not_requested", ...errorFields(error) }, "a sync of templates could not be requested"),
    );
  }
}
