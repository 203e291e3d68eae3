/** The last phase of a start: the features of the API, and the server that listens. */
import { Authenticator } from "../access/authenticate.ts";
import { KeyChanger } from "../access/change-key.ts";
import { openRecipientHasher } from "../access/recipient-hash.ts";
import { Limiter } from "../access/limiter.ts";
import { readInstallation } from "../access/queries.ts";
import { keyRecognizer } from "../access/api-key.ts";
import { SigningKeys } from "../access/signing-keys.ts";
import { tokenPages } from "../access/token-pages.ts";
import { Tokens } from "../access/tokens.ts";
import { AccountTurns } from "../api/admit.ts";
import { intakeLimits } from "../api/intake.ts";
import { responseLimits } from "../api/unread-responses.ts";
import { publicPages } from "../api/pages.ts";
import type { Route } from "../api/route.ts";
import { Server } from "../api/server.ts";
import { preferStandby, watchStandby } from "../api/standby-reads.ts";
import { CompatibleAuthenticator } from "../compatible/authenticate.ts";
import { CredentialChanger } from "../compatible/change-credential.ts";
import { basePathsOf, COMPATIBLE_APIS } from "../compatible-apis.ts";
import { BatchAcceptor } from "../batches/accept-batch.ts";
import { metricsIn } from "../lib/metrics.ts";
import { isKeyShared, readTlsFiles } from "../lib/tls-files.ts";
import { ConsentSettingsChanger } from "../consent/change-settings.ts";
import { SuppressionChanger } from "../consent/suppression-changer.ts";
import { EventPositions } from "../events/positions.ts";
import { EventStreams } from "../events/stream.ts";
import { Once } from "../idempotency/once.ts";
import { carrierPages, type CarrierPagesParts } from "../links/pages.ts";
import { mediaPages } from "../media/media-pages.ts";
import { Acceptor } from "../messages/accept.ts";
import { MessageChanger } from "../messages/change-message.ts";
import { PROVIDERS } from "../providers/providers.ts";
import { RequestLog } from "../requests/request-log.ts";
import { RecipientEraser } from "../recipients/erase-recipient.ts";
import { RecipientExporter } from "../recipients/export-recipient.ts";
import { allRoutes } from "../routes.ts";
import { LinkTester } from "../links/link-test.ts";
import { reportError } from "../model/log.ts";
import type { Database } from "../database/database.ts";
import { Standby } from "../database/standby.ts";
import { Verifier } from "../verifications/verifier.ts";
import { EndpointChanger } from "../webhooks/change-endpoint.ts";
import { sharesOf } from "./shares.ts";
import type { Process, Background } from "./start-background.ts";

const STRANGERS_WAITING = 50;
const REQUESTS_WAITING = 500;

export type ListeningServer = { url: string; reloadTls: () => boolean };

type ServerOptions = {
  isDraining: () => boolean;
  isDatabaseUp: () => Promise<boolean>;
  readMetrics: () => Promise<string>;
  writeLine: (fields: string) => void;
  freePort: (() => Promise<void>) | undefined;
};

export async function startServer(shared: Process, background: Background, options: ServerOptions): Promise<ListeningServer> {
  const { isDraining, isDatabaseUp, readMetrics, writeLine, freePort } = options;
  const { config, clock, node, box, metrics, log, tracing, stops } = shared;
  const isApi = config.roles.has("api");
  const shares = sharesOf(config.workers);
  const forRequests = { ...shared, db: shared.db.share({ maxConnections: shares.requests, maxWaiting: REQUESTS_WAITING }) };
  const access = await openAccess(forRequests, shared.db.share({ maxConnections: shares.strangers, maxWaiting: STRANGERS_WAITING }));
  const limiter = new Limiter(forRequests.db, clock, node);
  const turns = new AccountTurns(() => metrics.rejected("work_of_account"), shares, {
    roomFor: (account) => background.handover.roomFor(account),
    heldBack: () => metrics.heldBack(),
  });
  const standby = isApi ? await openStandby(shared) : undefined;
  const routes = isApi ? makeRoutes(forRequests, background, { ...access, limiter, turns, standby }) : [];
  const hostFor: CarrierPagesParts["hostFor"] = (link) => background.hosts.hostFor(link, () => undefined);
  const apiPages = [
    ...carrierPages({ linkDirectory: background.linkDirectory, providers: PROVIDERS, hostFor }),
    ...mediaPages({ db: forRequests.db, clock, ...background.media }),
    ...tokenPages({ limiter, metrics, ...access }),
  ];
  const requestLog = new RequestLog({
    db: shared.db,
    registry: metrics.registry,
    storeEveryMs: shared.timings.requestLogMs,
    onError: reportError(log, "requests.store_failed", "requests could not be stored in the request log"),
  });
  requestLog.start();
  stops.push(() => requestLog.stop());
  const server = new Server({
    ...config,
    basePaths: basePathsOf(config),
    intake: intakeLimits(config),
    responses: responseLimits(config),
    failureDelayMs: shared.timings.failureDelayMs,
    requestTimeoutMs: shared.timings.requestTimeoutMs,
    responseStallMs: shared.timings.responseStallMs,
    tls: config.tls && readTlsFiles(config.tls),
    routes,
    pages: [
      ...publicPages({ isApi, readMetrics, metricsAllow: config.metricsAllow, isDraining, isDatabaseUp }),
      ...(isApi ? apiPages : []),
    ],
    authenticator: access.authenticator,
    limiter,
    box,
    turns,
    metrics,
    log,
    tracing,
    reports: { logSample: config.logSample, writeLogLine: writeLine, note: requestLog.note },
    isDraining,
  });
  if (config.tls !== undefined && isKeyShared(config.tls))
    log.warn({ event: "http.tls_key_shared", file: config.tls.keyPath }, "the group of the file may read the private key");
  stops.push(() => server.stop());
  await freePort?.();
  const url = await server.listen();
  const reloadTls = (): boolean => {
    if (config.tls !== undefined) server.reloadTls(readTlsFiles(config.tls));
    return config.tls !== undefined;
  };
  return { url, reloadTls };
}

