/** /v1/keys: a key creates, shows, rotates and revokes keys of its environment, and cannot grant more than it has. /v1/credential: returns
 *  the properties of the credential of the request. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { decodeJwt } from "jose";
import { SCOPES, type Scope } from "../../src/access/scope.ts";
import { decodeId } from "../../src/model/id.ts";
import { uuidSequence, uuidToText } from "../../src/lib/uuid.ts";
import { recordOf, itemsOf, search, walk, type Page, type Query } from "../support/client.ts";
import {
  assertOAuthError,
  createToken,
  newOAuthClient,
  oauthClientOf,
  requestToken,
  madeUpKey,
  type OAuthClient,
} from "../support/keys.ts";
import { LIMIT_MS, assertProblem, pointersOf, until } from "../support/expect.ts";
import { runGodwit, startGodwit, type Godwit, type KeyOptions, type Reply } from "../support/harness.ts";
import { lockTable } from "../support/locks.ts";
import { cutConnections } from "../support/outage.ts";
import { assertOneExecution, assertReplayOf, assertReused, isReplay } from "../support/replay.ts";

const NOBODY = "key_01k9zs3v8mf4tb2xg1qj6n0d5c";
const DAY_MS = 86_400_000;

let godwit: Godwit;
let other: Godwit;
let root: OAuthClient;
before(async () => {
  godwit = await startGodwit({ isOneProcess: true });
  other = await startGodwit({ databaseUrl: godwit.databaseUrl });
  await godwit.unlimited();
  root = await newOAuthClient(godwit);
});
after(() => Promise.all([godwit.stop(), other.stop()]));

type Options = { key?: string; idempotencyKey?: string; node?: Godwit };

const create = (body: object = {}, { key = root.secret, node = godwit, ...options }: Options = {}): Promise<Reply> =>
  node.request("POST", "/v1/keys", { key, body: { scopes: ["messages:read"], ...body }, ...options });
const rotate = (id: string, body: object = {}, { key = root.secret, node = godwit, ...options }: Options = {}): Promise<Reply> =>
  node.request("POST", `/v1/keys/${id}/rotate`, { key, body, ...options });
const revoke = (id: string, { key = root.secret, node = godwit }: Options = {}): Promise<Reply> =>
  node.request("DELETE", `/v1/keys/${id}`, { key });
const show = (id: string, { key = root.secret, node = godwit }: Options = {}): Promise<Reply> =>
  node.request("GET", `/v1/keys/${id}`, { key });

/** Returns the record and the secret of a created key. */
function createdKey(reply: Reply): { key: string; id: string; record: Record<string, unknown> } {
  assert.equal(reply.status, 201, reply.text);
  const { key, ...record } = reply.json;
  assert.match(String(key), /^gw_(test|live)_[0-9A-Za-z]{40}$/);
  return { key: String(key), id: String(record["id"]), record };
}

const statusOf = async (key: string, node = godwit): Promise<number> => (await node.request("GET", "/v1/messages?limit=1", { key })).status;
const countKeys = async (): Promise<number> => (await godwit.rows("select from api_keys")).length;

describe("a key with allowed_ips", () => {
  const ELSEWHERE = ["192.0.2.0/24", "2001:db8::/32"];
  const HERE = "127.0.0.0/8";

  test("works from these addresses, also through its access tokens, and nowhere else", async () => {
    const here = createdKey(await create({ scopes: ["messages:read"], allowed_ips: [HERE, ...ELSEWHERE] }));
    assert.deepEqual(here.record["allowed_ips"], [HERE, ...ELSEWHERE]);
    assert.equal(await statusOf(here.key), 200);
    assert.equal(await statusOf(await createToken(godwit, { id: here.id, secret: here.key })), 200);
    const elsewhere = createdKey(await create({ scopes: ["messages:read"], allowed_ips: ELSEWHERE }));
    assertProblem(await godwit.request("GET", "/v1/messages", { key: elsewhere.key }), "forbidden_address");
    const refused = await requestToken(godwit, { basic: { id: elsewhere.id, secret: elsewhere.key } });
    assertOAuthError(refused, "invalid_request", "forbidden_address");
  });

  test("creates and rotates only keys for the same addresses or fewer", async () => {
    const maker = createdKey(await create({ scopes: ["keys:write", "messages:read"], allowed_ips: [HERE] }));
    const by = { key: maker.key };
    assert.deepEqual(createdKey(await create({ scopes: ["messages:read"] }, by)).record["allowed_ips"], [HERE]);
    const narrow = { scopes: ["messages:read"], allowed_ips: ["127.0.0.1"] };
    const child = createdKey(await create(narrow, by));
    assert.deepEqual(createdKey(await rotate(child.id, {}, by)).record["allowed_ips"], ["127.0.0.1"]);
    for (const allowedIps of [["0.0.0.0/0"], ["127.0.0.1", "192.0.2.1"], ["::/0"]]) {
      const refused = await create({ scopes: ["messages:read"], allowed_ips: allowedIps }, by);
      assertProblem(refused, "invalid_request_payload");
    }
    const free = createdKey(await create({ scopes: ["messages:read"] }));
    assertProblem(await rotate(free.id, {}, by), "invalid_request_payload");
  });

  test("needs valid blocks", async () => {
    for (const [allowedIps, pointer] of [
      [["192.0.2.0/33"], "/allowed_ips/0"],
      [["127.0.0.1", "example.com"], "/allowed_ips/1"],
      [[], "/allowed_ips"],
      [Array.from({ length: 21 }, () => HERE), "/allowed_ips"],
    ] as const)
      assert.deepEqual(pointersOf(await create({ scopes: ["messages:read"], allowed_ips: allowedIps })), [pointer]);
  });
});

