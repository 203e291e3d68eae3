/** GET /v1/messages: order, pages, filters, and the bounded search through very many messages. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encodeCursor } from "../../src/api/paging.ts";
import { encodeId, newId } from "../../src/model/id.ts";
import { newUuid } from "../../src/lib/uuid.ts";
import { clientOf, clientOfAccount, recordOf, idsOf, search, walk, type Page, type Query } from "../support/client.ts";
import { assertProblem, faultsOf } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";

type Item = { id: string; created_at: string; status: string };

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit();
});
after(() => godwit.stop());

/** Creates a key of a new account, so that each test knows all its messages. */
const freshKey = async (account: string): Promise<string> => (await clientOfAccount(godwit, account)).key;

const list = (key: string, query: Query = {}): Promise<Reply> => clientOf(godwit, key).messages.request("GET", search(query));

const page = async (key: string, query: Query = {}): Promise<Page<Item>> => recordOf(await list(key, query)) as Page<Item>;

const pagesOf = (key: string, query: Query, between?: () => Promise<unknown>): Promise<Page<Item>[]> =>
  walk((each) => page(key, each), query, between);

async function sendMany(key: string, count: number, fields: (index: number) => object = () => ({})): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const reply = await godwit.send(key, fields(index));
    assert.equal(reply.status, 202);
    ids.push(String(reply.json["id"]));
  }
  return ids;
}

describe("pages of messages", () => {
  let key: string;
  let newestFirst: string[];
  before(async () => {
    key = await freshKey("pages");
    newestFirst = (await sendMany(key, 60)).toReversed();
  });

  test("are newest first, by default with 25 messages", async () => {
    const first = await page(key);
    assert.deepEqual(idsOf([first]), newestFirst.slice(0, 25));
    assert.equal(first.has_more, true);
  });

  for (const [limit, sizes] of [
    [1, Array.from({ length: 60 }, () => 1)],
    [7, [7, 7, 7, 7, 7, 7, 7, 7, 4]],
    [30, [30, 30]],
    [59, [59, 1]],
    [60, [60]],
    [100, [60]],
  ] as const) {
    test(`of ${limit} have neither gaps nor duplicates, and no empty page at the end`, async () => {
      const pages = await pagesOf(key, { limit: String(limit) });
      assert.deepEqual(idsOf(pages), newestFirst);
      assert.deepEqual(
        pages.map(({ data }) => data.length),
        sizes,
      );
    });
  }

  test("stay complete while new messages arrive", async () => {
    const busy = await freshKey("busy pages");
    const already = (await sendMany(busy, 30)).toReversed();
    const pages = await pagesOf(busy, { limit: "7" }, () => sendMany(busy, 2));
    assert.deepEqual(idsOf(pages), already);
  });

  test("of an environment without messages are one empty page", async () => {
    assert.deepEqual(await page(await freshKey("nothing yet")), { data: [], has_more: false, next_cursor: null });
  });

  test("contain the same records as GET of one message", async () => {
    const { data } = await page(key, { limit: "1" });
    assert.deepEqual((await godwit.request("GET", `/v1/messages/${data[0]?.id}`, { key })).json, data[0]);
  });
});

