/** Endpoints of compatible APIs, each of which belongs to a credential. */
import type { Tx } from "../database/database.ts";
import { Problem } from "../http/problem.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { toId, type KeyId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import { countEndpoints, findEndpoint, insertEndpoint, storeEndpoint } from "./endpoint-queries.ts";
import { MAX_ENDPOINTS_EACH, newEndpoint, secretContext, type Endpoint } from "./endpoint.ts";
import { newSecret } from "./signature.ts";

type OwnedEndpoint = Pick<Endpoint, "url" | "description" | "eventTypes" | "source" | "updatedAtMs" | "createdBy">;

/** Creates the endpoint of a credential, with the UUID of the credential. */
export async function createOwnedEndpoint(
  tx: Tx,
  box: SecretBox,
  { accountId, environment }: Owner,
  credential: KeyId,
  fields: OwnedEndpoint,
): Promise<Problem | undefined> {
  const owner = { accountId, environment };
  if ((await countEndpoints(tx, owner)) >= MAX_ENDPOINTS_EACH)
    return new Problem("too_many_endpoints", { detail: `an environment can have at most ${MAX_ENDPOINTS_EACH} endpoints` });
  const id = toId("whe", credential);
  await insertEndpoint(tx, newEndpoint({ ...owner, id, ...fields, secret: box.seal(newSecret(), secretContext({ id })) }));
  return undefined;
}

/** The endpoint of a revoked credential gets no more inbound messages, but still the outcomes of messages that are under way. */
export async function endInbound(tx: Tx, owner: Owner, credential: KeyId, nowMs: number): Promise<void> {
  const endpoint = await findEndpoint(tx, owner, toId("whe", credential));
  if (endpoint === undefined) return;
  const eventTypes = endpoint.eventTypes.filter((type) => type !== "message.received");
  await storeEndpoint(tx, { ...endpoint, eventTypes, updatedAtMs: nowMs });
}
