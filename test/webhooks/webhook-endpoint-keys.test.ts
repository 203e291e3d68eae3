/** Idempotency of the operations on endpoints: each key has one effect and one response, including the secret in it. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { clientOf, URL_TEXT, type EndpointClient } from "../support/client.ts";
import { assertProblem } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { lockTable } from "../support/locks.ts";
import { assertConflict, assertOneExecution, assertReplayOf, assertReused, isReplay, isStored } from "../support/replay.ts";
import { rowId, waitingFor } from "../support/tables.ts";

let godwit: Godwit;
let other: Godwit;
let key: string;
let endpoints: EndpointClient;
before(async () => {
  godwit = await startGodwit();
  other = await startGodwit({ databaseUrl: godwit.databaseUrl });
  await godwit.unlimited();
  key = await godwit.key();
  endpoints = clientOf(godwit, key).endpoints;
});
after(() => Promise.all([godwit.stop(), other.stop()]));

type Target = { id: string; delivery: string };

/** Creates an endpoint with a failed delivery. */
async function target(): Promise<Target> {
  const id = String((await endpoints.create())["id"]);
  const event = rowId(await endpoints.test(id));
  await godwit.rows("delete from webhook_queue where endpoint_id = $1", [rowId(id)]);
  await godwit.rows(
    `insert into webhook_deliveries (account_id, environment, endpoint_id, id, event_id, event_type, status, attempts, updated_at)
     select account_id, environment, id, $2, $2, 'webhook.test', 'failed', '[]', now() from webhook_endpoints where id = $1`,
    [rowId(id), event],
  );
  return { id, delivery: String((await endpoints.deliveries(id)).data[0]?.["id"]) };
}

type Row = {
  method: string;
  path: (target: Target) => string;
  status: number;
  body?: object;
  another?: object;
  /** Reads the state that a second execution would change. */
  trace: (target: Target, answer: Reply) => Promise<unknown>;
};

const sealedSecret = async ({ id }: Target): Promise<unknown> =>
  (await godwit.rows("select secret, previous_secret, updated_at from webhook_endpoints where id = $1", [rowId(id)]))[0];
const ROWS: Readonly<Record<string, Row>> = {
  create: {
    method: "POST",
    path: () => "",
    status: 201,
    body: { url: URL_TEXT, description: "one" },
    another: { url: URL_TEXT },
    trace: async (_, { json }) => (await endpoints.list({ limit: "100" })).data.filter(({ id }) => String(id) >= String(json["id"])).length,
  },
  change: {
    method: "PATCH",
    path: ({ id }) => `/${id}`,
    status: 200,
    body: { description: "new" },
    another: { description: "other" },
    trace: ({ id }) => endpoints.read(id),
  },
  rotate: { method: "POST", path: ({ id }) => `/${id}/rotate_secret`, status: 200, trace: sealedSecret },
  test: { method: "POST", path: ({ id }) => `/${id}/test`, status: 202, trace: ({ id }) => waitingFor(godwit, id) },
  retry: {
    method: "POST",
    path: ({ id, delivery }) => `/${id}/deliveries/${delivery}/retry`,
    status: 202,
    trace: ({ id }) => godwit.rows("select due_at from webhook_queue where endpoint_id = $1", [rowId(id)]),
  },
  recover: {
    method: "POST",
    path: ({ id }) => `/${id}/recover`,
    status: 202,
    body: { since: "2026-01-01T00:00:00Z" },
    another: { since: "2026-01-02T00:00:00Z" },
    trace: ({ id }) => endpoints.read(id),
  },
};

for (const [what, { method, path, status, body, another, trace }] of Object.entries(ROWS)) {
  describe(what, () => {
    test("executes once for a key, and a repeated request gets the same bytes on every node", async () => {
      const at = await target();
      const options = { body, idempotencyKey: randomUUID() };
      const first = await endpoints.request(method, path(at), options);
      assert.equal(first.status, status, first.text);
      assert.equal(isReplay(first), false);
      const left = await trace(at, first);
      assertReplayOf(first, await endpoints.request(method, path(at), options));
      assertReplayOf(first, await clientOf(other, key).endpoints.request(method, path(at), options));
      assert.deepEqual(await trace(at, first), left);
    });

    test("executes each time without a key and with another key", async () => {
      const at = await target();
      for (const idempotencyKey of [{}, {}, { idempotencyKey: randomUUID() }, { idempotencyKey: randomUUID() }]) {
        const reply = await endpoints.request(method, path(at), { body, ...idempotencyKey });
        assert.deepEqual([reply.status, isReplay(reply)], [status, false], reply.text);
      }
    });

    test("refuses a key that was used for another request, and does nothing", async () => {
      const at = await target();
      const idempotencyKey = randomUUID();
      await endpoints.request(method, path(at), { body, idempotencyKey });
      if (another !== undefined) assertReused(await endpoints.request(method, path(at), { body: another, idempotencyKey }));
      assertReused(await endpoints.request("POST", "", { body: { url: "https://example.org/reused" }, idempotencyKey }));
      assert.ok((await endpoints.list({ limit: "100" })).data.every(({ url }) => url !== "https://example.org/reused"));
    });

    test("refuses concurrent requests with the key of a running one as conflicts, on every node", async () => {
      const at = await target();
      const options = { body, idempotencyKey: randomUUID() };
      await using lock = await lockTable(godwit.databaseUrl, "webhook_endpoints");
      const first = endpoints.request(method, path(at), options);
      await lock.waiting();
      assertConflict(await endpoints.request(method, path(at), options));
      assertConflict(await clientOf(other, key).endpoints.request(method, path(at), options));
      await lock.release();
      assert.equal((await first).status, status);
      assertReplayOf(await first, await endpoints.request(method, path(at), options));
    });

    test("executes one of thirty concurrent requests with one key on two nodes", async () => {
      const at = await target();
      const options = { body, idempotencyKey: randomUUID() };
      const nodes = [endpoints, clientOf(other, key).endpoints];
      const replies = await Promise.all(
        Array.from({ length: 30 }, (_, index) => nodes[index % 2]?.request(method, path(at), options) as Promise<Reply>),
      );
      const first = assertOneExecution(replies, status);
      assertReplayOf(first, await endpoints.request(method, path(at), options));
      if (what === "create" || what === "test") assert.equal(await trace(at, first), 1);
    });
  });
}

