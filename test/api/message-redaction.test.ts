/** Redaction: the text, the variables and the metadata are removed from a message, its events and every stored response. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { isFinished, STATUSES } from "../../src/messages/states.ts";
import { clientOf, clientOfAccount, afterSeconds, typesOf, type Client, type Json } from "../support/client.ts";
import { assertProblem, assertRefused, until } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { assertFirst, assertReplayOf, isReplay } from "../support/replay.ts";
import { eventsOf, rowId, setStatus, tablesWith } from "../support/tables.ts";

// Found in no response and no table after the redaction.
const SECRET = "the eagle lands at noon";
const PRIVATE = { patient: "4711-private" };

let godwit: Godwit;
let client: Client;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  client = clientOf(godwit, await godwit.key());
});
after(() => godwit.stop());

const redacted = (record: Json): Json => ({ ...record, body: null, metadata: {} });

async function assertNowhere(node: Godwit): Promise<void> {
  for (const text of [SECRET, PRIVATE.patient]) assert.deepEqual(await tablesWith(node, text), []);
}

test("the redaction of a message also removes its fallback", async () => {
  const fallback = [{ channel: "sms", body: SECRET, after_seconds: 60 }];
  const { id } = await client.messages.send({ body: SECRET, metadata: PRIVATE, send_at: afterSeconds(60), fallback });
  assertFirst(await client.messages.cancel(id), 200);
  assertFirst(await client.messages.redact(id), 200);
  await assertNowhere(godwit);
});

for (const status of STATUSES.filter((each) => !isFinished(each))) {
  test(`a message that is ${status} cannot be redacted, and the refusal is stored for its key`, async () => {
    const { id } = await client.messages.send({ body: "still needed", send_at: status === "scheduled" ? afterSeconds(60) : null });
    await setStatus(godwit, id, status);
    const record = await client.messages.read(id);
    const idempotencyKey = randomUUID();
    const reply = await client.messages.redact(id, { idempotencyKey });
    assertProblem(reply, "message_not_redactable");
    assertRefused(reply, "message_not_redactable", status);
    assert.deepEqual(await client.messages.read(id), record);
    await setStatus(godwit, id, "delivered");
    assertReplayOf(reply, await client.messages.redact(id, { idempotencyKey }));
    assert.equal((await client.messages.read(id))["body"], "still needed");
    assert.equal((await eventsOf(godwit, id)).length, 1);
  });
}

for (const status of STATUSES.filter(isFinished)) {
  test(`a message that is ${status} can be redacted`, async () => {
    const { id } = await client.messages.send({ metadata: { a: "b" } });
    await setStatus(godwit, id, status);
    const whole = await client.messages.read(id);
    const reply = await client.messages.redact(id);
    assertFirst(reply, 200);
    const { updated_at: updatedAt, ...rest } = reply.json;
    assert.deepEqual({ ...rest, updated_at: whole["updated_at"] }, redacted(whole));
    assert.ok(Date.parse(String(updatedAt)) > Date.parse(String(whole["updated_at"])));
    assert.deepEqual(await client.messages.read(id), reply.json);
  });
}

describe("a message that was edited and canceled, each with a key, and then redacted", () => {
  const keys = { post: randomUUID(), patch: randomUUID(), cancel: randomUUID(), redact: randomUUID() };
  const request = { ...sms(), body: SECRET, metadata: PRIVATE, client_reference: "ref-9", send_at: afterSeconds(3_600) };
  const edit = { body: `${SECRET}!`, metadata: { ...PRIVATE, more: "x" } };
  let id: string;
  let ask: Record<keyof typeof keys, () => Promise<Reply>>;
  let first: Record<keyof typeof keys, Reply>;
  before(async () => {
    const post = (): Promise<Reply> => client.request("POST", "/v1/messages", { body: request, idempotencyKey: keys.post });
    const posted = await post();
    id = String(posted.json["id"]);
    ask = {
      post,
      patch: () => client.messages.edit(id, edit, { idempotencyKey: keys.patch }),
      cancel: () => client.messages.cancel(id, { idempotencyKey: keys.cancel }),
      redact: () => client.messages.redact(id, { idempotencyKey: keys.redact }),
    };
    first = { post: posted, patch: await ask.patch(), cancel: await ask.cancel(), redact: await ask.redact() };
    assert.deepEqual(
      Object.values(first).map(({ status }) => status),
      [202, 200, 200, 200],
    );
  });

  test("had its text in the responses before, and is in no table now", async () => {
    assert.ok(first.cancel.text.includes(SECRET));
    await assertNowhere(godwit);
  });

  test("is read without its text and metadata, and with all other fields", async () => {
    const record = await client.messages.read(id);
    assert.deepEqual({ ...record, updated_at: null }, { ...redacted(first.cancel.json), updated_at: null });
    for (const [name, value] of Object.entries({
      recipient: sms()["recipient"],
      client_reference: "ref-9",
      status: "canceled",
      sequence: 3,
    }))
      assert.equal(record[name], value);
    assert.deepEqual(record["segments"], first.patch.json["segments"]);
    const listed = (await client.request("GET", "/v1/messages?client_reference=ref-9")).json["data"];
    assert.deepEqual(listed, [record]);
  });

  test("has no text in any event, and the other fields of the events are unchanged", async () => {
    const events = await eventsOf(godwit, id);
    assert.deepEqual(
      events.map(({ type, record }) => [type, JSON.parse(record ?? "null") as Json]),
      [
        ["message.scheduled", redacted(first.post.json)],
        ["message.scheduled", redacted(first.patch.json)],
        ["message.canceled", redacted(first.cancel.json)],
        ["message.redacted", first.redact.json],
      ],
    );
    const entries = await client.messages.timeline(id);
    assert.deepEqual(
      entries.map(({ type, ignored, sequence, reason }) => [type, ignored, sequence, reason]),
      [
        ["message.scheduled", false, 1, null],
        ["message.scheduled", false, 2, "edited by request"],
        ["message.canceled", false, 3, "canceled by request"],
        ["message.redacted", false, 3, "redacted by request"],
      ],
    );
  });

  for (const name of ["post", "patch", "cancel"] as const) {
    test(`has no text in the replay of its ${name}, which otherwise equals the first response`, async () => {
      const reply = await ask[name]();
      assert.equal(isReplay(reply), true, reply.text);
      assert.equal(reply.status, first[name].status);
      assert.deepEqual(reply.json, redacted(first[name].json));
      for (const header of ["content-type", "location"]) assert.equal(reply.headers.get(header), first[name].headers.get(header));
      assert.equal((await ask[name]()).text, reply.text, "a further replay has the same bytes");
    });
  }

  test("is replayed with the same bytes for the key of the redaction, without a second event", async () => {
    assertReplayOf(first.redact, await ask.redact());
    assert.equal((await eventsOf(godwit, id)).length, 4);
  });

  test("may be redacted again", async () => {
    const again = await client.messages.redact(id, { idempotencyKey: randomUUID() });
    assertFirst(again, 200);
    assert.deepEqual({ ...again.json, updated_at: null }, { ...first.redact.json, updated_at: null });
    await assertNowhere(godwit);
  });

  test("still counts with its status in the usage", async () => {
    const own = await clientOfAccount(godwit, "counted");
    const { id: other } = await own.messages.send({ body: "x".repeat(200) });
    assertFirst(await own.messages.cancel(other), 200);
    const totals = async (): Promise<unknown> => (await own.request("GET", "/v1/usage")).json["totals"];
    const counted = await totals();
    assertFirst(await own.messages.redact(other), 200);
    assert.deepEqual(await totals(), counted);
    assert.deepEqual((counted as Json)["by_status"], { canceled: 1 });
  });
});

describe("a signal after the redaction", () => {
  test("changes the status, and does not restore the text", async () => {
    await using delivering = await startGodwit({ roles: "api,dispatch" });
    await delivering.unlimited();
    const own = clientOf(delivering, await delivering.key());
    // The message is read a second after it is delivered, which leaves time to redact it in between.
    const { id } = await own.messages.send({ channel: "whatsapp", body: SECRET, metadata: PRIVATE });
    await own.messages.reached(id, "delivered");
    const reply = await own.messages.redact(id);
    assertFirst(reply, 200);
    assert.equal(reply.json["status"], "delivered", "the redaction comes before the last receipt");
    const read = await own.messages.reached(id, "read");
    assert.equal(read["body"], null);
    assert.deepEqual(read["metadata"], {});
    assert.equal(read["sequence"], 5);
    assert.deepEqual(typesOf(await own.messages.timeline(id)), [
      "message.queued",
      "message.sending",
      "message.sent",
      "message.delivered",
      "message.redacted",
      "message.read",
    ]);
    await assertNowhere(delivering);
  });

  test("is ignored as without the redaction, and does not restore the text", async () => {
    await using delivering = await startGodwit({ roles: "api,dispatch" });
    await delivering.unlimited();
    const own = clientOf(delivering, await delivering.key());
    // Two receipts without a transition follow the first one at intervals of a quarter of a second.
    const { id } = await own.messages.send({ recipient: "+15005550011", body: SECRET, metadata: PRIVATE });
    await own.messages.reached(id, "delivered");
    assertFirst(await own.messages.redact(id), 200);
    const entries = await until("both receipts arrive", async () => {
      const all = await own.messages.timeline(id);
      return all.filter(({ ignored }) => ignored).length === 2 ? all : undefined;
    });
    assert.ok(entries.some(({ type }) => type === "message.redacted"));
    assert.equal(entries.at(-1)?.ignored, true);
    const record = await own.messages.read(id);
    assert.deepEqual([record["status"], record["body"], record["metadata"]], ["delivered", null, {}]);
    const [row] = await delivering.rows<{ body: string | null; redacted_at: Date | null }>(
      "select body, redacted_at from messages where id = $1",
      [rowId(id)],
    );
    assert.equal(row?.body, null);
    assert.ok(row?.redacted_at instanceof Date);
    await assertNowhere(delivering);
  });
});
