import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import type { CarrierResponse, CarrierRequest } from "../../src/providers/provider.ts";
import { twilio, type TwilioSettings } from "../../src/providers/twilio/twilio.ts";
import { Door } from "../support/fakes/http-carrier.ts";
import { LoudHost } from "../support/fakes/loud-host.ts";
import { FakeTwilio, twilioSignature, TWILIO_SECRETS } from "../support/fakes/twilio.ts";

const PUBLIC = "https://godwit.example/providers/twilio/main";
const SETTINGS: TwilioSettings = { ...TWILIO_SECRETS, messagingServiceSid: null, statusCallbackUrl: PUBLIC };
const TAKEN: CarrierResponse = { status: 200, contentType: "text/xml; charset=utf-8", body: "<Response></Response>" };

type Fields = Readonly<Record<string, string>>;
type Call = { fields: Fields; url?: string; signature?: string; settings?: TwilioSettings; host?: LoudHost; method?: string };

async function call({ fields, url = PUBLIC, settings = SETTINGS, host = new LoudHost(), ...rest }: Call): Promise<CarrierResponse> {
  const { signature = twilioSignature(url, fields), method = "POST" } = rest;
  const request: CarrierRequest = {
    method,
    url,
    query: Object.fromEntries(new URL(url).searchParams),
    headers: { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": signature },
    body: Buffer.from(new URLSearchParams(fields).toString()),
  };
  return (await twilio.handleRequest?.(settings, request, host)) ?? assert.fail("no answer");
}

async function told(fields: Fields, url = PUBLIC): Promise<LoudHost> {
  const host = new LoudHost();
  assert.deepEqual(await call({ fields, url, host }), TAKEN);
  return host;
}

const STATUS = { MessageSid: "SM1", MessageStatus: "delivered", To: "+15551234567", From: "+14155550100" };
const INBOUND = { MessageSid: "SM2", From: "+15551234567", To: "+14155550100", Body: "STOP", SmsStatus: "received", NumMedia: "0" };

test("the signature is HMAC-SHA1 over the address and the fields by name, written out by hand here", async () => {
  const fields = { b: "2", a: "1", C: "3", MessageSid: "SM1", MessageStatus: "sent" };
  const text = `${PUBLIC}?x=yC3MessageSidSM1MessageStatussenta1b2`;
  const signature = createHmac("sha1", TWILIO_SECRETS.authToken).update(text).digest("base64");
  assert.deepEqual(await call({ fields, url: `${PUBLIC}?x=y`, signature }), TAKEN);
});

for (const [what, signature] of [
  ["none", ""],
  ["one of another token", twilioSignature(PUBLIC, STATUS, "another")],
  ["one of another address", twilioSignature(`${PUBLIC}/`, STATUS)],
  ["one of other fields", twilioSignature(PUBLIC, { ...STATUS, MessageStatus: "failed" })],
  ["a short one", twilioSignature(PUBLIC, STATUS).slice(0, -2)],
] as const)
  test(`a call whose signature is ${what} is refused, and nothing is passed on`, async () => {
    const host = new LoudHost();
    assert.equal((await call({ fields: STATUS, signature, host })).status, 403);
    assert.deepEqual([host.calls, host.messages], [[], []]);
    assert.ok(!host.lines.includes(TWILIO_SECRETS.authToken));
  });

test("a token that was never set lets nobody in", async () => {
  const settings = { ...SETTINGS, authToken: "" };
  assert.equal((await call({ fields: STATUS, settings, signature: twilioSignature(PUBLIC, STATUS, "") })).status, 403);
});

for (const [what, settings, signed] of [
  ["the address that Twilio was given", SETTINGS, `${PUBLIC}?reference=msg_1`],
  ["that address with what we asked for behind it", SETTINGS, `${PUBLIC}?reference=msg_1#rc=5&rp=5xx,ct,rt`],
  ["a public address of its own", { ...SETTINGS, publicUrl: "https://sms.example/in" }, "https://sms.example/in?reference=msg_1"],
  ["the address as it is seen", { ...SETTINGS, statusCallbackUrl: null }, "http://10.0.0.7:8080/providers/twilio/main?reference=msg_1"],
] as const)
  test(`behind a proxy, a signature over ${what} is right`, async () => {
    const url = "http://10.0.0.7:8080/providers/twilio/main?reference=msg_1";
    assert.deepEqual(await call({ fields: STATUS, url, settings, signature: twilioSignature(signed, STATUS) }), TAKEN);
  });

test("a status is a receipt with our reference", async () => {
  const { receipts } = await told(STATUS, `${PUBLIC}?reference=msg_1`);
  assert.deepEqual(receipts, [
    { providerMessageId: "SM1", reference: "msg_1", status: "delivered", error: null, raw: { sid: "SM1", status: "delivered" } },
  ]);
});

for (const [word, ours] of [
  ["sent", "sent"],
  ["delivered", "delivered"],
  ["undelivered", "undelivered"],
  ["failed", "failed"],
  ["read", "read"],
] as const)
  test(`the status ${word} is ${ours}`, async () => {
    const { receipts } = await told({ ...STATUS, MessageStatus: word });
    assert.equal(receipts[0]?.status, ours);
    assert.equal(receipts[0].error !== null, word === "undelivered" || word === "failed");
  });

for (const word of ["queued", "accepted", "sending", "scheduled", "something_new", "constructor"])
  test(`the status ${word} is no news`, async () => assert.deepEqual((await told({ ...STATUS, MessageStatus: word })).calls, []));

const ERRORS: readonly (readonly [code: string, ours: string, isPermanent: boolean])[] = [
  ["30001", "throttled_by_carrier", false],
  ["30002", "carrier_account_blocked", false],
  ["30003", "recipient_unreachable", false],
  ["30004", "recipient_blocked", true],
  ["30005", "invalid_destination", true],
  ["30006", "landline_unreachable", true],
  ["30007", "blocked_by_carrier", true],
  ["30008", "unknown_carrier_error", false],
  ["21610", "recipient_opted_out", true],
  ["39999", "rejected_by_carrier", true],
];

for (const [code, ours, isPermanent] of ERRORS)
  test(`undelivered with ${code} is ${ours}`, async () => {
    const { receipts } = await told({ ...STATUS, MessageStatus: "undelivered", ErrorCode: code });
    const { error, raw } = receipts[0] ?? assert.fail();
    assert.deepEqual([error?.code, error?.isPermanent, error?.providerCode], [ours, isPermanent, code]);
    assert.deepEqual(raw, { sid: "SM1", status: "undelivered", error_code: code });
  });

test("statuses are passed on as they come, whatever their order, repeated ones too", async () => {
  const host = new LoudHost();
  for (const word of ["delivered", "sent", "delivered"]) await call({ fields: { ...STATUS, MessageStatus: word }, host });
  assert.deepEqual(
    host.receipts.map(({ status }) => status),
    ["delivered", "sent", "delivered"],
  );
});

test("what someone writes is passed on, and answered with nothing to do", async () => {
  const { messages } = await told(INBOUND);
  assert.deepEqual(messages, [
    { providerMessageId: "SM2", channel: "sms", from: "+15551234567", to: "+14155550100", text: "STOP", inReplyTo: null },
  ]);
});

for (const [what, fields, text] of [
  ["an emoji", { Body: "👋" }, "👋"],
  ["a NUL", { Body: "a\0b" }, "ab"],
  ["nothing", { Body: "" }, ""],
  ["a picture", { Body: "", NumMedia: "1", MediaContentType0: "image/jpeg" }, "[image]"],
  ["a card", { Body: "", NumMedia: "1", MediaContentType0: "text/vcard" }, "[media]"],
  ["a picture with words", { Body: "My cat", NumMedia: "1", MediaContentType0: "image/jpeg" }, "My cat"],
] as const)
  test(`${what} reads ${JSON.stringify(text)}`, async () => {
    assert.equal((await told({ ...INBOUND, ...fields })).messages[0]?.text, text);
  });

test("a message to a short number of ours is one", async () => {
  assert.equal((await told({ ...INBOUND, To: "72345" })).messages[0]?.to, "72345");
});

for (const fields of [
  {},
  { MessageSid: "SM1" },
  { ...INBOUND, From: "Godwit" },
  { ...STATUS, MessageSid: "a\0b" },
  { MessageStatus: "sent" },
])
  test(`a signed call that says nothing (${JSON.stringify(fields)}) is taken, and nothing is passed on`, async () => {
    const host = await told(fields);
    assert.deepEqual([host.calls, host.messages], [[], []]);
  });

test("other methods are refused", async () => assert.equal((await call({ fields: STATUS, method: "GET" })).status, 405));

test("a call is not taken before it is committed: it is to come again", async () => {
  for (const fields of [STATUS, INBOUND]) {
    const host = new LoudHost();
    host.behave("rejects");
    assert.equal((await call({ fields, host })).status, 503);
    host.behave("takes");
    assert.deepEqual(await call({ fields, host }), TAKEN);
    assert.equal(host.receipts.length + host.messages.length, 1);
    for (const word of ["STOP", "5551234567", TWILIO_SECRETS.authToken]) assert.ok(!host.lines.includes(word), word);
  }
});

test("all of it goes over a socket, too", async () => {
  const host = new LoudHost();
  const carrier = await FakeTwilio.start();
  const door = await Door.open(
    (request) => twilio.handleRequest?.({ ...SETTINGS, statusCallbackUrl: null }, request, host) ?? assert.fail(),
  );
  carrier.call(door.url("/providers/twilio/main?reference=msg_1"), STATUS);
  await host.untilCalled();
  assert.equal(host.receipts[0]?.reference, "msg_1");
  await carrier.close();
  await door.close();
});
