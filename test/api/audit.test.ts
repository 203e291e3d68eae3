/** The audit log: every change with its actor, sealed into a hash chain, listed, verified and deleted by retention. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ACTIONS } from "../../src/audit/audit-event.ts";
import { deleteOldEntries } from "../../src/audit/seal.ts";
import { verifyChain, type ChainReport, type VerifyOptions } from "../../src/audit/verify.ts";
import { decodeId, type AccountId } from "../../src/model/id.ts";
import { firstUuidAt } from "../../src/lib/uuid.ts";
import type { Database } from "../../src/database/database.ts";
import { chainKeyOf } from "../support/audit.ts";
import { recordOf, search, TEXT, type Json, type Page, type Query } from "../support/client.ts";
import { createToken, oauthClientOf } from "../support/keys.ts";
import { assertProblem, until } from "../support/expect.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";
import { Customer, WITH_WEBHOOKS } from "../support/webhook-customer.ts";
import { Hook } from "../support/hook-server.ts";

type AuditRecord = {
  id: string;
  environment: string | null;
  actor: { type: string; id: string | null; name: string | null };
  action: string;
  target: { type: string; id: string | null };
  changes: Json;
  peer: string | null;
  request_id: string | null;
  hash: string | null;
};

let godwit: Godwit;
let key: string;
let keyId: string;

before(async () => {
  godwit = await startGodwit();
  key = await godwit.key();
  keyId = (await oauthClientOf(godwit, key)).id;
  await godwit.unlimited();
});

after(() => godwit.stop());

const list = async (query: Query = {}, by = key): Promise<AuditRecord[]> => {
  const reply = await godwit.request("GET", `/v1/audit_events${search({ limit: "100", ...query })}`, { key: by });
  return (recordOf(reply) as unknown as Page<AuditRecord>).data;
};

const post = async (path: string, body: unknown, status = 201): Promise<Json> =>
  recordOf(await godwit.request("POST", path, { key, body }), status);

/** The only entry of an action. */
async function entryOf(action: string, query: Query = {}): Promise<AuditRecord> {
  const found = await list({ action, ...query });
  assert.equal(found.length, 1, `${action}: ${found.length}`);
  return found[0] as AuditRecord;
}

/** Waits until every entry is sealed. */
const sealed = (): Promise<true> =>
  until("all entries are sealed", async () => {
    const [row] = await godwit.rows<{ count: number }>("select count(*)::integer as count from audit_events where is_unsealed");
    return row?.count === 0;
  });

