/** Builds the parts of template reviews: the changes of clients, the reports of carriers, and the syncs. */
import type { Registry } from "prom-client";
import type { AccountId } from "../model/id.ts";
import type { Log } from "../model/log.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import type { Link } from "../links/link.ts";
import type { Provider } from "../providers/provider.ts";
import type { ReviewUpdate } from "../providers/business-account.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { TemplateChanger } from "../templates/change-template.ts";
import type { Templates } from "../templates/find-template.ts";
import { SyncRequests } from "./sync-requests.ts";
import { BusinessAccounts } from "./business-accounts.ts";
import { applyUpdates } from "./apply-updates.ts";
import { syncWatch, TemplateSyncer } from "./keep-syncing.ts";

export type ReviewsParts = {
  db: Database;
  clock: Clock;
  node: string;
  wakeWebhooks: () => void;
  templates: Templates;
  linkChooser: LinkChooser;
  providers: Readonly<Record<string, Provider<never>>>;
  accounts: () => Promise<readonly AccountId[]>;
  /** Whether this process syncs with business accounts. Every process receives the reports of carriers. */
  isSyncing: boolean;
  registry: Registry;
  log: Log;
};

export type Reviews = {
  changer: TemplateChanger;
  apply(updates: readonly ReviewUpdate[]): Promise<void>;
  doubt(link: Link): void;
  stop(): Promise<void>;
};

export function startReviews(parts: ReviewsParts): Reviews {
  const { db, clock, node, wakeWebhooks, templates, accounts, isSyncing, log } = parts;
  const businessAccounts = new BusinessAccounts(parts);
  const requests = new SyncRequests({ db, clock, businessAccounts, log });
  const changer = new TemplateChanger({ db, clock, wakeWebhooks, templates, changed: (owner) => requests.changed(owner) });
  const syncer = new TemplateSyncer({ db, clock, node, businessAccounts, changer, accounts, watch: syncWatch(parts.registry), log });
  if (isSyncing) syncer.start();
  return {
    changer,
    apply: (updates) => applyUpdates({ db, clock, businessAccounts, changer, requests, log }, updates),
    doubt: (link) => requests.doubt(link),
    stop: () => syncer.stop(),
  };
}
