/** Starts everything in order, and stops it in reverse. */
import { randomBytes } from "node:crypto";
import { createFirstAccount } from "./access/accounts.ts";
import { createKey } from "./access/keys.ts";
import { listAccounts } from "./access/queries.ts";
import { Authenticator } from "./access/authenticate.ts";
import { Limiter } from "./access/limiter.ts";
import { checkSecretKey } from "./access/secret-key.ts";
import { SCOPES } from "./access/scope.ts";
import { createMetrics, type Metrics } from "./api/metrics.ts";
import { openApiDocument } from "./api/openapi.ts";
import { publicPages } from "./api/pages.ts";
import { Server } from "./api/server.ts";
import { readTlsFiles, type Config } from "./config.ts";
import { explainListenError } from "./api/listen-error.ts";
import { reportError, type Log, type LogOutput } from "./lib/log.ts";
import { remembered } from "./lib/remembered.ts";
import { within } from "./lib/wait.ts";
import { announcingHandover, Delivery, type DeliveryWatch } from "./delivery/delivery.ts";
import { Doors } from "./delivery/doors.ts";
import { deliveryWatch, watchLanes, watchQueue } from "./delivery/metrics.ts";
import { SuppressionChanger } from "./consent/suppression-changer.ts";
import { keepForgettingKeys } from "./idempotency/forget-keys.ts";
import { BatchAcceptor } from "./batches/accept-batch.ts";
import { keepCompletingBatches } from "./batches/complete.ts";
import { Verifier } from "./verifications/verifier.ts";
import { Acceptor } from "./messages/accept.ts";
import { MessageChanger } from "./messages/change-message.ts";
import { Composer } from "./messages/compose.ts";
import { KeyChanger } from "./access/change-key.ts";
import type { Handover } from "./messages/handover.ts";
import { PROVIDERS } from "./providers/providers.ts";
import { startReviews } from "./reviews/reviews.ts";
import { keepForgettingRows } from "./retention/forget-rows.ts";
import { keepRetention } from "./retention/keep-retention.ts";
import { carrierPages } from "./links/pages.ts";
import { watchLinks } from "./links/metrics.ts";
import { simulatorLink } from "./links/link.ts";
import type { Plan } from "./links/plan.ts";
import { Routes, type Accounts } from "./links/choose-links.ts";
import { readOrMakeSecretKey } from "./storage/data-directory.ts";
import { DatabaseClock } from "./storage/database-clock.ts";
import type { Database } from "./storage/database.ts";
import { missingDurability } from "./storage/durability.ts";
import { watchStorage } from "./storage/metrics.ts";
import { migrate } from "./storage/migrate.ts";
import { openDatabase } from "./storage/open-database.ts";
import { StartupError } from "./storage/startup-error.ts";
import { keepPartitions, makePartitions } from "./storage/partitions.ts";
import { sql } from "./storage/sql.ts";
import { Templates } from "./templates/find-template.ts";
import { seedTemplates } from "./templates/seed.ts";
import { keepFolding } from "./usage/fold.ts";
import { EventStreams } from "./events/stream.ts";
import { SecretBox } from "./lib/secret-box.ts";
import type { Bell } from "./events/bell.ts";
import { Announcer } from "./storage/announce.ts";
import { EndpointChanger } from "./webhooks/change-endpoint.ts";
import { watchOutbox, watchWorker, webhookWatch } from "./webhooks/metrics.ts";
import { Outbound } from "./webhooks/outbound.ts";
import { resealEndpoints } from "./webhooks/reseal-endpoints.ts";
import { createResolve } from "./webhooks/resolve.ts";
import { Signer } from "./webhooks/signer.ts";
import { WebhookWorker } from "./webhooks/worker.ts";
import type { SpanWatch } from "./tracing/exporter.ts";
import { spanWatch } from "./tracing/metrics.ts";
import type { Recorder } from "./tracing/recorder.ts";
import type { Tracing } from "./tracing/tracing.ts";
import { tokenPages } from "./access/token-pages.ts";
import { resealSigningKeys, SigningKeys } from "./access/signing-keys.ts";
import { Tokens } from "./access/tokens.ts";
import { allRoutes, apiSurroundings } from "./routes.ts";
import { TIMINGS, type Timings } from "./timings.ts";
import { VERSION } from "./version.ts";

