/** The OpenAPI document is held to its word: every status that it declares is provoked, and every body fits its schema. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import pg from "pg";
import { isDateTime } from "../src/api/validate.ts";
import { isErrorCode } from "../src/http/codes.ts";
import { decodeId } from "../src/lib/id.ts";
import { assertCommonHeaders, assertProblem, exchange, until } from "./expect.ts";
import { adminUrl, sms, startGodwit, type Godwit, type Reply, type RequestOptions } from "./harness.ts";
import { Hold, HELD_BODY } from "./hold.ts";

type Declared = { description: string; headers: Record<string, unknown>; content: Record<string, { schema: object }> };
type Operation = {
  operationId: string;
  parameters: { name: string; in: string }[];
  requestBody?: object;
  responses: Record<string, Declared>;
};
type Document = { openapi: string; paths: Record<string, Record<string, Operation>>; components: Record<string, Record<string, unknown>> };
type Route = { method: string; path: string; operation: Operation };

const COMMITTED = join(import.meta.dirname, "..", "docs", "openapi.json");
const NO_MESSAGE = "msg_01k9zs3v8mf4tb2xg1qj6n0d5c";

let godwit: Godwit;
let document: Document;
let key: string;
let scopeless: string;
let exhausted: string;
let messageId: string;
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addFormat("date-time", isDateTime);

before(async () => {
  godwit = await startGodwit({ env: { GODWIT_REQUEST_TIMEOUT: "1" } });
  exhausted = await godwit.key({ account: "exhausted" });
  await godwit.unlimited();
  await godwit.rows("insert into tiers (name, requests_per_second, burst) values ('trickle', 1, 1)");
  await godwit.rows("update environments set tier = 'trickle' where account_id = (select id from accounts where name = 'exhausted')");
  key = await godwit.key();
  scopeless = await godwit.key({ scopes: ["templates:read"] });
  messageId = String((await godwit.send(key, { metadata: { a: "b" }, client_reference: "c", sender: "Godwit" })).json["id"]);
  document = (await godwit.request("GET", "/openapi.json")).json as unknown as Document;
  ajv.addSchema(document, "openapi.json");
});
after(() => godwit.stop());

const queued = async (): Promise<string> => String((await godwit.send(key)).json["id"]);
const scheduled = async (): Promise<string> => {
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  return String((await godwit.send(key, { send_at: inAnHour })).json["id"]);
};
const canceled = async (): Promise<string> => {
  const id = await queued();
  assert.equal((await godwit.request("POST", `/v1/messages/${id}/cancel`, { key })).status, 200);
  return id;
};

/** Operations that ask for a body, or for a message in a certain state, and what they refuse. */
type Needs = { body?: object; fit?: () => Promise<string>; unfit?: () => Promise<string>; refused?: object };
const NEEDS: Readonly<Record<string, Needs>> = {
  "POST /v1/messages": { body: sms(), refused: { ...sms(), body: undefined, template_id: "welcome" } },
  "PATCH /v1/messages/{id}": { body: { body: "x" }, fit: scheduled, unfit: queued },
  "POST /v1/messages/{id}/cancel": { fit: queued, unfit: canceled },
  "POST /v1/messages/{id}/redact": { fit: canceled, unfit: queued },
};
const needsOf = ({ method, path }: Route): Needs => NEEDS[`${method} ${path}`] ?? {};

/** The path of a route, with the id of a message in place of its parameter. */
const concrete = ({ path }: Route, id = messageId): string => path.replaceAll(/\{\w+\}/g, id);

/** The same, with a message that the operation can be done to. */
const fitting = async (route: Route): Promise<string> => concrete(route, await needsOf(route).fit?.());

const ask = (route: Route, options: RequestOptions = {}, path = concrete(route)): Promise<Reply> =>
  godwit.request(route.method, path, { key, body: needsOf(route).body, ...options });

async function refusal(route: Route): Promise<Reply> {
  const { unfit, body, refused = body } = needsOf(route);
  return ask(route, { body: refused }, concrete(route, await unfit?.()));
}

const head = (route: Route, ...lines: string[]): string =>
  [`${route.method} ${concrete(route)} HTTP/1.1`, "host: godwit.test", `authorization: Bearer ${key}`, ...lines, ""].join("\r\n");

async function overQuota(route: Route): Promise<Reply> {
  return until("the quota to be used up", async () => {
    const replies = await Promise.all([ask(route, { key: exhausted }), ask(route, { key: exhausted })]);
    return replies.find(({ status }) => status === 429);
  });
}

/** The key's first request is held in mid-transaction while the second one comes. */
async function conflict(route: Route): Promise<Reply> {
  const { fit } = needsOf(route);
  if (fit !== undefined) return conflictOver(route, await fit());
  const hold = await Hold.take(godwit.databaseUrl ?? "");
  const options = { idempotencyKey: randomUUID(), body: { ...sms(), body: HELD_BODY } };
  const first = ask(route, options);
  try {
    await hold.waiting();
    return await ask(route, options);
  } finally {
    await hold.release();
    assert.equal((await first).status, 202);
  }
}

