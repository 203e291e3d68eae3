/** Creates and revokes the credentials of compatible APIs. A credential comes with the endpoint of the outbox through which the callbacks to its client
 *  go, and both have the same UUID. */
import { insufficientScope, type Credential } from "../access/authenticate.ts";
import type { Scope } from "../access/scope.ts";
import type { AuditedChange } from "../audit/audit-event.ts";
import { recordChange } from "../audit/record-change.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import { areEarlierReleasesGone } from "../database/stored-record.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Problem, unavailable } from "../http/problem.ts";
import { Once, type AuditedCall, type Executed, type Replay } from "../idempotency/once.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { withoutQuery } from "../lib/urls.ts";
import type { MessageSource } from "../messages/message.ts";
import { encodeId, newId, NO_ID, toId, type KeyId } from "../model/id.ts";
import { actorText, type ChangeOrigin } from "../model/origin.ts";
import type { Owner } from "../model/owner.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { refuseUrl } from "../webhooks/new-endpoint.ts";
import { createOwnedEndpoint, endInbound } from "../webhooks/owned-endpoints.ts";
import { credentialContext, macOf, type CompatibleAuthenticator } from "./authenticate.ts";
import type { ChosenCredential, CompatibleApi } from "./compatible-api.ts";
import { credentialRecord, type NewCredential } from "./credential-record.ts";
import { findCompatible, insertCredential, listSealedCredentials, revokeCredential, storeSecret, type CompatibleRow } from "./queries.ts";

export type CredentialChangerParts = {
  db: Database;
  clock: Clock;
  box: SecretBox;
  gate: AddressGate;
  apis: readonly CompatibleApi[];
  /** Undefined in a process without the API. */
  authenticator?: Pick<CompatibleAuthenticator, "forget"> | undefined;
};

type CredentialCall = AuditedCall & { credential: Credential };

/** Only this result contains the secret in the clear. */
type CreatedCredential = { secret: string; row: CompatibleRow };

// An upgrade of all nodes takes minutes.
const UPGRADE_SECONDS = 30;

export class CredentialChanger {
  readonly #parts: CredentialChangerParts;
  readonly #once: Once;