describe("each change has an entry with its actor, its peer and its request", () => {
  /** The change, its action, and the members of `changes` that it must have. */
  const CHANGES: Readonly<Record<string, () => Promise<[target: unknown, changes: Json]>>> = {
    "key.created": async () => {
      const made = await post("/v1/keys", { scopes: ["messages:read"], name: "new" });
      return [made["id"], { name: "new", scopes: ["messages:read"], expires_at: null, allowed_ips: null }];
    },
    "key.rotated": async () => {
      const made = await post("/v1/keys", { scopes: ["messages:read"], name: "old" });
      const rotated = await post(`/v1/keys/${String(made["id"])}/rotate`, { overlap_seconds: 60 });
      return [made["id"], { new_key_id: rotated["id"], overlap_seconds: 60 }];
    },
    "key.revoked": async () => {
      const made = await post("/v1/keys", { scopes: ["messages:read"] });
      const revoke = (): ReturnType<Godwit["request"]> => godwit.request("DELETE", `/v1/keys/${String(made["id"])}`, { key });
      recordOf(await revoke());
      recordOf(await revoke());
      return [made["id"], {}];
    },
    "endpoint.created": async () => {
      const made = await post("/v1/webhook_endpoints", { url: "https://example.com/hook?token=SECRET", event_types: ["batch.*"] });
      return [made["id"], { url: "https://example.com/hook", event_types: ["batch.*"] }];
    },
    "endpoint.changed": async () => {
      const made = await post("/v1/webhook_endpoints", { url: "https://example.com/hook" });
      recordOf(await godwit.request("PATCH", `/v1/webhook_endpoints/${String(made["id"])}`, { key, body: { status: "disabled" } }));
      return [made["id"], { status: "disabled" }];
    },
    "endpoint.secret_rotated": async () => {
      const made = await post("/v1/webhook_endpoints", { url: "https://example.com/hook" });
      await post(`/v1/webhook_endpoints/${String(made["id"])}/rotate_secret`, undefined, 200);
      return [made["id"], {}];
    },
    "endpoint.recovered": async () => {
      const made = await post("/v1/webhook_endpoints", { url: "https://example.com/hook" });
      await post(`/v1/webhook_endpoints/${String(made["id"])}/recover`, { since: "2026-01-01T00:00:00Z" }, 202);
      return [made["id"], { since: "2026-01-01T00:00:00.000Z" }];
    },
    "endpoint.deleted": async () => {
      const made = await post("/v1/webhook_endpoints", { url: "https://example.com/hook" });
      recordOf(await godwit.request("DELETE", `/v1/webhook_endpoints/${String(made["id"])}`, { key }));
      return [made["id"], {}];
    },
    "template.created": async () => [(await post("/v1/templates", { ...TEXT, name: "made" }))["id"], { name: "made", version: 1 }],
    "template.changed": async () => {
      const made = await post("/v1/templates", { ...TEXT, name: "changed" });
      recordOf(await godwit.request("PATCH", "/v1/templates/changed", { key, body: { body: "Bye {{name}}" } }));
      return [made["id"], { name: "changed", version: 2 }];
    },
    "template.archived": async () => {
      const made = await post("/v1/templates", { ...TEXT, name: "archived" });
      recordOf(await godwit.request("DELETE", "/v1/templates/archived", { key }));
      return [made["id"], { status: "archived" }];
    },
    "suppression.created": async () => [(await post("/v1/suppressions", { recipient: "+14155550101" }))["id"], { source: "api" }],
    "suppression.lifted": async () => {
      const made = await post("/v1/suppressions", { recipient: "+14155550102" });
      recordOf(await godwit.request("DELETE", `/v1/suppressions/${String(made["id"])}`, { key }));
      return [made["id"], { source: "api" }];
    },
    "suppression.imported": async () => {
      await post("/v1/suppressions/import", { entries: [{ recipient: "+14155550103" }, { recipient: "+14155550104" }] }, 200);
      return [null, { added: 2 }];
    },
    "message.canceled": async () => {
      const later = new Date(Date.now() + 3_600_000).toISOString();
      const sent = recordOf(await godwit.send(key, { recipient: "+15005550006", send_at: later }), 202);
      await post(`/v1/messages/${String(sent["id"])}/cancel`, undefined, 200);
      return [sent["id"], {}];
    },
  };

  for (const [action, change] of Object.entries(CHANGES)) {
    test(action, async () => {
      const [target, changes] = await change();
      const entry = await entryOf(action, target === null ? {} : { target: target as string });
      assert.deepEqual(entry.actor, { type: "key", id: keyId, name: null });
      assert.equal(entry.peer, "127.0.0.1");
      assert.match(String(entry.request_id), /^req_/);
      assert.equal(entry.target.id, target);
      assert.equal(entry.environment, "test");
      assert.deepEqual({ ...entry.changes, ...changes }, entry.changes);
    });
  }

  test("an access token is named as such, with the id of its key", async () => {
    const token = await createToken(godwit, { id: keyId, secret: key });
    const made = recordOf(await godwit.request("POST", "/v1/suppressions", { key: token, body: { recipient: "+14155550105" } }), 201);
    const { actor } = await entryOf("suppression.created", { target: String(made["id"]) });
    assert.deepEqual(actor, { type: "token", id: keyId, name: null });
    assert.equal(made["created_by"], keyId);
  });

  test("a refused change has none", async () => {
    const rows = await list();
    assertProblem(await godwit.request("POST", "/v1/templates", { key, body: { ...TEXT, name: "made" } }), "template_name_taken");
    assert.equal((await list()).length, rows.length);
  });

  test("a command of the operator has one with the system user", async () => {
    const env = { DATABASE_URL: godwit.databaseUrl ?? "" };
    const { code } = await runGodwit(["environments", "set-tier", "live", "standard"], env);
    assert.equal(code, 0);
    const live = await godwit.key({ environment: "live" });
    const [entry] = await list({ action: "environment.tier_changed" }, live);
    assert.equal(entry?.actor.type, "cli");
    assert.notEqual(entry?.actor.name, null);
    assert.deepEqual(entry?.changes, { tier: "standard" });
  });
});

