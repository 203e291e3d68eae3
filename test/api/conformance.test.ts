/** Rules for all REST resources, tested with one table. A new resource gets a row here. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { SCOPES, type Scope } from "../../src/access/scope.ts";
import { encodeId, newId, type IdPrefix } from "../../src/model/id.ts";
import { recordOf, itemsOf, search, walk, type Json, type Page, type Query } from "../support/client.ts";
import { assertCommonHeaders, assertProblem } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { DOCUMENT } from "../support/contract.ts";
import { assertReplayOf } from "../support/replay.ts";

type Resource = {
  path: string;
  prefix: IdPrefix;
  object: string;
  scopes: { read: Scope; write: Scope };
  /** The body of a request that creates a record; `index` makes it unique. */
  body: (index: number) => Json;
  created: 201 | 202;
  hasList: boolean;
  /** The environment that has such records; `test` by default. */
  environment?: "live";
  /** A body that PATCH accepts. */
  edit?: Json;
  /** Members of the response to a creation that a later read does not return: secrets are shown once. */
  onlyOnce?: readonly string[];
};

const SOON = (): string => new Date(Date.now() + 3_600_000).toISOString();

const RESOURCES: readonly Resource[] = [
  {
    path: "/v1/messages",
    prefix: "msg",
    object: "message",
    scopes: { read: "messages:read", write: "messages:send" },
    body: (index) => ({ ...sms(), client_reference: `message ${index}`, send_at: SOON() }),
    created: 202,
    hasList: true,
    edit: { metadata: { edited: "yes" } },
  },
  {
    path: "/v1/batches",
    prefix: "batch",
    object: "batch",
    scopes: { read: "messages:read", write: "messages:send" },
    body: (index) => ({ items: [{ ...sms(), client_reference: `item of ${index}` }] }),
    created: 202,
    hasList: false,
    onlyOnce: ["results"],
  },
  {
    path: "/v1/templates",
    prefix: "tmpl",
    object: "template",
    scopes: { read: "templates:read", write: "templates:write" },
    body: (index) => ({ name: `conforming_${index}`, language: "en", category: "utility", channels: ["sms"], body: "Hello {{name}}" }),
    created: 201,
    hasList: true,
    edit: { body: "Goodbye {{name}}" },
  },
  {
    path: "/v1/webhook_endpoints",
    prefix: "whe",
    object: "webhook_endpoint",
    scopes: { read: "webhooks:read", write: "webhooks:write" },
    body: (index) => ({ url: `https://example.com/hooks/${index}` }),
    created: 201,
    hasList: true,
    edit: { description: "edited" },
    onlyOnce: ["secret"],
  },
  {
    path: "/v1/keys",
    prefix: "key",
    object: "key",
    scopes: { read: "keys:read", write: "keys:write" },
    body: (index) => ({ scopes: ["messages:read"], name: `key ${index}` }),
    created: 201,
    hasList: true,
    onlyOnce: ["key"],
  },
  {
    path: "/v1/suppressions",
    prefix: "sup",
    object: "suppression",
    scopes: { read: "suppressions:read", write: "suppressions:write" },
    body: (index) => ({ recipient: `+1415555${String(1_000 + index)}` }),
    created: 201,
    hasList: true,
  },
  {
    path: "/v1/verifications",
    prefix: "ver",
    object: "verification",
    scopes: { read: "verifications:read", write: "verifications:write" },
    body: (index) => ({ recipient: `+1415556${String(1_000 + index)}`, channel: "sms" }),
    created: 201,
    hasList: false,
    onlyOnce: ["code"],
  },
  {
    path: "/v1/links",
    prefix: "lnk",
    object: "link",
    scopes: { read: "links:read", write: "links:write" },
    body: (index) => ({
      name: `link ${index}`,
      provider: "smpp",
      settings: { host: "smpp.example.com", port: 2776, tls: true, system_id: "x", password: "x" },
    }),
    created: 201,
    // The list has no pages: an account has few links.
    hasList: false,
    environment: "live",
    edit: { rate: 5 },
  },
];