  constructor(parts: CredentialChangerParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock, parts.box);
  }

  async create(call: CredentialCall, request: NewCredential): Promise<Executed | Replay> {
    // A node of an earlier release would call the endpoint in its own form.
    if (!areEarlierReleasesGone())
      throw unavailable("nodes of an earlier release are running, which have no compatible APIs", UPGRADE_SECONDS);
    const { credential, origin } = call;
    const scopes = request.scopes ?? this.#apiOf(request.source).defaultScopes(request.settings ?? {});
    requireScopes(credential, scopes);
    // A credential without an expiry would outlive its creator.
    if (credential.expiresAtMs !== null)
      throw new Problem("key_outlives_credential", {
        detail: "only a key that does not expire can create a credential, which does not expire",
      });
    try {
      return await this.#once.write(call, async (tx) => {
        const created = await this.createIn(tx, credential, { ...request, scopes }, origin());
        if (created instanceof Problem) return created;
        return {
          ...jsonResponse({ secret: created.secret, ...credentialRecord(created.row) }, 201),
          location: `/v1/compatible_credentials/${encodeId("key", created.row.id)}`,
          isSecret: true,
        };
      });
    } finally {
      this.#parts.authenticator?.forget();
    }
  }

  async createIn(
    tx: Tx,
    { accountId, environment }: Owner,
    { source, scopes, ...request }: Omit<NewCredential, "scopes"> & { scopes: readonly Scope[] },
    origin: ChangeOrigin,
  ): Promise<CreatedCredential | Problem> {
    const { clock, box, gate } = this.#parts;
    const api = this.#apiOf(source);
    const chosen: ChosenCredential = {
      userName: request.user_name ?? null,
      secret: request.secret ?? null,
      settings: request.settings ?? {},
      scopes,
    };
    const errors = api.check(chosen);
    if (errors.length > 0) throw new Problem("invalid_request_payload", { errors });
    for (const url of api.urls(chosen.settings)) {
      const refusal = refuseUrl(url, gate);
      if (refusal !== undefined) return refusal;
    }
    const owner = { accountId, environment };
    const nowMs = clock.now();
    const id = newId("key", nowMs);
    const prepared = api.prepare(chosen, { ...owner, id }, macOf(box, source));
    const createdBy = actorText(origin.actor);
    const [row] = await insertCredential(tx, {
      account_id: accountId,
      environment,
      id,
      source: api.source,
      user_name: prepared.userName,
      secret: box.seal(prepared.secret, credentialContext({ id })),
      scopes: [...scopes],
      settings: prepared.settings,
      revoked_at: null,
      last_used_at: null,
      created_by: createdBy,
    });
    if (row === undefined)
      return new Problem("already_exists", {
        errors: [{ pointer: "/user_name", code: "taken", detail: "another credential has this user name" }],
      });
    const refusal = await createOwnedEndpoint(tx, box, owner, id, {
      source: api.source,
      url: prepared.callbacks.url,
      description: `${api.title}: ${prepared.userName}`,
      eventTypes: prepared.callbacks.eventTypes,
      updatedAtMs: nowMs,
      createdBy,
    });
    // Rolls back: the credential has been inserted.
    if (refusal !== undefined) throw refusal;
    const changes = { source: api.source, user_name: row.user_name, scopes: row.scopes, url: withoutQuery(prepared.callbacks.url) || null };
    await this.#record(tx, { ...owner, id, origin }, { action: "compatible_credential.created", changes });
    return { secret: prepared.secret, row };
  }

  /** Revokes a credential. A second revocation changes nothing. */
  async revoke({ credential, origin }: CredentialCall, id: KeyId | undefined): Promise<CompatibleRow> {
    try {
      return await this.#parts.db.transaction((tx) => this.revokeIn(tx, credential, id, origin()));
    } finally {
      // After a failure as well, since the commit may have succeeded.
      this.#parts.authenticator?.forget();
    }
  }

  async revokeIn(tx: Tx, { accountId, environment }: Owner, id: KeyId | undefined, origin: ChangeOrigin): Promise<CompatibleRow> {
    const owner = { accountId, environment };
    if (id === undefined) throw noSuchCredential();
    const [revoked] = await revokeCredential(tx, owner, id);
    if (revoked === undefined) return findOwnCredential(tx, owner, id);
    await endInbound(tx, owner, id, this.#parts.clock.now());
    await this.#record(tx, { ...owner, id, origin }, { action: "compatible_credential.revoked" });
    return revoked;
  }

  #apiOf(source: MessageSource): CompatibleApi {
    const api = this.#parts.apis.find((each) => each.source === source);
    if (api === undefined)
      throw new Problem("invalid_request_payload", {
        errors: [{ pointer: "/source", code: "unknown_value", detail: "this service has no such API" }],
      });
    return api;
  }

  #record(tx: Tx, { id, ...owner }: Owner & { id: KeyId; origin: ChangeOrigin }, change: Omit<AuditedChange, "target">): Promise<void> {
    const target = { type: "compatible_credential", id: encodeId("key", id) } as const;
    return recordChange(tx, this.#parts.clock.now(), owner, { ...change, target });
  }
}

export async function findOwnCredential(db: Queryable, owner: Owner, id: KeyId | undefined): Promise<CompatibleRow> {
  const found = id === undefined ? undefined : await findCompatible(db, owner, id);
  if (found === undefined) throw noSuchCredential();
  return found;
}

const noSuchCredential = (): Problem => new Problem("not_found", { detail: "no such credential in this environment" });

function requireScopes({ scopes }: Credential, wanted: readonly Scope[]): void {
  const missing = wanted.filter((scope) => !scopes.has(scope));
  if (missing.length > 0)
    throw insufficientScope(missing, `a credential can grant only scopes that it has: this one lacks ${missing.join(", ")}`);
}

const PAGE = 500;

/** Seals the secrets of all credentials with the current secret key, after it has changed, and renews the user names that depend on it. */
export async function resealCredentials(tx: Tx, box: SecretBox, apis: readonly CompatibleApi[]): Promise<void> {
  for (let after: KeyId = toId("key", NO_ID); ;) {
    const page = await listSealedCredentials(tx, after, PAGE);
    for (const { id, source, user_name: name, settings, secret } of page) {
      const context = credentialContext({ id });
      const resealed = box.reseal(secret, context);
      const { nameOfSecret } = apis.find((api) => api.source === source) ?? {};
      const renewed = resealed && nameOfSecret?.(box.open(resealed, context), settings, macOf(box, source));
      await storeSecret(tx, id, resealed ?? secret, renewed ?? name);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}