test("the records of keys, endpoints, templates and suppressions show who created them", async () => {
  const made = [
    await post("/v1/keys", { scopes: ["messages:read"] }),
    await post("/v1/webhook_endpoints", { url: "https://example.com/hook" }),
    await post("/v1/templates", { ...TEXT, name: "by_whom" }),
    await post("/v1/suppressions", { recipient: "+14155550106" }),
  ];
  for (const record of made) assert.equal(record["created_by"], keyId, String(record["object"]));
});

test("no entry has a secret, a number or a text", async () => {
  const text = JSON.stringify(await godwit.rows("select * from audit_events"));
  for (const secret of [key, "SECRET", "+1415555", "14155550", "Bye", "whsec_"]) assert.ok(!text.includes(secret), secret);
});

test("the list is filtered by actor, action, kind, target and time, and pages through all entries", async () => {
  await sealed();
  const all = await list();
  assert.ok(all.length > 20);
  assert.deepEqual(
    await list({ actor: keyId }),
    all.filter(({ actor }) => actor.id === keyId),
  );
  assert.deepEqual(
    await list({ action: "endpoint.*" }),
    all.filter(({ action }) => action.startsWith("endpoint.")),
  );
  assert.deepEqual(
    await list({ target: "template" }),
    all.filter(({ target }) => target.type === "template"),
  );
  assert.deepEqual(await list({ target: "none" }), []);
  assert.deepEqual(await list({ created_after: "2099-01-01T00:00:00Z" }), []);
  assert.ok(all.every(({ action }) => (ACTIONS as readonly string[]).includes(action)));
  const paged: AuditRecord[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const query = { limit: "7", ...(cursor === undefined ? {} : { cursor }) };
    const page = recordOf(await godwit.request("GET", `/v1/audit_events${search(query)}`, { key })) as unknown as Page<AuditRecord>;
    paged.push(...page.data);
    cursor = page.next_cursor;
  }
  assert.deepEqual(paged, await list());
});

test("an account and an environment see nothing of others, and the list needs its scope", async () => {
  const other = await godwit.key({ account: "other" });
  assert.ok((await list({}, other)).every(({ target }) => target.type !== "template" && target.type !== "suppression"));
  const live = await godwit.key({ environment: "live" });
  assert.ok((await list({}, live)).every(({ environment }) => environment !== "test"));
  const blind = await godwit.key({ scopes: ["keys:read"] });
  assertProblem(await godwit.request("GET", "/v1/audit_events", { key: blind }), "forbidden_insufficient_scope");
});