/** Records that belong to a link of their account: test/api/link-setup.test.ts creates them. */
const OF_LINKS = ["/v1/routes", "/v1/senders"];
/** Files, which a request does not describe in JSON: test/api/media.test.ts uploads them. */
const FILES = ["/v1/media"];
/** Its user names are unique over all accounts: test/api/kannel.test.ts creates them. */
const USERS = ["/v1/compatible_credentials"];

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit();
});
after(() => godwit.stop());

let accounts = 0;
let bodies = 0;

/** Creates keys of a new account for the environment of a resource and for the other one, and a key of another account. */
async function newKeys(environment: "test" | "live" = "test"): Promise<{ key: string; live: string; stranger: string }> {
  const [account, other] = [`conforming ${(accounts += 1)}`, `stranger ${accounts}`];
  const keys = {
    key: await godwit.key({ account, environment }),
    live: await godwit.key({ account, environment: environment === "test" ? "live" : "test" }),
    stranger: await godwit.key({ account: other, environment }),
  };
  await godwit.unlimited();
  return keys;
}

for (const resource of RESOURCES) {
  const { path, prefix, object, scopes, created, hasList, edit, onlyOnce = [] } = resource;
  const newBody = (): Json => resource.body((bodies += 1));
  const create = (key: string, body = newBody(), idempotencyKey: string = randomUUID()): Promise<Reply> =>
    godwit.request("POST", path, { key, body, idempotencyKey });
  const read = (key: string, id: unknown): Promise<Reply> => godwit.request("GET", `${path}/${String(id)}`, { key });
  const list = (key: string, query = ""): Promise<Reply> => godwit.request("GET", `${path}${query}`, { key });

  describe(path, () => {
    let key: string;
    let live: string;
    let stranger: string;
    before(async () => {
      ({ key, live, stranger } = await newKeys(resource.environment));
    });

    test("creates a record, names it in Location, and returns it when it is read", async () => {
      const reply = await create(key);
      assert.equal(reply.status, created, reply.text);
      assertCommonHeaders(reply);
      const { id } = reply.json;
      assert.match(String(id), new RegExp(`^${prefix}_[0-9a-z]{26}$`));
      assert.equal(reply.headers.get("location"), `${path}/${String(id)}`);
      const found = await read(key, id);
      assert.equal(found.status, 200, found.text);
      assertCommonHeaders(found);
      assert.equal(found.json["id"], id);
      assert.equal(found.json["object"], object);
      for (const member of onlyOnce) assert.ok(!(member in found.json), `${member} is shown once`);
    });

    test("does not find an id that does not exist or is invalid", async () => {
      assertProblem(await read(key, encodeId(prefix, newId(prefix, Date.now()))), "not_found");
      for (const id of ["nothing", `${prefix}_`, `evil_${"0".repeat(26)}`]) assertProblem(await read(key, id), "not_found");
    });

    test("is not visible to another account or to the other environment", async () => {
      const { id } = (await create(key)).json;
      for (const other of [stranger, live]) {
        assertProblem(await read(other, id), "not_found");
        if (edit !== undefined) {
          const reply = await godwit.request("PATCH", `${path}/${String(id)}`, { key: other, body: edit, idempotencyKey: randomUUID() });
          assertProblem(reply, "not_found");
        }
        if (hasList) {
          const { data } = (await list(other, "?limit=100")).json as Page;
          assert.ok(!data.some((record) => record["id"] === id));
        }
      }
      assert.equal((await read(key, id)).status, 200);
    });

    test("requires a credential and the scope of each method", async () => {
      assertProblem(await godwit.request("POST", path, { body: newBody() }), "unauthorized_missing_token");
      const without = (scope: Scope): Promise<string> => godwit.key({ scopes: SCOPES.filter((each) => each !== scope) });
      assertProblem(await create(await without(scopes.write)), "forbidden_insufficient_scope");
      const { id } = (await create(key)).json;
      assertProblem(await read(await without(scopes.read), id), "forbidden_insufficient_scope");
    });

    test("executes a request once for an idempotency key, and replays its response", async () => {
      const [body, idempotencyKey] = [newBody(), randomUUID()];
      const first = await create(key, body, idempotencyKey);
      const second = await create(key, body, idempotencyKey);
      assertReplayOf(first, second);
      assertProblem(await create(key, newBody(), idempotencyKey), "idempotency_key_reused");
      const elsewhere = await create(stranger, body, idempotencyKey);
      assert.equal(elsewhere.status, created, "the same key of another account is independent");
      assert.notEqual(elsewhere.json["id"], first.json["id"]);
    });

    test("refuses an idempotency key that is not a version-4 UUID, and creates nothing", async () => {
      assertProblem(await create(key, newBody(), "order-1723"), "invalid_idempotency_key");
    });

    test("refuses unknown members with their position, and creates nothing", async () => {
      const reply = await create(key, { ...newBody(), surprise: 1 });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        (reply.json["errors"] as { pointer: string }[]).map(({ pointer }) => pointer),
        ["/surprise"],
      );
      if (edit === undefined) return;
      const { id } = (await create(key)).json;
      const patched = await godwit.request("PATCH", `${path}/${String(id)}`, {
        key,
        body: { ...edit, surprise: 1 },
        idempotencyKey: randomUUID(),
      });
      assertProblem(patched, "invalid_request_payload");
    });

    test("refuses a body that is not a JSON object or has another media type", async () => {
      for (const body of ["[]", '"text"', "null", "{"]) {
        const reply = await godwit.request("POST", path, { key, body, headers: { "content-type": "application/json" } });
        assertProblem(reply, "invalid_request_payload");
      }
      const text = await godwit.request("POST", path, {
        key,
        body: "a=1",
        headers: { "content-type": "application/x-www-form-urlencoded" },
      });
      assertProblem(text, "unsupported_media_type");
    });

    test("lists its methods in a 405", async () => {
      const reply = await godwit.request("PUT", path, { key });
      assertProblem(reply, "method_not_allowed");
      assert.ok(reply.headers.get("allow")?.split(", ").includes("POST"));
    });

    if (edit !== undefined)
      test("edits a record, and a later read returns the change", async () => {
        const { id } = (await create(key)).json;
        const reply = await godwit.request("PATCH", `${path}/${String(id)}`, { key, body: edit, idempotencyKey: randomUUID() });
        assert.equal(reply.status, 200, reply.text);
        for (const record of [reply.json, (await read(key, id)).json])
          for (const [member, value] of Object.entries(edit)) assert.deepEqual(record[member], value);
      });

    if (hasList) {
      test("lists its records newest first, each once, in pages", async () => {
        const { key: own } = await newKeys(resource.environment);
        const pages = (query: Query): Promise<Page[]> => walk(async (each) => recordOf(await list(own, search(each))) as Page, query);
        const older = itemsOf(await pages({ limit: "100" })).map((record) => record["id"]);
        const ids: unknown[] = [];
        for (let index = 0; index < 5; index += 1) ids.unshift((await create(own)).json["id"]);
        const seen = await pages({ limit: "2" });
        for (const page of seen) assert.ok(page.data.length <= 2);
        assert.deepEqual(
          itemsOf(seen).map((record) => record["id"]),
          [...ids, ...older],
        );
      });

      test("refuses an invalid limit, an invalid cursor and an unknown parameter", async () => {
        for (const query of ["?limit=0", "?limit=101", "?limit=two", "?cursor=nonsense", "?surprise=1"])
          assertProblem(await list(key, query), "invalid_request_payload");
      });
    }
  });
}

test("every resource of the API that can be created has a row", () => {
  const { paths } = JSON.parse(readFileSync(DOCUMENT, "utf8")) as { paths: Record<string, Record<string, unknown>> };
  const creatable = Object.keys(paths).filter((path) => path in paths && "post" in (paths[path] ?? {}) && `${path}/{id}` in paths);
  assert.deepEqual(creatable.toSorted(), [...RESOURCES.map(({ path }) => path), ...OF_LINKS, ...FILES, ...USERS].toSorted());
});