describe("a created key", () => {
  test("works at once on every node, with only its scopes, and is shown later without its secret", async () => {
    const reply = await create({ scopes: ["messages:read", "events:read"], name: "Prüfung ✓" });
    const { key, id, record } = createdKey(reply);
    assert.equal(reply.headers.get("location"), `/v1/keys/${id}`);
    assert.ok(key.startsWith("gw_test_"));
    const { created_at: createdAt, account_id: account, ...rest } = record;
    assert.deepEqual(rest, {
      id,
      object: "key",
      environment: "test",
      name: "Prüfung ✓",
      hint: `${key.slice(0, 12)}…`,
      scopes: ["messages:read", "events:read"],
      expires_at: null,
      allowed_ips: null,
      created_by: root.id,
      revoked_at: null,
      last_used_at: null,
    });
    assert.ok(Math.abs(Date.parse(String(createdAt)) - Date.now()) < LIMIT_MS);
    assert.match(String(account), /^acct_/);
    assert.deepEqual([await statusOf(key), await statusOf(key, other)], [200, 200]);
    assertProblem(await godwit.send(key), "forbidden_insufficient_scope");
    const shown = await show(id, { node: other });
    assert.deepEqual({ ...shown.json, last_used_at: null }, record);
    for (const text of [shown.text, (await godwit.request("GET", "/v1/keys", { key: root.secret })).text])
      assert.ok(!text.includes(key.slice(12)), "the secret is shown once");
  });

  test("belongs to the environment of its creator", async () => {
    const live = await newOAuthClient(godwit, { environment: "live" });
    const { key, record } = createdKey(await create({}, { key: live.secret }));
    assert.ok(key.startsWith("gw_live_"));
    assert.equal(record["environment"], "live");
  });

  test("shows when it was last used", async () => {
    const { key, id } = createdKey(await create());
    assert.equal((await show(id)).json["last_used_at"], null);
    await statusOf(key);
    const at = await until("last_used_at is set", async () => Date.parse(String((await show(id)).json["last_used_at"])) || undefined);
    assert.ok(Math.abs(at - Date.now()) < 10_000);
  });

  test("can be created with a token, and can create tokens", async () => {
    const { key } = createdKey(await create({ scopes: ["keys:read"] }, { key: await createToken(godwit, root, "keys:write keys:read") }));
    const client = await oauthClientOf(godwit, key);
    assert.equal((await godwit.request("GET", "/v1/keys", { key: await createToken(other, client) })).status, 200);
  });

  test("has the requested properties, or the request is a 400 with all faults", async () => {
    const already = await countKeys();
    const FAULTS: readonly [object, string[]][] = [
      [{ scopes: undefined }, ["/scopes"]],
      [{ scopes: null }, ["/scopes"]],
      [{ scopes: [] }, ["/scopes"]],
      [{ scopes: "messages:read" }, ["/scopes"]],
      [{ scopes: ["messages:read", "messages:read"] }, ["/scopes"]],
      [{ scopes: ["messages:read", "no:such"] }, ["/scopes/1"]],
      [{ name: "" }, ["/name"]],
      [{ name: "x".repeat(65) }, ["/name"]],
      [{ name: 5 }, ["/name"]],
      [{ expires_at: "tomorrow" }, ["/expires_at"]],
      [{ expires_at: "2030-02-30T00:00:00Z" }, ["/expires_at"]],
      [{ expires_at: new Date(Date.now() - 1_000).toISOString() }, ["/expires_at"]],
      [{ environment: "live" }, ["/environment"]],
      [{ scopes: ["no:such"], name: "", expires_at: "x", account_id: "x" }, ["/account_id", "/scopes/0", "/name", "/expires_at"]],
    ];
    for (const [body, pointers] of FAULTS) {
      const reply = await create(body);
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(new Set(pointersOf(reply)), new Set(pointers), JSON.stringify(body));
    }
    assertProblem(await create({ name: "a\0b" }), "invalid_request_payload");
    assert.equal(await countKeys(), already, "nothing is created");
    assert.equal(createdKey(await create({ name: "🔑".repeat(64), expires_at: null })).record["expires_at"], null);
  });
});