describe("filters of messages", () => {
  let key: string;
  const ids: string[] = [];
  const times: number[] = [];
  before(async () => {
    key = await freshKey("filters");
    const rows = [
      { recipient: "+14155550101", client_reference: "a" },
      { recipient: "+14155550102", client_reference: "a" },
      { recipient: "+14155550101", client_reference: "b", channel: "whatsapp" },
      { recipient: "+14155550102", channel: "whatsapp" },
      { recipient: "+14155550101" },
    ];
    for (const fields of rows) {
      const reply = await godwit.send(key, fields);
      ids.push(String(reply.json["id"]));
      times.push(Date.parse(String(reply.json["created_at"])));
    }
    await godwit.rows("update messages set status = 'failed', error = $1 where client_reference = 'b'", [
      JSON.stringify({ code: "invalid_destination", message: "x", permanent: true, provider_code: null }),
    ]);
    await godwit.rows(
      `update messages set status = 'delivered', direction = 'inbound', sender = '+14155550777', inbound_sender = '+14155550777'
          where recipient = '+14155550102' and channel = 'whatsapp'`,
    );
    await godwit.rows("update messages set batch_id = $1 where client_reference = 'a' and recipient = '+14155550101'", [BATCH]);
  });
  const BATCH = newId("batch", Date.now());

  const ROWS: readonly (readonly [query: Record<string, string>, found: number[]])[] = [
    [{ status: "queued" }, [4, 1, 0]],
    [{ status: "failed" }, [2]],
    [{ status: "canceled" }, []],
    [{ channel: "sms" }, [4, 1, 0]],
    [{ channel: "whatsapp" }, [3, 2]],
    [{ direction: "outbound" }, [4, 2, 1, 0]],
    [{ direction: "inbound" }, [3]],
    [{ recipient: "+14155550101" }, [4, 2, 0]],
    [{ recipient: "+14155550199" }, []],
    [{ client_reference: "a" }, [1, 0]],
    [{ client_reference: "A" }, []],
    [{ client_reference: "a' or '1'='1" }, []],
    [{ error_code: "invalid_destination" }, [2]],
    [{ error_code: "other" }, []],
    [{ batch_id: encodeId("batch", BATCH) }, [0]],
    [{ batch_id: encodeId("batch", newId("batch", 1)) }, []],
    [{ sender: "+14155550777" }, [3]],
    [{ sender: "+14155550777", direction: "inbound" }, [3]],
    [{ sender: "+14155550777", direction: "outbound" }, []],
    [{ recipient: "+14155550101", client_reference: "a" }, [0]],
    [{ recipient: "+14155550101", status: "queued" }, [4, 0]],
    [{ client_reference: "a", channel: "sms", status: "queued", direction: "outbound" }, [1, 0]],
    [{ channel: "whatsapp", direction: "inbound", status: "delivered", recipient: "+14155550102" }, [3]],
    [{ status: "failed", error_code: "other" }, []],
  ];
  for (const [query, found] of ROWS) {
    test(`with ${new URLSearchParams(query).toString()} find ${found.length}, on one page or several`, async () => {
      const expected = found.map((index) => ids[index]);
      assert.deepEqual(idsOf([await page(key, query)]), expected);
      assert.deepEqual(idsOf(await pagesOf(key, { ...query, limit: "1" })), expected);
    });
  }

  const at = (timeMs: number): string => new Date(timeMs).toISOString();

  test("created_after and created_before exclude the given time", async () => {
    const key2 = await freshKey("times");
    const [first = "", second = "", third = ""] = await sendMany(key2, 3);
    const created = new Map((await page(key2)).data.map((item) => [item.id, Date.parse(item.created_at)]));
    const middle = created.get(second) ?? 0;
    const after2 = idsOf([await page(key2, { created_after: at(middle) })]);
    const before2 = idsOf([await page(key2, { created_before: at(middle) })]);
    assert.ok(!after2.includes(second) && !before2.includes(second));
    assert.deepEqual(after2, (created.get(third) ?? 0) > middle ? [third] : []);
    assert.deepEqual(before2, (created.get(first) ?? 0) < middle ? [first] : []);
    assert.ok(idsOf([await page(key2, { created_after: at(middle - 1), created_before: at(middle + 1) })]).includes(second));
  });

  test("accept a time with any offset and case", async () => {
    const inKolkata = `${new Date(times[0] === undefined ? 0 : times[0] - 1 + 19_800_000).toISOString().slice(0, -1)}+05:30`;
    for (const moment of [inKolkata, at((times[0] ?? 0) - 1).toLowerCase()]) {
      assert.equal((await page(key, { created_after: moment })).data.length, 5);
      assert.equal((await page(key, { created_before: moment })).data.length, 0);
    }
  });

  test("with a time within a millisecond include the messages of that millisecond before it", async () => {
    const moment = at(times[4] ?? 0).replace("Z", "5Z");
    assert.ok(idsOf([await page(key, { created_before: moment })]).includes(ids[4] ?? ""));
  });
});

