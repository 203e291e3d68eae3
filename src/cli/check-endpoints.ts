/** Checks of the webhook endpoints for `godwit doctor`: their health, and whether their hosts can be connected to under the same rules
 *  as for a delivery. No request is sent. */
import type { Config } from "../config.ts";
import type { Queryable } from "../database/database.ts";
import { listOrigins, readEndpointHealth, type EndpointOrigin } from "../webhooks/maintain-endpoints.ts";
import { AddressGate } from "../outbound/address-gate.ts";
import { describeFailure, failureOf } from "../outbound/failure.ts";
import { reach, targetOf } from "../outbound/open-socket.ts";
import { mapConcurrently, ok, warn, type Check } from "./check.ts";

const MAX_ENDPOINTS = 200;
const MAX_ORIGINS = 50;
const CONCURRENCY = 10;
const REACH_MS = 8_000;
const MAX_SHOWN = 5;

export async function checkEndpoints(db: Queryable, { webhookAddresses }: Config): Promise<Check> {
  const { enabled, failing, gone, given_up: givenUp } = await readEndpointHealth(db);
  const health = [
    `${enabled} enabled`,
    ...(failing > 0 ? [`${failing} failing`] : []),
    ...(givenUp > 0 ? [`${givenUp} disabled after days of failures`] : []),
    ...(gone > 0 ? [`${gone} disabled by a 410`] : []),
  ].join(", ");
  if (enabled === 0) return ok("webhooks", health);
  const origins = (await listOrigins(db, MAX_ENDPOINTS)).slice(0, MAX_ORIGINS);
  const problems = await findUnreached(origins, new AddressGate(webhookAddresses));
  const reached = `${origins.length - problems.length} of ${origins.length} hosts reached`;
  if (problems.length === 0 && failing === 0) return ok("webhooks", `${health}; ${reached}`);
  const shown = problems.slice(0, MAX_SHOWN).join("; ");
  const rest = problems.length > MAX_SHOWN ? `; and ${problems.length - MAX_SHOWN} more` : "";
  return warn(
    "webhooks",
    `${health}; ${reached}${problems.length === 0 ? "" : `; not: ${shown}${rest}`}`,
    "inform the owners of the endpoints; add an address in your own network to GODWIT_WEBHOOK_ALLOW",
  );
}

async function findUnreached(origins: readonly EndpointOrigin[], gate: AddressGate): Promise<string[]> {
  const looked = await mapConcurrently(origins, CONCURRENCY, async ({ id, origin }) => {
    if (origin === null) return `${id}: its stored URL cannot be read`;
    const failure = await reach({ ...targetOf(origin), gate }, REACH_MS);
    return failure && `${origin.origin} (${id}): ${failureOf(failure)}, ${describeFailure(failure)}`;
  });
  return looked.filter((problem) => problem !== undefined);
}
