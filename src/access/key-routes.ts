/** The HTTP routes of API keys and of the caller's own credential. */
import { pageOf, pageQuery, pageFrom } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Type } from "../http/schema.ts";
import { decodeId } from "../model/id.ts";
import type { Database } from "../database/database.ts";
import { findOwnKey, type KeyChanger } from "./change-key.ts";
import { CredentialRecord, readCredential } from "./credential.ts";
import { checkNewKey, KeyRecord, keyRecord, KeyWithSecret, NewKeyBody, RotateKeyBody } from "./key-record.ts";
import { listKeysOf } from "./queries.ts";

const PageQuery = Type.Object({ ...pageQuery }, { additionalProperties: false });
const KeyParams = Type.Object({ id: Type.String({ description: "The id of the key." }) });

const READ = { tag: "Keys and tokens", scope: "keys:read", isIdempotent: false } as const;
const WRITE = { tag: "Keys and tokens", scope: "keys:write", isIdempotent: true } as const;

export const keyRoutes = (db: Database, changer: KeyChanger): Route[] => [
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/keys",
    operationId: "createKey",
    summary: "Create an API key",
    description:
      "Creates an API key for this environment. A credential can grant only scopes that it has itself. The response contains the key, and only this response does: store it. Send an `Idempotency-Key`: a repeated request with the same key returns the same response for 24 hours. See [Create a key](/docs/access#create-a-key).",
    body: NewKeyBody,
    check: checkNewKey,
    reply: { status: 201, description: "The key was created.", schema: KeyWithSecret, hasLocation: true },
    problems: ["key_outlives_credential", "too_many_keys"],
    handle: async (call) => toResponse(await changer.create(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/keys",
    operationId: "listKeys",
    summary: "List API keys",
    description:
      "Returns the keys of this environment, newest first, including revoked and expired ones. The keys themselves are not shown. See [Authentication and API keys](/docs/access).",
    query: PageQuery,
    reply: { status: 200, description: "A page of keys.", schema: pageOf("KeyPage", KeyRecord) },
    problems: [],
    handle: async ({ query, credential }) =>
      jsonResponse(await pageFrom(query, (before, limit) => listKeysOf(db, credential, before, limit), keyRecord)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/keys/{id}",
    operationId: "getKey",
    summary: "Retrieve an API key",
    description:
      "Returns the record of a key: its scopes, its expiry and its last use. The key itself is not shown. See [Authentication and API keys](/docs/access).",
    params: KeyParams,
    reply: { status: 200, description: "The key.", schema: KeyRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => jsonResponse(keyRecord(await findOwnKey(db, credential, decodeId("key", params.id)))),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/keys/{id}/rotate",
    operationId: "rotateKey",
    summary: "Rotate an API key",
    description:
      "Creates a new key with the scopes, the name and the expiry of the old one, which stays valid for the overlap. Only this response contains the new key. Send an `Idempotency-Key`, so that a repeated request returns the same key. See [Rotate a key without downtime](/docs/access#rotate-a-key-without-downtime).",
    params: KeyParams,
    body: RotateKeyBody,
    reply: { status: 201, description: "The new key.", schema: KeyWithSecret, hasLocation: true },
    problems: ["not_found", "key_outlives_credential", "key_not_active", "too_many_keys"],
    handle: async (call) => toResponse(await changer.rotate(call, decodeId("key", call.params.id), call.body)),
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "DELETE",
    path: "/v1/keys/{id}",
    operationId: "revokeKey",
    summary: "Revoke an API key",
    description:
      "Revokes a key: within a second it stops working, together with every access token that was created with it. Its record stays in the list. Revoking it again changes nothing. See [Revoke a key](/docs/access#revoke-a-key).",
    params: KeyParams,
    reply: { status: 200, description: "The revoked key.", schema: KeyRecord },
    problems: ["not_found"],
    handle: async (call) => jsonResponse(keyRecord(await changer.revoke(call, decodeId("key", call.params.id)))),
  }),
  route({
    ...READ,
    scope: null,
    method: "GET",
    path: "/v1/credential",
    operationId: "getCredential",
    summary: "Retrieve the current credential",
    description:
      "Returns the API key or access token of this request: its account, environment, scopes, tier and expiry. Use it to check a credential or to show which environment it belongs to. See [Authentication and API keys](/docs/access).",
    reply: { status: 200, description: "The credential.", schema: CredentialRecord },
    problems: [],
    handle: async ({ credential }) => jsonResponse(await readCredential(db, credential)),
  }),
];
