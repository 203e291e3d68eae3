/** The operations of clients on their endpoints. Each write is one transaction with its idempotency key and its stored response. A
 *  response that shows a secret is stored sealed. */
import type { Credential } from "../access/authenticate.ts";
import { publishEventTo } from "../events/publish.ts";
import { Problem } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { Once, type Executed, type Replay, type WriteResponse, type WriteCall } from "../idempotency/once.ts";
import type { AddressSet } from "../lib/addresses.ts";
import { decodeId, encodeId, newId, type EndpointId } from "../lib/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database, Tx } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { countEndpoints, findEndpoint, holdEndpoint, insertEndpoint, lockEndpoint, storeEndpoint } from "./endpoint-queries.ts";
import { MAX_ENDPOINTS_EACH, secretContext, endpointRecord, type Endpoint } from "./endpoint.ts";
import { refuseUrl, type EditEndpoint, type NewEndpoint } from "./new-endpoint.ts";
import { newSecret } from "./signature.ts";

/** How long deliveries are signed with the old and the new secret after a rotation. */
const OVERLAP_MS = 24 * 3_600_000;

export const EndpointParams = Type.Object({ id: Type.String({ description: "The endpoint's id." }) });

/** Finds the endpoint that a request names, in the environment of its credential. */
export async function findOwnEndpoint(db: Database, credential: Credential, text: string): Promise<Endpoint> {
  const id = decodeId("whe", text);
  return found(id && (await findEndpoint(db, credential, id)));
}

export const noSuchEndpoint = (): Problem => new Problem("not_found", { detail: "no such endpoint in this environment" });

export type EndpointChangerParts = { db: Database; clock: Clock; box: SecretBox; allow: AddressSet; wakeWebhooks: () => void };

/** The work of the transaction. A returned problem is stored as the response; a thrown one rolls back. */
type Work = (tx: Tx, endpoint: Endpoint) => Promise<WriteResponse | Problem>;

export class EndpointChanger {
  readonly #parts: EndpointChangerParts;
  readonly #once: Once;

