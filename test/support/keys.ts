/** API keys that no installation has made, and /v1/oauth/token of the test client. An OAuth client, which is an API key, creates access
 *  tokens. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { hashApiKey, newApiKey } from "../../src/access/api-key.ts";
import { ERRORS, type ErrorCode } from "../../src/http/codes.ts";
import { randomBase62, toBase62 } from "../../src/lib/base62.ts";
import { encodeId, type KeyId } from "../../src/model/id.ts";
import { assertCommonHeaders } from "./expect.ts";
import type { Godwit, KeyOptions, Reply } from "./harness.ts";
import { recordOf } from "./client.ts";

/** A key with the checksum of another installation. */
export const madeUpKey = (): string => newApiKey("test", randomBytes(32));

/** A key of the first form, whose checksum everybody can compute. */
export function keyOfFirstForm(): string {
  const text = `gw_test_${randomBase62(32)}`;
  return text + toBase62(crc32(text), 6);
}

export const TOKEN_PATH = "/v1/oauth/token";
export const FORM_TYPE = "application/x-www-form-urlencoded";

export type OAuthClient = { id: string; secret: string };

type TokenRequest = { form?: Record<string, string> | string; basic?: OAuthClient | string | undefined; headers?: Record<string, string> };

/** The OAuth client of an existing API key. */
export async function oauthClientOf(godwit: Godwit, secret: string): Promise<OAuthClient> {
  const [row] = await godwit.rows<{ key_id: KeyId }>("select key_id from api_key_hashes where hash = $1", [hashApiKey(secret)]);
  assert.ok(row !== undefined, "the key exists");
  return { id: encodeId("key", row.key_id), secret };
}

/** The OAuth client of a new API key. */
export const newOAuthClient = async (godwit: Godwit, options: KeyOptions = {}): Promise<OAuthClient> =>
  oauthClientOf(godwit, await godwit.key(options));

/** Sends a form, with `grant_type` unless the form is a text. */
export function requestToken(node: Godwit, { form = {}, basic, headers = {} }: TokenRequest): Promise<Reply> {
  const body = typeof form === "string" ? form : new URLSearchParams({ grant_type: "client_credentials", ...form }).toString();
  const authorization = typeof basic === "string" ? basic : basic && `Basic ${credentialsOf(basic)}`;
  return node.request("POST", TOKEN_PATH, {
    body,
    headers: { "content-type": FORM_TYPE, ...(authorization === undefined ? {} : { authorization }), ...headers },
  });
}

const credentialsOf = ({ id, secret }: OAuthClient): string =>
  Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64");

/** Creates an access token with all scopes of the key, or with these. */
export async function createToken(node: Godwit, client: OAuthClient, scope?: string): Promise<string> {
  const { access_token: token } = recordOf(await requestToken(node, { basic: client, form: scope === undefined ? {} : { scope } }));
  return String(token);
}

/** Asserts an error response of RFC 6749 §5.2 that also has the members of our problems. */
export function assertOAuthError(reply: Reply, error: string, code: ErrorCode): void {
  assert.equal(reply.json["error"], error, reply.text);
  assert.equal(reply.json["code"], code, reply.text);
  assert.equal(reply.status, ERRORS[code].status);
  assertCommonHeaders(reply);
  assert.equal(reply.headers.get("content-type"), "application/json; charset=utf-8");
  const { type, title, status, detail, error_description: description, request_id: requestId } = reply.json;
  assert.match(String(type), new RegExp(`/errors/${code}$`));
  assert.deepEqual([title, status, requestId], [ERRORS[code].title, reply.status, reply.headers.get("x-request-id")]);
  assert.ok(typeof detail === "string" && detail !== "" && description === detail, "detail has a text");
  // RFC 6749 §5.2 allows only these characters.
  assert.match(description, /^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/);
}
