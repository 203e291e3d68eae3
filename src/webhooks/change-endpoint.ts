/** The operations of clients on their endpoints. Each write is one transaction with its idempotency key and its stored response. A
 *  response that shows a secret is stored sealed. */
import { withoutQuery } from "../lib/urls.ts";
import type { Credential } from "../access/authenticate.ts";
import type { AuditedChange } from "../audit/audit-event.ts";
import { recordChange } from "../audit/record-change.ts";
import { publishEventTo } from "../events/publish.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Problem } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { Once, type AuditedCall, type Executed, type Replay, type WriteResponse, type WriteCall } from "../idempotency/once.ts";
import { decodeId, encodeId, newId, type DeliveryId, type EndpointId } from "../model/id.ts";
import { actorText } from "../model/origin.ts";
import { firstUuidAt } from "../lib/uuid.ts";
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
import { deliveryRecord } from "./delivery-record.ts";
import { MAX_ENDPOINTS_EACH, newEndpoint, secretContext, endpointRecord, statusChange, type Endpoint } from "./endpoint.ts";
import { normalizedUrl, refuseUrl, type EditEndpoint, type NewEndpoint } from "./new-endpoint.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { queueAgain } from "./queries.ts";
import { newSecret } from "./signature.ts";

/** How long deliveries are signed with the old and the new secret after a rotation. */
const OVERLAP_MS = 24 * 3_600_000;

export const EndpointParams = Type.Object({ id: Type.String({ description: "The id of the endpoint." }) });

/** Finds the endpoint that a request names, in the environment of its credential. */
export async function findOwnEndpoint(db: Database, credential: Credential, text: string): Promise<Endpoint> {
  const id = decodeId("whe", text);
  return found(id && (await findEndpoint(db, credential, id)));
}

