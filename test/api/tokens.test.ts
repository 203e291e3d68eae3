/** POST /v1/oauth/token: the access tokens that an API key can create, their form for any JWT library, and the error responses. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { SCOPES } from "../../src/access/scope.ts";
import {
  assertOAuthError,
  createToken,
  FORM_TYPE,
  newOAuthClient,
  oauthClientOf,
  requestToken,
  TOKEN_PATH,
  madeUpKey,
  type OAuthClient,
} from "../support/keys.ts";
import { assertCommonHeaders, assertProblem, exchange, faultsOf, until, KEY_SET_CACHE } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { withoutDatabase } from "../support/outage.ts";

const HOUR_SECONDS = 3_600;
const BASIC_CHALLENGE = 'Basic realm="godwit", charset="UTF-8"';

let godwit: Godwit;
let client: OAuthClient;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  client = await newOAuthClient(godwit);
});
after(() => godwit.stop());

const inForm = ({ id, secret }: OAuthClient, more: Record<string, string> = {}): Record<string, string> => ({
  client_id: id,
  client_secret: secret,
  ...more,
});

function assertNoClient(reply: Reply, code: "unauthorized_invalid_token" | "unauthorized_missing_token"): void {
  assertOAuthError(reply, "invalid_client", code);
  assert.equal(reply.headers.get("www-authenticate"), BASIC_CHALLENGE);
  assert.equal(reply.headers.get("ratelimit"), null, "no quota is charged");
}

describe("a key gets a token", () => {
  const METHODS: Readonly<Record<string, (who: OAuthClient) => Promise<Reply>>> = {
    "by HTTP Basic": (who) => requestToken(godwit, { basic: who }),
    "by the form": (who) => requestToken(godwit, { form: inForm(who) }),
    "by HTTP Basic with every character percent-encoded": ({ id, secret }) => {
      const all = (text: string): string => text.replaceAll(/./g, (each) => `%${each.charCodeAt(0).toString(16)}`);
      return requestToken(godwit, { basic: `Basic ${Buffer.from(`${all(id)}:${all(secret)}`).toString("base64")}` });
    },
    "with unknown parameters": (who) =>
      requestToken(godwit, { basic: who, form: { resource: "https://example.com", audience: "x", foo: "" } }),
    "with an Idempotency-Key, which is ignored": (who) =>
      requestToken(godwit, { basic: who, headers: { "idempotency-key": "not a uuid" } }),
  };
  for (const [method, ask] of Object.entries(METHODS)) {
    test(method, async () => {
      const reply = await ask(client);
      assert.equal(reply.status, 200, reply.text);
      assertCommonHeaders(reply);
      assert.equal(reply.headers.get("content-type"), "application/json; charset=utf-8");
      assert.equal(reply.headers.get("pragma"), "no-cache");
      const { access_token: token, ...rest } = reply.json;
      assert.deepEqual(rest, { token_type: "Bearer", expires_in: HOUR_SECONDS, scope: SCOPES.join(" ") });
      assert.equal((await godwit.request("GET", "/v1/messages", { key: String(token) })).status, 200);
    });
  }

  test("that differs each time, although the request is the same", async () => {
    const idempotencyKey = randomUUID();
    const ask = () => requestToken(godwit, { basic: client, headers: { "idempotency-key": idempotencyKey } });
    const [one, two] = [await ask(), await ask()];
    assert.notEqual(one.json["access_token"], two.json["access_token"]);
    assert.equal(two.headers.get("idempotent-replayed"), null);
    assert.deepEqual(await godwit.rows("select from idempotency_keys where key = $1", [idempotencyKey]), [], "no token is stored");
  });

  test("which counts as a use of the key", async () => {
    const fresh = await newOAuthClient(godwit);
    const lastUsed = async (): Promise<unknown> =>
      (await godwit.request("GET", `/v1/keys/${fresh.id}`, { key: client.secret })).json["last_used_at"] ?? undefined;
    assert.equal(await lastUsed(), undefined);
    await createToken(godwit, fresh);
    await until("last_used_at is set", lastUsed);
  });

  test("without leaving the key or the token in a log or a table", async () => {
    const fresh = await newOAuthClient(godwit);
    const token = await createToken(godwit, fresh);
    await requestToken(godwit, { basic: { ...fresh, id: client.id } });
    await godwit.request("GET", "/v1/messages", { key: token });
    const said = JSON.stringify([godwit.logs, godwit.output]);
    const tables = await godwit.rows<{ name: string }>(
      "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    );
    const rows = await Promise.all(tables.map(({ name }) => godwit.rows<{ text: string }>(`select t::text as text from ${name} t`)));
    const kept = JSON.stringify(rows);
    assert.ok(kept.includes("sealed:") && kept.includes(fresh.secret.slice(0, 12)), "all tables are read");
    const [, payload = "", signature = ""] = token.split(".");
    for (const form of [fresh.secret, fresh.secret.slice(12), payload, signature])
      assert.ok(!said.includes(form) && !kept.includes(form), "a secret is readable");
  });
});

describe("the token, for a standard verifier", () => {
  test("is an RFC 9068 JWT, signed by a key of the published set", async () => {
    const began = Math.floor(Date.now() / 1_000) - 1;
    const token = await createToken(godwit, client, "messages:read messages:send");
    const issuer = `urn:godwit:${(await installation(godwit)).id}`;
    const jwks = createRemoteJWKSet(new URL(`${godwit.url}/.well-known/jwks.json`));
    const { payload, protectedHeader } = await jwtVerify(token, jwks, {
      issuer,
      audience: issuer,
      typ: "at+jwt",
      subject: client.id,
      maxTokenAge: "1 minute",
      algorithms: ["EdDSA"],
      requiredClaims: ["iss", "exp", "aud", "sub", "client_id", "iat", "jti"],
    });
    assert.deepEqual(Object.keys(protectedHeader).toSorted(), ["alg", "kid", "typ"]);
    const { iat = 0, exp = 0, jti, account_id: account, ...rest } = payload;
    assert.deepEqual(rest, {
      client_id: client.id,
      scope: "messages:read messages:send",
      environment: "test",
      iss: issuer,
      aud: issuer,
      sub: client.id,
    });
    assert.ok(iat >= began && iat <= began + 10);
    assert.equal(exp - iat, HOUR_SECONDS);
    assert.match(String(jti), /^[0-9a-f-]{36}$/);
    assert.match(String(account), /^acct_/);
  });

  test("has a unique id, and belongs to live for a live key", async () => {
    const live = await newOAuthClient(godwit, { environment: "live" });
    const tokens = await Promise.all(Array.from({ length: 20 }, () => createToken(godwit, live)));
    assert.equal(new Set(tokens.map((token) => decodeJwt(token).jti)).size, 20);
    for (const token of tokens) assert.equal(decodeJwt(token)["environment"], "live");
  });

  test("can be verified with the published set, which has only public parts", async () => {
    const reply = await godwit.request("GET", "/.well-known/jwks.json");
    assertCommonHeaders(reply, KEY_SET_CACHE);
    assert.equal(reply.status, 200);
    const keys = reply.json["keys"] as Record<string, unknown>[];
    assert.ok(keys.length >= 1);
    for (const key of keys) {
      assert.deepEqual(Object.keys(key).toSorted(), ["alg", "crv", "kid", "kty", "use", "x"]);
      assert.deepEqual([key["kty"], key["crv"], key["alg"], key["use"]], ["OKP", "Ed25519", "EdDSA", "sig"]);
    }
    const { kid } = decodeProtectedHeader(await createToken(godwit, client));
    assert.ok(keys.some((key) => key["kid"] === kid));
  });
});

const installation = async (node: Godwit): Promise<{ id: string }> => {
  const [row] = await node.rows<{ id: string }>("select id::text as id from installation");
  assert.ok(row !== undefined);
  return row;
};

describe("no token is issued for", () => {
  const other = (secret: string): string => (secret.startsWith("gw_test_") ? "gw_live_" : "gw_test_") + secret.slice(8);
  const WRONG: Readonly<Record<string, () => Promise<OAuthClient> | OAuthClient>> = {
    "the id of another key": async () => ({ ...client, id: (await newOAuthClient(godwit)).id }),
    "the id of a key of the other environment": async () => ({ ...client, id: (await newOAuthClient(godwit, { environment: "live" })).id }),
    "an unknown id": () => ({ ...client, id: "key_01k9zs3v8mf4tb2xg1qj6n0d5c" }),
    "an id in upper case": () => ({ ...client, id: client.id.toUpperCase() }),
    "no id": () => ({ ...client, id: "" }),
    "an unknown key": () => ({ ...client, secret: madeUpKey() }),
    "a mistyped key": () => ({ ...client, secret: `${client.secret.slice(0, -1)}_` }),
    "a key with the prefix of the other environment": () => ({ ...client, secret: other(client.secret) }),
    "no key": () => ({ ...client, secret: "" }),
    "a token instead of the key": async () => ({ ...client, secret: await createToken(godwit, client) }),
    "an expired key": () => newOAuthClient(godwit, { expiresAt: new Date(Date.now() - 1) }),
    "a key that expires within the same second": async () => {
      await until("a second begins", () => Date.now() % 1_000 < 300 || undefined);
      return newOAuthClient(godwit, { expiresAt: new Date(Math.floor(Date.now() / 1_000) * 1_000 + 999) });
    },
    "a revoked key": async () => {
      const revoked = await newOAuthClient(godwit);
      await createToken(godwit, revoked);
      assert.equal((await godwit.request("DELETE", `/v1/keys/${revoked.id}`, { key: client.secret })).status, 200);
      return revoked;
    },
  };
  for (const [what, make] of Object.entries(WRONG)) {
    test(what, async () => {
      const wrong = await make();
      assertNoClient(await requestToken(godwit, { basic: wrong }), "unauthorized_invalid_token");
      const isComplete = wrong.id !== "" && wrong.secret !== "";
      assertNoClient(
        await requestToken(godwit, { form: inForm(wrong) }),
        isComplete ? "unauthorized_invalid_token" : "unauthorized_missing_token",
      );
    });
  }

  test("a request without credentials", async () => assertNoClient(await requestToken(godwit, {}), "unauthorized_missing_token"));

  test("a key as a bearer token", async () =>
    assertNoClient(await requestToken(godwit, { basic: `Bearer ${client.secret}` }), "unauthorized_missing_token"));
});

describe("a request is refused", () => {
  const invalid = (reply: Reply, ...pointers: string[]): void => {
    assertOAuthError(reply, "invalid_request", "invalid_request_payload");
    assert.deepEqual(
      faultsOf(reply).map(({ pointer }) => pointer),
      pointers,
    );
  };

  test("with a client both in the header and in the form", async () =>
    invalid(await requestToken(godwit, { basic: client, form: inForm(client) }), "/client_secret"));

  test("with one parameter twice", async () => {
    const form = `grant_type=client_credentials&${new URLSearchParams(inForm(client)).toString()}`;
    invalid(await requestToken(godwit, { form: `${form}&scope=messages:read&scope=messages:send` }), "/scope");
    invalid(await requestToken(godwit, { form: `${form}&client_id=${client.id}` }), "/client_id");
  });

  test("without grant_type", async () =>
    invalid(await requestToken(godwit, { form: new URLSearchParams(inForm(client)).toString() }), "/grant_type"));

  for (const grant of ["password", "authorization_code", "refresh_token", "CLIENT_CREDENTIALS", "urn:x"]) {
    test(`with grant_type ${grant}`, async () =>
      assertOAuthError(
        await requestToken(godwit, { basic: client, form: { grant_type: grant } }),
        "unsupported_grant_type",
        "invalid_request_payload",
      ));
  }

  test("in another media type, and in JSON", async () => {
    const body = JSON.stringify({ grant_type: "client_credentials", ...inForm(client) });
    for (const type of ["application/json", "text/plain", "multipart/form-data; boundary=x", `${FORM_TYPE}; charset=utf-16`])
      assertOAuthError(
        await requestToken(godwit, { form: body, headers: { "content-type": type } }),
        "invalid_request",
        "unsupported_media_type",
      );
  });

  test("without a media type, and without a body", async () => {
    const reply = await exchange(godwit.url, `POST ${TOKEN_PATH} HTTP/1.1\r\nhost: godwit.test\r\ncontent-length: 0\r\n\r\n`);
    assertOAuthError(reply, "invalid_request", "unsupported_media_type");
  });

  test("with a content encoding", async () => {
    const reply = await requestToken(godwit, { basic: client, headers: { "content-encoding": "gzip" } });
    assertOAuthError(reply, "invalid_request", "unsupported_media_type");
  });

  test("with more than 8 kB, declared or not", async () => {
    const form = { padding: "x".repeat(8_192) };
    assertOAuthError(await requestToken(godwit, { basic: client, form }), "invalid_request", "payload_too_large");
    const chunk = `2001\r\n${"x".repeat(0x2001)}\r\n0\r\n\r\n`;
    const head = `POST ${TOKEN_PATH} HTTP/1.1\r\nhost: godwit.test\r\ncontent-type: ${FORM_TYPE}\r\ntransfer-encoding: chunked\r\n\r\n`;
    assertOAuthError(await exchange(godwit.url, head + chunk), "invalid_request", "payload_too_large");
    assert.equal((await requestToken(godwit, { basic: client, form: { padding: "x".repeat(8_000) } })).status, 200);
  });

  test("without a Host", async () => {
    const reply = await exchange(godwit.url, `POST ${TOKEN_PATH} HTTP/1.1\r\ncontent-length: 0\r\n\r\n`);
    assertOAuthError(reply, "invalid_request", "invalid_request_payload");
  });

  test("by another method, with a problem response", async () => {
    for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
      const reply = await godwit.request(method, TOKEN_PATH, { key: client.secret });
      assertProblem(reply, "method_not_allowed");
      assert.equal(reply.headers.get("allow"), "POST");
    }
  });
});

describe("scope", () => {
  let narrow: OAuthClient;
  before(async () => {
    narrow = await newOAuthClient(godwit, { scopes: ["messages:read", "events:read", "keys:read"] });
  });
  const ask = (scope: string): Promise<Reply> => requestToken(godwit, { basic: narrow, form: { scope } });

  const GRANTED: Readonly<Record<string, string>> = {
    "": "messages:read events:read keys:read",
    "events:read": "events:read",
    "events:read messages:read": "events:read messages:read",
    "  events:read   messages:read ": "events:read messages:read",
    "events:read events:read": "events:read",
  };
  for (const [asked, granted] of Object.entries(GRANTED)) {
    test(`'${asked}' is granted as '${granted}'`, async () => {
      const reply = await ask(asked);
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.json["scope"], granted);
      assert.equal(decodeJwt(String(reply.json["access_token"]))["scope"], granted);
    });
  }

  const REFUSED: Readonly<Record<string, RegExp>> = {
    "messages:send": /messages:send/,
    "messages:read keys:write": /keys:write/,
    "messages:read no:such": /no:such/,
    "messages:read,events:read": /separated by spaces/,
    "messages:*": /separated by spaces/,
    "MESSAGES:READ": /MESSAGES:READ/,
    "messages:read\tevents:read": /separated by spaces/,
    "   ": /separated by spaces/,
    [`"<script>é`]: /separated by spaces/,
    [Array.from({ length: 500 }, (_, index) => `s${index}`).join(" ")]: /s0, s1, .*s19\.$/,
  };
  for (const [asked, detail] of Object.entries(REFUSED)) {
    test(`'${asked.slice(0, 40)}' is refused, and no other scope is granted`, async () => {
      const reply = await ask(asked);
      assertOAuthError(reply, "invalid_scope", "invalid_request_payload");
      assert.match(String(reply.json["detail"]), detail);
      assert.equal(reply.json["access_token"], undefined);
      assert.ok(reply.text.length < 1_000);
    });
  }
});

describe("the expiry of a token", () => {
  test("is never after that of its key", async () => {
    const expiresAt = new Date(Date.now() + 600_000);
    const brief = await newOAuthClient(godwit, { expiresAt });
    const reply = await requestToken(godwit, { basic: brief });
    const { iat = 0, exp = 0 } = decodeJwt(String(reply.json["access_token"]));
    assert.equal(exp, Math.floor(expiresAt.getTime() / 1_000));
    assert.equal(reply.json["expires_in"], exp - iat);
    assert.ok(exp - iat <= 600 && exp - iat >= 590);
  });

  test("is an hour later for a key that lives longer", async () => {
    const long = await newOAuthClient(godwit, { expiresAt: new Date(Date.now() + 30 * 86_400_000) });
    assert.equal((await requestToken(godwit, { basic: long })).json["expires_in"], HOUR_SECONDS);
  });
});

describe("the quota", () => {
  test("counts tokens with the requests of their environment, and refuses in the form of RFC 6749", async () => {
    const limited = await oauthClientOf(godwit, await godwit.key({ account: "limited" }));
    await godwit.rows("insert into tiers (name, requests_per_second, burst) values ('slow', 1, 3)");
    await godwit.rows("update environments set tier = 'slow' where account_id = (select id from accounts where name = 'limited')");
    const first = await requestToken(godwit, { basic: limited });
    assert.equal(first.status, 200, first.text);
    assert.equal(first.headers.get("ratelimit-policy"), '"slow";q=3;w=3');
    assert.match(first.headers.get("ratelimit") ?? "", /^"slow";r=[0-2];t=\d+$/);
    const refused = await until("the quota is exceeded", async () => {
      const reply = await requestToken(godwit, { basic: limited, form: { scope: "no:such" } });
      if (reply.status === 429) return reply;
      assertOAuthError(reply, "invalid_scope", "invalid_request_payload");
      assert.match(reply.headers.get("ratelimit") ?? "", /^"slow"/, "a refused request also shows the quota");
      return undefined;
    });
    assertOAuthError(refused, "temporarily_unavailable", "rate_limit_exceeded");
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    assert.match(refused.headers.get("ratelimit") ?? "", /^"slow";r=0/);
    const token = String(first.json["access_token"]);
    const both = await Promise.all([1, 2, 3].map(() => godwit.request("GET", "/v1/messages", { key: token })));
    assert.ok(
      both.some(({ status }) => status === 429),
      "tokens and keys share one quota",
    );
    const stranger = { ...limited, secret: madeUpKey() };
    for (let index = 0; index < 5; index += 1)
      assertNoClient(await requestToken(godwit, { basic: stranger }), "unauthorized_invalid_token");
    assert.match((await godwit.request("GET", "/metrics")).text, /^godwit_quota_refusals_total [1-9]/m);
  });
});

describe("without its database", () => {
  test("the service refuses requests for and with tokens with Retry-After", async () => {
    const tokens = await Promise.all([1, 2, 3].map(() => createToken(godwit, client)));
    const [bought, used, set] = await withoutDatabase(godwit, async () => [
      await requestToken(godwit, { basic: client }),
      await Promise.all(tokens.map((key) => godwit.request("GET", "/v1/messages", { key }))),
      await until("the published keys are read again", async () => {
        const reply = await godwit.request("GET", "/.well-known/jwks.json");
        return reply.status === 200 ? undefined : reply;
      }),
    ]);
    assertOAuthError(bought, "temporarily_unavailable", "service_unavailable");
    assert.match(bought.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    for (const reply of used) assertProblem(reply, "service_unavailable");
    assertProblem(set, "service_unavailable");
    const works = await until("the tokens work again", async () => {
      const replies = await Promise.all(tokens.map((key) => godwit.request("GET", "/v1/messages", { key })));
      return replies.every(({ status }) => status === 200) || undefined;
    });
    assert.ok(works);
  });
});

describe("the metadata of the authorization server", () => {
  const METADATA = "/.well-known/oauth-authorization-server";

  test("leads a client that knows only the address to a token and to the key that signed it", async () => {
    const { json } = await godwit.request("GET", METADATA);
    assert.equal(json["issuer"], godwit.url);
    assert.deepEqual([json["grant_types_supported"], json["response_types_supported"]], [["client_credentials"], []]);
    assert.deepEqual(json["scopes_supported"], [...SCOPES]);
    const response = await fetch(String(json["token_endpoint"]), {
      method: "POST",
      body: new URLSearchParams({ grant_type: "client_credentials", ...inForm(client) }),
    });
    const { access_token: token } = (await response.json()) as { access_token: string };
    const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(String(json["jwks_uri"]))));
    assert.equal(payload["client_id"], client.id);
  });

  test("names no endpoint that the service does not have", async () => {
    const { json } = await godwit.request("GET", METADATA);
    const endpoints = Object.keys(json).filter((name) => name.endsWith("_endpoint"));
    assert.deepEqual(endpoints, ["token_endpoint"]);
  });

  test("is refused for a Host that is no host, because the issuer would be no URL", async () => {
    assertProblem(
      await exchange(godwit.url, `GET ${METADATA} HTTP/1.1\r\nHost: a"b\r\nConnection: close\r\n\r\n`),
      "invalid_request_payload",
    );
  });
});
