/** Scheduled messages, and messages whose time to live expires before they are submitted. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { clientOf, clientOfAccount, afterSeconds, typesOf, type Client, type Json } from "../support/client.ts";
import { assertProblem, faultsOf, until } from "../support/expect.ts";
import { createDatabase } from "../support/database.ts";
import { sms, startGodwit, type Godwit } from "../support/harness.ts";
import { assertFirst } from "../support/replay.ts";
import { eventsOf, queueRowOf, rowId } from "../support/tables.ts";

const DAY_S = 86_400;
// The possible difference between the clocks of the test, the service and the database.
const CLOCKS_MS = 50;

const timeOf = (record: Json, name: string): number => Date.parse(String(record[name]));
const queueOf = async (client: Client): Promise<Json> => (await client.request("GET", "/v1/queue")).json;
const passed = (timeMs: number): Promise<true> => until("send_at to pass", () => Date.now() > timeMs || undefined);

/** The time of the first entry of this type in the timeline. */
async function momentOf(client: Client, id: unknown, type: string): Promise<number> {
  const entry = (await client.messages.timeline(id)).find((each) => each.type === type);
  assert.ok(entry !== undefined, `${type} is in the timeline`);
  return Date.parse(entry.created_at);
}

async function assertOnTime(client: Client, id: unknown, sendAtMs: number): Promise<void> {
  const types = ["message.scheduled", "message.queued", "message.sending", "message.sent", "message.delivered"];
  const entries = (await client.messages.timeline(id)).filter(
    ({ type, reason, ignored }) => !ignored && (type !== "message.scheduled" || reason === null),
  );
  assert.deepEqual(typesOf(entries), types);
  assert.equal(entries[1]?.reason, "send_at has come");
  for (const type of ["message.queued", "message.sending"]) {
    const lateMs = (await momentOf(client, id, type)) - sendAtMs;
    assert.ok(lateMs >= -CLOCKS_MS, `${type} came ${-lateMs} ms early`);
  }
}

describe("send_at", () => {
  let godwit: Godwit;
  let client: Client;
  before(async () => {
    godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 20 });
    await godwit.unlimited();
    client = clientOf(godwit, await godwit.key());
  });
  after(() => godwit.stop());

  test("a message waits until send_at and is sent then, not before", async () => {
    const sendAt = afterSeconds(6);
    const message = await client.messages.send({ send_at: sendAt, ttl_seconds: 60 });
    const { id } = message;
    assert.equal(message["status"], "scheduled");
    assert.equal(message["send_at"], sendAt);
    assert.equal(timeOf(message, "expires_at"), Date.parse(sendAt) + 60_000);
    assert.equal((await queueRowOf(godwit, id))?.due_at.getTime(), Date.parse(sendAt));
    const early = await until("the last moment before send_at", async () => {
      const { status } = await client.messages.read(id);
      return Date.now() < Date.parse(sendAt) - 500 ? undefined : status;
    });
    assert.equal(early, "scheduled");
    const delivered = await client.messages.reached(id, "delivered");
    await assertOnTime(client, id, Date.parse(sendAt));
    assert.equal(delivered["sequence"], 5);
    assert.equal(delivered["send_at"], sendAt);
    assert.ok(timeOf(delivered, "sent_at") >= Date.parse(sendAt) - CLOCKS_MS);
  });

  test("fifty messages with the same send_at are all sent on time, once each", async () => {
    const sendAt = afterSeconds(6);
    const messages = await Promise.all(Array.from({ length: 50 }, () => client.messages.send({ send_at: sendAt })));
    for (const { id } of messages) await client.messages.reached(id, "delivered");
    for (const { id } of messages) await assertOnTime(client, id, Date.parse(sendAt));
  });

  test("a message that is moved to now is sent immediately, and one that is postponed waits", async () => {
    const [{ id: soon }, { id: late }] = await Promise.all([
      client.messages.send({ send_at: afterSeconds(3_600) }),
      client.messages.send({ send_at: afterSeconds(2) }),
    ]);
    assertFirst(await client.messages.edit(late, { send_at: afterSeconds(3_600) }), 200);
    const askedAt = Date.now();
    assertFirst(await client.messages.edit(soon, { send_at: afterSeconds(-60) }), 200);
    await client.messages.reached(soon, "delivered");
    await assertOnTime(client, soon, askedAt);
    await passed(askedAt + 3_500);
    assert.equal((await client.messages.read(late))["status"], "scheduled");
    assertFirst(await client.messages.cancel(late), 200);
  });

  test("a canceled message is not sent at send_at", async () => {
    const sendAt = afterSeconds(1);
    const [{ id: gone }, { id: witness }] = await Promise.all([
      client.messages.send({ send_at: sendAt }),
      client.messages.send({ send_at: sendAt }),
    ]);
    assertFirst(await client.messages.cancel(gone), 200);
    await client.messages.reached(witness, "delivered");
    assert.deepEqual(typesOf(await client.messages.timeline(gone)), ["message.scheduled", "message.canceled"]);
  });

  test("a send_at that has just passed means now", async () => {
    for (const seconds of [-1, -DAY_S + 60]) {
      const message = await client.messages.send({ send_at: afterSeconds(seconds), ttl_seconds: 30 });
      assert.equal(message["status"], "queued");
      assert.equal(timeOf(message, "expires_at") - timeOf(message, "created_at"), 30_000, "its time to live starts now");
      await client.messages.reached(message["id"], "delivered");
      assert.deepEqual(typesOf(await client.messages.timeline(message["id"])).slice(0, 2), ["message.queued", "message.sending"]);
    }
  });

  const FAULTS: readonly (readonly [what: string, sendAt: () => string, code: string])[] = [
    ["more than 35 days ahead", () => afterSeconds(35 * DAY_S + 60), "too_far"],
    ["more than a day ago", () => afterSeconds(-DAY_S - 60), "in_the_past"],
    ["not a time", () => "tomorrow", "invalid_format"],
  ];
  for (const [what, sendAt, code] of FAULTS) {
    test(`${what} is refused with 400`, async () => {
      const reply = await client.request("POST", "/v1/messages", { body: { ...sms(), send_at: sendAt() } });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        faultsOf(reply).map((fault) => [fault.pointer, fault.code]),
        [["/send_at", code]],
      );
    });
  }

  test("just under 35 days ahead is scheduled", async () => {
    const { id, status } = await client.messages.send({ send_at: afterSeconds(35 * DAY_S - 60) });
    assert.equal(status, "scheduled");
    assertFirst(await client.messages.cancel(id), 200);
  });

  test("a scheduled message is shown in the queue, and is not due", async () => {
    const own = await clientOfAccount(godwit, "scheduling");
    const messages = [await own.messages.send({ send_at: afterSeconds(3_600) }), await own.messages.send({ send_at: afterSeconds(7_200) })];
    const rest = { object: "queue", environment: "test", queued: 0, sending: 0, oldest_due_at: null, oldest_due_seconds: 0 };
    assert.deepEqual(await queueOf(own), { ...rest, scheduled: 2 });
    for (const { id } of messages) assertFirst(await own.messages.cancel(id), 200);
    assert.deepEqual(await queueOf(own), { ...rest, scheduled: 0 });
  });
});

