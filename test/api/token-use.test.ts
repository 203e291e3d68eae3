/** The use of access tokens: each has the permissions of its scopes on every route, ends with its key on every node, and cannot be
 *  forged. */
import assert from "node:assert/strict";
import { createHmac, createPrivateKey, generateKeyPairSync, randomBytes, randomUUID, sign, type KeyObject } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { decodeJwt, decodeProtectedHeader, exportJWK, SignJWT } from "jose";
import { Authenticator } from "../../src/access/authenticate.ts";
import type { Scope } from "../../src/access/scope.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { createToken, newOAuthClient, type OAuthClient } from "../support/keys.ts";
import { createEmptyDatabase } from "../support/database.ts";
import { assertProblem, exchange, until } from "../support/expect.ts";
import { EventReader } from "../support/event-reader.ts";
import { SECRET_KEY, sms, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { seeded } from "../support/seed.ts";

let godwit: Godwit;
let other: Godwit;
let client: OAuthClient;
before(async () => {
  godwit = await startGodwit();
  other = await startGodwit({ databaseUrl: godwit.databaseUrl });
  await godwit.unlimited();
  client = await newOAuthClient(godwit);
});
after(() => Promise.all([godwit.stop(), other.stop()]));

const read = async (node: Godwit, key: string): Promise<Reply> => node.request("GET", "/v1/messages?limit=1", { key });
const statusOf = async (node: Godwit, key: string): Promise<number> => (await read(node, key)).status;

function assertInvalid(reply: Reply): void {
  assertProblem(reply, "unauthorized_invalid_token");
  assert.equal(reply.headers.get("www-authenticate"), 'Bearer realm="godwit", error="invalid_token"');
}

/** Waits until every node refuses the token. */
async function assertSoonRefused(token: string): Promise<void> {
  for (const node of [godwit, other]) await until("the token is refused", async () => (await statusOf(node, token)) === 401 || undefined);
  for (const node of [godwit, other]) assertInvalid(await read(node, token));
}

describe("a token with one scope", () => {
  const NO_ID = "01k9zs3v8mf4tb2xg1qj6n0d5c";
  const NEEDED: readonly (readonly [method: string, path: string, scope: Scope, body?: object])[] = [
    ["POST", "/v1/messages", "messages:send", sms()],
    ["POST", "/v1/batches", "messages:send", { items: [sms()] }],
    ["PATCH", `/v1/messages/msg_${NO_ID}`, "messages:send", { body: "x" }],
    ["GET", "/v1/messages", "messages:read"],
    ["GET", "/v1/templates", "templates:read"],
    ["DELETE", `/v1/templates/tmpl_${NO_ID}`, "templates:write"],
    ["GET", "/v1/webhook_endpoints", "webhooks:read"],
    ["DELETE", `/v1/webhook_endpoints/whe_${NO_ID}`, "webhooks:write"],
    ["GET", "/v1/events", "events:read"],
    ["GET", "/v1/keys", "keys:read"],
    ["POST", `/v1/keys/key_${NO_ID}/rotate`, "keys:write", {}],
    ["GET", "/v1/suppressions", "suppressions:read"],
    ["POST", "/v1/suppressions", "suppressions:write", { recipient: "+14155550199" }],
    ["GET", "/v1/usage", "usage:read"],
    ["GET", "/v1/links", "links:read"],
    ["GET", `/v1/verifications/ver_${NO_ID}`, "verifications:read"],
    ["POST", "/v1/verifications", "verifications:write", { recipient: "+14155550198", channel: "sms" }],
  ];
  for (const [method, path, scope, body] of NEEDED) {
    test(`${scope} permits ${method} ${path}, which a token without that scope may not`, async () => {
      const allowed = await godwit.request(method, path, { key: await createToken(godwit, client, scope), body });
      assert.ok([200, 201, 202, 404].includes(allowed.status), allowed.text);
      const rest = NEEDED.map(([, , each]) => each).filter((each) => each !== scope);
      const key = await createToken(godwit, client, [...new Set(rest)].join(" "));
      const refused = await godwit.request(method, path, { key, body });
      assertProblem(refused, "forbidden_insufficient_scope");
      assert.deepEqual(refused.json["required_scopes"], [scope]);
      assert.equal(refused.headers.get("www-authenticate"), `Bearer realm="godwit", error="insufficient_scope", scope="${scope}"`);
    });
  }

  test("belongs to the environment and account of its key", async () => {
    const sent = await godwit.send(client.secret);
    const path = `/v1/messages/${String(sent.json["id"])}`;
    assert.equal((await godwit.request("GET", path, { key: await createToken(godwit, client) })).status, 200);
    for (const stranger of [await newOAuthClient(godwit, { environment: "live" }), await newOAuthClient(godwit, { account: "stranger" })])
      assertProblem(await godwit.request("GET", path, { key: await createToken(godwit, stranger) }), "not_found");
  });

  test("shares idempotency keys with its key, and replays its requests", async () => {
    const idempotencyKey = randomUUID();
    const first = await godwit.send(client.secret, {}, { idempotencyKey });
    const again = await other.send(await createToken(godwit, client), {}, { idempotencyKey });
    assert.deepEqual([again.status, again.text, again.headers.get("idempotent-replayed")], [202, first.text, "true"]);
  });

  test("works on every node at once", async () => {
    for (let round = 0; round < 5; round += 1) assert.equal(await statusOf(other, await createToken(godwit, client)), 200);
  });
});

describe("a token ends", () => {
  test("with its key, which was revoked on another node", async () => {
    const otherClient = await newOAuthClient(godwit);
    const [token, unaffected] = [await createToken(godwit, otherClient), await createToken(godwit, client)];
    for (const node of [godwit, other]) assert.equal(await statusOf(node, token), 200);
    assert.equal((await godwit.request("DELETE", `/v1/keys/${otherClient.id}`, { key: client.secret })).status, 200);
    assertInvalid(await read(godwit, token));
    await assertSoonRefused(token);
    await assertSoonRefused(otherClient.secret);
    for (const node of [godwit, other]) assert.equal(await statusOf(node, unaffected), 200, "tokens of other keys still work");
  });

  test("when it revokes its own key", async () => {
    const otherClient = await newOAuthClient(godwit);
    const token = await createToken(godwit, otherClient);
    const reply = await godwit.request("DELETE", `/v1/keys/${otherClient.id}`, { key: token });
    assert.equal(reply.status, 200, reply.text);
    assertInvalid(await read(godwit, token));
    await assertSoonRefused(token);
  });

  test("when its key is rotated without an overlap, and not with one", async () => {
    const otherClient = await newOAuthClient(godwit);
    const token = await createToken(godwit, otherClient);
    const path = `/v1/keys/${otherClient.id}/rotate`;
    const overlapping = await godwit.request("POST", path, { key: client.secret, body: { overlap_seconds: 60 } });
    assert.equal(overlapping.status, 201, overlapping.text);
    assert.equal(await statusOf(other, token), 200);
    assert.equal((await godwit.request("POST", path, { key: client.secret, body: { overlap_seconds: 0 } })).status, 201);
    await assertSoonRefused(token);
  });

  test("when its key expires, although the token has a later expiry", async () => {
    const otherClient = await newOAuthClient(godwit);
    const token = await createToken(godwit, otherClient);
    assert.equal(await statusOf(other, token), 200);
    const hint = `${otherClient.secret.slice(0, 12)}…`;
    await godwit.rows("update api_keys set expires_at = now() + interval '700 milliseconds' where hint = $1", [hint]);
    await until("the token is refused", async () => (await statusOf(other, token)) === 401 || undefined);
    const [row] = await godwit.rows<{ is_over: boolean }>("select expires_at <= now() as is_over from api_keys where hint = $1", [hint]);
    assert.equal(row?.is_over, true, "the token is not refused before its key expires");
    await assertSoonRefused(token);
  });

  test("at its own expiry, to the second", async () => {
    const expiresAt = Math.ceil(Date.now() / 1_000) * 1_000 + 2_000;
    const brief = await newOAuthClient(godwit, { expiresAt: new Date(expiresAt + 999) });
    const token = await createToken(godwit, brief);
    assert.equal((decodeJwt(token).exp ?? 0) * 1_000, expiresAt);
    // The key does not expire.
    await godwit.rows("update api_keys set expires_at = null where hint = $1", [`${brief.secret.slice(0, 12)}…`]);
    await until("the token is refused", async () => (await statusOf(other, token)) === 401 || undefined);
    assert.ok(Date.now() >= expiresAt - 50, `${expiresAt - Date.now()} ms before its expiry`);
  });

  test("together with the event stream that it opened", async () => {
    const otherClient = await newOAuthClient(godwit);
    using revoked = await EventReader.open(other, await createToken(godwit, otherClient));
    const expiresAt = Math.ceil(Date.now() / 1_000) * 1_000 + 3_000;
    using expired = await EventReader.open(
      other,
      await createToken(godwit, await newOAuthClient(godwit, { expiresAt: new Date(expiresAt) })),
    );
    using unaffected = await EventReader.open(other, await createToken(godwit, client));
    assert.equal((await godwit.request("DELETE", `/v1/keys/${otherClient.id}`, { key: client.secret })).status, 200);
    assert.equal(await revoked.ended(), "closed");
    assert.equal(await expired.ended(), "closed");
    assert.ok(Date.now() >= expiresAt, "the stream does not end before the expiry");
    assert.equal(unaffected.state, "open");
  });
});

/** Tokens that an attacker, or a client by mistake, may send. */
describe("a token is refused that", () => {
  let real: string;
  let installation: string;
  before(async () => {
    real = await createToken(godwit, client);
    installation = String(decodeJwt(real).iss);
  });

  const text = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signedBy = (key: KeyObject, header: object, payload: object): string => {
    const body = `${text(header)}.${text(payload)}`;
    return `${body}.${sign(null, Buffer.from(body), key).toString("base64url")}`;
  };
  const stranger = generateKeyPairSync("ed25519");

  /** The signing key of the installation, as a thief of database and secret key has it: its tokens are refused only for their content. */
  async function ownKey(): Promise<{ kid: string; key: KeyObject }> {
    const { kid = "" } = decodeProtectedHeader(real);
    const [row] = await godwit.rows<{ private_key: string }>("select private_key from signing_keys where kid = $1", [kid]);
    const jwk = new SecretBox(Buffer.from(SECRET_KEY, "base64")).open(row?.private_key ?? "", `signing key ${kid}`);
    return { kid, key: createPrivateKey({ key: JSON.parse(jwk) as Record<string, string>, format: "jwk" }) };
  }
  const signedByInstallation = async (changes: object, header: object = {}): Promise<string> => {
    const { kid, key } = await ownKey();
    return signedBy(key, { alg: "EdDSA", typ: "at+jwt", kid, ...header }, { ...decodeJwt(real), ...changes });
  };
  const seconds = (): number => Math.floor(Date.now() / 1_000);

  test("has a fault, and not one without", async () => {
    assert.equal(await statusOf(godwit, await signedByInstallation({ jti: randomUUID() })), 200);
    assert.equal(await statusOf(godwit, await signedByInstallation({}, { typ: "application/at+jwt" })), 200);
  });

  const FORGED: Readonly<Record<string, () => Promise<string> | string>> = {
    "has other claims than were signed": () => {
      const [header = "", , signature = ""] = real.split(".");
      return `${header}.${text({ ...decodeJwt(real), scope: "keys:write" })}.${signature}`;
    },
    "has the signature of another token": async () =>
      [...real.split(".").slice(0, 2), (await createToken(godwit, client)).split(".")[2]].join("."),
    "has no signature": () => [...real.split(".").slice(0, 2), "AA"].join("."),
    "has alg none": () => `${text({ alg: "none", typ: "at+jwt", kid: decodeProtectedHeader(real).kid })}.${real.split(".")[1]}.AA`,
    "is signed with HS256 and the public key": async () => {
      const set = (await godwit.request("GET", "/.well-known/jwks.json")).json["keys"] as { x: string; kid: string }[];
      const { x = "", kid = "" } = set[0] ?? {};
      const body = `${text({ alg: "HS256", typ: "at+jwt", kid })}.${real.split(".")[1]}`;
      return `${body}.${createHmac("sha256", Buffer.from(x, "base64url")).update(body).digest("base64url")}`;
    },
    "contains its own key": async () => {
      const jwk = await exportJWK(stranger.publicKey);
      return signedBy(stranger.privateKey, { alg: "EdDSA", typ: "at+jwt", kid: "mine", jwk }, decodeJwt(real));
    },
    "has the id of our key and another signature": () =>
      signedBy(stranger.privateKey, { alg: "EdDSA", typ: "at+jwt", kid: decodeProtectedHeader(real).kid }, decodeJwt(real)),
    "has the id of an unknown key": () =>
      signedBy(stranger.privateKey, { alg: "EdDSA", typ: "at+jwt", kid: randomBytes(32).toString("base64url") }, decodeJwt(real)),
    "has no key id": () => signedBy(stranger.privateKey, { alg: "EdDSA", typ: "at+jwt" }, decodeJwt(real)),
    "has a number as key id": () => signedBy(stranger.privateKey, { alg: "EdDSA", typ: "at+jwt", kid: 5 }, decodeJwt(real)),
    "is signed with another algorithm": async () => {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      return new SignJWT(decodeJwt(real)).setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: "x" }).sign(privateKey);
    },
    "has the general type JWT": () => signedByInstallation({}, { typ: "JWT" }),
    "has no type": () => signedByInstallation({}, { typ: undefined }),
    "has an unknown critical header": () => signedByInstallation({}, { crit: ["exp"], exp: 1 }),
    "is from another issuer": () => signedByInstallation({ iss: "urn:godwit:11111111-1111-4111-8111-111111111111" }),
    "is for another audience": () => signedByInstallation({ aud: "https://example.com" }),
    "has no audience": () => signedByInstallation({ aud: undefined }),
    "has expired": () => signedByInstallation({ exp: seconds() - 1 }),
    "has no expiry": () => signedByInstallation({ exp: undefined }),
    "has a string as expiry": () => signedByInstallation({ exp: "9999999999" }),
    "is not valid yet": () => signedByInstallation({ nbf: seconds() + 600 }),
    "is of an unknown client": () => signedByInstallation({ client_id: "key_01k9zs3v8mf4tb2xg1qj6n0d5c" }),
    "is of our client in another account": () => signedByInstallation({ account_id: "acct_01k9zs3v8mf4tb2xg1qj6n0d5c" }),
    "has an invalid client id": () => signedByInstallation({ client_id: "x" }),
    "has no client": () => signedByInstallation({ client_id: undefined }),
    "has no scope": () => signedByInstallation({ scope: undefined }),
    "contains a list": async () => {
      const { kid, key } = await ownKey();
      return signedBy(key, { alg: "EdDSA", typ: "at+jwt", kid }, [1]);
    },
    "is not JSON": () => `${Buffer.from("{").toString("base64url")}.${real.split(".")[1]}.AA`,
    "has four parts": () => `${real}.AA`,
    "has five parts, like an encrypted token": () => "a.b.c.d.e",
    "has empty parts": () => "..",
    "is huge": () => `${real.slice(0, -4)}${"A".repeat(10_000)}`,
  };
  for (const [what, forge] of Object.entries(FORGED)) {
    test(what, async () => {
      const token = await forge();
      assertInvalid(await read(godwit, token));
      assertInvalid(await read(godwit, token));
      assert.equal(await statusOf(godwit, real), 200);
    });
  }

  test("has more scopes than its key, where it exceeds those of the key", async () => {
    const narrow = await newOAuthClient(godwit, { scopes: ["messages:read"] });
    const token = await signedByInstallation({ client_id: narrow.id, sub: narrow.id, scope: "messages:read keys:write no:such" });
    assert.equal(await statusOf(godwit, token), 200);
    assertProblem(
      await godwit.request("POST", "/v1/keys", { key: token, body: { scopes: ["messages:read"] } }),
      "forbidden_insufficient_scope",
    );
  });

  test("is of another installation", async () => {
    await using elsewhere = await startGodwit({ databaseUrl: await createEmptyDatabase() });
    const theirs = await createToken(elsewhere, await newOAuthClient(elsewhere));
    assert.notEqual(decodeJwt(theirs).iss, installation);
    assert.equal(await statusOf(elsewhere, theirs), 200);
    assertInvalid(await read(godwit, theirs));
    assertInvalid(await read(elsewhere, real));
  });

  test("is larger than a header may be, with the problem for large headers", async () => {
    const bytes = `GET /v1/messages HTTP/1.1\r\nhost: godwit.test\r\nauthorization: Bearer ${"a.b.c".padEnd(20_000, "c")}\r\n\r\n`;
    assertProblem(await exchange(godwit.url, bytes), "request_header_fields_too_large");
  });

  test("is one of thousands of random modifications, and none causes an internal error", async (context) => {
    const random = seeded(context);
    const [header = "", payload = "", signature = ""] = real.split(".");
    const mangled = (part: string): string => {
      const at = Math.floor(random() * part.length);
      const kind = Math.floor(random() * 4);
      if (kind === 0) return part.slice(0, at) + "AZaz09-_"[Math.floor(random() * 8)] + part.slice(at + 1);
      if (kind === 1) return part.slice(0, at) || "A";
      if (kind === 2) return Buffer.from(Array.from({ length: 1 + at }, () => Math.floor(random() * 256))).toString("base64url");
      return Buffer.from(JSON.stringify([null, {}, { alg: "EdDSA" }, { alg: "EdDSA", typ: "at+jwt", kid: {} }, 1][at % 5])).toString(
        "base64url",
      );
    };
    const modified = Array.from({ length: 2_000 }, (_, index) => {
      const parts = [header, payload, signature];
      parts[index % 3] = mangled(parts[index % 3] ?? "");
      return parts.join(".");
      // The last characters of a signature have unused bits.
    }).filter((token) => !token.startsWith(`${header}.${payload}.${signature.slice(0, -1)}`));
    for (let at = 0; at < modified.length; at += 50) {
      const statuses = await Promise.all(modified.slice(at, at + 50).map((token) => statusOf(godwit, token)));
      assert.ok(
        statuses.every((status) => status === 401),
        `${statuses.find((status) => status !== 401)}`,
      );
    }
    assert.ok(!godwit.logs.some(({ event }) => event === "http.request_failed"));
    assert.equal(await statusOf(godwit, real), 200);
  });
});

test("an invalid token is verified each time and not cached, since their number is unlimited", async () => {
  assert.ok(godwit.db !== undefined);
  let reads = 0;
  const readToken = async (): Promise<undefined> => {
    reads += 1;
    return undefined;
  };
  const parts = { db: godwit.db, strangersDb: godwit.db, recognizes: () => false, now: Date.now };
  const authenticator = new Authenticator({ ...parts, readToken });
  for (let time = 0; time < 3; time += 1) await assert.rejects(async () => authenticator.authenticate("Bearer a.b.c"), { status: 401 });
  assert.equal(reads, 3);
});