describe("parameters", () => {
  let key: string;
  before(async () => {
    key = await freshKey("parameters");
    await sendMany(key, 2);
  });

  const cursor = encodeCursor(newUuid(Date.now()));
  const WRONG: readonly (readonly [query: string, parameter: string])[] = [
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=-1", "limit"],
    ["limit=1.5", "limit"],
    ["limit=ten", "limit"],
    ["limit=true", "limit"],
    ["limit=", "limit"],
    ["limit=0x10", "limit"],
    ["limit=1e1", "limit"],
    ["limit=%2010", "limit"],
    ["limit=1&limit=2", "limit"],
    ["cursor=", "cursor"],
    ["cursor=abc", "cursor"],
    [`cursor=${cursor.slice(0, -1)}`, "cursor"],
    [`cursor=${cursor}A`, "cursor"],
    [`cursor=${cursor}%3D`, "cursor"],
    [`cursor=${cursor.startsWith("B") ? "C" : "B"}${cursor.slice(1)}`, "cursor"],
    [`cursor=${"A".repeat(201)}`, "cursor"],
    [`cursor=${cursor}&cursor=${cursor}`, "cursor"],
    ["status=lost", "status"],
    ["status=", "status"],
    ["status=queued&status=sent", "status"],
    ["status[]=queued", "status[]"],
    ["channel=fax", "channel"],
    ["direction=up", "direction"],
    ["recipient=14155550123", "recipient"],
    ["recipient=+14155550123", "recipient"],
    ["client_reference=", "client_reference"],
    [`client_reference=${"a".repeat(129)}`, "client_reference"],
    ["client_reference=a%00b", "client_reference"],
    ["error_code=%00", "error_code"],
    ["created_after=yesterday", "created_after"],
    ["created_after=2026-02-30T00:00:00Z", "created_after"],
    ["created_after=2099-12-31T23:59:60Z", "created_after"],
    ["created_before=2026-01-01", "created_before"],
    ["created_before=2026-01-01T00:00:00", "created_before"],
    ["color=red", "color"],
    ["Limit=1", "Limit"],
    ["__proto__=1", "__proto__"],
  ];
  for (const [query, parameter] of WRONG) {
    test(`?${query.length > 60 ? `${query.slice(0, 60)}…` : query} is a 400 that names ${parameter}`, async () => {
      const reply = await godwit.request("GET", `/v1/messages?${query}`, { key });
      assertProblem(reply, "invalid_request_payload");
      const faults = faultsOf(reply);
      assert.deepEqual(new Set(faults.map((fault) => fault.parameter)), new Set([parameter]));
      assert.ok(faults.every((fault) => fault.pointer === undefined));
    });
  }

  test("are all reported at once when several are invalid", async () => {
    const reply = await godwit.request("GET", "/v1/messages?limit=0&status=lost&x=1", { key });
    assert.deepEqual(new Set(faultsOf(reply).map(({ parameter }) => parameter)), new Set(["limit", "status", "x"]));
  });

  test("are refused when one message is read", async () => {
    const { data } = await page(key, { limit: "1" });
    assertProblem(await godwit.request("GET", `/v1/messages/${data[0]?.id}?expand=all`, { key }), "invalid_request_payload");
  });
});

describe("very many messages", () => {
  const COUNT = 12_000;
  // The newest, one within the first query, those at its limit, one in each later query, and the oldest.
  const RARE = [1, 400, 4_999, 5_000, 5_001, 7_777, 10_000, 10_001, COUNT];
  let key: string;
  before(async () => {
    key = await freshKey("very many");
    await godwit.rows(
      `insert into messages (account_id, environment, id, direction, channel, recipient, body, status, sequence, priority, updated_at)
       select a.id, 'test', (lpad(to_hex(extract(epoch from now())::bigint * 1000 - n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
              'outbound', 'sms', '+14155550123', 'many', case when n = any ($1::integer[]) then 'undelivered' else 'queued' end, 1, 'normal', now()
         from accounts a, generate_series(1, ${COUNT}) n
        where a.name = 'very many'`,
      [RARE],
    );
  });

  for (const limit of ["1", "2", "100"]) {
    test(`with a rare status are all found with pages of ${limit}, newest first`, async () => {
      const pages = await pagesOf(key, { status: "undelivered", limit });
      const ids = idsOf(pages);
      assert.equal(ids.length, RARE.length);
      assert.deepEqual(
        ids,
        ids.toSorted((a, b) => (a < b ? 1 : -1)),
      );
      assert.equal(new Set(ids).size, RARE.length);
      assert.ok(pages.every(({ data }) => data.every(({ status }) => status === "undelivered") && data.length <= Number(limit)));
    });
  }

  test("without a match take a few queries, each with a cursor and no messages", async () => {
    const pages = await pagesOf(key, { status: "expired" });
    assert.equal(pages.length, 3);
    assert.deepEqual(idsOf(pages), []);
  });

  test("that all match a filter fill the pages", async () => {
    const first = await page(key, { channel: "sms", limit: "100" });
    assert.equal(first.data.length, 100);
    assert.equal(first.has_more, true);
  });

  test("without a filter are each listed once", async () => {
    const ids = idsOf(await pagesOf(key, { limit: "100" }));
    assert.equal(ids.length, COUNT);
    assert.equal(new Set(ids).size, COUNT);
  });
});
