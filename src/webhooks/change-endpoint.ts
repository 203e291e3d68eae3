/** The operations of clients on their endpoints. Each write is one transaction with its idempotency key and its stored response. A
 *  response that shows a secret is stored sealed. */
import type { Credential } from "../access/authenticate.ts";
import type { AuditedChange } from "../audit/audit-event.ts";
import { recordChange } from "../audit/record-change.ts";
import { publishEventTo } from "../events/publish.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Problem } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { Once, type AuditedCall, type Executed, type Replay, type WriteResponse, type WriteCall } from "../idempotency/once.ts";
import { decodeId, encodeId, newId, type EndpointId } from "../model/id.ts";
import { actorText } from "../model/origin.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import {
  countEndpoints,
  deleteEndpoint,
  findEndpoint,
  holdEndpoint,
  insertEndpoint,
  lockEndpoint,
  storeEndpoint,
} from "./endpoint-queries.ts";
import { MAX_ENDPOINTS_EACH, secretContext, endpointRecord, type Endpoint } from "./endpoint.ts";
import { normalizedUrl, refuseUrl, type EditEndpoint, type NewEndpoint } from "./new-endpoint.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { newSecret } from "./signature.ts";

/** How long deliveries are signed with the old and the new secret after a rotation. */
const OVERLAP_MS = 24 * 3_600_000;

export const EndpointParams = Type.Object({ id: Type.String({ description: "The id of the endpoint." }) });

/** Finds the endpoint that a request names, in the environment of its credential. */
export async function findOwnEndpoint(db: Database, credential: Credential, text: string): Promise<Endpoint> {
  const id = decodeId("whe", text);
  return found(id && (await findEndpoint(db, credential, id)));
}

export const noSuchEndpoint = (): Problem => new Problem("not_found", { detail: "no such endpoint in this environment" });

export type EndpointChangerParts = { db: Database; clock: Clock; box: SecretBox; gate: AddressGate; wakeWebhooks: () => void };

/** The work of the transaction. A returned problem is stored as the response; a thrown one rolls back. */
type Work = (tx: Tx, endpoint: Endpoint) => Promise<WriteResponse | Problem>;

export class EndpointChanger {
  readonly #parts: EndpointChangerParts;
  readonly #once: Once;