/** Starts to watch the standby of the configuration. The primary serves its reads until then. */
async function openStandby({ config, db, node, box, metrics, log, stops }: Process): Promise<Standby | undefined> {
  const { readUrl, readMaxLagMs, isDatabasePlaintextAllowed } = config;
  if (readUrl === undefined) return undefined;
  const standby: Standby = new Standby({
    primary: db,
    address: { url: readUrl, isPlaintextAllowed: isDatabasePlaintextAllowed },
    maxLagMs: readMaxLagMs,
    nodeName: node,
    // The reads that run at a time, and the look at its state.
    poolSize: sharesOf(config.workers).heavy + 1,
    served: watchStandby(metrics.registry, () => standby),
    changed: (reason) => {
      if (reason === undefined) log.info("lists, usage and exports are read from the standby");
      else log.warn({ event: "storage.standby_unused", reason }, "lists, usage and exports are read from the primary");
    },
  });
  await openRecipientHasher(db, box, standby.db);
  stops.push(() => standby.stop());
  standby.start();
  return standby;
}

type Access = { signingKeys: SigningKeys; tokens: Tokens; authenticator: Authenticator; compatibleUsers: CompatibleAuthenticator };

async function openAccess({ config, db, clock, box, log }: Process, strangersDb: Database): Promise<Access> {
  const signingKeys = new SigningKeys({ db, clock, box, log });
  // Created before the first request, so that a client that caches the published keys never caches an empty set.
  if (config.roles.has("api")) await signingKeys.signer();
  const installation = await readInstallation(db);
  const tokens = new Tokens({ clock, signingKeys, installation: installation.id });
  const recognizes = await keyRecognizer(db, installation);
  const authenticator = new Authenticator({ db, strangersDb, recognizes, readToken: tokens.read, now: () => clock.now() });
  return { signingKeys, tokens, authenticator, compatibleUsers: new CompatibleAuthenticator({ db, strangersDb, box }) };
}

function makeRoutes(
  { config, db, clock, box, hashRecipient, metrics, log, tracing }: Process,
  {
    composer,
    media,
    handover,
    wakeWebhooks,
    webhookHandover,
    linkDirectory,
    reviews,
    consentDefaults,
    gate,
    linkReader,
    createdPlans,
  }: Background,
  {
    authenticator,
    compatibleUsers,
    limiter,
    turns,
    standby,
  }: Access & { limiter: Limiter; turns: AccountTurns; standby: Standby | undefined },
): Route[] {
  const isOneOfSeveral = config.workers > 1;
  const accepting = { db, clock, composer, handover, wakeWebhooks, webhookHandover, watch: metrics, tracing };
  const acceptor = new Acceptor(accepting, isOneOfSeveral);
  const { gauge } = metricsIn(metrics.registry);
  gauge("godwit_accept_waiting", "Messages that wait for a commit.", () => acceptor.waiting);
  const positions = new EventPositions(db);
  gauge(
    "godwit_event_stream_stalled_seconds",
    "Time for which an open transaction that has written events has delayed the event streams.",
    async () => (await positions.readStalledMs()) / 1_000,
    { aggregator: "max" },
  );
  const streams = new EventStreams({ db, positions, limiter, readInTurn: turns.read });
  gauge("godwit_event_streams", "Readers that follow events from this process.", () => streams.count);
  const once = new Once(db, clock, box);
  const setup = { db, clock, box, gate, once, linkReader, linkDirectory, changed: createdPlans.changed };
  const parts = {
    db,
    clock,
    acceptor,
    composer,
    media,
    streams,
    setup,
    linkTester: new LinkTester({ setup, providers: PROVIDERS, log }),
    batches: new BatchAcceptor(accepting),
    verifier: new Verifier({ ...accepting, box, limits: config.verificationLimits }),
    messages: new MessageChanger({ db, clock, box, wakeWebhooks, linkDirectory, media: composer.media }),
    endpoints: new EndpointChanger({ db, clock, box, gate, wakeWebhooks }),
    keys: new KeyChanger({ db, clock, box, authenticator }),
    compatibleCredentials: new CredentialChanger({ db, clock, box, gate, apis: COMPATIBLE_APIS, authenticator: compatibleUsers }),
    compatible: { box, gate, users: compatibleUsers },
    suppressions: new SuppressionChanger({ db, clock, wakeWebhooks }),
    consentSettings: new ConsentSettingsChanger({ db, clock, consentDefaults }),
    templates: reviews.changer,
    eraser: new RecipientEraser({ db, clock, hashRecipient, wakeWebhooks }),
    exporter: new RecipientExporter({ db, standby, clock, hashRecipient, limiter, readInTurn: turns.read }),
  };
  const routes = allRoutes(parts);
  return standby === undefined ? routes : preferStandby(routes, allRoutes({ ...parts, db: standby.db }), standby);
}
