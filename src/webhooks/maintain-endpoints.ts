/** Work on endpoints that no client requests: disabling those that refuse or fail, new encryption of all secrets, and the report of their
 *  health for the operator. */
import { recordChange } from "../audit/record-change.ts";
import { publishEvent } from "../events/publish.ts";
import { encodeId, newId, NO_ID, type EndpointId } from "../model/id.ts";
import { SYSTEM_ORIGIN } from "../model/origin.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { countHealth, listEnabled, listSealed, lockEndpoint, storeEndpoint, type EndpointHealth } from "./endpoint-queries.ts";
import { endpointRecord, secretContext, statusChange, type DisabledReason, type Endpoint } from "./endpoint.ts";

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

const PAGE = 500;

/** Seals the secrets of all endpoints with the current secret key, after it has changed. */
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
  const reseal = (sealed: string): string => box.seal(box.open(sealed, context), context);
  const { secret, previousSecret } = endpoint;
  return { ...endpoint, secret: reseal(secret), previousSecret: previousSecret === null ? null : reseal(previousSecret) };
}

export async function readEndpointHealth(db: Queryable): Promise<EndpointHealth> {
  const [health] = await countHealth(db);
  return health ?? { enabled: 0, failing: 0, gone: 0, given_up: 0 };
}

/** The distinct origins of enabled endpoints, each with the id of one endpoint. The path of a URL may hold a secret of its owner. */
export async function listOrigins(db: Queryable, most: number): Promise<{ id: string; origin: string }[]> {
  const origins = new Map<string, { id: string; origin: string }>();
  for (const { id, url } of await listEnabled(db, most)) {
    const { origin } = new URL(url);
    if (!origins.has(origin)) origins.set(origin, { id: encodeId("whe", id), origin });
  }
  return [...origins.values()];
}
