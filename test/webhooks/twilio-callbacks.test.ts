/** Twilio's callbacks: statuses and inbound messages, checked with Twilio's own package, and the replies in TwiML. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import type Twilio from "twilio";
import { clientOf, type Client, type Json } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { ALLOW_LOOPBACK, bodyServer } from "../support/hook-server.ts";
import { twilioUser, type TwilioUser } from "../support/twilio-client.ts";

const { validateRequest } = createRequire(import.meta.url)("twilio") as typeof Twilio;

type Call = { method: string; path: string; headers: Record<string, string>; fields: Record<string, string> };
type Answer = { status?: number; body?: string };

let godwit: Godwit;
let server: Server;
let origin: string;
const calls: Call[] = [];
/** The responses by path. */
const answers = new Map<string, Answer>();

before(async () => {
  server = bodyServer(({ method = "", url = "", headers }, body, response) => {
    const path = url.split("?")[0] ?? "";
    calls.push({ method, path: url, headers: headers as Record<string, string>, fields: Object.fromEntries(new URLSearchParams(body)) });
    const { status = 200, body: text = "" } = (isFirst(path, url, body) ? answers.get(path) : undefined) ?? {};
    response.writeHead(status, { "content-type": "text/xml" }).end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  godwit = await startGodwit({
    roles: "api,dispatch,webhooks",
    simulatorSpeed: 20,
    env: { ...ALLOW_LOOPBACK, GODWIT_TWILIO_HOST: "twilio.test" },
  });
});
after(async () => {
  await godwit.stop();
  server.close();
});

// The sender of the simulator, and a recipient who replies.
const FROM = "+15005550000";
const REPLIES = "+15005550008";

/** Whether a call is about the first inbound message of its path, or a status. A reply to the recipient has a reply again, and so on. */
const firsts = new Map<string, string>();
function isFirst(path: string, url: string, body: string): boolean {
  const fields = new URLSearchParams(body === "" ? url.split("?")[1] : body);
  const sid = fields.get("MessageSid") ?? "";
  if (fields.get("SmsStatus") !== "received") return true;
  if (!firsts.has(path)) firsts.set(path, sid);
  return firsts.get(path) === sid;
}

/** The calls of a path, once there are as many. */
const callsOf = (path: string, count: number): Promise<Call[]> =>
  until(`${count} calls of ${path}`, () => {
    const found = calls.filter((call) => call.path.split("?")[0] === path);
    return found.length >= count ? found : undefined;
  });

/** The call of a path with a status. Callbacks arrive in any order. */
const statusCall = (path: string, status: string): Promise<Call> =>
  until(`the call of ${path} with ${status}`, () => calls.find((call) => call.path === path && call.fields["MessageStatus"] === status));

function assertSigned(user: TwilioUser, { method, path, headers, fields }: Call): void {
  assert.ok(validateRequest(user.token, headers["x-twilio-signature"] ?? "", origin + path, method === "POST" ? fields : {}));
  assert.ok(!validateRequest("another", headers["x-twilio-signature"] ?? "", origin + path, method === "POST" ? fields : {}));
}

describe("a status callback", () => {
  test("is called for each status, signed, with Twilio's fields", async () => {
    const user = await twilioUser(godwit, { account: "statuses" });
    const statusCallback = `${origin}/status?order=7&text=a%20b`;
    const { sid } = await user.client.messages.create({ to: "+15005550006", from: FROM, body: "Hello", statusCallback });
    const received = await callsOf("/status", 2);
    assert.deepEqual(new Set(received.map(({ fields }) => fields["MessageStatus"])), new Set(["sent", "delivered"]));
    for (const call of received) {
      assertSigned(user, call);
      assert.deepEqual(call.fields, {
        AccountSid: user.sid,
        ApiVersion: "2010-04-01",
        From: FROM,
        MessageSid: sid,
        MessageStatus: call.fields["MessageStatus"],
        SmsSid: sid,
        SmsStatus: call.fields["MessageStatus"],
        To: "+15005550006",
      });
      assert.match(call.headers["content-type"] ?? "", /^application\/x-www-form-urlencoded/);
      assert.match(call.headers["i-twilio-idempotency-token"] ?? "", /^[0-9a-f-]{36}$/);
    }
  });

  test("has the error of a message that was not delivered, and the messaging service", async () => {
    const user = await twilioUser(godwit, { account: "failures" });
    const service = `MG${user.sid.slice(2)}`;
    const statusCallback = `${origin}/failed`;
    await user.client.messages.create({ to: "+15005550009", messagingServiceSid: service, body: "Hello", statusCallback });
    const { fields } = await statusCall("/failed", "undelivered");
    assert.deepEqual(
      [fields["ErrorCode"], fields["ErrorMessage"], fields["MessagingServiceSid"]],
      ["30006", "Landline or unreachable carrier", service],
    );
  });

  test("of an API key is signed with the auth token of the account", async () => {
    const user = await twilioUser(godwit, { account: "keys" });
    const key = await twilioUser(godwit, { account: "keys", settings: { type: "api_key" }, accountSid: user.sid });
    const statusCallback = `${origin}/by-key`;
    await key.client.messages.create({ to: "+15005550006", from: FROM, body: "Hello", statusCallback });
    for (const call of await callsOf("/by-key", 2)) assertSigned(user, call);
  });

  test("is repeated until it succeeds, and recorded", async () => {
    const user = await twilioUser(godwit, { account: "repeated" });
    answers.set("/broken", { status: 500, body: "out of order" });
    await user.client.messages.create({ to: "+15005550006", from: FROM, body: "Hello", statusCallback: `${origin}/broken` });
    await callsOf("/broken", 1);
    answers.set("/broken", {});
    await until("a call with the token of an earlier one", () => {
      const tokens = calls.filter(({ path }) => path === "/broken").map(({ headers }) => headers["i-twilio-idempotency-token"]);
      return new Set(tokens).size < tokens.length || undefined;
    });
    const attempts = await attemptsOf(user);
    assert.ok(attempts.some(({ response_status, response_body }) => response_status === 500 && response_body === "out of order"));
  });
});

async function attemptsOf(user: TwilioUser): Promise<Json[]> {
  const own = clientOf(godwit, user.key);
  const id = user.id.replace(/^key_/, "whe_");
  const { data } = await own.get(`/v1/webhook_endpoints/${id}/deliveries`);
  return (data as { attempts: Json[] }[]).flatMap(({ attempts }) => attempts);
}

describe("an inbound message", () => {
  let number = 0;

  /** A client whose URL responds in this way, and that has got a reply. */
  async function conversation(body: string, status = 200): Promise<{ user: TwilioUser; own: Client; call: Call; path: string }> {
    number += 1;
    const path = `/sms-${number}`;
    answers.set(path, { body, status });
    const user = await twilioUser(godwit, { account: `inbound ${number}`, settings: { sms_url: origin + path } });
    await user.client.messages.create({ to: REPLIES, from: FROM, body: "Hello?" });
    const [call] = await callsOf(path, 1);
    return { user, own: clientOf(godwit, user.key), call: call as Call, path };
  }

  const outbound = async (own: Client): Promise<Json[]> => (await own.messages.list({ direction: "outbound" })).data;

  test("is sent with Twilio's fields", async () => {
    const { user, call } = await conversation("");
    assertSigned(user, call);
    const { Body, MessageSid, SmsMessageSid, SmsSid, ...rest } = call.fields;
    const [inbound] = (await user.client.messages.list({ from: REPLIES })) as { sid: string; body: string; direction: string }[];
    assert.deepEqual([inbound?.sid, inbound?.body, inbound?.direction], [MessageSid, Body, "inbound"]);
    assert.deepEqual([SmsMessageSid, SmsSid], [MessageSid, MessageSid]);
    assert.deepEqual(rest, {
      AccountSid: user.sid,
      ApiVersion: "2010-04-01",
      From: REPLIES,
      FromCountry: "US",
      NumMedia: "0",
      NumSegments: "1",
      SmsStatus: "received",
      To: FROM,
      ToCountry: "US",
    });
  });

  test("with a picture is sent when the picture can be read", async () => {
    const read: unknown[] = [];
    let user: TwilioUser | undefined;
    /** Reads the picture before the response, as applications do. */
    const take = async (body: string, response: ServerResponse): Promise<void> => {
      const { NumMedia, MediaUrl0 = "", MediaContentType0 } = Object.fromEntries(new URLSearchParams(body));
      const authorization = `Basic ${Buffer.from(`${user?.sid}:${user?.token}`).toString("base64")}`;
      const file = await fetch(MediaUrl0, { headers: { authorization } });
      read.push([NumMedia, MediaContentType0, file.status, file.headers.get("content-type"), (await file.bytes()).length > 0]);
      response.end();
    };
    const client = bodyServer((_, body, response) => void take(body, response)).listen(0, "127.0.0.1");
    await once(client, "listening");
    const url = `http://127.0.0.1:${(client.address() as AddressInfo).port}/sms`;
    user = await twilioUser(godwit, { account: "pictures", settings: { sms_url: url, base_url: `${godwit.url}/twilio` } });
    await user.client.messages.create({ to: "whatsapp:+15005550019", from: `whatsapp:${FROM}`, body: "Hello" });
    await until("the call", () => read.length > 0 || undefined);
    client.close();
    assert.deepEqual(read, [["1", "image/png", 200, "image/png", true]]);
  });

  test("is answered with the messages of a TwiML response, in their order", async () => {
    const twiml = "<Response><Message>First</Message><Message><Body>Second &amp; last</Body></Message></Response>";
    const { user, own } = await conversation(twiml);
    const sent = await until("two replies", async () => [await outbound(own)].find((list) => list.length === 3));
    assert.deepEqual(
      sent.map(({ body, recipient, sender }) => [body, recipient, sender]),
      [
        ["Second & last", REPLIES, FROM],
        ["First", REPLIES, FROM],
        ["Hello?", REPLIES, FROM],
      ],
    );
    const directions = (await user.client.messages.list({ to: REPLIES })).map(({ direction }) => direction);
    assert.deepEqual(directions, ["outbound-reply", "outbound-reply", "outbound-api"]);
  });

  test("can have a reply with its own recipient and status callback", async () => {
    const { own } = await conversation(
      '<Response><Message to="+15005550006" from="Shop" statusCallback="/reply-status">Forwarded</Message></Response>',
    );
    const sent = await until("the reply", async () => (await outbound(own)).find(({ body }) => body === "Forwarded"));
    assert.deepEqual([sent["recipient"], sent["sender"]], ["+15005550006", "Shop"]);
    await statusCall("/reply-status", "delivered");
  });

  test("is passed on by a redirect", async () => {
    answers.set("/next", { body: "<Response><Message>After the redirect</Message></Response>" });
    const { user, own, call } = await conversation('<Response><Redirect method="GET">/next?step=2</Redirect></Response>');
    const [next] = await callsOf("/next", 1);
    assert.equal(next?.method, "GET");
    assertSigned(user, next);
    const query = new URLSearchParams(next.path.split("?")[1]);
    assert.deepEqual([query.get("step"), query.get("MessageSid")], ["2", call.fields["MessageSid"]]);
    await until("the reply", async () => (await outbound(own)).find(({ body }) => body === "After the redirect"));
  });

  const unusable: [string, string][] = [
    ["a plain text", "Thanks!"],
    ["a verb of voice", "<Response><Say>Hi</Say></Response>"],
    ["a message to no number", '<Response><Message to="123">Hi</Message></Response>'],
    ["a status callback that can never be called", '<Response><Message statusCallback="https://u%zz@example.com/">Hi</Message></Response>'],
    ["a redirect to a file", "<Response><Redirect>file:///etc/passwd</Redirect></Response>"],
    ["a redirect to itself", "<Response><Redirect/></Response>"],
  ];
  for (const [name, body] of unusable)
    test(`with ${name} as the response is an error of the endpoint, and not repeated`, async () => {
      const { user, own } = await conversation(body);
      const [attempt] = await until("the attempt", async () => {
        const attempts = await attemptsOf(user);
        return attempts.length > 0 ? attempts : undefined;
      });
      assert.deepEqual([attempt?.["response_status"], attempt?.["error"]], [200, "invalid_response"]);
      assert.equal((await outbound(own)).length, 1);
    });

  test("is answered by each client of the environment", async () => {
    for (const path of ["/first-client", "/second-client"])
      answers.set(path, { body: `<Response><Message>From ${path}</Message></Response>` });
    const first = await twilioUser(godwit, { account: "both", settings: { sms_url: `${origin}/first-client` } });
    const settings = { type: "api_key", sms_url: `${origin}/second-client` };
    await twilioUser(godwit, { account: "both", settings, accountSid: first.sid });
    await first.client.messages.create({ to: REPLIES, from: FROM, body: "Hello?" });
    const own = clientOf(godwit, first.key);
    for (const path of ["/first-client", "/second-client"])
      await until(`the reply of ${path}`, async () => (await outbound(own)).find(({ body }) => body === `From ${path}`));
  });

  test("is answered once, although the response comes twice", async () => {
    number += 1;
    const path = `/sms-${number}`;
    // The first reply is sent, and the second one fails for now.
    answers.set(path, { body: "<Response><Message>Once</Message><Redirect>/later</Redirect></Response>" });
    answers.set("/later", { status: 503 });
    const user = await twilioUser(godwit, { account: "twice", settings: { sms_url: origin + path } });
    await user.client.messages.create({ to: REPLIES, from: FROM, body: "Hello?" });
    await callsOf("/later", 1);
    answers.set("/later", {});
    await callsOf("/later", 2);
    const sent = (await outbound(clientOf(godwit, user.key))).filter(({ body }) => body === "Once");
    assert.equal(sent.length, 1);
  });
});
