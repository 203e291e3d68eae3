/** The parts of HTTP and OpenAPI that tools of others rely on: links between pages, caches, and the document itself. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { KEY_SET_CACHE } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

type Parameter = { name: string; in: string; example?: unknown; schema: { pattern?: string } };
type Operation = { parameters?: Parameter[]; responses: Record<string, { headers?: object; $ref?: string }> };
type Document = {
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, { headers: object }> };
};

let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit();
  key = await godwit.key();
});
after(() => godwit.stop());

test("a page of a list links to the next one, and the last page does not", async () => {
  const sent = [];
  for (let count = 0; count < 3; count += 1) sent.unshift((await godwit.send(key, { client_reference: "a<b>&c" })).json["id"]);
  const found: unknown[] = [];
  let path: string | undefined = "/v1/messages?limit=1&client_reference=a%3Cb%3E%26c";
  while (path !== undefined) {
    const { headers, json, status, text } = await godwit.request("GET", path, { key });
    assert.equal(status, 200, text);
    found.push(...(json["data"] as { id: string }[]).map(({ id }) => id));
    const link = headers.get("link");
    assert.equal(link !== null, json["has_more"]);
    path = link === null ? undefined : /^<([^<>]+)>; rel="next"$/.exec(link)?.[1];
  }
  assert.deepEqual(found, sent);
});

test("a record has no link to another page", async () => {
  const { headers } = await godwit.request("GET", "/v1/credential", { key });
  assert.equal(headers.get("link"), null);
});

test("the signing keys may be kept for five minutes", async () => {
  const { headers } = await godwit.request("GET", "/.well-known/jwks.json");
  assert.equal(headers.get("cache-control"), KEY_SET_CACHE);
});

test("If-None-Match with an asterisk matches any version of a page", async () => {
  for (const path of ["/openapi.json", "/docs"]) {
    const { status } = await fetch(`${godwit.url}${path}`, { headers: { "if-none-match": "*" } });
    assert.equal(status, 304, path);
  }
});

describe("a large response", () => {
  const get = (path: string, acceptEncoding: string): Promise<Response> =>
    fetch(`${godwit.url}${path}`, { headers: { authorization: `Bearer ${key}`, "accept-encoding": acceptEncoding } });
  before(async () => {
    for (let count = 0; count < 5; count += 1) {
      await godwit.request("POST", "/v1/keys", { key, body: { name: `key ${count}`, scopes: ["messages:read"] } });
      await godwit.send(key, { body: "Hello ".repeat(100) });
    }
  });

  test("is compressed for a client that accepts it, and has the same content", async () => {
    const [plain, zipped] = [await get("/v1/audit_events", "identity"), await get("/v1/audit_events", "br, gzip;q=0.8")];
    assert.deepEqual([plain.headers.get("content-encoding"), zipped.headers.get("content-encoding")], [null, "gzip"]);
    for (const { headers } of [plain, zipped]) assert.equal(headers.get("vary"), "accept-encoding");
    const text = await plain.text();
    assert.ok(text.length > 2_048 && Number(zipped.headers.get("content-length")) < text.length / 2);
    assert.equal(await zipped.text(), text);
  });

  test("is sent as it is to a client that refuses it, and many at once all arrive", async () => {
    assert.equal((await get("/v1/audit_events", "gzip;q=0")).headers.get("content-encoding"), null);
    const text = await (await get("/v1/audit_events", "identity")).text();
    const replies = await Promise.all(Array.from({ length: 20 }, () => get("/v1/audit_events", "gzip")));
    for (const reply of replies) assert.equal(await reply.text(), text);
  });

  test("is not compressed if it can have text of strangers, or is small", async () => {
    for (const path of ["/v1/messages", "/v1/events", "/v1/suppressions", "/v1/audit_events?limit=1"]) {
      const reply = await get(path, "gzip");
      assert.deepEqual([reply.status, reply.headers.get("content-encoding")], [200, null], path);
    }
  });
});

describe("the served OpenAPI document", () => {
  let document: Document;
  before(async () => {
    document = (await godwit.request("GET", "/openapi.json")).json as unknown as Document;
  });
  const operations = (): Operation[] => Object.values(document.paths).flatMap((methods) => Object.values(methods));

  test("has the absolute address that the client used", () => assert.deepEqual(document.servers, [{ url: godwit.url }]));

  test("has no null in a list of values", () => {
    const visit = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      const { enum: values } = value as { enum?: unknown };
      assert.ok(!Array.isArray(values) || !values.includes(null), JSON.stringify(value));
      for (const child of Object.values(value)) visit(child);
    };
    visit({ paths: document.paths, components: document.components });
  });

  test("describes the form of idempotency keys, and shares no example between operations", () => {
    const keys = operations().flatMap(({ parameters = [] }) => parameters.filter(({ name }) => name === "Idempotency-Key"));
    assert.ok(keys.length > 10);
    for (const { example, schema } of keys) {
      assert.equal(example, undefined);
      const pattern = new RegExp(schema.pattern ?? "^$");
      const uuid = randomUUID();
      for (const valid of [uuid, uuid.toUpperCase(), `"${uuid}"`]) assert.match(valid, pattern);
      for (const invalid of ["order-17", `"${uuid}`, "3f2a1c64-9b1e-11ee-8c55-0e6b7f3a9d21"]) assert.doesNotMatch(invalid, pattern);
    }
  });

  test("declares Last-Event-ID, and the headers of the quota on errors", () => {
    const stream = document.paths["/v1/events/stream"]?.["get"]?.parameters ?? [];
    assert.deepEqual(
      stream.filter((each) => each.in === "header").map(({ name }) => name),
      ["Last-Event-ID"],
    );
    assert.deepEqual(
      ["TooManyRequests", "BadRequest", "Unauthorized"].map((name) => "RateLimit" in (document.components.responses[name]?.headers ?? {})),
      [true, true, false],
    );
  });
});