  constructor(parts: EndpointChangerParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock, parts.box, parts.wakeWebhooks);
  }

  create(call: AuditedCall, request: NewEndpoint): Promise<Executed | Replay> {
    return this.#once.write(call, async (tx) => {
      const refusal = refuseUrl(request.url, this.#parts.gate);
      if (refusal !== undefined) return refusal;
      if ((await countEndpoints(tx, call.credential)) >= MAX_ENDPOINTS_EACH)
        return new Problem("too_many_endpoints", { detail: `an environment can have at most ${MAX_ENDPOINTS_EACH} endpoints` });
      const { endpoint, secret } = this.#newEndpoint(call, request);
      await insertEndpoint(tx, endpoint);
      const { url, event_types: types } = endpointRecord(endpoint);
      await this.record(tx, call, endpoint.id, { action: "endpoint.created", changes: { url: withoutQuery(url), event_types: types } });
      return { ...shownWithSecret(endpoint, secret, 201), location: `/v1/webhook_endpoints/${encodeId("whe", endpoint.id)}` };
    });
  }

  edit(call: AuditedCall, id: EndpointId | undefined, request: EditEndpoint): Promise<Executed | Replay> {
    return this.#change(call, id, async (tx, endpoint) => {
      const { url, description, event_types: eventTypes, status } = request;
      const refusal = typeof url === "string" ? refuseUrl(url, this.#parts.gate) : undefined;
      if (refusal !== undefined) return refusal;
      const edited: Endpoint = {
        ...endpoint,
        url: typeof url === "string" ? normalizedUrl(url) : endpoint.url,
        // Null means absent, so an empty text removes the description.
        description: description === "" ? null : (description ?? endpoint.description),
        eventTypes: eventTypes ?? endpoint.eventTypes,
        ...(typeof status === "string" && status !== endpoint.status ? switchedTo(status) : {}),
        updatedAtMs: this.now(),
      };
      await storeEndpoint(tx, edited);
      await this.record(tx, call, edited.id, { action: "endpoint.changed", changes: changesOf(request) });
      return shownPlain(edited);
    });
  }

  /** Replaces the secret. The old one signs beside the new one for a day; a secret before the old one stops at once. */
  rotateSecret(call: AuditedCall, id: EndpointId | undefined): Promise<Executed | Replay> {
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
      await this.record(tx, call, rotated.id, { action: "endpoint.secret_rotated" });
      return shownWithSecret(rotated, secret, 200);
    });
  }

  /** Deletes an endpoint. Returns false when it does not exist. */
  delete(call: AuditedCall, id: EndpointId): Promise<boolean> {
    return this.#parts.db.transaction(async (tx) => {
      const deleted = await deleteEndpoint(tx, call.credential, id);
      if (deleted.length > 0) await this.record(tx, call, id, { action: "endpoint.deleted" });
      return deleted.length > 0;
    });
  }

  /** Records a change of an endpoint in the audit log. */
  record(tx: Tx, { credential, origin }: AuditedCall, id: EndpointId, change: Omit<AuditedChange, "target">): Promise<void> {
    const target = { type: "webhook_endpoint", id: encodeId("whe", id) } as const;
    return recordChange(tx, this.now(), { ...credential, origin: origin() }, { ...change, target });
  }

  /** Publishes a test event for only this endpoint. */
  test(call: WriteCall, id: EndpointId | undefined): Promise<Executed | Replay> {
    return this.changeEnabled(call, id, async (tx, endpoint) => {
      const { accountId, environment } = endpoint;
      const eventId = newId("evt", this.now());
      const record = JSON.stringify(endpointRecord(endpoint));
      await publishEventTo(tx, { accountId, environment, id: eventId, type: "webhook.test", record }, endpoint.id);
      return jsonResponse({ event_id: encodeId("evt", eventId) }, 202);
    });
  }

  #newEndpoint({ credential, origin }: AuditedCall, request: NewEndpoint): { endpoint: Endpoint; secret: string } {
    const { accountId, environment } = credential;
    const nowMs = this.now();
    const id = newId("whe", nowMs);
    const secret = newSecret();
    const endpoint: Endpoint = {
      accountId,
      environment,
      id,
      url: normalizedUrl(request.url),
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
      createdBy: actorText(origin().actor),
    };
    return { endpoint, secret };
  }

  /** Changes an endpoint that is enabled. */
  changeEnabled(call: WriteCall, id: EndpointId | undefined, work: Work): Promise<Executed | Replay> {
    return this.#change(call, id, whileEnabled(work));
  }

  /** Does work for an enabled endpoint that does not change the endpoint itself. */
  doForEnabled(call: WriteCall, id: EndpointId | undefined, work: Work): Promise<Executed | Replay> {
    return this.#once.write(call, async (tx) => whileEnabled(work)(tx, found(id && (await holdEndpoint(tx, call.credential, id)))));
  }

  #change(call: WriteCall, id: EndpointId | undefined, work: Work): Promise<Executed | Replay> {
    return this.#once.write(call, async (tx) => work(tx, found(id && (await lockEndpoint(tx, call.credential, id)))));
  }

  now(): number {
    return this.#parts.clock.now();
  }
}

/** The query of a URL often has a token. */
const withoutQuery = (url: string): string => url.replace(/[?#].*$/s, "");

const changesOf = ({ url, ...rest }: EditEndpoint): Record<string, unknown> => ({
  ...(typeof url === "string" ? { url: withoutQuery(url) } : {}),
  ...rest,
});

const whileEnabled =
  (work: Work): Work =>
  async (tx, endpoint) =>
    endpoint.status === "enabled" ? work(tx, endpoint) : new Problem("endpoint_disabled");

function found(endpoint: Endpoint | undefined): Endpoint {
  if (endpoint === undefined) throw noSuchEndpoint();
  return endpoint;
}

export const shownPlain = (endpoint: Endpoint): WriteResponse => jsonResponse(endpointRecord(endpoint));

const shownWithSecret = (endpoint: Endpoint, secret: string, status: number): WriteResponse => ({
  ...jsonResponse({ ...endpointRecord(endpoint), secret }, status),
  isSecret: true,
});

/** An endpoint that is enabled again starts without failures. */
const switchedTo = (status: Endpoint["status"]): Partial<Endpoint> =>
  status === "enabled"
    ? { status, disabledReason: null, failingSinceMs: null }
    : { status, disabledReason: "requested", recoverAfter: null, recoverUntil: null };
