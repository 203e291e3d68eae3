/** Builds the parts of template reviews: the changes of clients, the reports of carriers, and the syncs. A template that was submitted here
 *  and a carrier that seems to have another version request a sync before its time. */
import type { Registry } from "prom-client";
import type { AccountId } from "../model/id.ts";
import { errorFields, type Log } from "../model/log.ts";
import type { LinkDirectory } from "../links/directory.ts";
import type { Link } from "../links/link.ts";
import type { Provider } from "../providers/provider.ts";
import type { ReviewUpdate } from "../providers/business-account.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable } from "../database/database.ts";
import { TemplateChanger } from "../templates/change-template.ts";
import type { Templates } from "../templates/find-template.ts";
import type { Owner } from "../model/owner.ts";
import { BusinessAccounts } from "./business-accounts.ts";
import { TemplateSyncer } from "./keep-syncing.ts";
import { hastenSyncs, findReviewsByName } from "./queries.ts";
import { noteReview, type ReviewParts } from "./sync.ts";
import { reviewStatus, type Review } from "./review.ts";

export type ReviewsParts = {
  db: Database;
  clock: Clock;
  node: string;
  wakeWebhooks: () => void;
  templates: Templates;
  linkDirectory: LinkDirectory;
  providers: Readonly<Record<string, Provider<never>>>;
  accounts: () => Promise<readonly AccountId[]>;
  /** Whether this process syncs with business accounts. Every process receives the reports of carriers. */
  isSyncing: boolean;
  registry: Registry;
  log: Log;
};

// Several changes in a row share one sync.
const CHANGE_GAP_MS = 2_000;
// Many messages may report the same problem.
const DOUBT_GAP_MS = 60_000;
const DOUBT_EVERY_MS = 1_000;

export function startReviews(parts: ReviewsParts) {
  const { db, clock, node, wakeWebhooks, templates, accounts, isSyncing, registry, log } = parts;
  const businessAccounts = new BusinessAccounts(parts);
  const requests = syncRequests(parts, businessAccounts);
  const changer = new TemplateChanger({ db, clock, wakeWebhooks, templates, changed: requests.changed });
  const syncer = new TemplateSyncer({ db, clock, node, businessAccounts, changer, accounts, registry, log });
  if (isSyncing) syncer.start();
  return {
    changer,
    apply: (updates: readonly ReviewUpdate[]) => applyUpdates({ db, clock, businessAccounts, changer, requests, log }, updates),
    doubt: (link: Link) => requests.doubt(businessAccounts.nameOf(link)),
    stop: () => syncer.stop(),
  };
}

type SyncRequests = {
  /** Called when a template of the owner was submitted, changed or archived. */
  changed: (owner: Owner) => void;
  /** Called when a response or a report of a carrier contradicts the stored state of a template. */
  doubt: (businessAccount: string | undefined) => void;
};

/** Requests syncs before their time. The request is stored in the table, where any node finds it. */
function syncRequests({ db, clock, log }: Pick<ReviewsParts, "db" | "clock" | "log">, businessAccounts: BusinessAccounts): SyncRequests {
  /** When this process last requested a sync of each business account, so that not every message writes to the database. */
  const doubted = new Map<string, number>();
  /** A request that is lost because the database is unavailable is made up for by the next sync. */
  const hasten = (names: readonly string[], gapMs: number): void => {
    if (names.length === 0) return;
    hastenSyncs(db, names, { nowMs: clock.now(), gapMs }).catch((error: unknown) =>
      log.warn({ event: "templates.sync_not_requested", ...errorFields(error) }, "a sync of templates could not be requested"),
    );
  };
  return {
    changed: (owner) =>
      hasten(
        businessAccounts.reviewersFor(owner).map(({ businessAccount }) => businessAccount),
        CHANGE_GAP_MS,
      ),
    doubt: (businessAccount) => {
      const now = performance.now();
      if (businessAccount === undefined || now - (doubted.get(businessAccount) ?? -Infinity) < DOUBT_EVERY_MS) return;
      doubted.set(businessAccount, now);
      hasten([businessAccount], DOUBT_GAP_MS);
    },
  };
}

type UpdateParts = ReviewParts & { db: Queryable; requests: SyncRequests; log: Log };

/** Receives the reports of carriers about templates. They arrive at any node, repeatedly and in any order; a report that is not clear
 *  requests a sync. Resolves when all reports are committed, or known to concern none of our templates. */
async function applyUpdates(parts: UpdateParts, updates: readonly ReviewUpdate[]): Promise<void> {
  const { businessAccounts, log } = parts;
  const known = new Set(businessAccounts.all.map(({ name }) => name));
  for (const update of updates) {
    if (known.has(update.account)) await applyUpdate(parts, update);
    else log.info({ account: update.account }, "a carrier reported on a template of a business account that no link has");
  }
}

async function applyUpdate(parts: UpdateParts, { account, name, code, status, reason, atMs }: ReviewUpdate): Promise<void> {
  const reviews = await findReviewsByName(parts.db, account, { name, code });
  // A decision from before the submission concerns the previous template. A refused submission is not in review.
  const applies = (review: Review): boolean => review.status !== "refused" && (atMs === null || atMs >= review.askedAtMs);
  let isClear = reviews.length > 0 && status !== null;
  if (status !== null)
    for (const review of reviews) {
      const update = { status: reviewStatus(status), reason };
      isClear = (await noteReview(parts, review, update, applies)) !== undefined && isClear;
    }
  if (!isClear) parts.requests.doubt(account);
}
