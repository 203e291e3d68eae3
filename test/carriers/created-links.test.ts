/** Created links of HTTP carriers: their callbacks concern the account that created them only, and a carrier that blocks the account pauses
 *  the link. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Json } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { FakeGraph, graphCall, GRAPH_SECRETS, graphSignature, status } from "../support/fakes/graph.ts";
import { FakeTwilio, TWILIO_SECRETS, twilioSignature } from "../support/fakes/twilio.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { readMetrics } from "../support/metrics-text.ts";

const SCOPES = ["links:read", "links:write", "messages:send", "messages:read", "suppressions:read"] as const;
const NUMBER = "+14155550100";
const PERSON = "+15005550006";

let godwit: Godwit;
let twilio: FakeTwilio;
let graph: FakeGraph;
before(async () => {
  twilio = await new FakeTwilio().listen();
  graph = await new FakeGraph().listen();
  godwit = await startGodwit({ roles: "api,dispatch", env: { GODWIT_WEBHOOK_ALLOW: "127.0.0.1/32" } });
  await godwit.unlimited();
});
after(async () => {
  await godwit.stop();
  await Promise.all([twilio.close(), graph.close()]);
});

const keyOf = (account: string): Promise<string> => godwit.key({ environment: "live", account, scopes: SCOPES });

async function create(key: string, body: object): Promise<Json> {
  const reply = await godwit.request("POST", "/v1/links", { key, body });
  assert.equal(reply.status, 201, reply.text);
  return reply.json;
}

const twilioBody = (name: string): object => ({
  name,
  provider: "twilio",
  sender: NUMBER,
  settings: {
    base_url: twilio.url,
    account_sid: TWILIO_SECRETS.accountSid,
    auth_token: TWILIO_SECRETS.authToken,
    public_url: "https://sms.example",
  },
});

const whatsappBody = (name: string): object => ({
  name,
  provider: "whatsapp",
  sender: NUMBER,
  settings: {
    base_url: graph.url,
    phone_number_id: "1001",
    access_token: GRAPH_SECRETS.accessToken,
    app_secret: GRAPH_SECRETS.appSecret,
    verify_token: GRAPH_SECRETS.verifyToken,
  },
});

async function send(key: string, channel: "sms" | "whatsapp"): Promise<Json> {
  const reply = await godwit.send(key, { channel, recipient: PERSON, body: "Hello" });
  assert.equal(reply.status, 202, reply.text);
  return until("the message to be sent", async () => {
    const { json } = await godwit.request("GET", `/v1/messages/${String(reply.json["id"])}`, { key });
    return json["status"] === "queued" || json["status"] === "sending" ? undefined : json;
  });
}

/** Calls the URL of a Twilio link as its account at the carrier would. */
async function write({ callback_path: path }: Json, text: string, to = NUMBER): Promise<void> {
  const url = `${godwit.url}${String(path)}`;
  const fields = { MessageSid: `SM${crypto.randomUUID()}`, From: PERSON, To: to, Body: text, SmsStatus: "received" };
  const headers = { "x-twilio-signature": twilioSignature(url, fields), "content-type": "application/x-www-form-urlencoded" };
  const reply = await fetch(url, { method: "POST", headers, body: new URLSearchParams(fields).toString() });
  assert.equal(reply.status, 200);
}

const suppressionsOf = async (key: string): Promise<unknown> => (await godwit.request("GET", "/v1/suppressions", { key })).json["data"];

