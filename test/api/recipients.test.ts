/** The data of a person: erased from every table, or exported as a stream. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { clientOf, clientOfAccount, items, afterSeconds, recordOf, NO_LIMITS, type Client, type Json } from "../support/client.ts";
import { assertProblem, until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply, type RequestOptions } from "../support/harness.ts";
import { assertReplayOf, isReplay } from "../support/replay.ts";
import { queueRowOf, setStatus, tablesWith, waitingFor } from "../support/tables.ts";
import { Customer, WITH_WEBHOOKS } from "../support/webhook-customer.ts";
import { Hook, type Call } from "../support/hook-server.ts";

// Found in no table after an erasure.
const TEXT = "the heron leaves at dusk";
const PRIVATE = { patient: "0815-private" };
const REFERENCE = "invoice-heron-7";
const CANARIES = [TEXT, PRIVATE.patient, REFERENCE, "heron"];

let numbers = 0;
const newNumber = (): string => `+1650${String((numbers += 1) + 5_550_000)}`;

const erase = (client: Client, recipient: string, options: RequestOptions = {}): Promise<Reply> =>
  client.request("POST", "/v1/recipients/erase", { idempotencyKey: randomUUID(), ...options, body: { recipient } });

const NOTHING = {
  media: 0,
  messages: 0,
  events: 0,
  fallbacks: 0,
  webhook_deliveries: 0,
  verifications: 0,
  suppressions: 0,
  stored_responses: 0,
};

async function assertNowhere(node: Godwit, ...texts: string[]): Promise<void> {
  for (const text of texts) assert.deepEqual(await tablesWith(node, text.replace(/^\+/, "")), [], text);
}

describe("erasing", () => {
  let godwit: Godwit;
  let hook: Hook;
  before(async () => {
    hook = await Hook.listen();
    // Endpoints that quote what they receive.
    hook.behave = ({ text }: Call) => ({ status: 200, body: text });
    godwit = await startGodwit({ ...WITH_WEBHOOKS, env: { ...WITH_WEBHOOKS.env, ...NO_LIMITS } });
  });
  after(async () => {
    await godwit.stop();
    await hook[Symbol.asyncDispose]();
  });

  test("leaves inbound messages that are kept for the operator, and does not tell of them", async () => {
    const person = newNumber();
    const [inTest, inLive] = [await clientOfAccount(godwit, "kept"), await clientOfAccount(godwit, "kept", { environment: "live" })];
    await godwit.rows(
      `insert into kept_inbound (id, kind, link, provider, channel, sender, recipient, body)
       values (gen_random_uuid(), 'message', 'x', 'smpp', 'sms', $1, '99999', $2),
              (gen_random_uuid(), 'notification', 'x', 'whatsapp', 'whatsapp', $1, null, $3)`,
      [person, TEXT, JSON.stringify({ recipient_id: person.slice(1) })],
    );
    for (const client of [inTest, inLive]) assert.deepEqual(recordOf(await erase(client, person))["erased"], NOTHING);
    assert.deepEqual(await tablesWith(godwit, person.slice(1)), ["kept_inbound"]);
    await godwit.rows("delete from kept_inbound");
  });

  test("removes a person from every table, and keeps the records and the counts", async () => {
    const customer = await Customer.of(godwit);
    const { client } = customer;
    const endpoint = await customer.endpoint(hook);
    const removed = await customer.endpoint(hook);
    // This recipient answers each message.
    const person = "+15005550008";
    const keys = { message: randomUUID(), verification: randomUUID(), suppression: randomUUID(), check: randomUUID() };
    const content = { recipient: person, body: TEXT, metadata: PRIVATE, client_reference: REFERENCE };
    const sent = await client.messages.send(content, { idempotencyKey: keys.message });
    const template = { channel: "whatsapp", body: null, template_id: "verification_code", template_variables: { code: "heron" } };
    const read = await client.messages.send({
      recipient: person,
      ...template,
      fallback: [{ channel: "sms", body: TEXT, after_seconds: 600 }],
    });
    const batch = await client.batches.send([content, { recipient: newNumber() }]);
    const started = await client.verifications.start({ recipient: person, channel: "sms" }, { idempotencyKey: keys.verification });
    const checked = await client.verifications.check(started.json["id"], "999999", { idempotencyKey: keys.check });
    await client.messages.reached(sent["id"], "delivered");
    await client.messages.reached(read["id"], "read");
    await until("four answers", async () => (await client.messages.list({ direction: "inbound" })).data.length === 4 || undefined);
    const note = { recipient: person, note: "heron said so" };
    const suppressed = await client.suppressions.post(note, { idempotencyKey: keys.suppression });
    assert.equal(recordOf(suppressed, 201)["recipient"], person);
    await until("all webhooks", async () => (await waitingFor(godwit, endpoint.id)) === 0 || undefined);
    await client.endpoints.remove(removed.id);
    assert.ok(
      (await tablesWith(godwit, TEXT)).some((name) => name.startsWith("webhook_deliveries")),
      "endpoints have quoted the text",
    );
    const usage = await client.get("/v1/usage");
    const whole = await client.messages.read(sent["id"]);
    const total = (await client.messages.list({ limit: "100" })).data.length;

    const erased = recordOf(await erase(client, person));
    const { events, webhook_deliveries: deliveries, ...counts } = erased["erased"] as Record<string, number>;
    assert.deepEqual(counts, { messages: 8, fallbacks: 1, verifications: 1, suppressions: 1, media: 0, stored_responses: 3 });
    assert.ok((events ?? 0) > 16 && (deliveries ?? 0) > 32, JSON.stringify(erased));
    assert.deepEqual([erased["canceled"], erased["unfinished"], erased["has_more"]], [0, 0, false]);
    await assertNowhere(godwit, person, ...CANARIES);

    assert.deepEqual((await client.get("/v1/usage"))["totals"], usage["totals"]);
    assert.equal((await client.messages.list({ limit: "100" })).data.length, total);
    assert.deepEqual((await client.messages.list({ recipient: person })).data, []);
    const blank = { recipient: "erased", body: null, metadata: {}, client_reference: null };
    const provider = { ...(whole["provider"] as Json), message_id: null };
    const { updated_at: _changed, ...record } = await client.messages.read(sent["id"]);
    assert.deepEqual({ ...record, updated_at: whole["updated_at"] }, { ...whole, ...blank, provider });
    const [answer] = (await client.messages.list({ direction: "inbound" })).data;
    assert.deepEqual([answer?.["sender"], answer?.["body"]], ["erased", null]);
    assert.equal((await client.messages.timeline(sent["id"])).length, 4);
    for (const event of (await client.events.list({ message_id: String(sent["id"]) })).data)
      assert.equal(event.data.message["recipient"], "erased");
    assert.equal((await client.batches.read(batch["id"]))["total"], 2);

    // Stored responses are the second exception to the rule that a replay equals the first response.
    const replays = [
      await client.messages.post(content, { idempotencyKey: keys.message }),
      await client.verifications.start({ recipient: person, channel: "sms" }, { idempotencyKey: keys.verification }),
      await client.verifications.check(started.json["id"], "999999", { idempotencyKey: keys.check }),
      await client.suppressions.post(note, { idempotencyKey: keys.suppression }),
    ];
    assert.deepEqual(replays.map(isReplay), [true, true, true, true]);
    assert.deepEqual(
      replays.map(({ status }) => status),
      [202, started.status, checked.status, 201],
    );
    for (const { json } of replays) assert.equal(json["recipient"], "erased");
    assertProblem(await client.messages.post({ recipient: person }), "recipient_opted_out");
    assert.deepEqual(recordOf(await erase(client, person))["erased"], NOTHING, "a repeated erasure finds nothing");
    await assertNowhere(godwit, person, ...CANARIES);
  });

  test("applies receipts that arrive later, also to a message that was redacted before", async () => {
    await using slow = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 1 });
    await slow.unlimited();
    const client = clientOf(slow, await slow.key());
    const person = newNumber();
    const template = {
      recipient: person,
      channel: "whatsapp",
      body: null,
      template_id: "verification_code",
      template_variables: { code: "heron" },
    };
    const [plain, redacted] = [await client.messages.send(template), await client.messages.send(template)];
    for (const { id } of [plain, redacted]) await client.messages.reached(id, "delivered");
    recordOf(await client.messages.redact(redacted["id"]));
    assert.equal((recordOf(await erase(client, person))["erased"] as Json)["messages"], 2);
    for (const { id } of [plain, redacted]) {
      const read = await client.messages.reached(id, "read");
      assert.deepEqual([read["recipient"], (read["provider"] as Json)["message_id"]], ["erased", null]);
    }
    await assertNowhere(slow, person, "heron");
  });

  test("does not store the response of an endpoint that is being called", async () => {
    const customer = await Customer.of(godwit);
    const person = newNumber();
    const [called, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using slow = await Hook.listen();
    slow.behave = async ({ text }: Call) => {
      if (text.includes(person)) {
        called.resolve();
        await answer.promise;
      }
      return { status: 200, body: text };
    };
    const endpoint = await customer.endpoint(slow, ["message.delivered"]);
    const { id } = await customer.send({ recipient: person, body: TEXT });
    await called.promise;
    assert.equal((recordOf(await erase(customer.client, person))["erased"] as Json)["messages"], 1);
    answer.resolve();
    // The outcome of a later call is stored, so the outcome of the first one was settled before.
    const other = await customer.send({ recipient: newNumber() });
    const isSettled = async (): Promise<boolean> => (await customer.client.endpoints.deliveries(endpoint.id)).data.length === 1;
    await until(`${other.id} is delivered to the endpoint`, async () => (await isSettled()) || undefined);
    await assertNowhere(godwit, person, TEXT);
    assert.equal(await waitingFor(godwit, endpoint.id), 1, "the event is delivered again");
    await godwit.rows("update webhook_queue set due_at = now()");
    const again = await until(
      "the event is delivered again",
      () => endpoint.calls.filter(({ event }) => event.data["message"] !== undefined)[2],
    );
    assert.deepEqual([(again.event.data["message"] as Json)["id"], (again.event.data["message"] as Json)["recipient"]], [id, "erased"]);
  });

  test("while messages are delivered leaves only those that are with the carrier, and a repetition erases the rest", async () => {
    const { client } = await Customer.of(godwit);
    const person = newNumber();
    const sending = (async () => {
      for (let sent = 0; sent < 60; sent += 1) await client.messages.send({ recipient: person, body: TEXT, metadata: PRIVATE });
    })();
    for (let times = 0; times < 5; times += 1) recordOf(await erase(client, person));
    await sending;
    await until("nothing is unfinished", async () => recordOf(await erase(client, person))["unfinished"] === 0 || undefined);
    await assertNowhere(godwit, person, TEXT);
    const { data } = await client.messages.list({ limit: "100" });
    assert.equal(data.length, 60);
    assert.ok(data.every(({ recipient, status }) => recipient === "erased" && ["delivered", "canceled"].includes(String(status))));
  });

  test("of a number of the account leaves what other persons wrote to it", async () => {
    const { client } = await Customer.of(godwit);
    await client.messages.send({ recipient: "+15005550008", sender: "+14155550100" });
    const [answer] = await until("an answer", async () =>
      [(await client.messages.list({ direction: "inbound" })).data].find(({ length }) => length > 0),
    );
    assert.equal(answer?.["recipient"], "+14155550100");
    assert.deepEqual(recordOf(await erase(client, "+14155550100"))["erased"], NOTHING);
    assert.deepEqual(await client.messages.read(answer?.["id"]), answer);
  });
});

describe("without delivery", () => {
  let godwit: Godwit;
  let client: Client;
  before(async () => {
    godwit = await startGodwit({ env: NO_LIMITS });
    client = await clientOfAccount(godwit, "main");
  });
  after(() => godwit.stop());

  test("an erasure cancels scheduled and queued messages, and leaves those that are with a carrier", async () => {
    const person = newNumber();
    const fallback = [{ channel: "sms", body: TEXT, after_seconds: 60 }];
    const content = { recipient: person, body: TEXT, metadata: PRIVATE, client_reference: REFERENCE, fallback };
    const scheduled = await client.messages.send({ ...content, send_at: afterSeconds(3_600) });
    const queued = await client.messages.send(content);
    const sent = await client.messages.send(content);
    await setStatus(godwit, sent["id"], "sent");
    const verification = await client.verifications.started({ recipient: person });

    const first = recordOf(await erase(client, person));
    assert.deepEqual([first["canceled"], first["unfinished"], first["has_more"]], [3, 1, false]);
    assert.deepEqual(first["erased"], { ...NOTHING, messages: 3, events: 3, fallbacks: 3, verifications: 1, stored_responses: 1 });
    for (const { id } of [scheduled, queued]) {
      const record = await client.messages.read(id);
      assert.deepEqual([record["status"], record["recipient"], record["sequence"]], ["canceled", "erased", 2]);
      assert.equal(await queueRowOf(godwit, id), undefined);
      assert.equal((await client.messages.timeline(id)).at(-1)?.reason, "erased by request");
    }
    const { status, recipient } = await client.verifications.read(verification["id"]);
    assert.deepEqual([status, recipient], ["canceled", "erased"]);
    assert.equal((await client.messages.read(sent["id"]))["recipient"], person);

    await setStatus(godwit, sent["id"], "delivered");
    const second = recordOf(await erase(client, person));
    assert.deepEqual([second["erased"], second["unfinished"]], [{ ...NOTHING, messages: 1, events: 1 }, 0]);
    await godwit.rows("delete from delivery_queue");
    await assertNowhere(godwit, person, ...CANARIES);
  });

  test("an erasure concerns one account and one environment", async () => {
    const person = newNumber();
    const others = [await clientOfAccount(godwit, "other"), await clientOfAccount(godwit, "main", { environment: "live" })];
    const send = async (each: Client): Promise<void> => {
      await each.suppressions.add({ recipient: person, sender: "+14155550177", note: TEXT });
      await each.verifications.start({ recipient: person, channel: "sms" });
      await each.messages.post({ recipient: person, body: TEXT });
    };
    for (const each of [client, ...others]) await send(each);
    const rowsOf = (): Promise<unknown[]> =>
      Promise.all(
        ["messages", "events", "suppressions", "suppression_changes", "verifications", "idempotency_keys"].map((table) =>
          godwit.rows(
            `select t.*
               from ${table} t
               join accounts a on a.id = t.account_id
              where not (a.name = 'main' and t.environment = 'test')
              order by t::text`,
          ),
        ),
      );
    const earlier = await rowsOf();
    recordOf(await erase(client, person));
    assert.deepEqual(await rowsOf(), earlier);
    assert.equal((await others[0]?.messages.list({ recipient: person }))?.data.length, 2);
    assert.equal((await client.messages.list({ recipient: person })).data.length, 0);
  });

  test("an erasure of many messages takes several requests", async () => {
    const busy = await clientOfAccount(godwit, "busy");
    const person = newNumber();
    for (const count of [1_000, 1_000, 50])
      recordOf(await busy.batches.post({ items: items(count, () => ({ recipient: person, channel: "sms", body: TEXT })) }), 202);
    const idempotencyKey = randomUUID();
    const first = await erase(busy, person, { idempotencyKey });
    assert.deepEqual([(recordOf(first)["erased"] as Json)["messages"], first.json["has_more"]], [2_000, true]);
    assertReplayOf(first, await erase(busy, person, { idempotencyKey }));
    assert.equal((await busy.messages.list({ recipient: person, limit: "100" })).data.length, 50, "a replay erases nothing");
    const second = recordOf(await erase(busy, person));
    assert.deepEqual([(second["erased"] as Json)["messages"], second["has_more"]], [50, false]);
    await assertNowhere(godwit, person);
  });

  test("an erasure is in the audit log, with a keyed hash in place of the number", async () => {
    const audited = await clientOfAccount(godwit, "audited");
    const person = newNumber();
    await audited.messages.send({ recipient: person });
    recordOf(await erase(audited, person));
    await exported(audited, person);
    const { data } = (await audited.get("/v1/audit_events?target=recipient")) as { data: Json[] };
    // The page of the message, and the last transaction of the request.
    assert.deepEqual(
      data.map(({ action }) => action),
      ["recipient.exported", "recipient.erased", "recipient.erased"],
    );
    const targets = new Set(data.map(({ target }) => String((target as Json)["id"])));
    assert.equal(targets.size, 1);
    assert.match([...targets][0] ?? "", /^[0-9a-f]{64}$/);
    assert.partialDeepStrictEqual(data[2]?.["changes"], { messages: 1 });
    assert.deepEqual(data[1]?.["changes"], { has_more: false });
  });

  test("the pages of a request that is refused at its end are in the audit log", async () => {
    const audited = await clientOfAccount(godwit, "refused at the end");
    const person = newNumber();
    recordOf(await audited.batches.post({ items: items(300, () => ({ recipient: person, channel: "sms", body: TEXT })) }), 202);
    const idempotencyKey = randomUUID();
    const erasing = erase(audited, person, { idempotencyKey });
    const rival = await audited.suppressions.post({ recipient: newNumber() }, { idempotencyKey });
    const reply = await erasing;
    const { data } = (await audited.get("/v1/audit_events?target=recipient")) as { data: { changes: { messages?: number } }[] };
    const erased = data.reduce((sum, { changes }) => sum + (changes.messages ?? 0), 0);
    const left = (await audited.messages.list({ recipient: person, limit: "1" })).data.length;
    assert.deepEqual([erased, left], [300, 0], `${reply.status} and ${rival.status}`);
  });

  test("an erasure beside opt-outs of the same person leaves neither the number nor the note, and no request fails", async () => {
    const rounds = Array.from({ length: 30 }, async (_, round) => {
      const person = newNumber();
      const note = `heron-note-${String(round + 100)}`;
      if (round % 2 === 0) recordOf(await client.suppressions.post({ recipient: person, note }), 201);
      const replies = await Promise.all([
        erase(client, person),
        client.suppressions.post({ recipient: person, note }, { idempotencyKey: randomUUID() }),
        client.suppressions.post({ recipient: person, note }, { idempotencyKey: randomUUID() }),
      ]);
      for (const { status, text } of replies) assert.ok(status === 200 || status === 201, text);
      recordOf(await erase(client, person));
      await assertNowhere(godwit, person, note);
    });
    await Promise.all(rounds);
  });

  test("a person is named as the records have the number", async () => {
    for (const path of ["/v1/recipients/erase", "/v1/recipients/export"]) {
      assert.equal((await client.request("POST", path, { idempotencyKey: randomUUID(), body: { recipient: "+9991234567" } })).status, 200);
      for (const recipient of ["", "erased", "x".repeat(65), "a\nb", 7, null])
        assertProblem(await client.request("POST", path, { body: { recipient } }), "invalid_request_payload");
    }
  });
});

async function exported(client: Client, recipient: string): Promise<Json[]> {
  const reply = await client.request("POST", "/v1/recipients/export", { body: { recipient } });
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers.get("content-type"), "application/x-ndjson; charset=utf-8");
  return reply.text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Json);
}

describe("exporting", () => {
  let godwit: Godwit;
  before(async () => {
    godwit = await startGodwit({ ...WITH_WEBHOOKS, env: { ...WITH_WEBHOOKS.env, ...NO_LIMITS } });
  });
  after(() => godwit.stop());

  test("gives every record of the person and nothing of others, and ends with the counts", async () => {
    const { client } = await Customer.of(godwit);
    const stranger = (await Customer.of(godwit)).client;
    const person = "+15005550008";
    const sent = await client.messages.send({
      recipient: person,
      channel: "whatsapp",
      body: null,
      template_id: "verification_code",
      template_variables: { code: "1" },
    });
    for (const each of [client, stranger]) await each.messages.send({ recipient: newNumber(), body: TEXT });
    await stranger.messages.send({ recipient: person, body: TEXT });
    const verification = await client.verifications.started({ recipient: person });
    await client.messages.reached(sent["id"], "read");
    await client.messages.reached(verification["message_id"], "delivered");
    await until("two answers", async () => (await client.messages.list({ direction: "inbound" })).data.length === 2 || undefined);
    const suppression = await client.suppressions.add({ recipient: person });
    await client.suppressions.lift(suppression["id"]);

    const lines = await exported(client, person);
    const last = lines.pop();
    const counts = { message: 4, timeline_entry: 11, suppression: 1, suppression_change: 2, service_window: 1, verification: 1 };
    assert.deepEqual(last, { object: "export_end", environment: "test", counts });
    const of = (object: string): Json[] => lines.filter((line) => line["object"] === object);
    for (const [object, count] of Object.entries(counts)) assert.equal(of(object).length, count, object);
    assert.deepEqual(
      of("message").find(({ id }) => id === sent["id"]),
      await client.messages.read(sent["id"]),
    );
    assert.deepEqual(of("verification"), [await client.verifications.read(verification["id"])]);
    const first = of("timeline_entry").find(({ message_id: id, type }) => id === sent["id"] && type === "message.queued");
    assert.partialDeepStrictEqual(first, { message: { status: "queued", recipient: person } });
    assert.ok(!JSON.stringify(lines).includes(TEXT));

    recordOf(await erase(client, person));
    assert.deepEqual(await exported(client, person), [{ object: "export_end", environment: "test", counts: {} }]);
  });

  test("names an opt-out that an erasure has kept", async () => {
    const { client } = await Customer.of(godwit);
    const person = newNumber();
    await client.suppressions.add({ recipient: person });
    recordOf(await erase(client, person));
    const [optOut, end] = await exported(client, person);
    assert.deepEqual([optOut?.["object"], optOut?.["sender"]], ["erased_opt_out", null]);
    assert.deepEqual(end?.["counts"], { erased_opt_out: 1 });
  });

  test("streams, ends when the client goes, and opens two exports of an account at a time", async () => {
    const { client } = await Customer.of(godwit);
    const person = newNumber();
    // The export has 14 megabytes, which is more than the buffers of two sockets.
    const metadata = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`key ${index}`, "x".repeat(500)]));
    const large = { recipient: person, channel: "sms", body: TEXT, metadata, send_at: afterSeconds(3_600) };
    for (let batch = 0; batch < 10; batch += 1) recordOf(await client.batches.post({ items: items(100, () => large) }), 202);
    const leaving = new AbortController();
    const open = (): Promise<Response> =>
      fetch(`${godwit.url}/v1/recipients/export`, {
        method: "POST",
        headers: { authorization: `Bearer ${client.key}`, "content-type": "application/json" },
        body: JSON.stringify({ recipient: person }),
        signal: leaving.signal,
      });
    const streams = [await open(), await open()];
    const begun = await Promise.all(streams.map(async (response) => response.body?.getReader().read()));
    for (const each of begun) assert.match(Buffer.from(each?.value ?? []).toString(), /^\{"id":"msg_/);
    // The sockets are full before the export is at its end, so both stay open.
    assert.equal((await open()).status, 429);
    leaving.abort();
    const whole = await until("an export can be opened again", async () => {
      const reply = await client.request("POST", "/v1/recipients/export", { body: { recipient: person } });
      return reply.status === 200 ? reply : undefined;
    });
    const last = JSON.parse(whole.text.trimEnd().split("\n").at(-1) ?? "") as Json;
    assert.deepEqual(last["counts"], { message: 1_000, timeline_entry: 1_000 });
  });
});
