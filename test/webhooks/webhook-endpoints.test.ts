/** The API of endpoints: input, life cycle and access. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { SCOPES, type Scope } from "../../src/access/scope.ts";
import { MAX_ENDPOINTS_EACH } from "../../src/webhooks/endpoint.ts";
import { EVENT_TYPES } from "../../src/events/event.ts";
import { clientOf, clientOfAccount, URL_TEXT, itemsOf, walk, type EndpointClient, type Json } from "../support/client.ts";
import { LIMIT_MS, assertProblem, faultsOf } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { lockTable } from "../support/locks.ts";
import { rowId, waitingFor } from "../support/tables.ts";
import type { Environment } from "../../src/model/owner.ts";

let godwit: Godwit;
let key: string;
let endpoints: EndpointClient;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  key = await godwit.key();
  endpoints = clientOf(godwit, key).endpoints;
});
after(() => godwit.stop());

const newClient = async (account: string, environment: Environment = "test"): Promise<EndpointClient> =>
  (await clientOfAccount(godwit, account, { environment })).endpoints;

describe("create", () => {
  test("returns 201 with the location, the whole record and a Standard Webhooks secret", async () => {
    const body = { url: `${URL_TEXT}?a=1`, description: "Läden", event_types: ["message.sent", "endpoint.*"] };
    const reply = await endpoints.request("POST", "", { body });
    assert.equal(reply.status, 201, reply.text);
    const { id, secret, created_at: createdAt, updated_at: updatedAt, created_by: createdBy, ...rest } = reply.json;
    assert.match(String(createdBy), /^key_/);
    assert.match(String(id), /^whe_[0-9a-z]{26}$/);
    assert.equal(reply.headers.get("location"), `/v1/webhook_endpoints/${String(id)}`);
    assert.match(String(secret), /^whsec_[A-Za-z0-9+/]+=*$/);
    const bytes = Buffer.from(String(secret).slice("whsec_".length), "base64").length;
    assert.ok(bytes >= 24 && bytes <= 64, `${bytes} bytes`);
    assert.ok(Math.abs(Date.parse(String(createdAt)) - Date.now()) < LIMIT_MS);
    assert.equal(updatedAt, createdAt);
    assert.deepEqual(rest, {
      object: "webhook_endpoint",
      environment: "test",
      ...body,
      status: "enabled",
      disabled_reason: null,
      failing_since: null,
      previous_secret_until: null,
      recovery: null,
      source: null,
    });
  });

  for (const [what, fields] of Object.entries({
    absent: {},
    null: { description: null, event_types: null },
    empty: { description: "" },
  })) {
    test(`with ${what} optional fields has no description and receives all events`, async () => {
      const { description, event_types: types } = await endpoints.create(fields);
      assert.deepEqual([description, types], [null, ["*"]]);
    });
  }

  test("shows the secret only once, and each endpoint has its own", async () => {
    const [first, second] = [await endpoints.create(), await endpoints.create()];
    assert.notEqual(first["secret"], second["secret"]);
    const { secret, ...record } = first;
    assert.deepEqual(await endpoints.read(first["id"]), record);
    for (const path of ["", `/${String(first["id"])}`, `/${String(first["id"])}/deliveries`])
      assert.ok(!(await endpoints.request("GET", path)).text.includes(String(secret)));
    assert.ok(!JSON.stringify(await endpoints.edit(first["id"], { description: "x" })).includes("whsec_"));
  });

  test("accepts every event type and wildcard, up to fifty, and counts lengths in characters", async () => {
    const all = ["*", "message.*", "endpoint.*", "webhook.*", ...EVENT_TYPES];
    assert.deepEqual((await endpoints.create({ event_types: all }))["event_types"], all);
    const fifty = Array.from({ length: 50 }, () => "message.sent");
    await endpoints.create({ event_types: fifty, description: "🐦".repeat(256), url: URL_TEXT.padEnd(2_048, "x") });
  });
});

describe("list", () => {
  test("contains whole records, newest first, in pages without gaps or duplicates", async () => {
    const own = await newClient("lists");
    assert.deepEqual(await own.list(), { data: [], has_more: false, next_cursor: null });
    const newestFirst: Json[] = [];
    for (let index = 0; index < 7; index += 1) newestFirst.unshift(await own.read((await own.create())["id"]));
    for (const limit of [1, 3, 6, 7, 100]) {
      const pages = await walk(own.list, { limit: String(limit) });
      assert.deepEqual(itemsOf(pages), newestFirst);
      assert.equal(pages.length, Math.ceil(7 / limit));
    }
  });

  for (const query of ["limit=0", "limit=101", "cursor=abc", "status=enabled"]) {
    test(`with ?${query} is a 400 that names the parameter`, async () => {
      const reply = await endpoints.request("GET", `?${query}`);
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        faultsOf(reply).map(({ parameter }) => parameter),
        [query.split("=")[0]],
      );
    });
  }
});

describe("edit", () => {
  const FIRST = { url: URL_TEXT, description: "before", event_types: ["message.*"] };
  const ROWS: readonly (readonly [what: string, body: object, after: object])[] = [
    ["the url", { url: "https://example.org/other" }, { url: "https://example.org/other" }],
    ["the description", { description: "after" }, { description: "after" }],
    ["an empty description, which clears it", { description: "" }, { description: null }],
    ["the types", { event_types: ["message.sent", "webhook.test"] }, { event_types: ["message.sent", "webhook.test"] }],
    ["the status", { status: "disabled" }, { status: "disabled", disabled_reason: "requested" }],
    ["the status to the same value", { status: "enabled" }, {}],
    ["nothing", {}, {}],
    ["null, which means absent", { url: null, description: null, event_types: null, status: null }, {}],
    ["several at once", { url: URL_TEXT, description: "both", event_types: ["*"] }, { description: "both", event_types: ["*"] }],
  ];
  for (const [what, body, changes] of ROWS) {
    test(`of ${what} changes only the given fields`, async () => {
      const { secret: _, updated_at: madeAt, ...record } = await endpoints.create(FIRST);
      const { updated_at: changedAt, ...changed } = await endpoints.edit(record["id"], body);
      assert.deepEqual(changed, { ...record, ...changes });
      assert.ok(String(changedAt) >= String(madeAt));
      assert.deepEqual(await endpoints.read(record["id"]), { ...changed, updated_at: changedAt });
    });
  }

  test("to enabled clears the reason and the failures of a disabled endpoint", async () => {
    const { id } = await endpoints.create();
    await godwit.rows("update webhook_endpoints set failing_since = '2026-01-02T03:04:05.678Z' where id = $1", [rowId(id)]);
    assert.equal((await endpoints.read(id))["failing_since"], "2026-01-02T03:04:05.678Z");
    assert.equal((await endpoints.edit(id, { description: "still failing" }))["failing_since"], "2026-01-02T03:04:05.678Z");
    assert.equal((await endpoints.edit(id, { status: "disabled" }))["failing_since"], "2026-01-02T03:04:05.678Z");
    const { status, disabled_reason: reason, failing_since: since } = await endpoints.edit(id, { status: "enabled" });
    assert.deepEqual([status, reason, since], ["enabled", null, null]);
  });

  for (const reason of ["gone", "failing"]) {
    test(`keeps the reason ${reason} of a disabled endpoint until it is enabled`, async () => {
      const { id } = await endpoints.create();
      await godwit.rows("update webhook_endpoints set status = 'disabled', disabled_reason = $2 where id = $1", [rowId(id), reason]);
      assert.equal((await endpoints.edit(id, { status: "disabled" }))["disabled_reason"], reason);
      assert.equal((await endpoints.edit(id, { status: "enabled" }))["disabled_reason"], null);
    });
  }

  test("to disabled stops new deliveries and the recovery", async () => {
    const own = await newClient("disabled");
    const [{ id: silent }, { id: enabled }] = [await own.create(), await own.create()];
    await own.recover(silent, "2020-01-01T00:00:00Z");
    assert.equal((await own.edit(silent, { status: "disabled" }))["recovery"], null);
    await godwit.send(await godwit.key({ account: "disabled" }));
    assert.deepEqual([await waitingFor(godwit, silent), await waitingFor(godwit, enabled)], [0, 1]);
  });
});

describe("delete", () => {
  test("removes the endpoint and its deliveries permanently", async () => {
    const { id } = await endpoints.create();
    assert.deepEqual(await endpoints.remove(id), { id, object: "webhook_endpoint", deleted: true });
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/deliveries"],
      ["DELETE", ""],
    ] as const)
      assertProblem(await endpoints.request(method, `/${String(id)}${path}`), "not_found");
    assert.ok((await endpoints.list({ limit: "100" })).data.every((endpoint) => endpoint["id"] !== id));
    await godwit.send(key);
    assert.equal(await waitingFor(godwit, id), 0);
  });
});

test("an environment cannot exceed its limit of endpoints, even with concurrent requests", async () => {
  const own = await newClient("very many");
  const { id } = await own.create();
  await godwit.rows(
    `insert into webhook_endpoints (account_id, environment, id, url, event_types, status, secret, updated_at)
     select account_id, environment, gen_random_uuid(), url, '{webhook.test}', 'disabled', secret, now()
       from webhook_endpoints, generate_series(1, ${MAX_ENDPOINTS_EACH - 2})
      where id = $1`,
    [rowId(id)],
  );
  // The requests of an account that run at a time have counted the endpoints and wait to insert.
  await using lock = await lockTable(godwit.databaseUrl, "webhook_endpoints");
  const asked = Array.from({ length: 6 }, () => own.request("POST", "", { body: { url: URL_TEXT } }));
  await lock.waiting(3);
  await lock.release();
  const storm = await Promise.all(asked);
  const refused = storm.filter(({ status }) => status !== 201);
  assert.equal(refused.length, 5);
  for (const reply of refused) assertProblem(reply, "too_many_endpoints");
  await (await newClient("very many", "live")).create();
  await endpoints.create();
  await own.remove(id);
  await own.create();
  assertProblem(await own.request("POST", "", { body: { url: URL_TEXT } }), "too_many_endpoints");
});

/** Every operation on an endpoint and one of its deliveries. */
const OPERATIONS: readonly (readonly [method: string, path: string, scope: Scope, body?: object])[] = [
  ["GET", "", "webhooks:read"],
  ["GET", "/{id}", "webhooks:read"],
  ["GET", "/{id}/deliveries", "webhooks:read"],
  ["GET", "/{id}/deliveries/{delivery}", "webhooks:read"],
  ["POST", "", "webhooks:write", { url: URL_TEXT }],
  ["PATCH", "/{id}", "webhooks:write", { description: "changed" }],
  ["POST", "/{id}/rotate_secret", "webhooks:write"],
  ["POST", "/{id}/test", "webhooks:write"],
  ["POST", "/{id}/deliveries/{delivery}/retry", "webhooks:write"],
  ["POST", "/{id}/recover", "webhooks:write", { since: "2030-01-01T00:00:00Z" }],
  ["DELETE", "/{id}", "webhooks:write"],
];

