/** The second phase of a start: everything that works in the background. */
import { auditCounter, sealingJob } from "../audit/seal.ts";
import { publishAuditEvent } from "../events/publish.ts";
import { listAccounts } from "../access/queries.ts";
import type { Metrics } from "../api/metrics.ts";
import { batchCompletion } from "../batches/complete.ts";
import type { Config } from "../config.ts";
import { ConsentDefaults } from "../consent/consent-defaults.ts";
import { announcingHandover } from "../delivery/announcements.ts";
import { Delivery } from "../delivery/delivery.ts";
import { ProviderHosts } from "../delivery/provider-hosts.ts";
import { deliveryWatch, watchLanes, watchQueue } from "../delivery/metrics.ts";
import type { WakeWebhooks } from "../events/publish.ts";
import type { BackgroundJob } from "../lib/background-job.ts";
import { reportError, type Log } from "../model/log.ts";
import { LinkDirectory, type Accounts } from "../links/directory.ts";
import { simulatorLink } from "../links/link.ts";
import { watchLinks } from "../links/metrics.ts";
import { Composer } from "../messages/compose.ts";
import { LastSenders } from "../messages/last-senders.ts";
import type { Handover } from "../messages/handover.ts";
import { PROVIDERS } from "../providers/providers.ts";
import { retentionJob } from "../retention/drop-weeks.ts";
import { oldRowsJob } from "../retention/old-rows.ts";
import { startReviews, type Reviews } from "../reviews/reviews.ts";
import { CreatedPlans } from "../links/created-plan.ts";
import { holdRestored } from "../links/hold.ts";
import { LinkReader } from "../links/stored-link.ts";
import type { Announcer } from "../queue/announcer.ts";
import type { Database } from "../database/database.ts";
import { StartupError } from "../database/startup-error.ts";
import { Templates } from "../templates/find-template.ts";
import type { Timings } from "../timings.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { usageFolding } from "../usage/fold.ts";
import { watchOutbox, watchWorker, webhookWatch } from "../webhooks/metrics.ts";
import { AddressGate } from "../outbound/address-gate.ts";
import { HttpClient } from "../outbound/http-client.ts";
import { Signer } from "../webhooks/signature.ts";
import { announceDeliveries, deliveriesOf, WEBHOOK_LANE } from "../webhooks/announcements.ts";
import { CALL_LIMITS } from "../webhooks/attempt.ts";
import { WebhookWorker } from "../webhooks/worker.ts";
import type { Storage } from "./open-storage.ts";
import type { Stops } from "./stops.ts";

/** The objects that all parts of a process share. */
export type Process = Storage & {
  config: Config;
  timings: Timings;
  /** The name of this node. */
  node: string;
  announcer: Announcer;
  metrics: Metrics;
  log: Log;
  tracing: Tracing | undefined;
  stops: Stops;
};

export type Background = {
  wakeWebhooks: WakeWebhooks;
  linkDirectory: LinkDirectory;
  reviews: Reviews;
  hosts: ProviderHosts;
  composer: Composer;
  handover: Handover;
  consentDefaults: ConsentDefaults;
  gate: AddressGate;
  linkReader: LinkReader;
  createdPlans: CreatedPlans;
  /** Follows another plan of links, senders and routes, and other consent settings; links that have not changed keep their connection. */
  reloadPlan: (config: ReloadedConfig) => Promise<void>;
};

/** The part of the configuration that a running process follows. */
export type ReloadedConfig = Pick<Config, "plan" | "consent">;

export async function startBackground(shared: Process): Promise<Background> {
  const { config, db, clock, metrics, log, stops } = shared;
  // One for all names that customers supply: the threads of the system are few.
  const gate = new AddressGate(config.webhookAddresses);
  const wakeWebhooks = startWebhooks(shared, gate);
  const accounts = await findAccounts(db, config);
  const linkDirectory = new LinkDirectory(simulatorLink(config.simulatorSpeed), config.plan, accounts);
  const linkReader = new LinkReader(shared.box, gate);
  const createdPlans = new CreatedPlans({ ...shared, linkReader, linkDirectory });
  await holdRestored(config, db, clock);
  await createdPlans.load();
  if (linkDirectory.current.hold !== undefined)
    log.warn({ event: "delivery.on_hold", reason: linkDirectory.current.hold.detail }, "no message is handed over until godwit resume");
  const consentDefaults = new ConsentDefaults();
  consentDefaults.replace(config.consent, accounts);
  watchLinks(metrics.registry, { db, clock, linkDirectory });
  const templates = new Templates(db);
  const reviews = startReviews({
    ...shared,
    wakeWebhooks,
    templates,
    linkDirectory,
    providers: PROVIDERS,
    isSyncing: config.roles.has("dispatch"),
    registry: metrics.registry,
    accounts: async () => (await listAccounts(db)).map(({ id }) => id),
  });
  stops.push(() => reviews.stop());
  const hosts = new ProviderHosts({
    ...shared,
    linkDirectory,
    consentDefaults,
    wakeWebhooks,
    receiptWaitMs: config.receiptWaitMs,
    watch: deliveryWatch(metrics.registry),
    reviews,
    pauseLink: (link, reason) => createdPlans.pauseByCarrier(link, reason),
  });
  stops.push(() => hosts.stop());
  const composer = new Composer({ clock, linkDirectory, templates, lastSenders: new LastSenders(db) });
  const { handover, reload } = await startDelivery(shared, { hosts, composer });
  startUpkeep(shared, wakeWebhooks);
  const reloadPlan = async (reloaded: ReloadedConfig): Promise<void> => {
    const known = await findAccounts(db, reloaded);
    linkDirectory.replaceFile(reloaded.plan, known);
    consentDefaults.replace(reloaded.consent, known);
    await reload();
  };
  createdPlans.start();
  stops.push(() => createdPlans.stop());
  return { wakeWebhooks, linkDirectory, reviews, hosts, composer, handover, consentDefaults, gate, linkReader, createdPlans, reloadPlan };
}

