/** The second phase of a start: everything that works in the background. */
import { sealingJob } from "../audit/seal.ts";
import { publishAuditEvent } from "../events/publish.ts";
import { listAccounts } from "../access/queries.ts";
import type { Metrics } from "../api/metrics.ts";
import type { Replying } from "../twilio-api/replies.ts";
import { callbackForms } from "../compatible-apis.ts";
import { batchCompletion } from "../batches/complete.ts";
import type { Config } from "../config.ts";
import { ConsentDefaults } from "../consent/consent-defaults.ts";
import { announcingHandover } from "../delivery/announcements.ts";
import { Delivery } from "../delivery/delivery.ts";
import type { Peers } from "../delivery/peer-lanes.ts";
import { ProviderHosts } from "../delivery/provider-hosts.ts";
import { deliveryWatch, watchLanes, watchQueue } from "../delivery/metrics.ts";
import type { WebhookHandover } from "../events/handover.ts";
import type { WakeWebhooks } from "../events/publish.ts";
import type { RepeatingJob } from "../lib/background-job.ts";
import { metricsIn } from "../lib/metrics.ts";
import { reportError, type Log } from "../model/log.ts";
import { LinkMeter } from "../quality/meter.ts";
import { windowsOf } from "../quality/windows.ts";
import { LinkDirectory, type Accounts } from "../links/directory.ts";
import { simulatorLink } from "../links/link.ts";
import { watchLinks, watchQuality } from "../links/metrics.ts";
import { mediaWatch, watchMediaBytes } from "../media/metrics.ts";
import { Downloads, type DownloadsParts } from "../media/downloads.ts";
import { openMedia, type OpenMedia } from "../media/open-media.ts";
import { mediaUpkeepJob } from "../media/upkeep.ts";
import { Acceptor } from "../messages/accept.ts";
import { Composer } from "../messages/compose.ts";
import { LastSenders } from "../messages/last-senders.ts";
import type { Handover } from "../messages/handover.ts";
import { PROVIDERS } from "../providers/providers.ts";
import { retentionJob } from "../retention/drop-weeks.ts";
import { oldRowsJob } from "../retention/old-rows.ts";
import { startReviews } from "../reviews/reviews.ts";
import { CreatedPlans } from "../links/created-plan.ts";
import { holdRecovered, holdRestored } from "../links/hold.ts";
import { LinkReader } from "../links/stored-link.ts";
import type { Announcer } from "../queue/announcer.ts";
import type { Database } from "../database/database.ts";
import { StartupError } from "../database/startup-error.ts";
import { Templates } from "../templates/find-template.ts";
import type { Timings } from "../timings.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { usageFolding } from "../usage/fold.ts";
import { watchOutbox, webhookWatch } from "../webhooks/metrics.ts";
import { AddressGate } from "../outbound/address-gate.ts";
import { HttpClient } from "../outbound/http-client.ts";
import { Signer } from "../webhooks/signature.ts";
import { announceDeliveries, deliveriesOf, WEBHOOK_LANE } from "../webhooks/announcements.ts";
import { CALL_LIMITS, CALLBACK_LIMITS } from "../webhooks/attempt.ts";
import { WebhookWorker } from "../webhooks/worker.ts";
import type { Stops, Storage } from "./open-storage.ts";

const DAY_MS = 86_400_000;

/** The objects that all parts of a process share. */
export type Process = Storage & {
  config: Config;
  timings: Timings;
  node: string;
  announcer: Announcer;
  metrics: Metrics;
  log: Log;
  tracing: Tracing | undefined;
  /** The other workers of this machine. */
  peers: Peers | undefined;
  stops: Stops;
};

export type Background = Awaited<ReturnType<typeof startBackground>>;

/** The part of the configuration that a running process follows. */
export type ReloadedConfig = Pick<Config, "plan" | "consent">;

