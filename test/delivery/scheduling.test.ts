/** Time: messages that wait for theirs, and messages whose time is over before they were handed over. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { afterSeconds, assertChanged, callerOf, typesOf, type Caller, type Json } from "../support/changing.ts";
import { assertProblem, faultsOf, until } from "../support/expect.ts";
import { createDatabase } from "../support/database.ts";
import { sms, startGodwit, type Godwit } from "../support/harness.ts";
import { eventsOf, queueRowOf, rowId } from "../support/tables.ts";

const DAY_S = 86_400;
// How far the clocks of the test, the service and the database may be apart.
const CLOCKS_MS = 50;

const timeOf = (record: Json, name: string): number => Date.parse(String(record[name]));
const queueOf = async (caller: Caller): Promise<Json> => (await caller.ask("GET", "/v1/queue")).json;
const passed = (timeMs: number): Promise<true> => until("its time has come", () => Date.now() > timeMs || undefined);

/** When it was first said of the message. */
async function momentOf(caller: Caller, id: unknown, type: string): Promise<number> {
  const entry = (await caller.timeline(id)).find((each) => each.type === type);
  assert.ok(entry !== undefined, `${type} is in the timeline`);
  return Date.parse(entry.created_at);
}

async function assertOnTime(caller: Caller, id: unknown, sendAtMs: number): Promise<void> {
  const types = ["message.scheduled", "message.queued", "message.sending", "message.sent", "message.delivered"];
  const entries = (await caller.timeline(id)).filter(
    ({ type, reason, ignored }) => !ignored && (type !== "message.scheduled" || reason === null),
  );
  assert.deepEqual(typesOf(entries), types);
  assert.equal(entries[1]?.reason, "send_at has come");
  for (const type of ["message.queued", "message.sending"]) {
    const lateMs = (await momentOf(caller, id, type)) - sendAtMs;
    assert.ok(lateMs >= -CLOCKS_MS, `${type} came ${-lateMs} ms early`);
  }
}