describe("a key cannot grant more than it has:", () => {
  const clientWith = async (scopes: readonly Scope[], more: KeyOptions = {}): Promise<OAuthClient> =>
    newOAuthClient(godwit, { scopes, ...more });

  /** Asserts that the request is refused with the missing scopes. */
  function assertLacks(reply: Reply, ...scopes: Scope[]): void {
    assertProblem(reply, "forbidden_insufficient_scope");
    assert.deepEqual(reply.json["required_scopes"], scopes);
    assert.equal(reply.headers.get("www-authenticate"), `Bearer realm="godwit", error="insufficient_scope", scope="${scopes.join(" ")}"`);
    assert.equal(reply.json["key"], undefined);
  }

  test("it creates keys with only its own scopes, all of them or fewer", async () => {
    const maker = await clientWith(["keys:write", "messages:read", "events:read"]);
    createdKey(await create({ scopes: ["messages:read"] }, { key: maker.secret }));
    createdKey(await create({ scopes: ["events:read", "keys:write", "messages:read"] }, { key: maker.secret }));
    const already = await countKeys();
    assertLacks(
      await create({ scopes: ["messages:read", "messages:send", "keys:read"] }, { key: maker.secret }),
      "messages:send",
      "keys:read",
    );
    assertLacks(
      await create({ scopes: [...SCOPES] }, { key: maker.secret }),
      ...SCOPES.filter((scope) => !/keys:write|messages:read|events/.test(scope)),
    );
    assert.equal(await countKeys(), already);
  });

  test("it creates none without keys:write, and sees none without keys:read", async () => {
    const reader = await clientWith(SCOPES.filter((scope) => scope !== "keys:write"));
    const writer = await clientWith(["keys:write", "messages:read"]);
    assertLacks(await create({}, { key: reader.secret }), "keys:write");
    assertLacks(await rotate(reader.id, {}, { key: reader.secret }), "keys:write");
    assertLacks(await revoke(reader.id, { key: reader.secret }), "keys:write");
    assertLacks(await show(writer.id, { key: writer.secret }), "keys:read");
    assertLacks(await godwit.request("GET", "/v1/keys", { key: writer.secret }), "keys:read");
    assert.equal(await statusOf(reader.secret), 200, "the key is unchanged");
  });

  test("a token with fewer scopes than its key grants only the scopes of the token", async () => {
    const narrowed = await createToken(godwit, root, "keys:write messages:read");
    createdKey(await create({ scopes: ["messages:read"] }, { key: narrowed }));
    assertLacks(await create({ scopes: ["messages:send"] }, { key: narrowed }), "messages:send");
    const target = createdKey(await create({ scopes: ["messages:send"] }));
    assertLacks(await rotate(target.id, {}, { key: narrowed }), "messages:send");
    assertLacks(
      await rotate(root.id, {}, { key: narrowed }),
      ...SCOPES.filter((scope) => scope !== "keys:write" && scope !== "messages:read"),
    );
  });

  test("the rotation of a key with more scopes is refused, and that key still works", async () => {
    const maker = await clientWith(["keys:write", "messages:read"]);
    const target = createdKey(await create({ scopes: ["messages:read", "messages:send"] }));
    assertLacks(await rotate(target.id, { overlap_seconds: 0 }, { key: maker.secret }), "messages:send");
    assert.equal(await statusOf(target.key), 200);
    assert.equal((await show(target.id)).json["expires_at"], null);
  });

  test("a replay shows a key only to credentials that could have created it", async () => {
    const maker = await clientWith(["keys:write", "messages:read"]);
    const [creating, rotating] = [randomUUID(), randomUUID()];
    const body = { scopes: ["messages:send"] };
    const first = await create(body, { idempotencyKey: creating });
    const { id } = createdKey(first);
    const second = await rotate(id, {}, { idempotencyKey: rotating });
    createdKey(second);
    assertLacks(await create(body, { idempotencyKey: creating, key: maker.secret }), "messages:send");
    assertLacks(await rotate(id, {}, { idempotencyKey: rotating, key: maker.secret }), "messages:send");
    const equal = await newOAuthClient(godwit);
    assertProblem(await create(body, { idempotencyKey: creating, key: equal.secret }), "idempotency_key_reused");
    assertReplayOf(first, await create(body, { idempotencyKey: creating }));
    assertReplayOf(second, await rotate(id, {}, { idempotencyKey: rotating }));
  });

  test("a replay does not show a key to an access token that the key outlives", async () => {
    const body = { scopes: ["messages:send"] };
    const token = await createToken(godwit, root);
    const idempotencyKey = randomUUID();
    createdKey(await create(body, { idempotencyKey }));
    assertProblem(await create(body, { idempotencyKey, key: token }), "key_outlives_credential");
    const soon = { ...body, expires_at: new Date(Date.now() + 60_000).toISOString() };
    const short = randomUUID();
    const first = await create(soon, { idempotencyKey: short });
    assertReplayOf(first, await create(soon, { idempotencyKey: short, key: token }));
  });

  test("no key outlives its creator, and a key without an expiry gets that of its creator", async () => {
    const end = new Date(Date.now() + 10 * DAY_MS);
    const { secret: key } = await clientWith(["keys:write", "messages:read"], { expiresAt: end });
    assert.equal(createdKey(await create({}, { key })).record["expires_at"], end.toISOString());
    assert.equal(createdKey(await create({ expires_at: end.toISOString() }, { key })).record["expires_at"], end.toISOString());
    const soon = new Date(Date.now() + DAY_MS).toISOString();
    assert.equal(createdKey(await create({ expires_at: soon }, { key })).record["expires_at"], soon);
    const late = await create({ expires_at: new Date(end.getTime() + 1).toISOString() }, { key });
    assertProblem(late, "invalid_request_payload");
    assert.deepEqual(pointersOf(late), ["/expires_at"]);
    const permanent = createdKey(await create());
    assert.equal(createdKey(await rotate(permanent.id, {}, { key })).record["expires_at"], end.toISOString());
    assert.equal(createdKey(await create({ expires_at: "2099-01-01T00:00:00+02:00" })).record["expires_at"], "2098-12-31T22:00:00.000Z");
  });

  test("an access token creates only keys that expire with it, and rotates none that outlives it", async () => {
    const token = await createToken(godwit, root);
    const { expires_at: tokenEnd } = (await godwit.request("GET", "/v1/credential", { key: token })).json;
    const { record } = createdKey(await create({}, { key: token }));
    assert.equal(record["expires_at"], tokenEnd);
    const late = await create({ expires_at: new Date(Date.parse(String(tokenEnd)) + 1).toISOString() }, { key: token });
    assert.deepEqual(pointersOf(late), ["/expires_at"]);
    const permanent = createdKey(await create());
    assertProblem(await rotate(permanent.id, {}, { key: token }), "key_outlives_credential");
    assert.equal((await show(permanent.id)).json["expires_at"], null);
    const short = createdKey(await create({ expires_at: new Date(Date.now() + 60_000).toISOString() }));
    assert.equal(createdKey(await rotate(short.id, {}, { key: token })).record["expires_at"], short.record["expires_at"]);
  });

  test("the keys of an account with a longest life end within it", async () => {
    const key = await godwit.key({ account: "short lives" });
    const set = (max: string): ReturnType<typeof runGodwit> =>
      runGodwit(["accounts", "set-key-life", "short lives", "--max", max], { DATABASE_URL: godwit.databaseUrl ?? "" });
    const done = await set("30d");
    assert.equal(done.code, 0, done.stderr);
    const { record } = createdKey(await create({}, { key }));
    const lifeMs = Date.parse(String(record["expires_at"])) - Date.parse(String(record["created_at"]));
    assert.ok(Math.abs(lifeMs - 30 * DAY_MS) < 60_000);
    const late = await create({ expires_at: new Date(Date.now() + 31 * DAY_MS).toISOString() }, { key });
    assert.deepEqual(pointersOf(late), ["/expires_at"]);
    const args = [
      "keys",
      "create",
      "--account",
      "short lives",
      "--environment",
      "test",
      "--scopes",
      "messages:read",
      "--expires-in",
      "31d",
    ];
    const refused = await runGodwit(args, { DATABASE_URL: godwit.databaseUrl ?? "" });
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /are valid for at most/);
    assert.equal((await set("none")).code, 0);
    assert.equal(createdKey(await create({}, { key })).record["expires_at"], null);
  });

  test("a key that was just revoked creates no key, even on a node that is not yet notified", async () => {
    const revoked = await newOAuthClient(godwit);
    const target = createdKey(await create());
    assert.equal(await statusOf(revoked.secret, other), 200);
    assert.equal((await revoke(revoked.id)).status, 200);
    const already = await countKeys();
    assertProblem(await create({}, { key: revoked.secret, node: other }), "unauthorized_invalid_token");
    assertProblem(await rotate(target.id, {}, { key: revoked.secret, node: other }), "unauthorized_invalid_token");
    assert.equal(await countKeys(), already);
    const expired = await newOAuthClient(godwit);
    const token = await createToken(godwit, expired);
    assert.equal(await statusOf(token, other), 200);
    await rotate(expired.id, { overlap_seconds: 0 });
    assertProblem(await create({}, { key: token, node: other }), "unauthorized_invalid_token");
  });
});