describe("the hash chain", () => {
  const accountId = async (): Promise<AccountId> => {
    const { account_id: id } = recordOf(await godwit.request("GET", "/v1/credential", { key }));
    return decodeId("acct", String(id)) as AccountId;
  };
  const accountOf = async (account: string): Promise<Json> =>
    recordOf(await godwit.request("GET", "/v1/credential", { key: await godwit.key({ account }) }));
  const KEPT_MS = 40 * 86_400_000;
  const optionsAt = async (nowMs = Date.now()): Promise<VerifyOptions> => ({
    key: await chainKeyOf(godwit.db as Database),
    age: { nowMs, keptMs: KEPT_MS },
  });
  const verify = async (expected?: ChainReport["head"], nowMs?: number): Promise<ChainReport> =>
    verifyChain(godwit.db as Database, await accountId(), { ...(await optionsAt(nowMs)), expected });

  /** Runs statements with the triggers off, as somebody with full rights on the database could, and undoes them. */
  async function tamper(statement: string, check: (found: ChainReport) => void): Promise<void> {
    const db = godwit.db as Database;
    const undo = new Error("undo");
    const options = await optionsAt();
    await assert.rejects(
      db.transaction(async (tx) => {
        await tx.rows({ name: `off_${Math.random()}`, text: "set local session_replication_role = replica", values: [] });
        await tx.rows({ name: `tamper_${Math.random()}`, text: statement, values: [] });
        check(await verifyChain(tx, await accountId(), options));
        throw undo;
      }),
      undo,
    );
  }

  test("is whole, and every listed entry has its hash", async () => {
    await sealed();
    const { fault, links } = await verify();
    assert.equal(fault, null);
    assert.ok(links > 20);
    assert.ok((await list()).every(({ hash }) => /^[0-9a-f]{64}$/.test(hash ?? "")));
  });

  const THIRD = "(select event_id from audit_links where sequence = 3 and account_id <> '00000000-0000-0000-0000-000000000000' limit 1)";
  const TAMPERED: Readonly<Record<string, [statement: string, fault: RegExp]>> = {
    "a changed actor": [`update audit_events set actor_name = 'x' where id = ${THIRD}`, /link 3 does not fit its hash/],
    "changed changes": [`update audit_events set changes = '{"a": 1}' where id = ${THIRD}`, /link 3 does not fit its hash/],
    "a deleted entry": [`delete from audit_events where id = ${THIRD}`, /of link 3 is missing/],
    "a deleted link": ["delete from audit_links where sequence = 3", /the links from 3 to 3 are missing/],
    "an inserted entry": [
      `insert into audit_events select account_id, gen_random_uuid(), environment, actor_type, actor_id, actor_name, action, target_type,
         target_id, changes, peer, request_id from audit_events where id = ${THIRD}`,
      /is part of no chain/,
    ],
  };
  for (const [what, [statement, fault]] of Object.entries(TAMPERED)) {
    test(`${what} is found`, async () => {
      await sealed();
      await tamper(statement, (found) => assert.match(found.fault ?? "", fault));
    });
  }

  test("entries that were removed from the end are found by a head that was noted before", async () => {
    await sealed();
    const { head } = await verify();
    assert.equal((await verify(head)).fault, null);
    const later = { sequence: head.sequence + 1, hash: head.hash };
    assert.match((await verify(later)).fault ?? "", /entries were removed from its end/);
    const other = { sequence: head.sequence, hash: Buffer.alloc(32) };
    assert.match((await verify(other)).fault ?? "", /does not have the expected hash/);
  });

  test("its tables refuse changes", async () => {
    for (const statement of [
      "update audit_events set peer = 'x'",
      "delete from audit_events",
      "delete from audit_links",
      "update audit_links set sequence = 9",
      "update audit_links set event_id = null",
      "update audit_links set checkpoint_mac = hash",
    ])
      await assert.rejects(godwit.rows(statement), /is append-only/);
  });

  test("concurrent changes are all sealed, each once", async () => {
    const { links: atStart } = await verify();
    await sealed();
    await Promise.all(Array.from({ length: 40 }, (_, index) => post("/v1/suppressions", { recipient: `+1415555${1_000 + index}` })));
    await sealed();
    const { links, fault } = await verify();
    assert.equal(fault, null);
    assert.ok(links >= atStart + 40);
  });

  test("the command verifies all chains, and fails for a broken one", async () => {
    await sealed();
    const env = { DATABASE_URL: godwit.databaseUrl ?? "" };
    const good = await runGodwit(["audit", "verify", "--json"], env);
    assert.equal(good.code, 0, good.stderr);
    const results = JSON.parse(good.stdout) as { account: string; head: string; fault: string | null }[];
    assert.ok(results.length >= 1 && results.every(({ fault }) => fault === null));
    const [first] = results;
    const bad = await runGodwit(["audit", "verify", "--account", String(first?.account), "--head", `999:${"0".repeat(64)}`], env);
    assert.equal(bad.code, 1);
  });

  test("retention deletes only the start of a chain, also where entries committed in another order than that of their times", async () => {
    const db = godwit.db as Database;
    const account = decodeId("acct", String((await accountOf("out of order"))["account_id"])) as AccountId;
    const nowMs = Date.now();
    // The creation of the account is of today and is sealed first, so the older entry after it cannot be deleted before it.
    await sealed();
    await godwit.rows(
      `insert into audit_events (account_id, id, actor_type, action, target_type, changes, is_unsealed)
       values ($1, $2, 'system', 'account.changed', 'account', '{}', true)`,
      [account, firstUuidAt(nowMs - 50 * 86_400_000)],
    );
    await sealed();
    const { links } = await verifyChain(db, account, await optionsAt());
    await deleteOldEntries(db, { nowMs, keptMs: KEPT_MS, chainKey: await chainKeyOf(db) });
    const left = await verifyChain(db, account, await optionsAt());
    assert.deepEqual([left.fault, left.links], [null, links]);
  });

  test("retention deletes old entries and leaves a checkpoint, from which verification continues", async () => {
    await sealed();
    const { head } = await verify();
    const nowMs = Date.now() + 41 * 86_400_000;
    const db = godwit.db as Database;
    const deleted = await deleteOldEntries(db, { nowMs, keptMs: KEPT_MS, chainKey: await chainKeyOf(db) });
    assert.ok(deleted > 20);
    assert.match((await verify()).fault ?? "", /deleted before the end of their retention/);
    const empty = await verify(undefined, nowMs);
    assert.deepEqual([empty.links, empty.fault, empty.head.sequence], [0, null, head.sequence]);
    await post("/v1/suppressions", { recipient: "+14155550107" });
    await sealed();
    const next = await verify(head, nowMs);
    assert.deepEqual([next.links, next.fault, next.head.sequence], [1, null, head.sequence + 1]);
  });
});