describe("send_at", () => {
  let godwit: Godwit;
  let caller: Caller;
  before(async () => {
    godwit = await startGodwit({ roles: "api,dispatch", env: { GODWIT_SIMULATOR_SPEED: "20" } });
    await godwit.unlimited();
    caller = callerOf(godwit, await godwit.key());
  });
  after(() => godwit.stop());

  test("a message waits for its time, is then sent, and not before", async () => {
    const sendAt = afterSeconds(2);
    const message = await caller.send({ send_at: sendAt, ttl_seconds: 60 });
    const { id } = message;
    assert.equal(message["status"], "scheduled");
    assert.equal(message["send_at"], sendAt);
    assert.equal(timeOf(message, "expires_at"), Date.parse(sendAt) + 60_000);
    assert.equal((await queueRowOf(godwit, id))?.due_at.getTime(), Date.parse(sendAt));
    const early = await until("the last moment before", async () => {
      const { status } = await caller.read(id);
      return Date.now() < Date.parse(sendAt) - 500 ? undefined : status;
    });
    assert.equal(early, "scheduled");
    const delivered = await caller.reached(id, "delivered");
    await assertOnTime(caller, id, Date.parse(sendAt));
    assert.equal(delivered["sequence"], 5);
    assert.equal(delivered["send_at"], sendAt);
    assert.ok(timeOf(delivered, "sent_at") >= Date.parse(sendAt) - CLOCKS_MS);
  });

  test("fifty with one time are all sent on time, once each", async () => {
    const sendAt = afterSeconds(2);
    const messages = await Promise.all(Array.from({ length: 50 }, () => caller.send({ send_at: sendAt })));
    for (const { id } of messages) await caller.reached(id, "delivered");
    for (const { id } of messages) await assertOnTime(caller, id, Date.parse(sendAt));
  });

  test("a message that is brought forward to now is sent at once, one that is put off waits", async () => {
    const [{ id: soon }, { id: late }] = await Promise.all([
      caller.send({ send_at: afterSeconds(3_600) }),
      caller.send({ send_at: afterSeconds(2) }),
    ]);
    assertChanged(await caller.edit(late, { send_at: afterSeconds(3_600) }));
    const askedAt = Date.now();
    assertChanged(await caller.edit(soon, { send_at: afterSeconds(-60) }));
    await caller.reached(soon, "delivered");
    await assertOnTime(caller, soon, askedAt);
    await passed(askedAt + 3_500);
    assert.equal((await caller.read(late))["status"], "scheduled");
    assertChanged(await caller.cancel(late));
  });

  test("a canceled message is not sent when its time comes", async () => {
    const sendAt = afterSeconds(1);
    const [{ id: gone }, { id: witness }] = await Promise.all([caller.send({ send_at: sendAt }), caller.send({ send_at: sendAt })]);
    assertChanged(await caller.cancel(gone));
    await caller.reached(witness, "delivered");
    assert.deepEqual(typesOf(await caller.timeline(gone)), ["message.scheduled", "message.canceled"]);
  });

  test("a time that has just passed is now", async () => {
    for (const seconds of [-1, -DAY_S + 60]) {
      const message = await caller.send({ send_at: afterSeconds(seconds), ttl_seconds: 30 });
      assert.equal(message["status"], "queued");
      assert.equal(timeOf(message, "expires_at") - timeOf(message, "created_at"), 30_000, "it lives from now on");
      await caller.reached(message["id"], "delivered");
      assert.deepEqual(typesOf(await caller.timeline(message["id"])).slice(0, 2), ["message.queued", "message.sending"]);
    }
  });

  const FAULTS: readonly (readonly [what: string, sendAt: () => string, code: string])[] = [
    ["more than 35 days ahead", () => afterSeconds(35 * DAY_S + 60), "too_far"],
    ["more than a day ago", () => afterSeconds(-DAY_S - 60), "in_the_past"],
    ["no time", () => "tomorrow", "invalid_format"],
  ];
  for (const [what, sendAt, code] of FAULTS) {
    test(`${what} is a 400`, async () => {
      const reply = await caller.ask("POST", "/v1/messages", { body: { ...sms(), send_at: sendAt() } });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        faultsOf(reply).map((fault) => [fault.pointer, fault.code]),
        [["/send_at", code]],
      );
    });
  }

  test("just under 35 days ahead is scheduled", async () => {
    const { id, status } = await caller.send({ send_at: afterSeconds(35 * DAY_S - 60) });
    assert.equal(status, "scheduled");
    assertChanged(await caller.cancel(id));
  });

  test("what is scheduled shows in the queue, and is not due", async () => {
    const key = await godwit.key({ account: "scheduling" });
    await godwit.unlimited();
    const own = callerOf(godwit, key);
    const messages = [await own.send({ send_at: afterSeconds(3_600) }), await own.send({ send_at: afterSeconds(7_200) })];
    const rest = { object: "queue", environment: "test", queued: 0, sending: 0, oldest_due_at: null, oldest_due_seconds: 0 };
    assert.deepEqual(await queueOf(own), { ...rest, scheduled: 2 });
    for (const { id } of messages) assertChanged(await own.cancel(id));
    assert.deepEqual(await queueOf(own), { ...rest, scheduled: 0 });
  });
});

describe("a restart", () => {
  test("a message whose time comes while nobody is there is sent when somebody is", async () => {
    const databaseUrl = await createDatabase();
    const env = { GODWIT_SIMULATOR_SPEED: "20" };
    let sendAt: string;
    let id: unknown;
    let key: string;
    {
      await using first = await startGodwit({ databaseUrl, roles: "api,dispatch", env });
      await first.unlimited();
      key = await first.key();
      sendAt = afterSeconds(4);
      ({ id } = await callerOf(first, key).send({ send_at: sendAt }));
    }
    assert.ok(Date.now() < Date.parse(sendAt), "it was stopped before the time");
    await passed(Date.parse(sendAt));
    const startedAt = Date.now();
    await using again = await startGodwit({ databaseUrl, roles: "api,dispatch", env });
    const caller = callerOf(again, key);
    await caller.reached(id, "delivered");
    const entries = (await caller.timeline(id)).filter(({ ignored }) => !ignored);
    assert.deepEqual(typesOf(entries), ["message.scheduled", "message.queued", "message.sending", "message.sent", "message.delivered"]);
    assert.ok((await momentOf(caller, id, "message.queued")) >= startedAt - CLOCKS_MS);
  });
});