/** The first request to change a message waits for whoever has locked it. */
async function conflictOver(route: Route, id: string): Promise<Reply> {
  const client = new pg.Client(godwit.databaseUrl);
  await client.connect();
  const options = { idempotencyKey: randomUUID() };
  let first: Promise<Reply> | undefined;
  try {
    await client.query("begin");
    await client.query("select from messages where id = $1 for update", [decodeId("msg", id)]);
    first = ask(route, options, concrete(route, id));
    await until("the first request to wait", async () => {
      const waiting = "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      return (await godwit.rows(waiting)).length > 0 || undefined;
    });
    return await ask(route, options, concrete(route, id));
  } finally {
    await client.end();
    assert.equal((await first)?.status, 200);
  }
}

async function withBrokenTable(route: Route): Promise<Reply> {
  const path = await fitting(route);
  const table = route.path.startsWith("/v1/messages") ? "messages" : "usage_hours";
  await godwit.rows(`alter table ${table} rename to elsewhere`);
  try {
    return await ask(route, {}, path);
  } finally {
    await godwit.rows(`alter table elsewhere rename to ${table}`);
  }
}

async function withoutDatabase(work: () => Promise<Reply>): Promise<Reply> {
  const name = new URL((godwit.databaseUrl ?? "").replace("@/", "@localhost/")).pathname.slice(1);
  const admin = new pg.Client(adminUrl());
  await admin.connect();
  const readiness = (status: number): Promise<true> =>
    until(`readiness to be ${status}`, async () => (await godwit.request("GET", "/readyz")).status === status || undefined, 8_000);
  try {
    await admin.query(`alter database ${name} with allow_connections false`);
    await admin.query("select pg_terminate_backend(pid, 2000) from pg_stat_activity where datname = $1", [name]);
    await readiness(503);
    return await work();
  } finally {
    await admin.query(`alter database ${name} with allow_connections true`);
    await admin.end();
    await readiness(200);
  }
}

const PROVOKE: Readonly<Record<string, (route: Route) => Promise<Reply>>> = {
  200: async (route) => ask(route, {}, await fitting(route)),
  202: (route) => ask(route),
  400: (route) => ask(route, {}, `${concrete(route)}?no_such_parameter=1`),
  401: (route) => ask(route, { key: undefined }),
  403: (route) => ask(route, { key: scopeless }),
  404: (route) => ask(route, {}, concrete(route, NO_MESSAGE)),
  408: (route) => exchange(godwit.url, head(route, "x-slow: "), { timeoutMs: 6_000 }),
  409: conflict,
  413: (route) => ask(route, { body: " ".repeat(65_537) }),
  415: (route) => ask(route, { headers: { "content-type": "text/plain" } }),
  422: refusal,
  429: overQuota,
  431: (route) => exchange(godwit.url, head(route, `x-long: ${"a".repeat(20_000)}`, "")),
  500: withBrokenTable,
  503: (route) => withoutDatabase(() => ask(route)),
};

// The rows of this test are those of the committed document, which the first test below holds to the served one.
const committed = existsSync(COMMITTED) ? (JSON.parse(readFileSync(COMMITTED, "utf8")) as Document) : undefined;
const ROUTES: readonly Route[] = Object.entries(committed?.paths ?? {}).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

function routeOf(method: string, path: string): Route {
  const route = ROUTES.find((each) => each.method === method && each.path === path);
  assert.ok(route !== undefined);
  return route;
}

/** Held to the schema that the document declares for this very answer. */
function assertFits({ method, path }: Route, status: string, { json, text }: Reply): void {
  const type = status.startsWith("2") ? "application/json" : "application/problem+json";
  const place = ["paths", path, method.toLowerCase(), "responses", status, "content", type, "schema"];
  const pointer = place.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
  const validate = ajv.compile({ $ref: `openapi.json#/${pointer}` });
  assert.ok(validate(json), `${JSON.stringify(validate.errors)}\n${text}`);
}

describe("the document", () => {
  test("is the committed one", () => {
    assert.ok(committed !== undefined, "docs/openapi.json is missing: run npm run openapi");
    assert.deepEqual(document, committed, "docs/openapi.json is out of date: run npm run openapi");
    assert.ok(ROUTES.length >= 9);
  });

  test("is OpenAPI 3.1 in which every reference leads somewhere", () => {
    assert.equal(document.openapi, "3.1.0");
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? "");
    assert.ok(references.length > 10);
    for (const path of new Set(references)) {
      const [, kind = "", name = ""] = path.split("/");
      assert.ok(document.components[kind]?.[name] !== undefined, path);
    }
  });

  test("names every operation once, and every parameter of its path", () => {
    assert.equal(new Set(ROUTES.map(({ operation }) => operation.operationId)).size, ROUTES.length);
    for (const { path, operation } of ROUTES) {
      const declared = operation.parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name);
      assert.deepEqual(
        declared,
        Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name),
      );
    }
  });
});

