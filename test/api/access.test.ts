/** Access control: keys in every state, isolation of accounts and environments, and the storage of keys. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiKeyHint } from "../../src/access/api-key.ts";
import type { ErrorCode } from "../../src/http/codes.ts";
import { decodeId } from "../../src/model/id.ts";
import { assertProblem, exchange, LIMIT_MS, until } from "../support/expect.ts";
import { sms, startGodwit, type Godwit } from "../support/harness.ts";
import { madeUpKey } from "../support/keys.ts";

let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  key = await godwit.key();
});
after(() => godwit.stop());

const read = async (secret: string): Promise<number> => (await godwit.request("GET", "/v1/messages?limit=1", { key: secret })).status;

/** Changes one digit of a key, so that its checksum is invalid. */
const mistyped = (secret: string): string => {
  const at = secret.length - 10;
  return `${secret.slice(0, at)}${secret[at] === "a" ? "b" : "a"}${secret.slice(at + 1)}`;
};

describe("the Authorization header", () => {
  const MALFORMED: readonly (readonly [string, () => string | undefined])[] = [
    ["none", () => undefined],
    ["an empty one", () => ""],
    ["only a key", () => key],
    ["Basic", () => `Basic ${Buffer.from(`${key}:`).toString("base64")}`],
    ["a scheme without a token", () => "Bearer"],
    ["an empty token", () => "Bearer "],
    ["two tokens", () => `Bearer ${key} ${key}`],
    ["two credentials", () => `Bearer ${key}, Bearer ${key}`],
    ["a quoted token", () => `Bearer "${key}"`],
    ["another scheme with the same beginning", () => `Bearers ${key}`],
    ["a token with a parameter", () => `Bearer ${key};x=1`],
  ];
  const INVALID: readonly (readonly [string, () => string])[] = [
    ["a word", () => "Bearer hello"],
    ["a mistyped key", () => `Bearer ${mistyped(key)}`],
    ["a key cut short", () => `Bearer ${key.slice(0, -1)}`],
    ["a key in the other case", () => `Bearer ${key.toUpperCase()}`],
    ["a well-formed key that does not exist", () => `Bearer ${madeUpKey()}`],
    ["the hint of a key", () => `Bearer ${apiKeyHint(key).slice(0, -1)}`],
  ];
  const refuse = (what: string, header: () => string | undefined, code: ErrorCode, challenge: string): void => {
    test(`${what} is a 401 ${code}`, async () => {
      const value = header();
      const line = value === undefined ? "" : `authorization: ${value}\r\n`;
      const reply = await exchange(godwit.url, `GET /v1/messages HTTP/1.1\r\nhost: godwit.test\r\n${line}\r\n`);
      assertProblem(reply, code);
      assert.equal(reply.headers.get("www-authenticate"), challenge);
      assert.equal(reply.headers.get("ratelimit"), null);
      assert.ok(!reply.text.includes(key.slice(0, 20)), "the credential is not echoed");
    });
  };
  for (const [what, header] of MALFORMED) refuse(what, header, "unauthorized_missing_token", 'Bearer realm="godwit"');
  for (const [what, header] of INVALID) refuse(what, header, "unauthorized_invalid_token", 'Bearer realm="godwit", error="invalid_token"');

  test("an incomplete key is called incomplete, and another key of the right form unknown", async () => {
    const detailOf = async (credential: string): Promise<string> => {
      const reply = await godwit.request("GET", "/v1/messages", { key: credential });
      assertProblem(reply, "unauthorized_invalid_token");
      return (JSON.parse(reply.text) as { detail: string }).detail;
    };
    for (const each of ["gw_test_x", key.slice(0, -1), `${key}x`]) assert.match(await detailOf(each), /copied completely/);
    assert.match(await detailOf(`${key.slice(0, -4)}0000`), /unknown, expired or revoked/);
  });

  for (const scheme of ["Bearer", "bearer", "BEARER"]) {
    test(`the scheme may be written ${scheme}`, async () => {
      const reply = await godwit.request("GET", "/v1/messages", { headers: { authorization: `${scheme} ${key}` } });
      assert.equal(reply.status, 200);
    });
  }
});