export async function startBackground(shared: Process) {
  const { config, db, clock, metrics, log, stops } = shared;
  // One for all names that customers supply: the threads of the system are few.
  const gate = new AddressGate(config.webhookAddresses);
  const { wakeWebhooks, webhookHandover, acceptReplies } = startWebhooks(shared, gate);
  const accounts = await findAccounts(db, config);
  const linkMeter = new LinkMeter({
    db,
    clock,
    windows: windowsOf(shared.timings.qualityHalfLifeMs),
    measuredLinks: () => linkDirectory.current.measuredLinks,
    onError: reportError(log, "links.measurement_failed", "the outcomes on links could not be stored or read"),
  });
  const linkDirectory = new LinkDirectory(simulatorLink(config.simulatorSpeed), config.plan, accounts, () => linkMeter.scores);
  const linkReader = new LinkReader(shared.box, gate);
  const createdPlans = new CreatedPlans({ ...shared, linkReader, linkDirectory });
  await holdRestored(config, db, clock);
  holdRecovered(db, clock, (hold) => {
    linkDirectory.hold(hold);
    createdPlans.forgetVersion();
    log.warn({ event: "delivery.on_hold", reason: hold.detail }, "no message is handed over until godwit resume");
  });
  await createdPlans.load();
  if (linkDirectory.current.hold !== undefined)
    log.warn({ event: "delivery.on_hold", reason: linkDirectory.current.hold.detail }, "no message is handed over until godwit resume");
  const consentDefaults = new ConsentDefaults();
  consentDefaults.replace(config.consent, accounts);
  watchLinks(metrics.registry, { db, clock, linkDirectory });
  watchQuality(metrics.registry, { db, clock, linkDirectory });
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
    providers: PROVIDERS,
    linkDirectory,
    consentDefaults,
    mediaRetentionMs: config.mediaRetentionDays * DAY_MS,
    wakeWebhooks,
    webhookHandover,
    receiptWaitMs: config.receiptWaitMs,
    watch: deliveryWatch(metrics.registry, linkMeter.counts),
    reviews,
    pauseLink: (link, reason) => createdPlans.pauseByCarrier(link, reason),
  });
  stops.push(() => hosts.stop());
  const media = openMedia({
    ...shared,
    gate,
    retentionMs: config.mediaRetentionDays * DAY_MS,
    quotaBytes: config.mediaQuotaBytes,
    bucket: config.mediaBucket,
    watch: mediaWatch(metrics.registry),
    onError: reportError(log, "media.cleanup_failed", "the bytes of a file could not be deleted"),
  });
  watchMediaBytes(metrics.registry, db);
  const composer = new Composer({ db, media: media.store, clock, linkDirectory, templates, lastSenders: new LastSenders(db) });
  const { handover, reload } = await startDelivery(shared, { hosts, composer });
  acceptReplies({
    acceptor: new Acceptor({ ...shared, composer, handover, wakeWebhooks, webhookHandover, watch: metrics }),
    media: media.store,
    gate,
  });
  if (config.roles.has("dispatch")) startDownloads({ ...shared, linkDirectory, wakeWebhooks, files: media.store });
  startUpkeep(shared, wakeWebhooks, media);
  /** Links that have not changed keep their connection. */
  const reloadPlan = async (reloaded: ReloadedConfig): Promise<void> => {
    const known = await findAccounts(db, reloaded);
    linkDirectory.replaceFile(reloaded.plan, known);
    consentDefaults.replace(reloaded.consent, known);
    await reload();
  };
  createdPlans.start();
  linkMeter.start();
  stops.push(() => linkMeter.stop());
  stops.push(() => createdPlans.stop());
  return {
    wakeWebhooks,
    webhookHandover,
    linkDirectory,
    reviews,
    hosts,
    composer,
    media,
    handover,
    consentDefaults,
    gate,
    linkReader,
    createdPlans,
    reloadPlan,
  };
}

type StartedWebhooks = {
  wakeWebhooks: WakeWebhooks;
  webhookHandover: WebhookHandover | undefined;
  /** Lets the worker send the replies of clients of compatible APIs. */
  acceptReplies: (replying: Replying) => void;
};

