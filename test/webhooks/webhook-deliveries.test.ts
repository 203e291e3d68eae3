/** The list of deliveries of an endpoint: order, pages, the filter, and the bounded search through very many deliveries. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { clientOf, itemsOf, walk, type EndpointClient, type Json, type Query } from "../support/client.ts";
import { assertProblem, faultsOf } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { rowId } from "../support/tables.ts";

let godwit: Godwit;
let endpoints: EndpointClient;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  endpoints = clientOf(godwit, await godwit.key()).endpoints;
});
after(() => godwit.stop());

/** Creates an endpoint with deliveries. `status` is an SQL expression of n for the n-th newest delivery. */
async function withDeliveries(count: number, status: string): Promise<string> {
  const { id } = await endpoints.create();
  await godwit.rows(
    `insert into webhook_deliveries (account_id, environment, endpoint_id, id, event_id, event_type, status, attempts, updated_at)
     select account_id, environment, id, event, event, 'message.sent', ${status}, '[]', now()
       from webhook_endpoints,
            generate_series(1, ${count}) n,
            lateral (select (lpad(to_hex(extract(epoch from now())::bigint * 1000 - n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid) e(event)
      where id = $1`,
    [rowId(id)],
  );
  return String(id);
}

/** All deliveries of the list, and the number of them on each page. */
async function listAll(id: string, query: Query): Promise<{ all: Json[]; sizes: number[] }> {
  const pages = await walk((each) => endpoints.deliveries(id, each), query);
  const all = itemsOf(pages);
  const ids = all.map((delivery) => String(delivery["id"]));
  assert.deepEqual(
    ids,
    [...new Set(ids)].toSorted((a, b) => (a < b ? 1 : -1)),
    "newest first, without duplicates",
  );
  return { all, sizes: pages.map(({ data }) => data.length) };
}

test("the list of deliveries is empty before the first attempt", async () => {
  const { id } = await endpoints.create();
  await endpoints.test(id);
  assert.deepEqual(await endpoints.deliveries(id), { data: [], has_more: false, next_cursor: null });
});

describe("a list of a few deliveries", () => {
  let id: string;
  before(async () => {
    await withDeliveries(3, "'failed'");
    id = await withDeliveries(60, "(array['succeeded', 'failed', 'pending'])[n % 3 + 1]");
  });

  for (const [limit, sizes] of [
    ["25", [25, 25, 10]],
    ["30", [30, 30]],
    ["59", [59, 1]],
    ["100", [60]],
  ] as const) {
    test(`has pages of ${limit} without gaps, with deliveries of only that endpoint`, async () => {
      const found = await listAll(id, { limit });
      assert.deepEqual(found.sizes, sizes);
      assert.ok(found.all.every((delivery) => delivery["endpoint_id"] === id));
    });
  }

  for (const status of ["pending", "succeeded", "failed"]) {
    test(`with ?status=${status} contains only those, on one page or several`, async () => {
      const { all, sizes } = await listAll(id, { status, limit: "7" });
      assert.deepEqual(sizes, [7, 7, 6]);
      assert.ok(all.every((delivery) => delivery["status"] === status));
      assert.deepEqual((await endpoints.deliveries(id, { status })).data, all);
    });
  }

  test("contains the same records as GET of one delivery", async () => {
    const [first = {}] = (await endpoints.deliveries(id, { limit: "1" })).data;
    assert.deepEqual((await endpoints.request("GET", `/${id}/deliveries/${String(first["id"])}`)).json, first);
  });

  for (const query of ["status=lost", "status=", "limit=0", "cursor=abc", "event_id=x"]) {
    test(`with ?${query} is a 400 that names the parameter`, async () => {
      const reply = await endpoints.request("GET", `/${id}/deliveries?${query}`);
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(new Set(faultsOf(reply).map(({ parameter }) => parameter)), new Set([query.split("=")[0]]));
    });
  }
});

test("a list of very many deliveries finds the few with a rare status on short pages", async () => {
  const id = await withDeliveries(12_000, "case when n in (1, 4999, 5000, 5001, 7777, 10001, 12000) then 'failed' else 'succeeded' end");
  assert.deepEqual((await listAll(id, { status: "failed", limit: "100" })).sizes, [3, 2, 2]);
  assert.equal((await listAll(id, { status: "failed", limit: "2" })).all.length, 7);
  assert.deepEqual((await listAll(id, { status: "pending" })).sizes, [0, 0, 0]);
  assert.equal((await endpoints.deliveries(id, { status: "succeeded", limit: "100" })).data.length, 100);
});