describe("a restart", () => {
  test("a message whose send_at passes while no node runs is sent when a node starts", async () => {
    const databaseUrl = await createDatabase();
    const simulatorSpeed = 20;
    let sendAt: string;
    let id: unknown;
    let key: string;
    {
      await using first = await startGodwit({ databaseUrl, roles: "api,dispatch", simulatorSpeed });
      await first.unlimited();
      key = await first.key();
      sendAt = afterSeconds(4);
      ({ id } = await clientOf(first, key).messages.send({ send_at: sendAt }));
    }
    assert.ok(Date.now() < Date.parse(sendAt), "the node stopped before send_at");
    await passed(Date.parse(sendAt));
    const startedAt = Date.now();
    await using again = await startGodwit({ databaseUrl, roles: "api,dispatch", simulatorSpeed });
    const client = clientOf(again, key);
    await client.messages.reached(id, "delivered");
    const entries = (await client.messages.timeline(id)).filter(({ ignored }) => !ignored);
    assert.deepEqual(typesOf(entries), ["message.scheduled", "message.queued", "message.sending", "message.sent", "message.delivered"]);
    assert.ok((await momentOf(client, id, "message.queued")) >= startedAt - CLOCKS_MS);
  });
});

describe("ttl_seconds", () => {
  /** Changes the times of the message as if it had been accepted an hour ago. */
  const shift = async (godwit: Godwit, id: unknown): Promise<void> => {
    const back = "- interval '1 hour'";
    await godwit.rows(`update messages set expires_at = expires_at ${back}, send_at = send_at ${back} where id = $1`, [rowId(id)]);
    await godwit.rows(`update delivery_queue set expires_at = expires_at ${back}, due_at = due_at ${back} where message_id = $1`, [
      rowId(id),
    ]);
  };
  const ERROR = {
    code: "ttl_expired",
    message: "The message was not submitted to a carrier within its time to live.",
    permanent: false,
    provider_code: null,
  };

  test("a message that is not submitted in time expires and is never submitted", async () => {
    await using accepting = await startGodwit();
    await accepting.unlimited();
    const client = clientOf(accepting, await accepting.key());
    const queued = await client.messages.send({ ttl_seconds: 30 });
    const scheduled = await client.messages.send({ ttl_seconds: 30, send_at: afterSeconds(60) });
    const [fresh, waiting] = [
      await client.messages.send({ ttl_seconds: 30 }),
      await client.messages.send({ ttl_seconds: 30, send_at: afterSeconds(60) }),
    ];
    assert.equal(timeOf(queued, "expires_at") - timeOf(queued, "created_at"), 30_000);
    for (const { id } of [queued, scheduled]) await shift(accepting, id);
    assert.equal((await client.messages.read(queued["id"]))["status"], "queued", "no node with the dispatch role runs");

    await using dispatching = await startGodwit({
      databaseUrl: accepting.databaseUrl,
      roles: "dispatch",
      simulatorSpeed: 20,
    });
    for (const [{ id }, types] of [
      [queued, ["message.queued", "message.expired"]],
      [scheduled, ["message.scheduled", "message.queued", "message.expired"]],
    ] as const) {
      const record = await client.messages.reached(id, "expired");
      assert.deepEqual(record["error"], ERROR);
      assert.equal(record["sequence"], types.length);
      assert.equal(record["failed_at"], record["updated_at"]);
      assert.deepEqual([record["provider"], record["sent_at"]], [null, null]);
      assert.equal(await queueRowOf(accepting, id), undefined);
      const entries = await client.messages.timeline(id);
      assert.deepEqual(typesOf(entries), types);
      assert.equal(entries.at(-1)?.reason, "ttl_seconds passed");
      assert.deepEqual(
        entries.map(({ attempt }) => attempt),
        entries.map(() => null),
      );
    }
    await client.messages.reached(fresh["id"], "delivered");
    assert.equal((await client.messages.read(waiting["id"]))["status"], "scheduled", "its time to live has not started");
    assert.equal((await dispatching.request("GET", "/readyz")).status, 200);

    const found = (await client.request("GET", "/v1/messages?status=expired&error_code=ttl_expired")).json["data"] as Json[];
    assert.deepEqual(new Set(found.map(({ id }) => id)), new Set([queued["id"], scheduled["id"]]));
    const { by_error_code: byCode } = (await client.request("GET", "/v1/usage")).json["totals"] as Json;
    assert.deepEqual(byCode, { ttl_expired: 2 });
  });

  test("a message expires also while it waits for its next attempt", async () => {
    await using accepting = await startGodwit();
    await accepting.unlimited();
    const client = clientOf(accepting, await accepting.key());
    const { id } = await client.messages.send({ ttl_seconds: 30 });
    await shift(accepting, id);
    await accepting.rows("update delivery_queue set due_at = now() + interval '1 hour'");
    await using dispatching = await startGodwit({ databaseUrl: accepting.databaseUrl, roles: "dispatch" });
    assert.deepEqual((await client.messages.reached(id, "expired"))["error"], ERROR);
    assert.deepEqual(typesOf(await client.messages.timeline(id)), ["message.queued", "message.expired"]);
    assert.equal((await dispatching.request("GET", "/readyz")).status, 200);
  });

  test("a campaign that waited too long is not submitted, and each message has its event", async () => {
    await using accepting = await startGodwit();
    await accepting.unlimited();
    const client = clientOf(accepting, await accepting.key());
    const messages = await Promise.all(Array.from({ length: 300 }, () => client.messages.send({ ttl_seconds: 30, priority: "bulk" })));
    await accepting.rows("update messages set expires_at = expires_at - interval '1 hour'");
    await accepting.rows("update delivery_queue set expires_at = expires_at - interval '1 hour'");
    await using dispatching = await startGodwit({ databaseUrl: accepting.databaseUrl, roles: "dispatch" });
    await until("the queue to be empty", async () => ((await queueOf(client))["queued"] === 0 ? true : undefined));
    assert.equal((await dispatching.request("GET", "/readyz")).status, 200);
    const [counts] = await accepting.rows<{ expired: number; handed_over: number; waiting: number }>(
      `select (select count(*)::integer from events where type = 'message.expired') as expired,
              (select count(*)::integer from events where type = 'message.sending') as handed_over,
              (select count(*)::integer from delivery_queue) as waiting`,
    );
    assert.deepEqual(counts, { expired: messages.length, handed_over: 0, waiting: 0 });
    assert.deepEqual(
      (await eventsOf(accepting, messages[0]?.["id"])).map(({ type }) => type),
      ["message.queued", "message.expired"],
    );
  });
});