describe("a created link", () => {
  test("brings all its inbound messages to its account, and an opt-out changes nothing for others who have the same number", async () => {
    const [mine, others] = [await keyOf("mine"), await keyOf("others")];
    const [link, other] = [await create(mine, twilioBody("mine")), await create(others, twilioBody("others"))];
    await send(mine, "sms");
    await send(others, "sms");
    await write(link, "STOP");
    await write(link, "Hello", "+14155550199");
    assert.equal(((await suppressionsOf(mine)) as Json[]).length, 1);
    assert.deepEqual(await suppressionsOf(others), []);
    const rows = await godwit.rows<{ name: string; body: string }>(
      `select a.name, m.body from messages m join accounts a on a.id = m.account_id where m.direction = 'inbound' order by m.id`,
    );
    assert.deepEqual(rows, [
      { name: "mine", body: "STOP" },
      { name: "mine", body: "Hello" },
    ]);
    assert.deepEqual(await godwit.rows("select from kept_inbound"), []);
    for (const [id, key] of [
      [link["id"], mine],
      [other["id"], others],
    ] as const)
      assert.equal((await godwit.request("DELETE", `/v1/links/${String(id)}`, { key })).status, 200);
  });

  test("cannot change the messages of another account with a receipt that names them", async () => {
    const [victim, attacker] = [await keyOf("victim"), await keyOf("attacker")];
    const victims = await create(victim, whatsappBody("victim"));
    const message = await send(victim, "whatsapp");
    const own = await create(attacker, whatsappBody("attacker"));
    const { message_id: carrierId } = message["provider"] as { message_id: string };
    for (const [phone, reference] of [
      ["1001", String(message["id"])],
      ["9999", String(message["id"])],
    ] as const) {
      const body = graphCall({
        metadata: { display_phone_number: NUMBER.slice(1), phone_number_id: phone },
        statuses: [status(carrierId, PERSON.slice(1), reference, "delivered")],
      });
      const headers = { "content-type": "application/json", "x-hub-signature-256": graphSignature(body) };
      await fetch(`${godwit.url}${String(own["callback_path"])}`, { method: "POST", headers, body });
    }
    const { json } = await godwit.request("GET", `/v1/messages/${String(message["id"])}`, { key: victim });
    assert.equal(json["status"], "sent");
    for (const [id, key] of [
      [victims["id"], victim],
      [own["id"], attacker],
    ] as const)
      assert.equal((await godwit.request("DELETE", `/v1/links/${String(id)}`, { key })).status, 200);
  });

  test("stores a bounded number of receipts and messages that its carrier makes up, and asks the carrier to wait", async () => {
    const key = await keyOf("flooded");
    const link = await create(key, whatsappBody("flooded"));
    const call = async (value: object): Promise<number> => {
      const body = graphCall({ metadata: { display_phone_number: NUMBER.slice(1), phone_number_id: "1001" }, ...value });
      const headers = { "content-type": "application/json", "x-hub-signature-256": graphSignature(body) };
      return (await fetch(`${godwit.url}${String(link["callback_path"])}`, { method: "POST", headers, body })).status;
    };
    const made = (): object => ({
      statuses: Array.from({ length: 500 }, () => ({ ...status(`wamid.${crypto.randomUUID()}`, PERSON.slice(1), "", "delivered") })),
    });
    const results: number[] = [];
    while (results.length < 40 && results.at(-1) !== 503) results.push(await call(made()));
    assert.equal(results.at(-1), 503, results.join(" "));
    assert.ok(results.length >= 4, "a burst is stored");
    const [parked] = await godwit.rows<{ count: number }>(
      `select count(*)::integer as count from parked_receipts where link = '${String(link["id"])}'`,
    );
    assert.ok((parked?.count ?? 0) <= 11_000, String(parked?.count));
    const text = { from: PERSON.slice(1), id: `wamid.${crypto.randomUUID()}`, timestamp: "1", type: "text", text: { body: "Hello" } };
    assert.equal(await call({ messages: [text] }), 200, "messages have a limit of their own");
    // Repetitions count, and cost less than other messages.
    const repeated = { messages: Array.from({ length: 500 }, () => text) };
    results.length = 0;
    while (results.length < 40 && results.at(-1) !== 503) results.push(await call(repeated));
    assert.equal(results.at(-1), 503, results.join(" "));
    assert.ok(results.length >= 4, "a burst is stored");
    const metrics = await readMetrics(godwit);
    for (const what of ["receipts", "messages"])
      assert.ok((metrics.get(`godwit_reports_refused_total{link="${String(link["id"])}",what="${what}"}`) ?? 0) > 0, what);
    assert.equal((await godwit.request("DELETE", `/v1/links/${String(link["id"])}`, { key })).status, 200);
  });

  test("is paused when its carrier reports that the account is blocked, so that no further message fails", async () => {
    const key = await keyOf("blocked");
    const link = await create(key, whatsappBody("blocked"));
    const message = await send(key, "whatsapp");
    const { message_id: carrierId } = message["provider"] as { message_id: string };
    const failed = {
      ...status(carrierId, PERSON.slice(1), String(message["id"]), "failed"),
      errors: [{ code: 131_042, title: "Payment" }],
    };
    const body = graphCall({ metadata: { display_phone_number: NUMBER.slice(1), phone_number_id: "1001" }, statuses: [failed] });
    const headers = { "content-type": "application/json", "x-hub-signature-256": graphSignature(body) };
    assert.equal((await fetch(`${godwit.url}${String(link["callback_path"])}`, { method: "POST", headers, body })).status, 200);
    const path = `/v1/links/${String(link["id"])}`;
    const { json } = await godwit.request("GET", path, { key });
    assert.deepEqual([json["state"], json["reason"], json["paused"]], ["paused", "needs_account", true]);
    assert.match(String(json["reason_detail"]), /cannot charge/);
    const refused = await godwit.send(key, { channel: "whatsapp", recipient: PERSON });
    assert.deepEqual([refused.status, refused.json["code"]], [422, "no_route"]);
    await godwit.request("PATCH", path, { key, body: { paused: false } });
    assert.equal((await send(key, "whatsapp"))["status"], "sent");
    // A pause that the carrier caused ends by itself.
    await fetch(`${godwit.url}${String(link["callback_path"])}`, { method: "POST", headers, body });
    await godwit.rows(`with soon as (update link_pauses set ends_at = now() + interval '3 seconds')
                       update created_version set version = version + 1`);
    await until(
      "the pause to end",
      async () => (await godwit.send(key, { channel: "whatsapp", recipient: PERSON })).status === 202 || undefined,
    );
  });

  test("is tested with the credentials of the carrier", async () => {
    const key = await keyOf("tested");
    for (const [body, secret] of [
      [twilioBody("twilio"), "auth_token"],
      [whatsappBody("whatsapp"), "access_token"],
    ] as const) {
      const path = `/v1/links/${String((await create(key, body))["id"])}`;
      const tested = await godwit.request("POST", `${path}/test`, { key, body: {} });
      assert.deepEqual([tested.json["ok"], tested.json["step"]], [true, null], tested.text);
      await godwit.request("PATCH", path, { key, body: { settings: { [secret]: "wrong" } } });
      const refused = await godwit.request("POST", `${path}/test`, { key, body: {} });
      assert.deepEqual([refused.json["ok"], refused.json["step"]], [false, "credentials"], refused.text);
    }
  });
});