for (const route of ROUTES) {
  describe(`${route.method} ${route.path}`, () => {
    for (const [status, declared] of Object.entries(route.operation.responses)) {
      test(`answers ${status} as declared`, async () => {
        const provoke = PROVOKE[status];
        assert.ok(provoke !== undefined, `this test knows how to provoke a ${status}`);
        const reply = await provoke(route);
        assert.equal(String(reply.status), status, reply.text);
        assertCommonHeaders(reply);
        assertFits(route, status, reply);
        if (reply.status < 400) assert.equal(reply.headers.get("content-type"), "application/json; charset=utf-8");
        else {
          const code = String(reply.json["code"]);
          assert.ok(isErrorCode(code) && declared.description.includes(`\`${code}\``), `${code} is described`);
          assertProblem(reply, code);
        }
        // The quota is shown where there is one, and a replay is marked where there was one.
        const needed = Object.keys(declared.headers).filter((name) => !/^(RateLimit|Idempotent)/.test(name));
        for (const name of needed) assert.ok(reply.headers.get(name), `${name} is there`);
      });
    }
  });
}

test("a list's page fits its schema also with a cursor", async () => {
  await godwit.send(key, { channel: "whatsapp", body: "x" });
  const route = routeOf("GET", "/v1/messages");
  const reply = await ask(route, {}, "/v1/messages?limit=1");
  assert.equal(typeof reply.json["next_cursor"], "string");
  assertFits(route, "200", reply);
});

test("records and timelines of messages that have travelled fit their schemas, too", async () => {
  await using travelling = await startGodwit({ roles: "api,dispatch", env: { GODWIT_SIMULATOR_SPEED: "100" } });
  const own = await travelling.key();
  // Read, refused, undelivered, receipts out of order, throttled twice, of unknown outcome.
  const ENDS = { "06": "read", "02": "failed", "05": "undelivered", "11": "read", "12": "read", "13": "delivered" };
  for (const [digits, end] of Object.entries(ENDS)) {
    const sent = await travelling.send(own, { channel: "whatsapp", recipient: `+150055500${digits}` });
    const path = `/v1/messages/${String(sent.json["id"])}`;
    const record = await until(`+150055500${digits} to be ${end}`, async () => {
      const reply = await travelling.request("GET", path, { key: own });
      return reply.json["status"] === end ? reply : undefined;
    });
    assertFits(routeOf("GET", "/v1/messages/{id}"), "200", record);
    const timeline = await travelling.request("GET", `${path}/events`, { key: own });
    assert.ok((timeline.json["data"] as unknown[]).length >= 3, timeline.text);
    assertFits(routeOf("GET", "/v1/messages/{id}/events"), "200", timeline);
  }
});

describe("what is served beside the API", () => {
  test("/livez and /readyz say ok", async () => {
    for (const path of ["/livez", "/readyz"]) {
      const reply = await godwit.request("GET", path);
      assert.deepEqual([reply.status, reply.json], [200, { status: "ok" }]);
    }
  });

  test("/livez says ok and /readyz does not while the database is away", async () => {
    const ready = await withoutDatabase(async () => {
      assert.equal((await godwit.request("GET", "/livez")).status, 200);
      return godwit.request("GET", "/readyz");
    });
    assertProblem(ready, "service_unavailable");
  });

  test("/ leads to /docs, which is a page about every route, without scripts", async () => {
    const root = await godwit.request("GET", "/");
    assert.deepEqual([root.status, root.headers.get("location")], [303, "/docs"]);
    const docs = await godwit.request("GET", "/docs");
    assert.equal(docs.headers.get("content-type"), "text/html; charset=utf-8");
    assert.match(docs.headers.get("content-security-policy") ?? "", /default-src 'none'/);
    for (const { path } of ROUTES) assert.ok(docs.text.includes(path), path);
    assert.ok(!/<script/i.test(docs.text));
  });

  test("/metrics counts requests by route, method and status, and never by what clients make up", async () => {
    await godwit.request("GET", "/v1/made-up-by-a-client");
    await godwit.request("GET", `/v1/messages/${NO_MESSAGE}`, { key });
    const { status, headers, text } = await godwit.request("GET", "/metrics");
    assert.equal(status, 200);
    assert.match(headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    assert.match(text, /^godwit_http_requests_total\{route="\/v1\/messages",method="POST",status="202"\} \d+$/m);
    assert.match(text, /^godwit_http_requests_total\{[^}]*status="404"[^}]*\} \d+$/m);
    for (const secret of ["made-up", NO_MESSAGE, key]) assert.ok(!text.includes(secret), secret);
  });

  test("/metrics is not found for clients behind a proxy, but for those allowed", async () => {
    const env = { GODWIT_TRUSTED_PROXIES: "127.0.0.0/8", GODWIT_METRICS_ALLOW: "203.0.113.0/24" };
    await using server = await startGodwit({ databaseUrl: godwit.databaseUrl, env });
    const from = (address: string): Promise<Reply> => server.request("GET", "/metrics", { headers: { "x-forwarded-for": address } });
    assertProblem(await from("198.51.100.7"), "not_found");
    assertProblem(await from("203.0.113.7, 198.51.100.7"), "not_found");
    assert.equal((await from("203.0.113.7")).status, 200);
  });
});
