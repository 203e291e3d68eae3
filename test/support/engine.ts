/** The parts of the service that accept and deliver messages, assembled without the API, the configuration and the webhooks. */
import assert from "node:assert/strict";
import type { Credential } from "../../src/access/authenticate.ts";
import { SCOPES } from "../../src/access/scope.ts";
import { ConsentDefaults } from "../../src/consent/consent-defaults.ts";
import { Delivery } from "../../src/delivery/delivery.ts";
import { ProviderHosts } from "../../src/delivery/provider-hosts.ts";
import type { DeliveryWatch } from "../../src/delivery/context.ts";
import type { Peers } from "../../src/delivery/peer-lanes.ts";
import { NO_ID, type AccountId } from "../../src/model/id.ts";
import { createLog, type Log } from "../../src/model/log.ts";
import { addressSet } from "../../src/lib/addresses.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { AddressGate } from "../../src/outbound/address-gate.ts";
import type { LinkDirectory } from "../../src/links/directory.ts";
import { Acceptor } from "../../src/messages/accept.ts";
import type { BucketSettings } from "../../src/media/bucket-settings.ts";
import { openMedia, type OpenMedia } from "../../src/media/open-media.ts";
import { Composer } from "../../src/messages/compose.ts";
import { LastSenders } from "../../src/messages/last-senders.ts";
import type { Handover } from "../../src/messages/handover.ts";
import type { Provider } from "../../src/providers/provider.ts";
import { Announcer } from "../../src/queue/announcer.ts";
import { excludeEarlierReleases } from "../../src/database/earlier-releases.ts";
import { writeCompactRecords } from "../../src/database/stored-record.ts";
import { DatabaseClock } from "../../src/database/database-clock.ts";
import type { DatabaseTarget } from "../../src/database/connections.ts";
import { Database } from "../../src/database/database.ts";
import { CONNECT_TIMEOUT_MS } from "./database.ts";
import type { Environment } from "../../src/model/owner.ts";
import { Templates } from "../../src/templates/find-template.ts";
import { TIMINGS } from "../../src/timings.ts";

export type Storage = { db: Database; clock: DatabaseClock };

export type DeliveryOptions = {
  node?: string;
  /** The providers by the names of their links. */
  providers: Readonly<Record<string, Provider<unknown>>>;
  linkDirectory: LinkDirectory;
  receiptWaitMs?: number;
  downAfterMs?: number;
  queueLeaseMs?: number;
  linkLeaseMs?: number;
  pollMs?: number;
  responseTimeoutMs?: number;
  watch?: DeliveryWatch;
  /** The other workers of its machine. */
  peers?: Peers;
  /** Silent without this log. */
  log?: Log;
};

/** Refuses every message, so that all messages wait in the queue. */
export const queueOnly: Handover = {
  leaseMs: 0,
  reserve: () => undefined,
  roomFor: () => Infinity,
  queued: () => undefined,
};

export const MEDIA_RETENTION_MS = 90 * 86_400_000;

export const wakeNothing = (): void => undefined;

export const silentWatch: DeliveryWatch = {
  submitted: () => undefined,
  opened: () => undefined,
  attempted: () => undefined,
  advanced: () => undefined,
  received: () => undefined,
  parked: () => undefined,
  inbound: () => undefined,
  refused: () => undefined,
};

/** Connects to a database and starts a clock with its time. */
export async function openStorage(target: DatabaseTarget, name: string): Promise<Storage> {
  const db = new Database({ connectTimeoutMs: CONNECT_TIMEOUT_MS, ...target }, name, () => undefined);
  // As a service does.
  if (await excludeEarlierReleases(db)) writeCompactRecords();
  const clock = new DatabaseClock(db);
  await clock.start();
  return { db, clock };
}

export async function closeStorage({ db, clock }: Storage): Promise<void> {
  clock.stop();
  await db.close();
}

const MEDIA = { retentionMs: 30 * 86_400_000, quotaBytes: 1_000_000_000 };
const NO_ADDRESSES = { allow: addressSet([]), deny: addressSet([]) };

/** A media store that fetches from public addresses only. */
export const mediaOf = (storage: Storage, bucket?: BucketSettings): OpenMedia =>
  openMedia({
    ...storage,
    ...MEDIA,
    bucket,
    log: createLog("silent").log,
    box: new SecretBox(Buffer.alloc(32)),
    gate: new AddressGate(NO_ADDRESSES),
    watch: silentMedia,
    onError: assert.ifError,
  });

const silentMedia = { stored: wakeNothing, fetched: wakeNothing };

export const composerOf = ({ db, clock }: Storage, linkDirectory: LinkDirectory): Composer =>
  new Composer({
    db,
    media: mediaOf({ db, clock }).store,
    clock,
    linkDirectory,
    templates: new Templates(db),
    lastSenders: new LastSenders(db),
  });

export const acceptorOf = (storage: Storage, linkDirectory: LinkDirectory, handover = queueOnly): Acceptor =>
  new Acceptor({
    db: storage.db,
    clock: storage.clock,
    composer: composerOf(storage, linkDirectory),
    handover,
    wakeWebhooks: wakeNothing,
    watch: { committed: () => undefined, cameThrough: () => undefined },
  });

/** A credential with all scopes and without a quota. */
export const credentialOf = (accountId: AccountId, environment: Environment = "test"): Credential => ({
  accountId,
  keyId: NO_ID,
  keyName: null,
  environment,
  environmentKey: `${accountId.toString("hex")} ${environment}`,
  scopes: new Set(SCOPES),
  tier: { name: "unlimited", limit: null },
  tokenExpiresAtMs: null,
  expiresAtMs: null,
  allowedIps: null,
});

/** Assembles the delivery of one node. The caller starts the delivery, and stops first the delivery and then the announcer. */
export function deliveryOf(storage: Storage, options: DeliveryOptions): { delivery: Delivery; announcer: Announcer } {
  const { db, clock } = storage;
  const { node = "node-1", providers, linkDirectory, downAfterMs, log = createLog("silent").log } = options;
  const { watch = silentWatch } = options;
  const { receiptWaitMs = 3_600_000, responseTimeoutMs = 60_000, pollMs = TIMINGS.deliveryPollMs } = options;
  const { queueLeaseMs = TIMINGS.queueLeaseMs, linkLeaseMs = TIMINGS.linkLeaseMs } = options;
  const announcer = new Announcer(db, node, log);
  const hosts = new ProviderHosts({
    db,
    clock,
    announcer,
    linkDirectory,
    consentDefaults: new ConsentDefaults(),
    providers,
    mediaRetentionMs: MEDIA_RETENTION_MS,
    wakeWebhooks: wakeNothing,
    receiptWaitMs,
    watch,
    log,
    pauseLink: async () => undefined,
  });
  const delivery = new Delivery({
    node,
    hosts,
    composer: composerOf(storage, linkDirectory),
    box: new SecretBox(Buffer.alloc(32)),
    responseTimeoutMs,
    queueLeaseMs,
    linkLeaseMs,
    pollMs,
    downAfterMs,
    peers: options.peers,
  });
  return { delivery, announcer };
}