  constructor(parts: EndpointChangerParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock, parts.box);
  }

  create(call: WriteCall, request: NewEndpoint): Promise<Executed | Replay> {
    return this.#write(call, async (tx) => {
      const refusal = refuseUrl(request.url, this.#parts.allow);
      if (refusal !== undefined) return refusal;
      if ((await countEndpoints(tx, call.credential)) >= MAX_ENDPOINTS_EACH)
        return new Problem("too_many_endpoints", { detail: `an environment may have ${MAX_ENDPOINTS_EACH}` });
      const { endpoint, secret } = this.#newEndpoint(call.credential, request);
      await insertEndpoint(tx, endpoint);
      return this.#shown(endpoint, secret, { status: 201, location: `/v1/webhook_endpoints/${encodeId("whe", endpoint.id)}` });
    });
  }

  edit(call: WriteCall, id: EndpointId | undefined, request: EditEndpoint): Promise<Executed | Replay> {
    return this.#change(call, id, async (tx, endpoint) => {
      const { url, description, event_types: eventTypes, status } = request;
      const refusal = typeof url === "string" ? refuseUrl(url, this.#parts.allow) : undefined;
      if (refusal !== undefined) return refusal;
      const edited: Endpoint = {
        ...endpoint,
        url: url ?? endpoint.url,
        // Null means absent, so an empty text removes the description.
        description: description === "" ? null : (description ?? endpoint.description),
        eventTypes: eventTypes ?? endpoint.eventTypes,
        ...(typeof status === "string" && status !== endpoint.status ? switchedTo(status) : {}),
        updatedAtMs: this.now(),
      };
      await storeEndpoint(tx, edited);
      return shownPlain(edited);
    });
  }

  /** Replaces the secret. The old one signs beside the new one for a day; a secret before the old one stops at once. */
  rotateSecret(call: WriteCall, id: EndpointId | undefined): Promise<Executed | Replay> {
    return this.#change(call, id, async (tx, endpoint) => {
      const secret = newSecret();
      const nowMs = this.now();
      const rotated: Endpoint = {
        ...endpoint,
        secret: this.#parts.box.seal(secret, secretContext(endpoint)),
        previousSecret: endpoint.secret,
        previousSecretUntilMs: nowMs + OVERLAP_MS,
        updatedAtMs: nowMs,
      };
      await storeEndpoint(tx, rotated);
      return this.#shown(rotated, secret, { status: 200, location: null });
    });
  }

  /** Publishes a test event for only this endpoint. */
  test(call: WriteCall, id: EndpointId | undefined): Promise<Executed | Replay> {
    return this.changeEnabled(call, id, async (tx, endpoint) => {
      const { accountId, environment } = endpoint;
      const eventId = newId("evt", this.now());
      const record = JSON.stringify(endpointRecord(endpoint));
      await publishEventTo(tx, { accountId, environment, id: eventId, type: "webhook.test", record }, endpoint.id);
      return { status: 202, location: null, body: JSON.stringify({ event_id: encodeId("evt", eventId) }), eventId: null };
    });
  }

  #newEndpoint({ accountId, environment }: Owner, request: NewEndpoint): { endpoint: Endpoint; secret: string } {
    const nowMs = this.now();
    const id = newId("whe", nowMs);
    const secret = newSecret();
    const endpoint: Endpoint = {
      accountId,
      environment,
      id,
      url: request.url,
      description: request.description || null,
      eventTypes: request.event_types ?? ["*"],
      status: "enabled",
      disabledReason: null,
      secret: this.#parts.box.seal(secret, secretContext({ id })),
      previousSecret: null,
      previousSecretUntilMs: null,
      failingSinceMs: null,
      recoverAfter: null,
      recoverUntil: null,
      updatedAtMs: nowMs,
    };
    return { endpoint, secret };
  }

  #shown(endpoint: Endpoint, secret: string, { status, location }: Pick<WriteResponse, "status" | "location">): WriteResponse {
    return { status, location, body: JSON.stringify({ ...endpointRecord(endpoint), secret }), eventId: null, isSecret: true };
  }

  /** Changes an endpoint that is enabled. */
  changeEnabled(call: WriteCall, id: EndpointId | undefined, work: Work): Promise<Executed | Replay> {
    return this.#change(call, id, whileEnabled(work));
  }

  /** Does work for an enabled endpoint that does not change the endpoint itself. */
  doForEnabled(call: WriteCall, id: EndpointId | undefined, work: Work): Promise<Executed | Replay> {
    return this.#write(call, async (tx) => whileEnabled(work)(tx, found(id && (await holdEndpoint(tx, call.credential, id)))));
  }

  #change(call: WriteCall, id: EndpointId | undefined, work: Work): Promise<Executed | Replay> {
    return this.#write(call, async (tx) => work(tx, found(id && (await lockEndpoint(tx, call.credential, id)))));
  }

  async #write(call: WriteCall, work: (tx: Tx) => Promise<WriteResponse | Problem>): Promise<Executed | Replay> {
    const response = await this.#once.write(call, work);
    if (response.kind === "executed") this.#parts.wakeWebhooks();
    return response;
  }

  now(): number {
    return this.#parts.clock.now();
  }
}

const whileEnabled =
  (work: Work): Work =>
  async (tx, endpoint) =>
    endpoint.status === "enabled" ? work(tx, endpoint) : new Problem("endpoint_disabled");

function found(endpoint: Endpoint | undefined): Endpoint {
  if (endpoint === undefined) throw noSuchEndpoint();
  return endpoint;
}

export const shownPlain = (endpoint: Endpoint): WriteResponse => ({
  status: 200,
  location: null,
  body: JSON.stringify(endpointRecord(endpoint)),
  eventId: null,
});

/** An endpoint that is enabled again starts without failures. */
const switchedTo = (status: Endpoint["status"]): Partial<Endpoint> =>
  status === "enabled"
    ? { status, disabledReason: null, failingSinceMs: null }
    : { status, disabledReason: "requested", recoverAfter: null, recoverUntil: null };