describe("a key is not found", () => {
  const STRANGERS: readonly KeyOptions[] = [{ environment: "live" }, { account: "neighbor" }, { account: "neighbor", environment: "live" }];

  test("by the other environment or by another account, with any operation", async () => {
    const { id, key } = createdKey(await create());
    for (const options of STRANGERS) {
      const stranger = await godwit.key(options);
      await godwit.unlimited();
      assertProblem(await show(id, { key: stranger }), "not_found");
      assertProblem(await rotate(id, {}, { key: stranger }), "not_found");
      assertProblem(await revoke(id, { key: stranger }), "not_found");
      assert.ok(!(await godwit.request("GET", "/v1/keys?limit=100", { key: stranger })).text.includes(id));
    }
    assert.equal(await statusOf(key), 200);
  });

  test("with an unknown or an invalid id", async () => {
    for (const id of [NOBODY, "msg_01k9zs3v8mf4tb2xg1qj6n0d5c", "x", "key_", madeUpKey()]) {
      assertProblem(await show(id), "not_found");
      assertProblem(await rotate(id), "not_found");
      assertProblem(await revoke(id), "not_found");
    }
  });
});

describe("revoking", () => {
  test("a key ends it, is idempotent, and keeps it in the list", async () => {
    const { id, key } = createdKey(await create());
    const first = await revoke(id);
    assert.equal(first.status, 200, first.text);
    assert.ok(Math.abs(Date.parse(String(first.json["revoked_at"])) - Date.now()) < 10_000);
    assert.equal(await statusOf(key), 401);
    const second = await revoke(id, { node: other });
    assert.deepEqual([second.status, second.text], [200, first.text]);
    assert.equal((await show(id)).text, first.text);
    assert.ok((await godwit.request("GET", "/v1/keys?limit=100", { key: root.secret })).text.includes(id));
  });

  test("the key of the request is permitted, and the key does not work afterwards", async () => {
    const own = await newOAuthClient(godwit);
    assert.equal((await revoke(own.id, { key: own.secret })).status, 200);
    assertProblem(await show(own.id, { key: own.secret }), "unauthorized_invalid_token");
  });

  test("a key does not end the keys that it created", async () => {
    const maker = await newOAuthClient(godwit);
    const child = createdKey(await create({}, { key: maker.secret }));
    await revoke(maker.id);
    await until("the key is refused on every node", async () => (await statusOf(maker.secret, other)) === 401 || undefined);
    assert.equal(await statusOf(child.key), 200);
  });

  test("the creator while it creates a key: the key exists by then, or the creator gets a 401", async () => {
    for (let round = 0; round < 10; round += 1) {
      const maker = await newOAuthClient(godwit);
      const already = await countKeys();
      const [reply, found] = await Promise.all([
        create({}, { key: maker.secret, node: other }),
        revoke(maker.id).then(async ({ status }) => (status === 200 ? countKeys() : -1)),
      ]);
      assert.ok(reply.status === 201 || reply.status === 401, reply.text);
      assert.equal(found, already + (reply.status === 201 ? 1 : 0), "nothing is created after the response of the revocation");
      assert.equal(await countKeys(), found);
    }
  });
});

