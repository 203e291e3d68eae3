/** An endpoint that is told nothing more: because it said so (410), or because it had nothing but failures for days. */
import { publishEvent } from "../events/publish.ts";
import { newId, type EndpointId } from "../lib/id.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { endpointRecord, type DisabledReason, type Endpoint } from "./endpoint.ts";
import { lockEndpoint, storeEndpoint } from "./endpoint-queries.ts";
import type { Owner } from "../storage/owner.ts";

type Place = Owner & { id: EndpointId };

/** Disables it and makes that an event, for the other endpoints to hear. False when it was not enabled any more. */
export async function disableEndpoint(db: Database, clock: Clock, { id, ...owner }: Place, reason: DisabledReason): Promise<boolean> {
  return db.transaction(async (tx) => {
    const endpoint = await lockEndpoint(tx, owner, id);
    if (endpoint?.status !== "enabled") return false;
    const nowMs = clock.now();
    const disabled: Endpoint = {
      ...endpoint,
      status: "disabled",
      disabledReason: reason,
      recoverAfter: null,
      recoverUntil: null,
      updatedAtMs: nowMs,
    };
    await storeEndpoint(tx, disabled);
    await publishEvent(tx, {
      ...owner,
      id: newId("evt", nowMs),
      type: "endpoint.disabled",
      record: JSON.stringify(endpointRecord(disabled)),
    });
    return true;
  });
}
