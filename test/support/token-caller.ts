/** A client that buys access tokens, and what the answers to it must have. */
import assert from "node:assert/strict";
import { hashApiKey } from "../../src/access/api-key.ts";
import { ERRORS, type ErrorCode } from "../../src/http/codes.ts";
import { encodeId, type KeyId } from "../../src/lib/id.ts";
import { assertCommonHeaders } from "./expect.ts";
import type { Godwit, KeyOptions, Reply } from "./harness.ts";

export const TOKEN_PATH = "/v1/oauth/token";
export const FORM_TYPE = "application/x-www-form-urlencoded";

export type Client = { id: string; secret: string };

/** The client that a key is. */
export async function clientOf(godwit: Godwit, secret: string): Promise<Client> {
  const [row] = await godwit.rows<{ key_id: KeyId }>("select key_id from api_key_hashes where hash = $1", [hashApiKey(secret)]);
  assert.ok(row !== undefined, "the key is there");
  return { id: encodeId("key", row.key_id), secret };
}

export const newClient = async (godwit: Godwit, options: KeyOptions = {}): Promise<Client> => clientOf(godwit, await godwit.key(options));

type Asked = { form?: Record<string, string> | string; basic?: Client | string | undefined; headers?: Record<string, string> };

const encoded = ({ id, secret }: Client): string =>
  Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64");

/** The form as it is given, with `grant_type` unless it is a text. */
export function askToken(node: Godwit, { form = {}, basic, headers = {} }: Asked): Promise<Reply> {
  const body = typeof form === "string" ? form : new URLSearchParams({ grant_type: "client_credentials", ...form }).toString();
  const authorization = typeof basic === "string" ? basic : basic && `Basic ${encoded(basic)}`;
  return node.request("POST", TOKEN_PATH, {
    body,
    headers: { "content-type": FORM_TYPE, ...(authorization === undefined ? {} : { authorization }), ...headers },
  });
}

/** The token, of all that the key has or of these scopes. */
export async function buy(node: Godwit, client: Client, scope?: string): Promise<string> {
  const reply = await askToken(node, { basic: client, form: scope === undefined ? {} : { scope } });
  assert.equal(reply.status, 200, reply.text);
  return String(reply.json["access_token"]);
}

/** RFC 6749 §5.2, with our members beside its own. */
export function assertOAuthError(reply: Reply, error: string, code: ErrorCode): void {
  assert.equal(reply.json["error"], error, reply.text);
  assert.equal(reply.json["code"], code, reply.text);
  assert.equal(reply.status, ERRORS[code].status);
  assertCommonHeaders(reply);
  assert.equal(reply.headers.get("content-type"), "application/json; charset=utf-8");
  const { type, title, status, detail, error_description: description, request_id: requestId } = reply.json;
  assert.match(String(type), new RegExp(`/errors/${code}$`));
  assert.deepEqual([title, status, requestId], [ERRORS[code].title, reply.status, reply.headers.get("x-request-id")]);
  assert.ok(typeof detail === "string" && detail !== "" && description === detail, "detail says something");
  // RFC 6749 §5.2: these characters alone.
  assert.match(description, /^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/);
}
