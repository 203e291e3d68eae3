/** Twilio's Messages, with Twilio's own package as the client. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { request } from "undici";
import { TWILIO_API } from "../../src/twilio-api/api.ts";
import { clientOf, type Client } from "../support/client.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { ALLOW_LOOPBACK } from "../support/hook-server.ts";
import { picture } from "../support/media.ts";
import { recipientNo } from "../support/recipient.ts";
import { refusal, twilioClient, twilioUser, type TwilioUser } from "../support/twilio-client.ts";

let godwit: Godwit;
let user: TwilioUser;
let own: Client;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 20, env: { GODWIT_TWILIO_HOST: "twilio.test", ...ALLOW_LOOPBACK } });
  user = await twilioUser(godwit, {}, [...TWILIO_API.defaultScopes({}), "recipients:erase"]);
  own = clientOf(godwit, user.key);
});
after(() => godwit.stop());

// The sender of the simulator.
const FROM = "+15005550000";
const OTHER = "+15005550006";

const FORM = { "content-type": "application/x-www-form-urlencoded" };

const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<Reply> =>
  send("POST", path, { headers: { ...FORM, ...headers }, body: new URLSearchParams(form).toString() });

async function send(
  method: string,
  path: string,
  { body = null, headers = {} }: { body?: string | null; headers?: Record<string, string> } = {},
): Promise<Reply> {
  const authorization = `Basic ${Buffer.from(`${user.sid}:${user.token}`).toString("base64")}`;
  const response = await fetch(`${godwit.url}/twilio${path}`, { method, headers: { authorization, ...headers }, body });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: text === "" ? {} : (JSON.parse(text) as Reply["json"]) };
}

test("a message that is created has Twilio's fields, and is a message of the environment", async () => {
  const created = await user.client.messages.create({ to: OTHER, from: FROM, body: "Hello 👋" });
  assert.match(created.sid, /^SM[0-9a-f]{32}$/);
  assert.equal(created.accountSid, user.sid);
  assert.deepEqual(
    [created.status, created.direction, created.body, created.numSegments, created.numMedia, created.from, created.to],
    ["queued", "outbound-api", "Hello 👋", "1", "0", FROM, OTHER],
  );
  assert.equal(created.price, null);
  assert.equal(created.errorCode, null);
  assert.equal(created.uri, `/2010-04-01/Accounts/${user.sid}/Messages/${created.sid}.json`);
  assert.ok(Math.abs(created.dateCreated.getTime() - Date.now()) < 60_000);
  const [record] = (await own.messages.list({ recipient: OTHER })).data;
  assert.equal(record?.["source"], "twilio");
  assert.equal(record?.["body"], "Hello 👋");
  const id = String(record?.["id"]);
  await own.messages.reached(id, "delivered");
  const fetched = await user.client.messages(created.sid).fetch();
  assert.deepEqual([fetched.sid, fetched.status], [created.sid, "delivered"]);
  assert.ok(fetched.dateSent instanceof Date);
});

test("a message is also found by its SID with the letters of a message with media", async () => {
  const { sid } = await user.client.messages.create({ to: OTHER, from: FROM, body: "Hello" });
  assert.equal((await user.client.messages(`MM${sid.slice(2)}`).fetch()).sid, sid);
});

test("a message of our own API is a message of Twilio's, and its failure has Twilio's code", async () => {
  const { id } = await own.messages.send({ recipient: "+15005550002" });
  await own.messages.reached(id, "failed");
  const [found] = await user.client.messages.list({ to: "+15005550002", limit: 1 });
  assert.deepEqual([found?.status, found?.errorCode, found?.errorMessage], ["failed", 30005, "Unknown destination handset"]);
});

test("the account of the credential can be fetched, and no other one", async () => {
  const account = await user.client.api.v2010.accounts(user.sid).fetch();
  assert.deepEqual([account.sid, account.friendlyName, account.status, account.type], [user.sid, "default", "active", "Full"]);
  assert.ok(account.dateCreated instanceof Date);
  const other = await twilioUser(godwit, { account: "other" });
  const { status, code } = await refusal(user.client.api.v2010.accounts(other.sid).fetch());
  assert.deepEqual([status, code], [404, 20404]);
});

test("an API key signs in for its account", async () => {
  const body = { source: "twilio", settings: { type: "api_key" } };
  const { json } = await godwit.request("POST", "/v1/compatible_credentials", { key: user.key, body });
  const { user_name: sid, secret } = json as Record<string, string>;
  assert.match(String(sid), /^SK[0-9a-f]{32}$/);
  const client = twilioClient(godwit.url, String(sid), String(secret), user.sid);
  assert.equal((await client.messages.create({ to: OTHER, from: FROM, body: "Hello" })).accountSid, user.sid);
});

describe("lists", () => {
  let client: TwilioUser["client"];
  let ours: Client;
  let sids: string[];
  const to = recipientNo(1);
  before(async () => {
    const other = await twilioUser(godwit, { account: "lists" });
    client = other.client;
    ours = clientOf(godwit, other.key);
    const created = [];
    for (let number = 0; number < 7; number += 1)
      created.push(
        await client.messages.create({ to: number % 2 === 0 ? to : OTHER, from: number < 2 ? "Shop" : FROM, body: `No. ${number}` }),
      );
    sids = created.map(({ sid }) => sid).toReversed();
  });

  test("have all messages, the newest first, over several pages", async () => {
    const listed = await client.messages.list({ pageSize: 2 });
    assert.deepEqual(
      listed.map(({ sid }) => sid),
      sids,
    );
    const first = await client.messages.page({ pageSize: 3 });
    const second = await first.nextPage();
    const third = await second?.nextPage();
    const pages = [first, second, third].map((page) => page?.instances.map(({ sid }) => sid));
    assert.deepEqual(pages, [sids.slice(0, 3), sids.slice(3, 6), sids.slice(6)]);
    assert.equal(third?.nextPageUrl, undefined);
  });

  test("are filtered by recipient and sender", async () => {
    const bodies = async (filter: object): Promise<string[]> => (await client.messages.list(filter)).map(({ body }) => body);
    assert.deepEqual(await bodies({ to }), ["No. 6", "No. 4", "No. 2", "No. 0"]);
    assert.deepEqual(await bodies({ from: "Shop" }), ["No. 1", "No. 0"]);
    assert.deepEqual(await bodies({ to, from: "Shop" }), ["No. 0"]);
    assert.deepEqual(await bodies({ to: `whatsapp:${to}` }), []);
  });

  test("are filtered by date, with both ends", async () => {
    const now = new Date();
    const [yesterday, tomorrow] = [-1, 1].map((days) => new Date(now.getTime() + days * 24 * 3_600_000)) as [Date, Date];
    const count = async (filter: object): Promise<number> => (await client.messages.list(filter)).length;
    assert.equal(await count({ dateSentAfter: yesterday, dateSentBefore: tomorrow }), 7);
    assert.equal(await count({ dateSentAfter: tomorrow }), 0);
    assert.equal(await count({ dateSentBefore: yesterday }), 0);
    const latest = await ours.messages.list({ limit: "1" });
    const day = String(latest.data[0]?.["created_at"]).slice(0, 10);
    const { messages } = (await get(client, `?DateSent=${day}&PageSize=100`)) as { messages: unknown[] };
    assert.ok(messages.length >= 1 && messages.length <= 7);
  });

  test("name their pages as Twilio does", async () => {
    const page = await get(client, `?To=${encodeURIComponent(to)}&PageSize=2`);
    const path = `/2010-04-01/Accounts/${client.accountSid}/Messages.json`;
    const query = `${path}?To=%2B${to.slice(1)}&PageSize=2`;
    assert.deepEqual(
      { ...page, messages: [] },
      {
        first_page_uri: `${query}&Page=0`,
        end: 1,
        previous_page_uri: null,
        messages: [],
        uri: `${query}&Page=0`,
        page_size: 2,
        start: 0,
        next_page_uri: `${query}&Page=1&PageToken=PA${sids[2]}`,
        page: 0,
      },
    );
  });

  const get = async (of: TwilioUser["client"], query: string): Promise<object> => {
    const uri = `${godwit.url}/twilio/2010-04-01/Accounts/${of.accountSid}/Messages.json${query}`;
    const { body } = await of.request({ method: "get", uri });
    return body as object;
  };

  const refused: [string, string][] = [
    ["an unknown filter", "?Status=sent"],
    ["a page without its token", "?Page=1"],
    ["a token that is none", "?PageToken=PA1"],
    ["a size that is none", "?PageSize=0"],
    ["a date that is none", "?DateSent=yesterday"],
    ["more than a hundred parameters", `?${"a&".repeat(120)}`],
  ];
  for (const [name, query] of refused)
    test(`refuse ${name}`, async () => assert.equal(((await get(client, query)) as { code: number }).code, 20001));
});

test("a scheduled message is canceled, and only once", async () => {
  const sendAt = new Date(Date.now() + 3_600_000);
  const service = `MG${user.sid.slice(2)}`;
  const scheduled = await user.client.messages.create({
    to: OTHER,
    messagingServiceSid: service,
    body: "Later",
    scheduleType: "fixed",
    sendAt,
  });
  assert.deepEqual([scheduled.status, scheduled.messagingServiceSid, scheduled.dateSent], ["scheduled", service, null]);
  const canceled = await user.client.messages(scheduled.sid).update({ status: "canceled" });
  assert.deepEqual([canceled.status, canceled.messagingServiceSid], ["canceled", service]);
  const { status, code } = await refusal(user.client.messages(scheduled.sid).update({ status: "canceled" }));
  assert.deepEqual([status, code], [400, 30409]);
});

async function delivered(to = OTHER): Promise<string> {
  const { sid } = await user.client.messages.create({ to, from: FROM, body: "Secret" });
  const [record] = (await own.messages.list({ recipient: to, limit: "1" })).data;
  await own.messages.reached(record?.["id"], "delivered");
  return sid;
}

test("an empty body redacts a message", async () => {
  const sid = await delivered();
  assert.equal((await user.client.messages(sid).update({ body: "" })).body, "");
  assert.equal((await user.client.messages(sid).fetch()).body, "");
});

test("another update is refused", async () => {
  const sid = await delivered();
  for (const form of [{}, { Body: "changed" }, { Status: "sent" }, { Status: "canceled", Body: "" }] as Record<string, string>[]) {
    const { status, json } = await post(`/2010-04-01/Accounts/${user.sid}/Messages/${sid}.json`, form);
    assert.deepEqual([status, json["code"]], [400, 30400], JSON.stringify(form));
  }
});

test("a deleted message is gone for Twilio's clients, and has no data of its recipient", async () => {
  const to = recipientNo(77);
  const sid = await delivered(to);
  const [sent] = (await own.messages.list({ recipient: to })).data;
  assert.equal(await user.client.messages(sid).remove(), true);
  const message = user.client.messages(sid);
  for (const work of [() => message.fetch(), () => message.remove(), () => message.update({ body: "" })]) {
    const { status, code } = await refusal(work());
    assert.deepEqual([status, code], [404, 20404]);
  }
  assert.deepEqual(await user.client.messages.list({ to }), []);
  const record = await own.messages.read(sent?.["id"]);
  assert.deepEqual([record["recipient"], record["body"], record["status"]], ["erased", null, "delivered"]);
});

test("a message is deleted only with the scope for erasure", async () => {
  const sid = await delivered();
  const key = await twilioUser(godwit, { settings: { type: "api_key" }, accountSid: user.sid });
  const { status, code } = await refusal(key.client.messages(sid).remove());
  assert.deepEqual([status, code], [403, 20403]);
});

test("a message that waits is not deleted", async () => {
  const sendAt = new Date(Date.now() + 3_600_000);
  const { sid } = await user.client.messages.create({
    to: OTHER,
    messagingServiceSid: `MG${user.sid.slice(2)}`,
    body: "Later",
    scheduleType: "fixed",
    sendAt,
  });
  assert.equal((await refusal(user.client.messages(sid).remove())).code, 20009);
});

describe("the idempotency token", () => {
  const path = (): string => `/2010-04-01/Accounts/${user.sid}/Messages.json`;
  const form = { To: OTHER, From: FROM, Body: "Once" };

  test("repeats the response, and sends once", async () => {
    for (const token of [randomUUID(), "order-7"]) {
      const headers = { "i-twilio-idempotency-token": token };
      const first = await post(path(), form, headers);
      const second = await post(path(), form, headers);
      assert.deepEqual([first.status, second.status, second.text], [201, 201, first.text]);
      const other = await post(path(), { ...form, Body: "Twice" }, headers);
      assert.deepEqual([other.status, other.json["code"]], [400, 20001]);
    }
  });

  test("repeats a refusal in Twilio's form", async () => {
    const headers = { "i-twilio-idempotency-token": randomUUID() };
    const refused = { ...form, To: "+15005550004" };
    const first = await post(path(), refused, headers);
    const second = await post(path(), refused, headers);
    assert.deepEqual([first.status, first.json["code"], second.status, second.text], [400, 21610, 400, first.text]);
  });

  test("fetches the file of a message once", async () => {
    let fetched = 0;
    const files = createServer((_, response) => {
      fetched += 1;
      response.writeHead(200, { "content-type": "image/jpeg" }).end(picture());
    }).listen(0, "127.0.0.1");
    await once(files, "listening");
    const headers = { "i-twilio-idempotency-token": randomUUID() };
    const withFile = { ...form, MediaUrl: `http://127.0.0.1:${(files.address() as AddressInfo).port}/cat.jpg` };
    const first = await post(path(), withFile, headers);
    assert.deepEqual([first.status, fetched], [201, 1], first.text);
    files.close();
    const second = await post(path(), withFile, headers);
    assert.deepEqual([second.status, second.text, fetched], [201, first.text, 1]);
  });
});

describe("errors", () => {
  test("have Twilio's form", async () => {
    const { status, code, message, moreInfo } = await refusal(user.client.messages.create({ to: "123", from: FROM, body: "Hello" }));
    assert.deepEqual(
      [status, code, message, moreInfo],
      [400, 21211, "The 'To' number is not a valid phone number.", "https://www.twilio.com/docs/errors/21211"],
    );
  });

  test("of the credential ask for HTTP Basic", async () => {
    const wrong = [
      `Basic ${Buffer.from(`${user.sid}:wrong`).toString("base64")}`,
      `Basic ${Buffer.from(`AC${"0".repeat(32)}:${user.token}`).toString("base64")}`,
      `Basic ${Buffer.from("nothing").toString("base64")}`,
      `Bearer ${user.key}`,
      "Basic",
      "",
    ];
    for (const authorization of wrong) {
      const reply = await send("GET", `/2010-04-01/Accounts/${user.sid}.json`, { headers: { authorization } });
      assert.deepEqual([reply.status, reply.json["code"]], [401, 20003], authorization);
      assert.equal(reply.headers.get("www-authenticate"), 'Basic realm="Twilio API"');
    }
  });

  test("of a revoked credential are those of an unknown one", async () => {
    const other = await twilioUser(godwit, { account: "revoked" });
    const reply = await godwit.request("DELETE", `/v1/compatible_credentials/${other.id}`, { key: other.key });
    assert.equal(reply.status, 200);
    assert.equal((await refusal(other.client.messages.list({ limit: 1 }))).code, 20003);
  });

  test("of a credential without the scope are those of a restricted key", async () => {
    const other = await twilioUser(godwit, { account: "restricted", scopes: ["messages:read", "keys:write"] }, ["messages:read"]);
    assert.deepEqual(await other.client.messages.list({ limit: 1 }), []);
    const { status, code } = await refusal(other.client.messages.create({ to: OTHER, from: FROM, body: "Hello" }));
    assert.deepEqual([status, code], [403, 20403]);
  });

  const refused: [string, object, number, number][] = [
    ["a recipient who has opted out", { to: "+15005550004" }, 400, 21610],
    ["a callback that is no URL", { statusCallback: "example.com/status" }, 400, 21609],
    ["a callback that can never be called", { statusCallback: "https://u%zz:p@example.com/status" }, 400, 21609],
    ["a callback to a private address", { statusCallback: "http://10.0.0.1/status" }, 400, 21609],
    ["an unknown messaging service", { messagingServiceSid: `MG${"0".repeat(32)}` }, 404, 21701],
    ["a file that cannot be fetched", { mediaUrl: ["https://files.invalid/1.png"] }, 400, 21620],
    ["a template outside of Godwit", { contentSid: `HX${"0".repeat(32)}` }, 400, 21655],
    ["an application", { applicationSid: `AP${"0".repeat(32)}` }, 400, 20001],
  ];
  for (const [name, fields, status, code] of refused)
    test(`of ${name} have the code ${code}`, async () => {
      const error = await refusal(user.client.messages.create({ to: OTHER, from: FROM, body: "Hello", ...fields }));
      assert.deepEqual([error.status, error.code], [status, code], error.message);
    });

  test("of resources that this service does not have are 404", async () => {
    const { calls, incomingPhoneNumbers } = user.client;
    const message = user.client.messages(`SM${"0".repeat(32)}`);
    for (const work of [() => calls.list({ limit: 1 }), () => incomingPhoneNumbers.list({ limit: 1 }), () => message.fetch()])
      assert.equal((await refusal(work())).code, 20404);
    const put = await send("PUT", "/2010-04-01/Accounts.json");
    assert.deepEqual([put.status, put.json["code"]], [404, 20404]);
    const deep = await send("GET", "/2010-04-01/x".padEnd(300, "/x"));
    assert.deepEqual([deep.status, deep.json["code"]], [404, 20404]);
  });

  test("of a body that is no form are in Twilio's form", async () => {
    const path = `/2010-04-01/Accounts/${user.sid}/Messages.json`;
    const json = await post(path, {}, { "content-type": "application/json" });
    assert.deepEqual([json.status, json.json["code"]], [400, 21604]);
    const withBody = await post(path, { To: OTHER }, { "content-type": "application/json" });
    assert.deepEqual([withBody.status, withBody.json["code"]], [415, 20001]);
    const large = await post(path, { Body: "x".repeat(70_000) });
    assert.deepEqual([large.status, large.json["code"]], [413, 20001]);
    for (const body of ["%ff", "%c3", "a%C3%28"]) {
      const escaped = await send("POST", path, { headers: FORM, body: `To=%2B15005550006&From=%2B15005550000&Body=${body}` });
      assert.deepEqual([escaped.status, escaped.json["code"]], [400, 20001], body);
    }
    const bytes = await post(path, { To: OTHER, From: FROM, Body: "\0" });
    assert.deepEqual([bytes.status, bytes.json["code"]], [400, 20001]);
  });
});

test("the host names of Twilio's products stand for the base path", async () => {
  const authorization = `Basic ${Buffer.from(`${user.sid}:${user.token}`).toString("base64")}`;
  const path = `/2010-04-01/Accounts/${user.sid}.json`;
  const status = async (host: string, target = path): Promise<number> =>
    (await request(`${godwit.url}${target}`, { headers: { host, authorization } })).statusCode;
  assert.equal(await status("api.twilio.test"), 200);
  assert.equal(await status("API.twilio.test:8080"), 200);
  assert.equal(await status("api.twilio.test", "/v1/messages"), 404);
  assert.equal(await status("other.twilio.test"), 404);
  assert.equal(await status("other.twilio.test", `/twilio${path}`), 200);
});

test("the request log has neither the password nor the text", async () => {
  await user.client.messages.create({ to: OTHER, from: FROM, body: "very secret" });
  await refusal(user.client.messages.create({ to: "+1", from: FROM, body: "very secret" }));
  const stored = JSON.stringify([godwit.logs, await godwit.rows("select * from request_log")]);
  assert.ok(!stored.includes(user.token) && !stored.includes("very secret"));
});
