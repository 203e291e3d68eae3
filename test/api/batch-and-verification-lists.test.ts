/** GET /v1/batches and GET /v1/verifications: pages, filters, and the limits of a credential. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { clientOf, newRecipient, type Client, type Json } from "../support/client.ts";
import { assertProblem } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";

let godwit: Godwit;
let client: Client;
let key: string;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
  await godwit.unlimited();
  key = await godwit.key();
  client = clientOf(godwit, key);
});
after(() => godwit.stop());

const get = (path: string, by = key): Promise<Reply> => godwit.request("GET", path, { key: by });
const dataOf = ({ status, text, json }: Reply): Json[] => {
  assert.equal(status, 200, text);
  return json["data"] as Json[];
};
const idsOf = (reply: Reply): unknown[] => dataOf(reply).map(({ id }) => id);

/** The ids on all pages of a list. */
async function walk(path: string): Promise<unknown[]> {
  const ids: unknown[] = [];
  for (let cursor = ""; ;) {
    const reply = await get(path + cursor);
    ids.push(...idsOf(reply));
    if (reply.json["has_more"] !== true) return ids;
    cursor = `&cursor=${String(reply.json["next_cursor"])}`;
  }
}

describe("the list of batches", () => {
  const ids: unknown[] = [];
  before(async () => {
    for (const count of [2, 1, 3]) {
      const items = Array.from({ length: count }, () => ({ recipient: "+15005550006" }));
      ids.unshift((await client.batches.send([...items, { recipient: "12" }])).id);
    }
    for (const id of ids) await client.batches.completed(id);
  });

  test("has the records of the single batches, newest first", async () => {
    const list = dataOf(await get("/v1/batches"));
    assert.deepEqual(
      list.map(({ id }) => id),
      ids,
    );
    assert.deepEqual(list, await Promise.all(ids.map((id) => client.batches.read(id))));
    assert.deepEqual(
      list.map(({ accepted, refused, statuses }) => [accepted, refused, statuses]),
      [
        [3, 1, { delivered: 3 }],
        [1, 1, { delivered: 1 }],
        [2, 1, { delivered: 2 }],
      ],
    );
  });

  test("has pages", async () => assert.deepEqual(await walk("/v1/batches?limit=1"), ids));

  test("can be filtered by status and time", async () => {
    const [newest, middle] = dataOf(await get("/v1/batches"));
    assert.deepEqual(await walk("/v1/batches?limit=2&status=completed"), ids);
    assert.deepEqual(idsOf(await get("/v1/batches?status=processing")), []);
    assert.deepEqual(idsOf(await get(`/v1/batches?created_after=${String(middle?.["created_at"])}`)), [newest?.["id"]]);
    assert.deepEqual(idsOf(await get(`/v1/batches?created_before=${String(middle?.["created_at"])}`)), [ids[2]]);
    assertProblem(await get("/v1/batches?status=done"), "invalid_request_payload");
  });

  test("needs messages:read, and has nothing of other environments", async () => {
    assertProblem(await get("/v1/batches", await godwit.key({ scopes: ["messages:send"] })), "forbidden_insufficient_scope");
    assert.deepEqual(idsOf(await get("/v1/batches", await godwit.key({ environment: "live" }))), []);
  });
});

describe("the list of verifications", () => {
  const ids: unknown[] = [];
  const recipients: string[] = [];
  before(async () => {
    for (let count = 0; count < 4; count += 1) {
      const recipient = newRecipient();
      recipients.unshift(recipient);
      ids.unshift((await client.verifications.started({ recipient, channel: "sms" }))["id"]);
    }
    await client.verifications.canceled(ids[0]);
    await client.verifications.checked(ids[1]);
    const expired = await godwit.rows(
      "update verifications set expires_at = now() - interval '1 second' where recipient = $1 returning id",
      [recipients[3]],
    );
    assert.equal(expired.length, 1);
  });

  test("has the records of the single verifications, newest first", async () => {
    const list = dataOf(await get("/v1/verifications"));
    assert.deepEqual(list, await Promise.all(ids.map((id) => client.verifications.read(id))));
    assert.deepEqual(
      list.map(({ status }) => status),
      ["canceled", "approved", "pending", "expired"],
    );
  });

  test("has pages", async () => assert.deepEqual(await walk("/v1/verifications?limit=1"), ids));

  for (const [index, status] of ["canceled", "approved", "pending", "expired"].entries()) {
    test(`can be filtered by the status ${status}`, async () =>
      assert.deepEqual(await walk(`/v1/verifications?limit=1&status=${status}`), [ids[index]]));
  }

  test("can be filtered by recipient, also with a status", async () => {
    const recipient = encodeURIComponent(recipients[1] ?? "");
    assert.deepEqual(idsOf(await get(`/v1/verifications?recipient=${recipient}`)), [ids[1]]);
    assert.deepEqual(idsOf(await get(`/v1/verifications?recipient=${recipient}&status=approved`)), [ids[1]]);
    assert.deepEqual(idsOf(await get(`/v1/verifications?recipient=${recipient}&status=pending`)), []);
  });

  test("needs verifications:read, and has nothing of other environments", async () => {
    assertProblem(await get("/v1/verifications", await godwit.key({ scopes: ["verifications:write"] })), "forbidden_insufficient_scope");
    assert.deepEqual(idsOf(await get("/v1/verifications", await godwit.key({ environment: "live" }))), []);
  });
});
