/** The HTTP routes of API keys and of the caller's own credential. */
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { Type } from "../http/schema.ts";
import { decodeId } from "../lib/id.ts";
import type { Database } from "../storage/database.ts";
import { findOwnKey, type KeyChanger } from "./change-key.ts";
import { CredentialRecord, readCredential } from "./credential.ts";
import { checkNewKey, KeyRecord, keyRecord, KeyWithSecret, NewKeyBody, RotateKeyBody } from "./key-record.ts";
import { listKeysOf } from "./queries.ts";

const PageQuery = Type.Object({ ...pageQuery }, { additionalProperties: false });
const KeyParams = Type.Object({ id: Type.String({ description: "The key's id." }) });

const READ = { tag: "Keys", scope: "keys:read", isIdempotent: false } as const;
const WRITE = { tag: "Keys", scope: "keys:write", isIdempotent: true } as const;

export const keyRoutes = (db: Database, changer: KeyChanger): Route[] => [
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/keys",
    summary: "Create a key",
    description:
      "A key for this environment, with scopes that the credential has itself. The answer shows it, this once; a repetition with the same idempotency key shows it again within 24 hours.",
    body: NewKeyBody,
    check: checkNewKey,
    reply: { status: 201, description: "Created.", schema: KeyWithSecret, hasLocation: true },
    problems: ["too_many_keys"],
    handle: async (call) => toResponse(await changer.create(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/keys",
    summary: "List keys",
    description: "The keys of this environment, newest first, also those that are revoked or have expired.",
    query: PageQuery,
    reply: { status: 200, description: "A page of keys.", schema: pageOf("KeyPage", KeyRecord) },
    problems: [],
    handle: async ({ query, credential }) => {
      const limit = query.limit ?? DEFAULT_LIMIT;
      const found = await listKeysOf(db, credential, idRange(query).before, limit + 1);
      const page = found.slice(0, limit);
      return { status: 200, body: JSON.stringify(toPage(page.map(keyRecord), found.length > limit ? (page.at(-1)?.id ?? null) : null)) };
    },
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/keys/{id}",
    summary: "Read a key",
    description: "The key as it is now, without its secret.",
    params: KeyParams,
    reply: { status: 200, description: "The key.", schema: KeyRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => ({
      status: 200,
      body: JSON.stringify(keyRecord(await findOwnKey(db, credential, decodeId("key", params.id)))),
    }),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/keys/{id}/rotate",
    summary: "Rotate a key",
    description:
      "A new key with the scopes, the name and the end of the old one, which goes on working for the overlap. The answer shows the new key, this once.",
    params: KeyParams,
    body: RotateKeyBody,
    reply: { status: 201, description: "The new key.", schema: KeyWithSecret, hasLocation: true },
    problems: ["not_found", "key_not_active", "too_many_keys"],
    handle: async (call) => toResponse(await changer.rotate(call, decodeId("key", call.params.id), call.body)),
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "DELETE",
    path: "/v1/keys/{id}",
    summary: "Revoke a key",
    description: "It stops working within a second, and with it every access token that it bought. It stays in the list.",
    params: KeyParams,
    reply: { status: 200, description: "The key, revoked.", schema: KeyRecord },
    problems: ["not_found"],
    handle: async (call) => ({
      status: 200,
      body: JSON.stringify(keyRecord(await changer.revoke(call, decodeId("key", call.params.id)))),
    }),
  }),
  route({
    ...READ,
    scope: null,
    method: "GET",
    path: "/v1/credential",
    summary: "Read the credential that asks",
    description: "What the API key or access token of this very request is: whose it is, what it may do, how often, and until when.",
    reply: { status: 200, description: "The credential.", schema: CredentialRecord },
    problems: [],
    handle: async ({ credential }) => ({ status: 200, body: JSON.stringify(await readCredential(db, credential)) }),
  }),
];