/** Delivers webhooks in this process if that is its role, and wakes the workers of the others. */
function startWebhooks(shared: Process, gate: AddressGate): StartedWebhooks {
  const { config, timings, db, box, announcer, metrics, stops } = shared;
  const { promise: replying, resolve: acceptReplies } = Promise.withResolvers<Replying>();
  const forms = callbackForms({ ...shared, twilioHost: config.twilioHost, replying });
  watchOutbox(metrics.registry, db);
  const announce: WakeWebhooks = (queued) => announceDeliveries(announcer, queued);
  if (!config.roles.has("webhooks")) return { wakeWebhooks: announce, webhookHandover: undefined, acceptReplies };
  const wakeWebhooks: WakeWebhooks = (queued) => {
    worker.wake(queued);
    announce(queued);
  };
  const worker = new WebhookWorker({
    ...shared,
    client: new HttpClient({ gate, ...CALL_LIMITS }),
    callbackClient: new HttpClient({ gate, ...CALLBACK_LIMITS }),
    signer: new Signer(box),
    forms,
    wakeWebhooks,
    watch: webhookWatch(metrics.registry),
    leaseMs: timings.webhookLeaseMs,
    callMs: timings.webhookCallMs,
    pollMs: timings.webhookPollMs,
  });
  const { gauge } = metricsIn(metrics.registry);
  gauge("godwit_webhook_calls", "Calls to endpoints that are under way in this process.", () => worker.inFlight);
  stops.push(() => worker.stop());
  announcer.onListening(() => worker.wake());
  announcer.hear((lane, announced) => {
    if (lane === WEBHOOK_LANE) worker.wake(deliveriesOf(announced));
  });
  worker.start();
  return { wakeWebhooks, webhookHandover: worker.handover, acceptReplies };
}

// Carriers respond in tenths of a second; one that needs a minute has lost the request.
const RESPONSE_TIMEOUT_MS = 60_000;

/** Delivers messages in this process if that is its role; otherwise announces them to the processes that do. */
async function startDelivery(
  shared: Process,
  parts: Pick<Background, "hosts" | "composer">,
): Promise<{ handover: Handover; reload: () => Promise<void> }> {
  const { config, timings, db, announcer, metrics, stops } = shared;
  watchQueue(metrics.registry, db);
  if (!config.roles.has("dispatch")) return { handover: announcingHandover(announcer), reload: async () => undefined };
  const delivery = new Delivery({
    ...shared,
    ...parts,
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

/** Downloads the files of inbound messages. */
function startDownloads({ timings, ...shared }: Process & Pick<DownloadsParts, "linkDirectory" | "wakeWebhooks" | "files">): void {
  const downloads = new Downloads({
    ...shared,
    providers: PROVIDERS,
    pollMs: timings.deliveryPollMs,
    leaseMs: timings.queueLeaseMs,
  });
  shared.stops.push(() => downloads.stop());
  downloads.start();
}

/** The jobs that keep the tables small and complete batches. */
function startUpkeep(shared: Process, wakeWebhooks: () => void, { places }: OpenMedia): void {
  const { config, db, clock, chainKey, metrics, log, stops } = shared;
  const { roles, retentionDays, auditRetentionDays } = config;
  const jobs: RepeatingJob[] = [
    usageFolding(db, reportError(log, "usage.fold_failed", "counts of usage could not be folded")),
    retentionJob(db, {
      retentionDays,
      now: () => clock.now(),
      log,
      onError: reportError(log, "retention.drop_failed", "old weeks could not be dropped"),
    }),
    oldRowsJob(
      { db, clock, retentionDays, auditRetentionDays, chainKey },
      reportError(log, "retention.cleanup_failed", "old rows could not be deleted"),
    ),
    mediaUpkeepJob({ db, clock, places }, reportError(log, "media.cleanup_failed", "old media could not be deleted")),
    sealingJob(
      { db, clock, chainKey, publish: publishAuditEvent, wakeWebhooks, registry: metrics.registry },
      reportError(log, "audit.seal_failed", "entries of the audit log could not be sealed"),
    ),
  ];
  if (roles.has("dispatch"))
    jobs.push(
      batchCompletion({ db, clock, wakeWebhooks }, reportError(log, "batches.completion_failed", "batches could not be completed")),
    );
  for (const job of jobs) job.start();
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