describe("rotating", () => {
  test("creates a key with the same scopes and name, and the old one works for the overlap, by default a day", async () => {
    const old = createdKey(await create({ scopes: ["messages:read", "usage:read"], name: "checkout" }));
    const reply = await rotate(old.id);
    const { key, id, record } = createdKey(reply);
    assert.equal(reply.headers.get("location"), `/v1/keys/${id}`);
    assert.notEqual(id, old.id);
    assert.deepEqual([record["scopes"], record["name"], record["expires_at"]], [["messages:read", "usage:read"], "checkout", null]);
    assert.deepEqual([await statusOf(key), await statusOf(old.key), await statusOf(old.key, other)], [200, 200, 200]);
    const end = Date.parse(String((await show(old.id)).json["expires_at"]));
    assert.ok(Math.abs(end - Date.now() - DAY_MS) < 60_000);
    const { expires_at: sooner } = createdKey(await rotate(old.id, { overlap_seconds: 3_600 })).record;
    assert.equal(sooner, new Date(end).toISOString(), "the new key does not outlive the old one");
    const nearer = Date.parse(String((await show(old.id)).json["expires_at"]));
    assert.ok(Math.abs(nearer - Date.now() - 3_600_000) < 60_000);
    await rotate(old.id, { overlap_seconds: 30 * 86_400 });
    assert.equal(Date.parse(String((await show(old.id)).json["expires_at"])), nearer, "an overlap does not extend the life of a key");
  });

  test("without an overlap ends the old key on every node", async () => {
    const old = createdKey(await create());
    const next = createdKey(await rotate(old.id, { overlap_seconds: 0 }));
    for (const node of [godwit, other]) {
      await until("the old key is refused", async () => (await statusOf(old.key, node)) === 401 || undefined);
      assert.equal(await statusOf(next.key, node), 200);
    }
  });

  test("the key of the request returns the next key", async () => {
    const own = await newOAuthClient(godwit);
    const { key } = createdKey(await rotate(own.id, { overlap_seconds: 0 }, { key: own.secret }));
    await until("the old key is refused", async () => (await statusOf(own.secret)) === 401 || undefined);
    assert.equal((await godwit.request("GET", "/v1/keys", { key })).status, 200);
  });

  test("accepts an overlap from zero to thirty days", async () => {
    const { id } = createdKey(await create());
    for (const overlap of [-1, 30 * 86_400 + 1, 1.5, "60", true]) {
      const reply = await rotate(id, { overlap_seconds: overlap });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(pointersOf(reply), ["/overlap_seconds"]);
    }
    assertProblem(await rotate(id, { overlap: 5 }), "invalid_request_payload");
    createdKey(await rotate(id, { overlap_seconds: 30 * 86_400 }));
    createdKey(await rotate(id, { overlap_seconds: null }));
  });

  test("a revoked or expired key is refused, and the refusal is replayed", async () => {
    const revoked = createdKey(await create());
    await revoke(revoked.id);
    const expired = createdKey(await create());
    await rotate(expired.id, { overlap_seconds: 0 });
    for (const { id } of [revoked, expired]) {
      const idempotencyKey = randomUUID();
      const first = await rotate(id, {}, { idempotencyKey });
      assertProblem(first, "key_not_active");
      assertReplayOf(first, await rotate(id, {}, { idempotencyKey, node: other }));
    }
  });

  test("concurrently creates a key for each request, and none outlives the first", async () => {
    const old = createdKey(await create({ expires_at: new Date(Date.now() + DAY_MS).toISOString() }));
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) => rotate(old.id, {}, { node: index % 2 === 0 ? godwit : other })),
    );
    assert.equal(new Set(replies.map((reply) => createdKey(reply).key)).size, 10);
    for (const reply of replies) assert.ok(String(reply.json["expires_at"]) <= String(old.record["expires_at"]));
  });
});