export type Service = {
  url: string;
  /** The test key of the first start, shown once. */
  firstKey: string | undefined;
  /** Reads the certificate again; false when there is none to read. */
  reloadTls(): boolean;
  /** Other links, senders and routes from now on; what has not changed goes on as it is. */
  reloadPlan(plan: Plan): Promise<void>;
  stop(): Promise<void>;
};

export async function startService(
  config: Config,
  { log, writeLine }: LogOutput,
  say: (line: string) => void,
  timings: Timings = TIMINGS,
): Promise<Service> {
  const node = randomBytes(6).toString("hex");
  // What was started, newest last.
  const stops: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).toReversed()) await end();
  };
  try {
    const { db, close, embedded } = await openDatabase({
      ...config,
      command: "serve",
      mayJoin: false,
      nodeName: node,
      say,
      onLog: (line) => logPostgres(log, line),
    });
    stops.push(close);
    const { applied } = await migrate(db);
    if (applied.length > 0) log.info({ applied }, "database migrated");
    await warnAboutDurability(db, log);
    const secretKey = config.secretKey ?? readOrMakeSecretKey(config.dataDir);
    const box = new SecretBox(secretKey, config.previousSecretKey);
    await checkSecretKey(db, { secretKey, previousSecretKey: config.previousSecretKey }, async (tx) => {
      await resealEndpoints(tx, box);
      await resealSigningKeys(tx, box);
    });

    const clock = new DatabaseClock(db);
    await clock.start();
    stops.push(() => clock.stop());
    await makePartitions(db, clock.now());
    const partitions = keepPartitions(
      db,
      () => clock.now(),
      reportError(log, "storage.partitions_failed", "the partitions of the coming weeks could not be created"),
    );
    stops.push(() => partitions.stop());
    const firstKey = await makeFirstKey(db, clock);

    const metrics = createMetrics(VERSION);
    const isReady = readiness(db);
    watchStorage(metrics.registry, { db, embedded, isReady });
    const announcer = new Announcer(db, node, log);
    stops.push(() => announcer.stop());
    const tracing = await startTracing(config, { node, watch: spanWatch(metrics.registry), log });
    stops.push(() => tracing?.stop());
    const parts: Parts = { config, timings, db, clock, announcer, metrics, log, stops, tracing };
    const bell = startWebhooks(parts, box);
    const routing = new Routes(simulatorLink(config.simulatorSpeed), config.plan, await findAccounts(db, config.plan));
    watchLinks(metrics.registry, db, routing);
    const watch = deliveryWatch(metrics.registry);
    const templates = new Templates(db);
    const reviews = startReviews({
      db,
      clock,
      node,
      bell,
      templates,
      routes: routing,
      providers: PROVIDERS,
      isAsking: config.roles.has("dispatch"),
      registry: metrics.registry,
      log,
      accounts: async () => (await listAccounts(db)).map(({ id }) => id),
    });
    stops.push(() => reviews.stop());
    const doors = new Doors({ db, clock, routes: routing, bell, receiptWaitMs: config.receiptWaitMs, watch, log, tracing, reviews });
    stops.push(() => doors.stop());
    const composer = new Composer({ clock, routes: routing, templates });
    const { handover, reload } = await startDelivery({ ...parts, node }, { routing, doors, watch, composer, box, bell });
    const upkeep = [
      keepFolding(db, reportError(log, "usage.fold_failed", "counts of usage could not be folded")),
      keepRetention(db, {
        retentionDays: config.retentionDays,
        now: () => clock.now(),
        log,
        onError: reportError(log, "retention.drop_failed", "old weeks could not be dropped"),
      }),
      keepForgettingKeys(db, reportError(log, "idempotency.cleanup_failed", "expired idempotency keys could not be deleted")),
      keepForgettingRows(
        { db, clock, retentionDays: config.retentionDays },
        reportError(log, "retention.cleanup_failed", "old rows could not be deleted"),
      ),
      ...(config.roles.has("dispatch")
        ? [keepCompletingBatches({ db, clock, bell }, reportError(log, "batches.completion_failed", "batches could not be completed"))]
        : []),
    ];
    stops.push(() => Promise.all(upkeep.map((each) => each.stop())));

    const acceptor = new Acceptor({ db, composer, handover, bell, watch: metrics, tracing });
    metrics.gauge("godwit_accept_waiting", "Messages that wait for a commit.", () => acceptor.waiting);
    const streams = new EventStreams(db, clock);
    const signingKeys = new SigningKeys({ db, clock, box });
    // Before anyone asks: who keeps a copy of the published keys shall not begin with an empty one.
    if (config.roles.has("api")) await signingKeys.signer();
    const tokens = new Tokens({ db, clock, signingKeys });
    const authenticator = new Authenticator(db, tokens.read, () => clock.now());
    const limiter = new Limiter(db, node);
    metrics.gauge("godwit_event_streams", "Readers that follow events from this process.", () => streams.count);
    const routes = config.roles.has("api")
      ? allRoutes({
          db,
          clock,
          acceptor,
          composer,
          streams,
          routing,
          batches: new BatchAcceptor({ db, clock, composer, handover, bell, watch: metrics, tracing }),
          verifier: new Verifier({ db, clock, composer, handover, bell, box, limits: config.verificationLimits, tracing }),
          messages: new MessageChanger({ db, clock, bell, routes: routing }),
          endpoints: new EndpointChanger({ db, clock, box, allow: config.webhookAllow, bell }),
          keys: new KeyChanger({ db, clock, box, authenticator }),
          suppressions: new SuppressionChanger({ db, clock, bell }),
          templates: reviews.changer,
        })
      : [];
    const server = new Server({
      ...config,
      tls: config.tls && readTlsFiles(config.tls),
      routes,
      pages: [
        ...publicPages({
          document: openApiDocument(routes, config.roles.has("api") ? apiSurroundings : { ...apiSurroundings, paths: {} }),
          metrics,
          metricsAllow: config.metricsAllow,
          isReady,
        }),
        ...(config.roles.has("api")
          ? [
              ...carrierPages({ routes: routing, providers: PROVIDERS, hostFor: (link) => doors.hostFor(link, () => undefined) }),
              ...tokenPages({ db, authenticator, limiter, tokens, signingKeys, metrics }),
            ]
          : []),
      ],
      authenticator,
      limiter,
      metrics,
      log,
      tracing,
      writeLogLine: writeLine,
    });
    stops.push(() => server.stop());
    const url = await server.listen().catch((error: unknown) => {
      throw explainListenError(error, config);
    });
    log.info({ url, version: VERSION, node }, "listening");
    const reloadTls = (): boolean => {
      if (config.tls !== undefined) server.reloadTls(readTlsFiles(config.tls));
      return config.tls !== undefined;
    };
    const reloadPlan = async (plan: Plan): Promise<void> => {
      routing.replace(plan, await findAccounts(db, plan));
      await reload();
    };
    return { url, firstKey, stop, reloadTls, reloadPlan };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What the parts of a process are made of. */
type Parts = {
  config: Config;
  timings: Timings;
  db: Database;
  clock: DatabaseClock;
  announcer: Announcer;
  metrics: Metrics;
  log: Log;
  stops: (() => unknown)[];
  tracing: Tracing | undefined;
};

/** What delivery is made of. */
type Delivering = { routing: Routes; doors: Doors; watch: DeliveryWatch; composer: Composer; box: SecretBox; bell: Bell };

/** The lanes of this process, or, where it only accepts, a word to those that have some. */
async function startDelivery(
  { config, timings, db, clock, node, announcer, metrics, log, stops, tracing }: Parts & { node: string },
  { routing, doors, watch, composer, box, bell }: Delivering,
): Promise<{ handover: Handover; reload: () => Promise<void> }> {
  watchQueue(metrics.registry, db);
  if (!config.roles.has("dispatch")) return { handover: announcingHandover(announcer), reload: async () => undefined };
  const delivery = new Delivery({
    db,
    clock,
    node,
    announcer,
    bell,
    doors,
    providers: PROVIDERS,
    routes: routing,
    composer,
    box,
    receiptWaitMs: config.receiptWaitMs,
    answerWithinMs: ANSWER_WITHIN_MS,
    queueLeaseMs: timings.queueLeaseMs,
    linkLeaseMs: timings.linkLeaseMs,
    watch,
    log,
    tracing,
  });
  watchLanes(metrics.registry, delivery);
  stops.push(() => delivery.stop());
  await delivery.start();
  return { handover: delivery.handover, reload: () => delivery.reload() };
}

/** Where no collector is configured, nothing of it is even loaded. */
async function startTracing({ tracing }: Config, parts: { node: string; watch: SpanWatch; log: Log }): Promise<Recorder | undefined> {
  return tracing && new (await import("./tracing/recorder.ts")).Recorder(tracing, parts);
}

/** The accounts that a plan names. */
async function findAccounts(db: Database, { senders, routes }: Plan): Promise<Accounts> {
  const accounts = new Map((await listAccounts(db)).map(({ name, id }) => [name, id]));
  const named = new Set([...senders.map(({ account }) => account), ...routes.flatMap(({ account }) => account ?? [])]);
  const missing = [...named].filter((name) => !accounts.has(name));
  if (missing.length > 0) throw new StartupError(`the configuration names accounts that are not there: ${missing.join(", ")}`);
  return accounts;
}

/** How the workers that tell endpoints are called among the lanes. */
const WEBHOOK_LANE = "@webhooks";

/** Tells endpoints in this process, where that is its role; and rings for the others. */
function startWebhooks({ config, timings, db, clock, announcer, metrics, log, stops, tracing }: Parts, box: SecretBox): Bell {
  watchOutbox(metrics.registry, db);
  if (!config.roles.has("webhooks")) return { ring: () => announcer.announce(WEBHOOK_LANE) };
  const bell: Bell = {
    ring: () => {
      worker.wake();
      announcer.announce(WEBHOOK_LANE);
    },
  };
  const worker = new WebhookWorker({
    db,
    clock,
    outbound: new Outbound({ allow: config.webhookAllow, resolve: createResolve() }),
    signer: new Signer(box),
    bell,
    watch: webhookWatch(metrics.registry),
    leaseMs: timings.webhookLeaseMs,
    callMs: timings.webhookCallMs,
    log,
    tracing,
  });
  watchWorker(metrics.registry, worker);
  stops.push(() => worker.stop());
  announcer.hear((lane) => lane === WEBHOOK_LANE && worker.wake());
  worker.start();
  return bell;
}

// Carriers answer in tenths of a second; one that needs a minute has lost the request.
const ANSWER_WITHIN_MS = 60_000;

/** The key of the very first start: the first request is sent with it, and the console opened. It is of test, so it may do everything. */
async function makeFirstKey(db: Database, clock: DatabaseClock): Promise<string | undefined> {
  const account = await createFirstAccount(db, clock, (tx, owner) => seedTemplates(tx, clock, owner));
  if (account === undefined) return undefined;
  const request = { accountId: account.id, environment: "test", name: "first key", expiresAt: null } as const;
  return (await createKey(db, clock, { ...request, scopes: SCOPES })).secret;
}

async function warnAboutDurability(db: Database, log: Log): Promise<void> {
  const off = await missingDurability(db);
  if (off.length > 0)
    log.warn({ event: "storage.durability_off", off }, "the database may lose committed transactions: switch these settings on");
}

const READY_TIMEOUT_MS = 2_000;
const READY_TRUST_MS = 1_000;

/** Asked by every load balancer in front: one question a second reaches the database. */
const readiness = (db: Database): (() => Promise<boolean>) =>
  remembered(READY_TRUST_MS, async () => {
    const asked = db.rows(sql`select 1`).then(
      () => true,
      () => false,
    );
    return (await within(asked, READY_TIMEOUT_MS)) ?? false;
  });

function logPostgres(log: Log, line: string): void {
  if (/^(FATAL|PANIC|ERROR|WARNING)/.test(line)) log.warn({ event: "storage.postgres_log", postgres: line }, "postgres");
  else log.debug({ postgres: line }, "postgres");
}