const noSuchEndpoint = (): Problem => new Problem("not_found", { detail: "no such endpoint in this environment" });

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
      await this.#record(tx, call, endpoint.id, { action: "endpoint.created", changes: { url: withoutQuery(url), event_types: types } });
      return { ...shownWithSecret(endpoint, secret, 201), location: `/v1/webhook_endpoints/${encodeId("whe", endpoint.id)}` };
    });
  }

  edit(call: AuditedCall, id: EndpointId | undefined, request: EditEndpoint): Promise<Executed | Replay> {
    return this.#write(call, id, lockEndpoint, async (tx, endpoint) => {
      const { url, description, event_types: eventTypes, status } = request;
      if (endpoint.source !== null && (typeof url === "string" || eventTypes))
        throw fixedByCredential(typeof url === "string" ? "url" : "event_types");
      const refusal = typeof url === "string" ? refuseUrl(url, this.#parts.gate) : undefined;
      if (refusal !== undefined) return refusal;
      const edited: Endpoint = {
        ...endpoint,
        url: typeof url === "string" ? normalizedUrl(url) : endpoint.url,
        // Null means absent, so an empty text removes the description.
        description: description === "" ? null : (description ?? endpoint.description),
        eventTypes: eventTypes ?? endpoint.eventTypes,
        ...(typeof status === "string" && status !== endpoint.status ? statusChange(status, "requested") : {}),
        updatedAtMs: this.#parts.clock.now(),
      };
      await storeEndpoint(tx, edited);
      await this.#record(tx, call, edited.id, { action: "endpoint.changed", changes: changesOf(request) });
      return jsonResponse(endpointRecord(edited));
    });
  }

  /** Replaces the secret. The old one signs beside the new one for a day; a secret before the old one stops at once. */
  rotateSecret(call: AuditedCall, id: EndpointId | undefined): Promise<Executed | Replay> {
    return this.#write(call, id, lockEndpoint, async (tx, endpoint) => {
      const secret = newSecret();
      const nowMs = this.#parts.clock.now();
      const rotated: Endpoint = {
        ...endpoint,
        secret: this.#parts.box.seal(secret, secretContext(endpoint)),
        previousSecret: endpoint.secret,
        previousSecretUntilMs: nowMs + OVERLAP_MS,
        updatedAtMs: nowMs,
      };
      await storeEndpoint(tx, rotated);
      await this.#record(tx, call, rotated.id, { action: "endpoint.secret_rotated" });
      return shownWithSecret(rotated, secret, 200);
    });
  }

  async delete(call: AuditedCall, id: EndpointId | undefined): Promise<void> {
    await this.#parts.db.transaction(async (tx) => {
      const deleted = id === undefined ? [] : await deleteEndpoint(tx, call.credential, id);
      if (id === undefined || deleted.length === 0) throw noSuchEndpoint();
      await this.#record(tx, call, id, { action: "endpoint.deleted" });
    });
  }

  /** Publishes a test event for only this endpoint. */
  test(call: WriteCall, id: EndpointId | undefined): Promise<Executed | Replay> {
    const publish: Work = async (tx, endpoint) => {
      const { accountId, environment } = endpoint;
      const eventId = newId("evt", this.#parts.clock.now());
      const record = JSON.stringify(endpointRecord(endpoint));
      await publishEventTo(tx, { accountId, environment, id: eventId, type: "webhook.test", record }, endpoint.id);
      return jsonResponse({ event_id: encodeId("evt", eventId) }, 202);
    };
    return this.#write(call, id, lockEndpoint, whileEnabled(publish));
  }

  /** Queues a delivery for another attempt now, whatever its status. */
  retry(call: WriteCall, id: EndpointId | undefined, delivery: DeliveryId | undefined): Promise<Executed | Replay> {
    const queue: Work = async (tx, endpoint) => {
      const [queued] = delivery === undefined ? [] : await queueAgain(tx, endpoint, delivery, this.#parts.clock.now());
      if (queued === undefined) throw new Problem("not_found", { detail: "no such delivery of this endpoint" });
      return jsonResponse(deliveryRecord(queued), 202);
    };
    return this.#write(call, id, holdEndpoint, whileEnabled(queue));
  }

  /** Begins a recovery; `recoverStep` then goes through the events page by page. A recovery that is under way starts again from `sinceMs`. */
  recover(call: AuditedCall, id: EndpointId | undefined, sinceMs: number): Promise<Executed | Replay> {
    const begin: Work = async (tx, endpoint) => {
      const nowMs = this.#parts.clock.now();
      const recovering: Endpoint = {
        ...endpoint,
        recoverAfter: firstUuidAt(Math.max(0, Math.min(sinceMs, nowMs))),
        recoverUntil: firstUuidAt(nowMs + 1),
        updatedAtMs: nowMs,
      };
      await storeEndpoint(tx, recovering);
      await this.#record(tx, call, endpoint.id, { action: "endpoint.recovered", changes: { since: new Date(sinceMs).toISOString() } });
      return jsonResponse(endpointRecord(recovering), 202);
    };
    return this.#write(call, id, lockEndpoint, whileEnabled(begin));
  }

  /** Records a change of an endpoint in the audit log. */
  #record(tx: Tx, { credential, origin }: AuditedCall, id: EndpointId, change: Omit<AuditedChange, "target">): Promise<void> {
    const target = { type: "webhook_endpoint", id: encodeId("whe", id) } as const;
    return recordChange(tx, this.#parts.clock.now(), { ...credential, origin: origin() }, { ...change, target });
  }

  #newEndpoint({ credential, origin }: AuditedCall, request: NewEndpoint): { endpoint: Endpoint; secret: string } {
    const { accountId, environment } = credential;
    const nowMs = this.#parts.clock.now();
    const id = newId("whe", nowMs);
    const secret = newSecret();
    const endpoint = newEndpoint({
      accountId,
      environment,
      id,
      source: null,
      url: normalizedUrl(request.url),
      description: request.description || null,
      eventTypes: request.event_types ?? ["*"],
      secret: this.#parts.box.seal(secret, secretContext({ id })),
      updatedAtMs: nowMs,
      createdBy: actorText(origin().actor),
    });
    return { endpoint, secret };
  }

  #write(call: WriteCall, id: EndpointId | undefined, lock: typeof lockEndpoint, work: Work): Promise<Executed | Replay> {
    return this.#once.write(call, async (tx) => work(tx, found(id && (await lock(tx, call.credential, id)))));
  }
}

const changesOf = ({ url, ...rest }: EditEndpoint): Record<string, unknown> => ({
  ...(typeof url === "string" ? { url: withoutQuery(url) } : {}),
  ...rest,
});

const fixedByCredential = (field: string): Problem =>
  new Problem("invalid_request_payload", {
    errors: [
      { pointer: `/${field}`, code: "conflict", detail: "is set by the credential of a compatible API that the endpoint belongs to" },
    ],
  });

const whileEnabled =
  (work: Work): Work =>
  async (tx, endpoint) =>
    endpoint.status === "enabled"
      ? work(tx, endpoint)
      : new Problem("endpoint_disabled", { detail: "the endpoint is disabled: enable it with PATCH and status enabled first" });

function found(endpoint: Endpoint | undefined): Endpoint {
  if (endpoint === undefined) throw noSuchEndpoint();
  return endpoint;
}

const shownWithSecret = (endpoint: Endpoint, secret: string, status: number): WriteResponse => ({
  ...jsonResponse({ ...endpointRecord(endpoint), secret }, status),
  isSecret: true,
});