describe("an idempotency key", () => {
  test("returns the same secret again, from a response that is stored encrypted", async () => {
    const [creating, rotating] = [randomUUID(), randomUUID()];
    const first = await create({ name: "again" }, { idempotencyKey: creating });
    const { id, key } = createdKey(first);
    const second = await rotate(id, {}, { idempotencyKey: rotating });
    const { key: next } = createdKey(second);
    for (const node of [godwit, other]) {
      assertReplayOf(first, await create({ name: "again" }, { idempotencyKey: creating, node }));
      assertReplayOf(second, await rotate(id, {}, { idempotencyKey: rotating, node }));
    }
    assertReused(await create({ name: "another" }, { idempotencyKey: creating }));
    assertReused(await rotate(id, { overlap_seconds: 5 }, { idempotencyKey: rotating }));
    const rows = await godwit.rows<{ text: string }>("select t::text as text from idempotency_keys t where key = any ($1)", [
      [creating, rotating],
    ]);
    assert.equal(rows.length, 2);
    const stored = JSON.stringify(rows);
    assert.ok(stored.includes("sealed:") && !stored.includes("gw_"), stored);
    const said = JSON.stringify([godwit.logs, other.logs, godwit.output]);
    for (const secret of [key, next]) assert.ok(!said.includes(secret.slice(12)));
  });

  test("of twenty concurrent requests creates one key, and rotates a key once", async () => {
    const { id } = createdKey(await create());
    const operations = [(options: Options) => create({ name: "race" }, options), (options: Options) => rotate(id, {}, options)];
    for (const operation of operations) {
      const already = await countKeys();
      const idempotencyKey = randomUUID();
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, index) => operation({ idempotencyKey, node: index % 2 === 0 ? godwit : other })),
      );
      assertReplayOf(assertOneExecution(replies, 201), await operation({ idempotencyKey }));
      assert.equal(await countKeys(), already + 1);
    }
  });

  test("of a request of a revoked key does not help that key", async () => {
    const maker = await newOAuthClient(godwit);
    const idempotencyKey = randomUUID();
    createdKey(await create({}, { key: maker.secret, idempotencyKey }));
    await revoke(maker.id);
    assertProblem(await create({}, { key: maker.secret, idempotencyKey }), "unauthorized_invalid_token");
    assertProblem(await create({}, { idempotencyKey }), "idempotency_key_reused");
  });

  test("of a refused request can be used again", async () => {
    const maker = await newOAuthClient(godwit, { scopes: ["keys:write", "messages:read"] });
    const idempotencyKey = randomUUID();
    assertProblem(await create({ scopes: ["usage:read"] }, { key: maker.secret, idempotencyKey }), "forbidden_insufficient_scope");
    const reply = await create({}, { key: maker.secret, idempotencyKey });
    createdKey(reply);
    assert.equal(isReplay(reply), false);
  });
});