test("the key of a response with a secret reveals nothing to another operation or another environment", async () => {
  const options = { body: { url: URL_TEXT }, idempotencyKey: randomUUID() };
  const { json } = await endpoints.request("POST", "", options);
  const message = await godwit.send(key, {}, { idempotencyKey: options.idempotencyKey });
  assertReused(message);
  assert.ok(!message.text.includes("whsec_"));
  const elsewhere = await clientOf(godwit, await godwit.key({ environment: "live" })).endpoints.request("POST", "", options);
  assert.deepEqual([elsewhere.status, isReplay(elsewhere)], [201, false]);
  assert.notEqual(elsewhere.json["secret"], json["secret"]);
});

describe("the idempotency key", () => {
  const UNKNOWN: Target = { id: "whe_01k9zs3v8mf4tb2xg1qj6n0d5c", delivery: "dlv_01k9zs3v8mf4tb2xg1qj6n0d5c" };

  test("replays the refusal of a URL, and cannot be used for another URL", async () => {
    const { id } = await target();
    for (const [method, path] of [
      ["POST", ""],
      ["PATCH", `/${id}`],
    ] as const) {
      const options = { body: { url: "https://10.0.0.1/hook" }, idempotencyKey: randomUUID() };
      const first = await endpoints.request(method, path, options);
      assertProblem(first, "endpoint_url_refused");
      assertReplayOf(first, await endpoints.request(method, path, options));
      assertReused(await endpoints.request(method, path, { ...options, body: { url: URL_TEXT } }));
    }
  });

  for (const what of ["test", "retry", "recover"]) {
    test(`replays the refusal of a ${what} of a disabled endpoint after the endpoint is enabled`, async () => {
      const { method, path, body, status } = ROWS[what] as Row;
      const at = await target();
      await endpoints.edit(at.id, { status: "disabled" });
      const options = { body, idempotencyKey: randomUUID() };
      const first = await endpoints.request(method, path(at), options);
      assertProblem(first, "endpoint_disabled");
      await endpoints.edit(at.id, { status: "enabled" });
      assertReplayOf(first, await endpoints.request(method, path(at), options));
      assert.equal(await waitingFor(godwit, at.id), 0);
      assert.equal((await endpoints.request(method, path(at), { body })).status, status);
    });
  }

  for (const [what, { method, path, body }] of Object.entries(ROWS).filter(([name]) => name !== "create")) {
    test(`stays unused after a ${what} of an unknown endpoint`, async () => {
      const idempotencyKey = randomUUID();
      for (let time = 0; time < 2; time += 1) {
        const reply = await endpoints.request(method, path(UNKNOWN), { body, idempotencyKey });
        assertProblem(reply, "not_found");
        assert.equal(isReplay(reply), false);
      }
      assert.equal(await isStored(godwit, idempotencyKey), false);
      assert.equal((await endpoints.request("POST", "", { body: { url: URL_TEXT }, idempotencyKey })).status, 201);
    });
  }

  test("stays unused after an invalid request", async () => {
    const idempotencyKey = randomUUID();
    assertProblem(await endpoints.request("POST", "", { body: { url: "ftp://x" }, idempotencyKey }), "invalid_request_payload");
    assert.equal((await endpoints.request("POST", "", { body: { url: URL_TEXT }, idempotencyKey })).status, 201);
  });

  test("is ignored by a delete", async () => {
    const { id } = await target();
    const options = { idempotencyKey: randomUUID() };
    assert.equal((await endpoints.request("DELETE", `/${id}`, options)).status, 200);
    assertProblem(await endpoints.request("DELETE", `/${id}`, options), "not_found");
    assert.equal(await isStored(godwit, options.idempotencyKey), false);
  });

  test("replays the response after its endpoint was deleted", async () => {
    const options = { body: { url: URL_TEXT }, idempotencyKey: randomUUID() };
    const first = await endpoints.request("POST", "", options);
    await endpoints.remove(first.json["id"]);
    assertReplayOf(first, await endpoints.request("POST", "", options));
    assertProblem(await endpoints.request("GET", `/${String(first.json["id"])}`), "not_found");
  });
});
