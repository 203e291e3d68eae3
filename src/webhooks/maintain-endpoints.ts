/** Work on endpoints that no client requests: disabling those that refuse or fail, recoveries, new encryption of all secrets, and the
 *  report of their health for the operator. */
import { recordChange } from "../audit/record-change.ts";
import { writersEnd } from "../events/positions.ts";
import { publishEvent } from "../events/publish.ts";
import { encodeId, newId, NO_ID, type EndpointId } from "../model/id.ts";
import { SYSTEM_ORIGIN } from "../model/origin.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { parseBoundedUrl } from "../lib/urls.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { countHealth, findRecovering, listEnabled, listSealed, lockEndpoint, lockRecovering, storeEndpoint } from "./endpoint-queries.ts";
import { endpointRecord, secretContext, statusChange, type DisabledReason, type Endpoint } from "./endpoint.ts";
import { recoverNext } from "./queries.ts";

/** Disables an endpoint and publishes the event for the other endpoints. Returns false when it was not enabled any more. */
export async function disableEndpoint(
  db: Database,
  clock: Clock,
  { id, ...owner }: Owner & { id: EndpointId },
  reason: DisabledReason,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const endpoint = await lockEndpoint(tx, owner, id);
    if (endpoint?.status !== "enabled") return false;
    const nowMs = clock.now();
    const disabled: Endpoint = { ...endpoint, ...statusChange("disabled", reason), updatedAtMs: nowMs };
    await storeEndpoint(tx, disabled);
    const target = { type: "webhook_endpoint", id: encodeId("whe", id) } as const;
    await recordChange(tx, nowMs, { ...owner, origin: SYSTEM_ORIGIN }, { action: "endpoint.disabled", target, changes: { reason } });
    await publishEvent(tx, {
      ...owner,
      id: newId("evt", nowMs),
      type: "endpoint.disabled",
      record: JSON.stringify(endpointRecord(disabled)),
    });
    return true;
  });
}

const RECOVERED_PAGE = 1_000;

type RecoverStep = { queued: number; hasMore: boolean };

const NOTHING: RecoverStep = { queued: 0, hasMore: false };

/** Processes one page of one recovery, if there is any. A recovery queues again the events of a time that an endpoint has not acknowledged,
 *  including those that it never received. There may be millions, so each page is one transaction, which also stores the position; after
 *  a restart the recovery continues from there.
 *
 *  A transaction that did not see the endpoint as enabled queued nothing for it, and may commit after the recovery was requested. So a
 *  page is read when all such transactions have ended (`events/positions.ts`); each later one queues its deliveries itself. */
export async function recoverStep(db: Database, clock: Clock, stopping: AbortSignal): Promise<RecoverStep> {
  const requested = await findRecovering(db);
  if (requested === undefined || !(await writersEnd(db, stopping))) return NOTHING;
  return db.transaction(async (tx) => {
    const endpoint = await lockRecovering(tx, requested);
    if (endpoint === undefined) return NOTHING;
    const nowMs = clock.now();
    const { looked_at: lookedAt, queued, reached } = await recoverNext(tx, endpoint, nowMs, RECOVERED_PAGE);
    const isFinished = lookedAt < RECOVERED_PAGE || reached === null;
    await storeEndpoint(tx, {
      ...endpoint,
      recoverAfter: isFinished ? null : reached,
      recoverUntil: isFinished ? null : endpoint.recoverUntil,
      updatedAtMs: nowMs,
    });
    return { queued, hasMore: true };
  });
}

const PAGE = 500;

/** Seals the secrets of all endpoints with the current secret key, after it has changed. Secrets that cannot be opened do not change: their
 *  account has to rotate them. */
export async function resealEndpoints(tx: Tx, box: SecretBox): Promise<void> {
  let after: EndpointId = NO_ID;
  for (;;) {
    const page = await listSealed(tx, after, PAGE);
    for (const endpoint of page) await storeEndpoint(tx, resealed(endpoint, box));
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}

function resealed(endpoint: Endpoint, box: SecretBox): Endpoint {
  const context = secretContext(endpoint);
  const reseal = (sealed: string): string => box.reseal(sealed, context) ?? sealed;
  const { secret, previousSecret } = endpoint;
  return { ...endpoint, secret: reseal(secret), previousSecret: previousSecret === null ? null : reseal(previousSecret) };
}

export const readEndpointHealth = countHealth;

export type EndpointOrigin = { id: string; origin: URL | null };

/** The distinct origins of enabled endpoints, each with the id of one endpoint; null for a stored URL that cannot be read. The path of a URL
 *  may hold a secret of its owner. */
export async function listOrigins(db: Queryable, most: number): Promise<EndpointOrigin[]> {
  const origins = new Map<string, EndpointOrigin>();
  for (const { id, url } of await listEnabled(db, most)) {
    const origin = parseBoundedUrl(parseBoundedUrl(url)?.origin ?? "");
    const key = origin?.href ?? "";
    if (!origins.has(key)) origins.set(key, { id: encodeId("whe", id), origin });
  }
  return [...origins.values()];
}