/** Delivers webhooks in this process if that is its role, and wakes the workers of the others. */
function startWebhooks(
  { config, timings, db, clock, box, announcer, metrics, log, tracing, stops }: Process,
  gate: AddressGate,
): WakeWebhooks {
  watchOutbox(metrics.registry, db);
  const announce: WakeWebhooks = (queued) => announceDeliveries(announcer, queued);
  if (!config.roles.has("webhooks")) return announce;
  const wakeWebhooks: WakeWebhooks = (queued) => {
    worker.wake(queued);
    announce(queued);
  };
  const worker = new WebhookWorker({
    db,
    clock,
    client: new HttpClient({ gate, ...CALL_LIMITS }),
    signer: new Signer(box),
    wakeWebhooks,
    watch: webhookWatch(metrics.registry),
    leaseMs: timings.webhookLeaseMs,
    callMs: timings.webhookCallMs,
    pollMs: timings.webhookPollMs,
    log,
    tracing,
  });
  watchWorker(metrics.registry, worker);
  stops.push(() => worker.stop());
  announcer.onListening(() => worker.wake());
  announcer.hear((lane, announced) => {
    if (lane === WEBHOOK_LANE) worker.wake(deliveriesOf(announced));
  });
  worker.start();
  return wakeWebhooks;
}

// Carriers respond in tenths of a second; one that needs a minute has lost the request.
const RESPONSE_TIMEOUT_MS = 60_000;

/** Delivers messages in this process if that is its role; otherwise announces them to the processes that do. */
async function startDelivery(
  { config, timings, db, node, box, announcer, metrics, stops }: Process,
  { hosts, composer }: Pick<Background, "hosts" | "composer">,
): Promise<{ handover: Handover; reload: () => Promise<void> }> {
  watchQueue(metrics.registry, db);
  if (!config.roles.has("dispatch")) return { handover: announcingHandover(announcer), reload: async () => undefined };
  const delivery = new Delivery({
    node,
    hosts,
    providers: PROVIDERS,
    composer,
    box,
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    queueLeaseMs: timings.queueLeaseMs,
    linkLeaseMs: timings.linkLeaseMs,
    pollMs: timings.deliveryPollMs,
  });
  watchLanes(metrics.registry, delivery);
  stops.push(() => delivery.stop());
  await delivery.start();
  return { handover: delivery.handover, reload: () => delivery.reload() };
}

/** The jobs that keep the tables small and complete batches. */
function startUpkeep(shared: Process, wakeWebhooks: () => void): void {
  const { config, db, clock, metrics, log, stops } = shared;
  const { roles, retentionDays, auditRetentionDays } = config;
  const jobs: BackgroundJob[] = [
    usageFolding(db, reportError(log, "usage.fold_failed", "counts of usage could not be folded")),
    retentionJob(db, {
      retentionDays,
      now: () => clock.now(),
      log,
      onError: reportError(log, "retention.drop_failed", "old weeks could not be dropped"),
    }),
    oldRowsJob(
      { db, clock, retentionDays, auditRetentionDays },
      reportError(log, "retention.cleanup_failed", "old rows could not be deleted"),
    ),
    sealingJob(
      { db, clock, publish: publishAuditEvent, wakeWebhooks, onSealed: auditCounter(metrics.registry) },
      reportError(log, "audit.seal_failed", "entries of the audit log could not be sealed"),
    ),
  ];
  if (roles.has("dispatch"))
    jobs.push(
      batchCompletion({ db, clock, wakeWebhooks }, reportError(log, "batches.completion_failed", "batches could not be completed")),
    );
  for (const job of jobs) void job.start();
  stops.push(() => Promise.all(jobs.map((job) => job.stop())));
}

/** The accounts that a configuration names. */
async function findAccounts(db: Database, { plan: { links, senders, routes }, consent }: ReloadedConfig): Promise<Accounts> {
  const accounts = new Map((await listAccounts(db)).map(({ name, id }) => [name, id]));
  const named = new Set([
    ...[...senders, ...routes, ...consent].flatMap(({ account }) => account ?? []),
    ...links.flatMap(({ inboundAccount }) => inboundAccount ?? []),
  ]);
  const missing = [...named].filter((name) => !accounts.has(name));
  if (missing.length > 0) throw new StartupError(`the configuration names accounts that are not there: ${missing.join(", ")}`);
  return accounts;
}