describe("the list", () => {
  test("contains all keys of the environment, newest first, in pages", async () => {
    const owner = await newOAuthClient(godwit, { account: "lists" });
    await godwit.unlimited();
    const ids = [owner.id];
    for (let index = 0; index < 6; index += 1) ids.unshift(createdKey(await create({}, { key: owner.secret })).id);
    await revoke(ids[2] ?? "", { key: owner.secret });
    const list = async (query: Query): Promise<Page> =>
      recordOf(await godwit.request("GET", `/v1/keys${search(query)}`, { key: owner.secret })) as Page;
    const pages = await walk(list, { limit: "2" });
    assert.equal(pages.length, 4);
    for (const record of itemsOf(pages)) assert.ok(!("key" in record));
    assert.deepEqual(
      itemsOf(pages).map(({ id }) => id),
      ids,
    );
    assert.equal(((await godwit.request("GET", "/v1/keys", { key: owner.secret })).json["data"] as unknown[]).length, 7);
  });

  test("refuses invalid and unknown parameters", async () => {
    for (const query of ["limit=0", "limit=101", "limit=x", "cursor=x", "status=active"])
      assertProblem(await godwit.request("GET", `/v1/keys?${query}`, { key: root.secret }), "invalid_request_payload");
  });
});

describe("the credential of a request", () => {
  const request = (key: string | undefined, node = godwit): Promise<Reply> => node.request("GET", "/v1/credential", { key });

  async function read(key: string, node = godwit): Promise<Reply["json"]> {
    const { status, json, text } = await request(key, node);
    assert.equal(status, 200, text);
    return json;
  }

  test("is shown on every node: a key, and its scopes in a fixed order", async () => {
    const { key, id, record } = createdKey(await create({ scopes: ["usage:read", "messages:read", "messages:send"], name: "console" }));
    const expected = {
      object: "credential",
      type: "api_key",
      key_id: id,
      account_id: record["account_id"],
      environment: "test",
      name: "console",
      scopes: ["messages:send", "messages:read", "usage:read"],
      tier: { name: "unlimited", requests_per_second: null, burst: null },
      expires_at: null,
    };
    assert.deepEqual([await read(key), await read(key, other)], [expected, expected]);
    const live = await newOAuthClient(godwit, { environment: "live" });
    const { key_id: liveId, environment, name, scopes } = await read(live.secret);
    assert.deepEqual([liveId, environment, name, scopes], [live.id, "live", null, [...SCOPES]]);
  });

  test("may be a key without any scope, which can only read itself", async () => {
    const unscoped = await newOAuthClient(godwit, { scopes: [] });
    assert.deepEqual((await read(unscoped.secret))["scopes"], []);
    assertProblem(await godwit.request("GET", "/v1/keys", { key: unscoped.secret }), "forbidden_insufficient_scope");
    const narrow = await newOAuthClient(godwit, { scopes: ["links:read"] });
    assert.deepEqual((await read(narrow.secret))["scopes"], ["links:read"]);
  });

  test("counts in the quota, and shows the tier by which it was admitted", async () => {
    const metered = await godwit.key({ account: "metered" });
    const first = await request(metered);
    assert.deepEqual(first.json["tier"], { name: "sandbox", requests_per_second: 25, burst: 50 });
    assert.equal(first.headers.get("ratelimit-policy"), '"sandbox";q=50;w=2');
    assert.match(first.headers.get("ratelimit") ?? "", /^"sandbox";r=\d+;t=\d+$/);
    const refused = await until("the quota is exceeded", async () => {
      const replies = await Promise.all(Array.from({ length: 60 }, () => request(metered)));
      return replies.find(({ status }) => status === 429);
    });
    assertProblem(refused, "rate_limit_exceeded");
  });

  test("may be a token, with its own scopes and expiry, which differ from those of its key", async () => {
    const client = await newOAuthClient(godwit);
    const token = await createToken(godwit, client, "usage:read messages:read");
    const { exp = 0 } = decodeJwt(token);
    const { account_id: account, ...rest } = await read(token, other);
    assert.match(String(account), /^acct_/);
    assert.deepEqual(rest, {
      object: "credential",
      type: "access_token",
      key_id: client.id,
      environment: "test",
      name: null,
      scopes: ["messages:read", "usage:read"],
      tier: { name: "unlimited", requests_per_second: null, burst: null },
      expires_at: new Date(exp * 1_000).toISOString(),
    });
    const { type, scopes, expires_at: end } = await read(client.secret);
    assert.deepEqual([type, scopes, end], ["api_key", [...SCOPES], null]);
  });

  test("may be a token with more than its key has by now: its scopes and expiry are limited to those of the key", async () => {
    const client = await newOAuthClient(godwit);
    const token = await createToken(godwit, client);
    const end = new Date(Date.now() + 600_000);
    await godwit.rows("update api_keys set expires_at = $2, scopes = '{links:read,messages:read}' where id = $1", [
      decodeId("key", client.id),
      end,
    ]);
    const { type, scopes, expires_at: shown } = await read(token);
    assert.deepEqual([type, scopes, shown], ["access_token", ["messages:read", "links:read"], end.toISOString()]);
    assert.equal((await read(client.secret))["expires_at"], end.toISOString());
    const { exp = 0 } = decodeJwt(await createToken(godwit, client));
    assert.ok(exp * 1_000 <= end.getTime());
  });

  test("is a 401 when it is missing, unknown or expired, and at once when it is revoked, regardless of caches", async () => {
    assertProblem(await request(undefined), "unauthorized_missing_token");
    const expired = await godwit.key({ expiresAt: new Date(Date.now() - 1_000) });
    for (const key of [madeUpKey(), expired]) assertProblem(await request(key), "unauthorized_invalid_token");
    const revoked = await newOAuthClient(godwit);
    const token = await createToken(godwit, revoked);
    for (const key of [revoked.secret, token]) await read(key, other);
    assert.equal((await revoke(revoked.id)).status, 200);
    for (const key of [revoked.secret, token]) {
      const reply = await request(key, other);
      assertProblem(reply, "unauthorized_invalid_token");
      assert.equal(reply.headers.get("www-authenticate"), 'Bearer realm="godwit", error="invalid_token"');
    }
  });

  test("accepts no parameters, and no other method", async () => {
    assertProblem(await godwit.request("GET", "/v1/credential?id=x", { key: root.secret }), "invalid_request_payload");
    const reply = await godwit.request("DELETE", "/v1/credential", { key: root.secret });
    assertProblem(reply, "method_not_allowed");
  });
});

