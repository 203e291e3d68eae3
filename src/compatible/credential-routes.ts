/** The HTTP routes of the credentials of compatible APIs. */
import { pageFrom, pageOf, pageQuery } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import type { Database } from "../database/database.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Type } from "../http/schema.ts";
import { decodeId } from "../model/id.ts";
import { findOwnCredential, type CredentialChanger } from "./change-credential.ts";
import { CompatibleCredentialRecord, CompatibleCredentialWithSecret, credentialRecord, NewCredentialBody } from "./credential-record.ts";
import { listCredentials } from "./queries.ts";

const PageQuery = Type.Object({ ...pageQuery }, { additionalProperties: false });
const Params = Type.Object({ id: Type.String({ description: "The id of the credential." }) });

const TAG = "Compatible APIs";
const READ = { tag: TAG, scope: "keys:read", isIdempotent: false } as const;
const WRITE = { tag: TAG, scope: "keys:write" } as const;

export const compatibleCredentialRoutes = (db: Database, changer: CredentialChanger): Route[] => [
  route({
    ...WRITE,
    isIdempotent: true,
    method: "POST",
    path: "/v1/compatible_credentials",
    operationId: "createCompatibleCredential",
    summary: "Create a credential of a compatible API",
    description:
      "Creates a user name and a password with which a client of another product can send through this environment. The response contains the password, and only this response does: store it. Send an `Idempotency-Key`: a repeated request with the same key returns the same response for 24 hours. See [Move from Kannel](/docs/migrate-from-kannel).",
    body: NewCredentialBody,
    reply: { status: 201, description: "The credential was created.", schema: CompatibleCredentialWithSecret, hasLocation: true },
    problems: ["key_outlives_credential", "already_exists", "endpoint_url_refused", "too_many_endpoints"],
    handle: async (call) => toResponse(await changer.create(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/compatible_credentials",
    operationId: "listCompatibleCredentials",
    summary: "List credentials of compatible APIs",
    description:
      "Returns the credentials of compatible APIs in this environment, newest first, including revoked ones. Their passwords are not shown. See [Move from Kannel](/docs/migrate-from-kannel).",
    query: PageQuery,
    reply: {
      status: 200,
      description: "A page of credentials.",
      schema: pageOf("CompatibleCredentialPage", CompatibleCredentialRecord),
    },
    problems: [],
    handle: async ({ query, credential }) =>
      jsonResponse(await pageFrom(query, (before, limit) => listCredentials(db, credential, before, limit), credentialRecord)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/compatible_credentials/{id}",
    operationId: "getCompatibleCredential",
    summary: "Retrieve a credential of a compatible API",
    description:
      "Returns a credential: its user name, its settings and its last use. The password is not shown. See [Move from Kannel](/docs/migrate-from-kannel).",
    params: Params,
    reply: { status: 200, description: "The credential.", schema: CompatibleCredentialRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) =>
      jsonResponse(credentialRecord(await findOwnCredential(db, credential, decodeId("key", params.id)))),
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "DELETE",
    path: "/v1/compatible_credentials/{id}",
    operationId: "revokeCompatibleCredential",
    summary: "Revoke a credential of a compatible API",
    description:
      "Revokes a credential: within a second it stops working, and its client gets no more inbound messages. The outcomes of messages that it has sent are still reported. Revoking it again changes nothing. See [Move from Kannel](/docs/migrate-from-kannel).",
    params: Params,
    reply: { status: 200, description: "The revoked credential.", schema: CompatibleCredentialRecord },
    problems: ["not_found"],
    handle: async (call) => jsonResponse(credentialRecord(await changer.revoke(call, decodeId("key", call.params.id)))),
  }),
];