describe("ttl_seconds", () => {
  /** As if the message had been accepted an hour ago. */
  const shift = async (godwit: Godwit, id: unknown): Promise<void> => {
    const back = "- interval '1 hour'";
    await godwit.rows(`update messages set expires_at = expires_at ${back}, send_at = send_at ${back} where id = $1`, [rowId(id)]);
    await godwit.rows(`update delivery_queue set expires_at = expires_at ${back}, due_at = due_at ${back} where message_id = $1`, [
      rowId(id),
    ]);
  };
  const ERROR = {
    code: "ttl_expired",
    message: "The message was not handed to a carrier within its time to live.",
    permanent: false,
    provider_code: null,
  };

  test("what was not handed over in time expires, and is never handed over", async () => {
    await using accepting = await startGodwit();
    await accepting.unlimited();
    const caller = callerOf(accepting, await accepting.key());
    const queued = await caller.send({ ttl_seconds: 30 });
    const scheduled = await caller.send({ ttl_seconds: 30, send_at: afterSeconds(60) });
    const [fresh, waiting] = [await caller.send({ ttl_seconds: 30 }), await caller.send({ ttl_seconds: 30, send_at: afterSeconds(60) })];
    assert.equal(timeOf(queued, "expires_at") - timeOf(queued, "created_at"), 30_000);
    for (const { id } of [queued, scheduled]) await shift(accepting, id);
    assert.equal((await caller.read(queued["id"]))["status"], "queued", "nobody is there to see it");

    await using dispatching = await startGodwit({
      databaseUrl: accepting.databaseUrl,
      roles: "dispatch",
      env: { GODWIT_SIMULATOR_SPEED: "20" },
    });
    for (const [{ id }, types] of [
      [queued, ["message.queued", "message.expired"]],
      [scheduled, ["message.scheduled", "message.queued", "message.expired"]],
    ] as const) {
      const record = await caller.reached(id, "expired");
      assert.deepEqual(record["error"], ERROR);
      assert.equal(record["sequence"], types.length);
      assert.equal(record["failed_at"], record["updated_at"]);
      assert.deepEqual([record["provider"], record["sent_at"]], [null, null]);
      assert.equal(await queueRowOf(accepting, id), undefined);
      const entries = await caller.timeline(id);
      assert.deepEqual(typesOf(entries), types);
      assert.equal(entries.at(-1)?.reason, "ttl_seconds passed");
      assert.deepEqual(
        entries.map(({ attempt }) => attempt),
        entries.map(() => null),
      );
    }
    await caller.reached(fresh["id"], "delivered");
    assert.equal((await caller.read(waiting["id"]))["status"], "scheduled", "its time to live is still before it");
    assert.equal((await dispatching.request("GET", "/readyz")).status, 200);

    const found = (await caller.ask("GET", "/v1/messages?status=expired&error_code=ttl_expired")).json["data"] as Json[];
    assert.deepEqual(new Set(found.map(({ id }) => id)), new Set([queued["id"], scheduled["id"]]));
    const { by_error_code: byCode } = (await caller.ask("GET", "/v1/usage")).json["totals"] as Json;
    assert.deepEqual(byCode, { ttl_expired: 2 });
  });

  test("also while it waits for its next attempt", async () => {
    await using accepting = await startGodwit();
    await accepting.unlimited();
    const caller = callerOf(accepting, await accepting.key());
    const { id } = await caller.send({ ttl_seconds: 30 });
    await shift(accepting, id);
    await accepting.rows("update delivery_queue set due_at = now() + interval '1 hour'");
    await using dispatching = await startGodwit({ databaseUrl: accepting.databaseUrl, roles: "dispatch" });
    assert.deepEqual((await caller.reached(id, "expired"))["error"], ERROR);
    assert.deepEqual(typesOf(await caller.timeline(id)), ["message.queued", "message.expired"]);
    assert.equal((await dispatching.request("GET", "/readyz")).status, 200);
  });

  test("of a campaign that waited too long nothing is handed over, and each has its event", async () => {
    await using accepting = await startGodwit();
    await accepting.unlimited();
    const caller = callerOf(accepting, await accepting.key());
    const messages = await Promise.all(Array.from({ length: 300 }, () => caller.send({ ttl_seconds: 30, priority: "bulk" })));
    await accepting.rows("update messages set expires_at = expires_at - interval '1 hour'");
    await accepting.rows("update delivery_queue set expires_at = expires_at - interval '1 hour'");
    await using dispatching = await startGodwit({ databaseUrl: accepting.databaseUrl, roles: "dispatch" });
    await until("the queue is empty", async () => ((await queueOf(caller))["queued"] === 0 ? true : undefined));
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