describe("an environment can have a thousand active keys", () => {
  /** Adds so many keys to the existing ones. */
  async function fill(account: string, count: number): Promise<void> {
    const nextId = uuidSequence();
    await godwit.rows(
      `insert into api_keys (account_id, id, environment, hint, scopes)
       select (select id from accounts where name = $1), id, 'test', 'gw_test_xxxx…', '{messages:read}' from unnest($2::uuid[]) id`,
      [account, Array.from({ length: count }, () => uuidToText(nextId(Date.now() - DAY_MS)))],
    );
  }

  test("and no more, by creation or rotation, until one is revoked or expires, or is replaced", async () => {
    const owner = await newOAuthClient(godwit, { account: "full" });
    await godwit.unlimited();
    const key = owner.secret;
    const spare = createdKey(await create({}, { key }));
    await fill("full", 997);
    const last = createdKey(await create({}, { key }));
    const idempotencyKey = randomUUID();
    const full = await create({}, { key, idempotencyKey });
    assertProblem(full, "too_many_keys");
    assertProblem(await rotate(spare.id, {}, { key }), "too_many_keys");
    const replaced = createdKey(await rotate(last.id, { overlap_seconds: 0 }, { key }));
    assertProblem(await create({}, { key }), "too_many_keys");
    await revoke(replaced.id, { key });
    assertReplayOf(full, await create({}, { key, idempotencyKey }));
    createdKey(await create({}, { key }));
    assertProblem(await create({}, { key }), "too_many_keys");
    await godwit.rows("update api_keys set expires_at = now() - interval '1 second' where id = $1", [decodeId("key", spare.id)]);
    createdKey(await create({}, { key }));
    createdKey(await create({}, { key: await godwit.key({ account: "full", environment: "live" }) }));
  });

  test("and no more with concurrent requests", async () => {
    const owner = await newOAuthClient(godwit, { account: "nearly full" });
    await godwit.unlimited();
    await fill("nearly full", 996);
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, index) => create({}, { key: owner.secret, node: index % 2 === 0 ? godwit : other })),
    );
    assert.equal(replies.filter(({ status }) => status === 201).length, 3);
    for (const reply of replies) if (reply.status !== 201) assertProblem(reply, "too_many_keys");
  });
});

test("two keys that rotate each other concurrently both succeed, or one gets a 401", async () => {
  for (let round = 0; round < 10; round += 1) {
    const [one, two] = [await newOAuthClient(godwit), await newOAuthClient(godwit)];
    const replies = await Promise.all([
      rotate(two.id, { overlap_seconds: 0 }, { key: one.secret }),
      rotate(one.id, { overlap_seconds: 0 }, { key: two.secret, node: other }),
    ]);
    for (const { status, text } of replies) assert.ok(status === 201 || status === 401, text);
    assert.ok(replies.some(({ status }) => status === 201));
  }
});

test("a session that ends while it creates a key leaves one key or none, as the response says", async () => {
  const idempotencyKey = randomUUID();
  const already = await countKeys();
  await using lock = await lockTable(godwit.databaseUrl, "api_key_hashes");
  const running = create({ name: "cut" }, { idempotencyKey });
  await lock.waiting();
  await cutConnections(godwit.databaseUrl, "wait_event_type = 'Lock'");
  await lock.release();
  assertProblem(await running, "service_unavailable");
  assert.equal(await countKeys(), already);
  createdKey(await create({ name: "cut" }, { idempotencyKey }));
});