describe("access", () => {
  let endpoint: Json;
  let delivery: string;
  let strangers: EndpointClient[];
  before(async () => {
    endpoint = await endpoints.create();
    const event = rowId(await endpoints.test(endpoint["id"]));
    await godwit.rows(
      `insert into webhook_deliveries (account_id, environment, endpoint_id, id, event_id, event_type, status, attempts, updated_at)
       select account_id, environment, id, $2, $2, 'webhook.test', 'failed', '[]', now() from webhook_endpoints where id = $1`,
      [rowId(endpoint["id"]), event],
    );
    delivery = String((await endpoints.deliveries(endpoint["id"])).data[0]?.["id"]);
    strangers = [await newClient("a stranger"), clientOf(godwit, await godwit.key({ environment: "live" })).endpoints];
    await godwit.unlimited();
  });
  const at = (path: string, id: unknown = endpoint["id"]): string => path.replace("{id}", String(id)).replace("{delivery}", delivery);

  for (const [method, path, scope, body] of OPERATIONS) {
    test(`${method} ${path} requires exactly the scope ${scope}`, async () => {
      const others = await godwit.key({ scopes: SCOPES.filter((each) => each !== scope) });
      const reply = await clientOf(godwit, others).endpoints.request(method, at(path), { body });
      assertProblem(reply, "forbidden_insufficient_scope");
      assert.deepEqual(reply.json["required_scopes"], [scope]);
      const enough = clientOf(godwit, await godwit.key({ scopes: [scope] })).endpoints;
      const own = method === "DELETE" ? (await endpoints.create())["id"] : endpoint["id"];
      assert.ok((await enough.request(method, at(path, own), { body })).status < 300);
    });

    if (!path.includes("{id}")) continue;
    test(`${method} ${path} finds no endpoint of another account or environment`, async () => {
      for (const stranger of strangers) assertProblem(await stranger.request(method, at(path), { body }), "not_found");
    });
    test(`${method} ${path} finds no endpoint with an invalid id`, async () => {
      const suffix = String(endpoint["id"]).slice(4);
      for (const id of ["whe_", "whe_x", `evt_${suffix}`, suffix, `whe_${suffix.toUpperCase()}`, `whe_${suffix}0`])
        assertProblem(await endpoints.request(method, at(path, id), { body }), "not_found");
    });
  }

  for (const [method, path] of OPERATIONS.filter((row) => row[1].includes("{delivery}"))) {
    test(`${method} ${path} finds only deliveries of that endpoint`, async () => {
      const { id } = await endpoints.create();
      assertProblem(await endpoints.request(method, at(path, id)), "not_found");
      const unknown = `/${String(endpoint["id"])}${path.replace("/{id}", "").replace("{delivery}", "dlv_01k9zs3v8mf4tb2xg1qj6n0d5c")}`;
      assertProblem(await endpoints.request(method, unknown), "not_found");
    });
  }

  test("of another account or environment shows empty lists, and its requests change nothing", async () => {
    for (const stranger of strangers) assert.deepEqual((await stranger.list()).data, []);
    assert.equal((await endpoints.read(endpoint["id"]))["status"], "enabled");
  });
});