describe("the life of a key", () => {
  test("an expired key is refused", async () => {
    const expired = await godwit.key({ expiresAt: new Date(Date.now() - 1_000) });
    assertProblem(await godwit.request("GET", "/v1/messages", { key: expired }), "unauthorized_invalid_token");
  });

  test("a key works until it expires, and is refused afterwards", async () => {
    const expiresAt = Date.now() + 1_500;
    const brief = await godwit.key({ expiresAt: new Date(expiresAt) });
    await until("the key is refused", async () => (await read(brief)) === 401 || undefined);
    assert.ok(Date.now() >= expiresAt, "the key is not refused before it expires");
  });

  test("a revoked key is refused, also while it is in use", async () => {
    const revoked = await godwit.key();
    assert.equal(await read(revoked), 200);
    await godwit.rows("update api_keys set revoked_at = now() where hint = $1", [apiKeyHint(revoked)]);
    await until("the key is refused", async () => (await read(revoked)) === 401 || undefined);
    assert.equal(await read(key), 200, "another key still works");
  });

  test("last_used_at is set when a key is used, and not before", async () => {
    const fresh = await godwit.key();
    const lastUsed = async (): Promise<Date | undefined> => {
      const [row] = await godwit.rows<{ at: Date | null }>("select last_used_at as at from api_keys where hint = $1", [apiKeyHint(fresh)]);
      return row?.at ?? undefined;
    };
    assert.equal(await lastUsed(), undefined);
    await read(fresh);
    const at = await until("last_used_at is set", lastUsed);
    assert.ok(Math.abs(Date.now() - at.getTime()) < LIMIT_MS);
  });

  test("no table contains the secret of a key", async () => {
    const secret = await godwit.key();
    await godwit.send(secret);
    const tables = await godwit.rows<{ name: string }>(
      "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    );
    assert.ok(tables.some(({ name }) => name === "api_keys") && tables.some(({ name }) => name === "api_key_hashes"));
    const random = secret.slice("gw_test_".length + 4);
    for (const { name } of tables) {
      const rows = await godwit.rows<{ text: string }>(`select t::text as text from ${name} t`);
      const text = rows.map((row) => row.text).join("\n");
      for (const form of [
        random,
        Buffer.from(random).toString("hex"),
        Buffer.from(secret).toString("hex"),
        Buffer.from(secret).toString("base64"),
      ])
        assert.ok(!text.includes(form), name);
    }
  });
});

describe("scopes", () => {
  const NO_MESSAGE = "/v1/messages/msg_01k9zs3v8mf4tb2xg1qj6n0d5c";
  const NEEDED: readonly (readonly [method: string, path: string, scope: "messages:send" | "messages:read", body?: object])[] = [
    ["POST", "/v1/messages", "messages:send", sms()],
    ["GET", "/v1/messages", "messages:read"],
    ["GET", NO_MESSAGE, "messages:read"],
    ["PATCH", NO_MESSAGE, "messages:send", { body: "x" }],
    ["POST", `${NO_MESSAGE}/cancel`, "messages:send"],
    ["POST", `${NO_MESSAGE}/redact`, "messages:send"],
    ["GET", `${NO_MESSAGE}/events`, "messages:read"],
  ];
  for (const [method, path, scope, body] of NEEDED) {
    test(`${method} ${path} requires ${scope}`, async () => {
      const other = scope === "messages:send" ? "messages:read" : "messages:send";
      const reply = await godwit.request(method, path, { key: await godwit.key({ scopes: [other, "keys:write"] }), body });
      assertProblem(reply, "forbidden_insufficient_scope");
      assert.deepEqual(reply.json["required_scopes"], [scope]);
      assert.equal(reply.headers.get("www-authenticate"), `Bearer realm="godwit", error="insufficient_scope", scope="${scope}"`);
      const allowed = await godwit.request(method, path, { key: await godwit.key({ scopes: [scope] }), body });
      assert.ok([200, 202, 404].includes(allowed.status));
    });
  }

  test("a request without the required scope stores nothing", async () => {
    const already = await godwit.rows("select id from messages");
    await godwit.send(await godwit.key({ scopes: ["messages:read"] }));
    assert.equal((await godwit.rows("select id from messages")).length, already.length);
  });
});

describe("another account and the other environment", () => {
  test("do not see a message, and each sees only its own", async () => {
    const live = await godwit.key({ environment: "live" });
    const other = await godwit.key({ account: "other" });
    const otherLive = await godwit.key({ account: "other", environment: "live" });
    await godwit.unlimited();
    const sent = await godwit.send(key, { client_reference: "mine" });
    const path = `/v1/messages/${String(sent.json["id"])}`;
    assert.equal((await godwit.request("GET", path, { key })).status, 200);
    for (const stranger of [live, other, otherLive]) {
      assertProblem(await godwit.request("GET", path, { key: stranger }), "not_found");
      for (const query of ["", "?client_reference=mine", "?recipient=%2B14155550123", "?status=queued"]) {
        const list = await godwit.request("GET", `/v1/messages${query}`, { key: stranger });
        assert.deepEqual(list.json, { data: [], has_more: false, next_cursor: null });
      }
    }
    const theirs = await godwit.send(other, { client_reference: "theirs" });
    for (const stranger of [key, live, otherLive]) {
      assertProblem(await godwit.request("GET", `/v1/messages/${String(theirs.json["id"])}`, { key: stranger }), "not_found");
      const list = await godwit.request("GET", "/v1/messages?client_reference=theirs", { key: stranger });
      assert.deepEqual(list.json["data"], []);
    }
  });

  test("cannot change a message", async () => {
    const strangers = [
      await godwit.key({ environment: "live" }),
      await godwit.key({ account: "meddler" }),
      await godwit.key({ account: "meddler", environment: "live" }),
    ];
    await godwit.unlimited();
    const sent = await godwit.send(key);
    const path = `/v1/messages/${String(sent.json["id"])}`;
    for (const stranger of strangers) {
      assertProblem(await godwit.request("PATCH", path, { key: stranger, body: { body: "x" } }), "not_found");
      for (const action of ["cancel", "redact"])
        assertProblem(await godwit.request("POST", `${path}/${action}`, { key: stranger }), "not_found");
      assertProblem(await godwit.request("GET", `${path}/events`, { key: stranger }), "not_found");
    }
    assert.equal((await godwit.request("GET", path, { key })).text, sent.text);
  });

  test("include live, which refuses to send without a link, and whose messages are visible only in live", async () => {
    const live = await godwit.key({ environment: "live" });
    const already = await godwit.rows("select id from messages");
    assertProblem(await godwit.send(live), "no_route");
    assert.equal((await godwit.rows("select id from messages")).length, already.length);
    // A message cannot be created in live, so one is moved there.
    const { json } = await godwit.send(key, { client_reference: "carried over" });
    const path = `/v1/messages/${String(json["id"])}`;
    await godwit.rows("update messages set environment = 'live' where id = $1", [decodeId("msg", String(json["id"]))]);
    assert.equal((await godwit.request("GET", path, { key: live })).json["environment"], "live");
    for (const stranger of [key, await godwit.key({ account: "live neighbor", environment: "live" })]) {
      assertProblem(await godwit.request("GET", path, { key: stranger }), "not_found");
      assert.deepEqual((await godwit.request("GET", "/v1/messages?client_reference=carried%20over", { key: stranger })).json["data"], []);
    }
  });

  test("do not see records with a cursor of another list", async () => {
    for (let index = 0; index < 3; index += 1) await godwit.send(key);
    const page = await godwit.request("GET", "/v1/messages?limit=1", { key });
    const stranger = await godwit.key({ account: "cursor thief" });
    const stolen = await godwit.request("GET", `/v1/messages?cursor=${String(page.json["next_cursor"])}`, { key: stranger });
    assert.deepEqual(stolen.json["data"], []);
  });
});