describe("the event audit.created", () => {
  test("needs the scope of the audit log", async () => {
    const blind = await godwit.key({ scopes: ["webhooks:write"] });
    const create = (eventTypes: string[]): ReturnType<Godwit["request"]> =>
      godwit.request("POST", "/v1/webhook_endpoints", { key: blind, body: { url: "https://example.com/hook", event_types: eventTypes } });
    for (const types of [["audit.created"], ["message.*", "audit.*"]]) assertProblem(await create(types), "forbidden_insufficient_scope");
    const { id } = recordOf(await create(["message.*"]), 201);
    const edited = await godwit.request("PATCH", `/v1/webhook_endpoints/${String(id)}`, { key: blind, body: { event_types: ["audit.*"] } });
    assertProblem(edited, "forbidden_insufficient_scope");
  });

  test("goes to endpoints that name it, with the hash, and to no others", async () => {
    await using hook = await Hook.listen();
    await using notifying = await startGodwit(WITH_WEBHOOKS);
    const customer = await Customer.of(notifying);
    const all = await customer.endpoint(hook, ["*"]);
    const naming = await customer.endpoint(hook, ["audit.created"]);
    const kind = await customer.endpoint(hook, ["audit.*"]);
    await customer.endpoint(hook, ["batch.*"]);
    await customer.send();
    const created = (calls: readonly { event: { data: Json } }[]): AuditRecord[] =>
      calls.map(({ event }) => event.data["audit_event"] as AuditRecord).filter(({ action }) => action === "endpoint.created");
    await until("both endpoints are notified of the last one", () => created(naming.calls).length >= 2 && created(kind.calls).length >= 1);
    assert.ok(created(naming.calls).every(({ hash }) => /^[0-9a-f]{64}$/.test(hash ?? "")));
    await until("the message is notified", () => all.calls.length >= 2);
    assert.ok(all.calls.every(({ event }) => event.type.startsWith("message.")));
    const reply = await notifying.request("GET", "/v1/events?limit=100", { key: customer.key });
    assert.ok(!reply.text.includes("audit.created"));
  });
});
