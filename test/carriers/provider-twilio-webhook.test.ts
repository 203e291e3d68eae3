import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { getExpectedTwilioSignature, validateRequest } from "twilio/lib/webhooks/webhooks.js";
import type { CarrierResponse, CarrierRequest } from "../../src/providers/provider.ts";
import { twilio, TWILIO_DEFAULTS, type TwilioSettings } from "../../src/providers/twilio/twilio.ts";
import { CallbackServer } from "../support/fakes/http-carrier.ts";
import { RecordingHost } from "../support/recording-host.ts";
import { FakeTwilio, twilioSignature, TWILIO_SECRETS } from "../support/fakes/twilio.ts";

const PUBLIC = "https://godwit.example/providers/twilio/main";
const SETTINGS: TwilioSettings = { ...TWILIO_DEFAULTS, ...TWILIO_SECRETS, messagingServiceSid: null, statusCallbackUrl: PUBLIC };
const ACKNOWLEDGED: CarrierResponse = { status: 200, contentType: "text/xml; charset=utf-8", body: "<Response></Response>" };

type Fields = Readonly<Record<string, string>>;
type Call = {
  fields: Fields;
  url?: string;
  signature?: string;
  settings?: TwilioSettings;
  host?: RecordingHost;
  headers?: Record<string, string>;
};

async function call({ fields, url = PUBLIC, settings = SETTINGS, host = new RecordingHost(), ...rest }: Call): Promise<CarrierResponse> {
  const { signature = twilioSignature(url, fields), headers = {} } = rest;
  const request: CarrierRequest = {
    method: "POST",
    url,
    query: Object.fromEntries(new URL(url).searchParams),
    headers: { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": signature, ...headers },
    body: Buffer.from(new URLSearchParams(fields).toString()),
  };
  return (await twilio.handleRequest?.(settings, request, host)) ?? assert.fail("no response");
}

async function hostAfter(fields: Fields, url = PUBLIC): Promise<RecordingHost> {
  const host = new RecordingHost();
  assert.deepEqual(await call({ fields, url, host }), ACKNOWLEDGED);
  return host;
}

const STATUS = { MessageSid: "SM1", MessageStatus: "delivered", To: "+15551234567", From: "+14155550100" };
const INBOUND = { MessageSid: "SM2", From: "+15551234567", To: "+14155550100", Body: "STOP", SmsStatus: "received", NumMedia: "0" };

test("the signature is HMAC-SHA1 over the URL and the fields in the order of their names", async () => {
  const fields = { b: "2", a: "1", C: "3", MessageSid: "SM1", MessageStatus: "sent" };
  const text = `${PUBLIC}?x=yC3MessageSidSM1MessageStatussenta1b2`;
  const signature = createHmac("sha1", TWILIO_SECRETS.authToken).update(text).digest("base64");
  assert.deepEqual(await call({ fields, url: `${PUBLIC}?x=y`, signature }), ACKNOWLEDGED);
});

for (const [what, signature] of [
  ["missing", ""],
  ["by another token", twilioSignature(PUBLIC, STATUS, "another")],
  ["of another URL", twilioSignature(`${PUBLIC}/`, STATUS)],
  ["of other fields", twilioSignature(PUBLIC, { ...STATUS, MessageStatus: "failed" })],
  ["too short", twilioSignature(PUBLIC, STATUS).slice(0, -2)],
] as const)
  test(`a call whose signature is ${what} is refused and passes nothing on`, async () => {
    const host = new RecordingHost();
    assert.equal((await call({ fields: STATUS, signature, host })).status, 403);
    assert.deepEqual([host.calls, host.messages], [[], []]);
    assert.ok(!host.lines.includes(TWILIO_SECRETS.authToken));
  });

test("an empty token accepts no call", async () => {
  const settings = { ...SETTINGS, authToken: "" };
  assert.equal((await call({ fields: STATUS, settings, signature: twilioSignature(PUBLIC, STATUS, "") })).status, 403);
});

for (const [what, settings, signed] of [
  ["the callback URL", SETTINGS, `${PUBLIC}?reference=msg_1`],
  ["the callback URL with its connection options", SETTINGS, `${PUBLIC}?reference=msg_1#rc=5&rp=5xx,ct,rt`],
  ["the URL of the request", { ...SETTINGS, statusCallbackUrl: null }, "http://10.0.0.7:8080/providers/twilio/main?reference=msg_1"],
] as const)
  test(`behind a proxy, a signature over ${what} is valid`, async () => {
    const url = "http://10.0.0.7:8080/providers/twilio/main?reference=msg_1";
    assert.deepEqual(await call({ fields: STATUS, url, settings, signature: twilioSignature(signed, STATUS) }), ACKNOWLEDGED);
  });

const basic = (credentials: string): Record<string, string> => ({ authorization: `Basic ${btoa(credentials)}` });

for (const [what, ours, signed, headers] of [
  ["a signature without our port", "https://godwit.example:8443/providers/twilio/main", PUBLIC, {}],
  ["a signature with the standard port of https", PUBLIC, "https://godwit.example:443/providers/twilio/main", {}],
  ["a signature with the standard port of http", "http://godwit.example/in", "http://godwit.example:80/in", {}],
  ["a signature without the port of an IPv6 address", "https://[2001:db8::1]:8443/in", "https://[2001:db8::1]/in", {}],
  ["a signature with the host in lower case", "https://Godwit.EXAMPLE/in", "https://godwit.example/in", {}],
  ["a signature with the host in capitals", "https://Godwit.EXAMPLE/in", "https://Godwit.EXAMPLE/in", {}],
  ["credentials of our own URL", "https://me:secret@godwit.example/in", "https://me:secret@godwit.example/in", basic("me:secret")],
  ["credentials of the URL in Twilio", "https://godwit.example/in", "https://me:secret@godwit.example/in", basic("me:secret")],
  ["capitals where our URL has small letters", "https://godwit.example/in", "https://GODWIT.EXAMPLE/in", {}],
  ["%-encoded credentials", "https://godwit.example/in", "https://me%40home:p%3Ass%2Fw%24@godwit.example/in", basic("me@home:p:ss/w$")],
  ["credentials with fewer encoded characters", "https://godwit.example/in", "https://me:p%2Fw$!@godwit.example/in", basic("me:p/w$!")],
  ["credentials with more encoded characters", "https://godwit.example/in", "https://me:p%2Fw%24%21@godwit.example/in", basic("me:p/w$!")],
  ["credentials as our own URL encodes them", "https://me:p%2fw@godwit.example/in", "https://me:p%2fw@godwit.example/in", basic("me:p/w")],
  ["credentials that Twilio does not sign", "https://me:secret@godwit.example/in", "https://godwit.example/in", basic("me:secret")],
] as const)
  test(`Twilio's own library makes a valid signature: ${what}`, async () => {
    const { authToken } = TWILIO_SECRETS;
    const signature = getExpectedTwilioSignature(authToken, `${signed}?reference=msg_1`, STATUS);
    const settings = { ...SETTINGS, statusCallbackUrl: ours };
    const url = "http://10.0.0.7:8080/providers/twilio/main?reference=msg_1";
    assert.deepEqual(await call({ fields: STATUS, url, settings, headers, signature }), ACKNOWLEDGED);
    const forged = getExpectedTwilioSignature("another", `${signed}?reference=msg_1`, STATUS);
    assert.equal((await call({ fields: STATUS, url, settings, headers, signature: forged })).status, 403);
  });

test("the host of a signed URL may be written as the request names it", async () => {
  const [signed, url] = ["https://Godwit.Example/in", "http://Godwit.Example/in"];
  const settings = { ...SETTINGS, statusCallbackUrl: "https://godwit.example/in" };
  assert.deepEqual(await call({ fields: STATUS, url, settings, signature: twilioSignature(signed, STATUS) }), ACKNOWLEDGED);
});

for (const [ours, signed] of [
  ["https://godwit.example:8443/in", "https://godwit.example/in"],
  ["https://godwit.example/in", "https://godwit.example:443/in"],
  ["http://godwit.example/in", "http://godwit.example:80/in"],
  ["http://godwit.example/in", "http://godwit.example:8080/in"],
  ["https://godwit.example/in", "https://other.example/in"],
  ["https://godwit.example/in?a=1&b=%26", "https://godwit.example/in?a=1&b=%26"],
] as const)
  test(`Twilio's own library agrees on a signature over ${signed} at ${ours}`, async () => {
    const { authToken } = TWILIO_SECRETS;
    const signature = getExpectedTwilioSignature(authToken, signed, STATUS);
    const { status } = await call({ fields: STATUS, url: ours, settings: { ...SETTINGS, statusCallbackUrl: null }, signature });
    assert.equal(status === 200, validateRequest(authToken, signature, ours, STATUS));
  });

test("a status becomes a receipt with our reference", async () => {
  const { receipts } = await hostAfter(STATUS, `${PUBLIC}?reference=msg_1`);
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
  ["partially_delivered", "undelivered"],
  ["canceled", "failed"],
] as const)
  test(`the status ${word} becomes ${ours}`, async () => {
    const { receipts } = await hostAfter({ ...STATUS, MessageStatus: word });
    assert.equal(receipts[0]?.status, ours);
    assert.equal(receipts[0].error !== null, ours === "undelivered" || ours === "failed");
  });

for (const word of ["queued", "accepted", "sending", "scheduled", "something_new", "constructor"])
  test(`the status ${word} is ignored`, async () => assert.deepEqual((await hostAfter({ ...STATUS, MessageStatus: word })).calls, []));

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
  ["30022", "throttled_by_carrier", false],
  ["30032", "blocked_by_carrier", true],
  ["30410", "unknown_carrier_error", false],
  ["63038", "unknown_carrier_error", false],
  ["21999", "rejected_by_carrier", true],
  ["39999", "rejected_by_carrier", true],
];

for (const [code, ours, isPermanent] of ERRORS)
  test(`undelivered with code ${code} is ${ours}`, async () => {
    const { receipts } = await hostAfter({ ...STATUS, MessageStatus: "undelivered", ErrorCode: code });
    const { error, raw } = receipts[0] ?? assert.fail();
    assert.deepEqual([error?.code, error?.isPermanent, error?.providerCode], [ours, isPermanent, code]);
    assert.deepEqual(raw, { sid: "SM1", status: "undelivered", error_code: code });
  });

test("statuses are passed on in the order of their arrival, repeated ones too", async () => {
  const host = new RecordingHost();
  for (const word of ["delivered", "sent", "delivered"]) await call({ fields: { ...STATUS, MessageStatus: word }, host });
  assert.deepEqual(
    host.receipts.map(({ status }) => status),
    ["delivered", "sent", "delivered"],
  );
});

test("an inbound message is passed on, and the response has no instructions", async () => {
  const { messages } = await hostAfter(INBOUND);
  assert.deepEqual(messages, [
    { providerMessageId: "SM2", channel: "sms", from: "+15551234567", to: "+14155550100", text: "STOP", inReplyTo: null },
  ]);
});

for (const [what, fields, text] of [
  ["an emoji", { Body: "👋" }, "👋"],
  ["a NUL", { Body: "a\0b" }, "ab"],
  ["nothing", { Body: "" }, ""],
  ["a button", { Body: "", ButtonPayload: "1", ButtonText: "STOP" }, "STOP"],
  ["a picture", { Body: "", NumMedia: "1", MediaContentType0: "image/jpeg" }, "[image]"],
  ["a card", { Body: "", NumMedia: "1", MediaContentType0: "text/vcard" }, "[media]"],
  ["a picture with text", { Body: "My cat", NumMedia: "1", MediaContentType0: "image/jpeg" }, "My cat"],
] as const)
  test(`${what} has the text ${JSON.stringify(text)}`, async () => {
    assert.equal((await hostAfter({ ...INBOUND, ...fields })).messages[0]?.text, text);
  });

for (const [type, reported] of [
  ["STOP", "out"],
  ["START", "in"],
  ["HELP", "help"],
  ["constructor", undefined],
] as const)
  test(`an inbound message with OptOutType ${type} is reported as ${reported ?? "nothing"}`, async () => {
    const { messages } = await hostAfter({ ...INBOUND, Body: "Arrêtez tout", OptOutType: type });
    assert.equal(messages[0]?.reported, reported);
  });

test("a message on WhatsApp is passed on without the prefixes of its addresses", async () => {
  const fields = { ...INBOUND, From: "whatsapp:+15551234567", To: "whatsapp:+14155550100", ButtonPayload: "confirm" };
  const [message] = (await hostAfter(fields)).messages;
  assert.deepEqual([message?.channel, message?.from, message?.to], ["whatsapp", "+15551234567", "+14155550100"]);
  assert.deepEqual(message?.content, { type: "reply", kind: "button", id: "confirm", title: "STOP", description: null });
});

test("a place is the content, and beside a picture it is metadata", async () => {
  const place = { Latitude: "52.5", Longitude: "-13.4", Label: "Alex", Address: "Berlin" };
  const [alone] = (await hostAfter({ ...INBOUND, ...place })).messages;
  assert.deepEqual(alone?.content, { type: "location", latitude: 52.5, longitude: -13.4, name: "Alex", address: "Berlin" });
  assert.equal(alone?.details, undefined);
  const picture = { MediaUrl0: "https://api.twilio.com/media/0", MediaContentType0: "image/png" };
  const [beside] = (await hostAfter({ ...INBOUND, ...place, ...picture })).messages;
  assert.equal(beside?.content?.type, "media");
  assert.deepEqual(beside?.details, { latitude: "52.5", longitude: "-13.4", name: "Alex", address: "Berlin" });
  for (const odd of [{ Latitude: "91" }, { Latitude: "x" }, { Longitude: "1e2" }, { Longitude: "" }])
    assert.equal((await hostAfter({ ...INBOUND, ...place, ...odd })).messages[0]?.content, undefined);
});

test("media are passed on with their URLs and kinds, up to ten of them", async () => {
  const types = ["image/jpeg", "audio/amr", "video/mp4", "text/vcard"];
  const media = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [
      [`MediaUrl${index}`, `https://api.twilio.com/media/${index}`],
      [`MediaContentType${index}`, types[index % types.length] ?? ""],
    ]).flat(),
  );
  const [message] = (await hostAfter({ ...INBOUND, Body: "My cat", NumMedia: "12", ...media })).messages;
  assert.ok(message?.content?.type === "media");
  const { files, ...content } = message.content;
  assert.deepEqual(content, { type: "media", caption: "My cat", is_voice: false });
  assert.equal(files.length, 10);
  assert.deepEqual(files.slice(0, 4), [
    { kind: "image", carrierFile: "https://api.twilio.com/media/0", fileName: null },
    { kind: "audio", carrierFile: "https://api.twilio.com/media/1", fileName: null },
    { kind: "video", carrierFile: "https://api.twilio.com/media/2", fileName: null },
    { kind: "document", carrierFile: "https://api.twilio.com/media/3", fileName: null },
  ]);
  assert.equal(message.details, undefined);
});

test("a medium without a URL is left out", async () => {
  const media = { MediaUrl0: "not a URL", MediaUrl1: "https://api.twilio.com/media/1", MediaContentType1: "image/png" };
  const [message] = (await hostAfter({ ...INBOUND, ...media })).messages;
  assert.ok(message?.content?.type === "media");
  assert.deepEqual(
    message.content.files.map(({ carrierFile }) => carrierFile),
    ["https://api.twilio.com/media/1"],
  );
});

test("a message to a short code is passed on", async () => {
  assert.equal((await hostAfter({ ...INBOUND, To: "72345" })).messages[0]?.to, "72345");
});

test("the sender of a message is passed on as Twilio writes it", async () => {
  for (const From of ["(415) 555-0123", "4155550123", "0014155550123", "72345", "Godwit", "<Godwit>", "messenger:104"])
    assert.equal((await hostAfter({ ...INBOUND, From })).messages[0]?.from, From);
});

for (const [what, fields, expected] of [
  ["sender", { From: "" }, { from: "", to: "+14155550100" }],
  ["recipient", { To: "" }, { from: "+15551234567", to: null }],
  ["id", { MessageSid: "a\0b" }, { providerMessageId: null }],
] as const)
  test(`a message without a readable ${what} is passed on with its text`, async () => {
    const [message] = (await hostAfter({ ...INBOUND, ...fields })).messages;
    assert.deepEqual({ ...message, ...expected }, message);
    assert.equal(message?.text, "STOP");
  });

for (const fields of [
  {},
  { MessageSid: "SM1" },
  { ...INBOUND, From: "", Body: "" },
  { CallSid: "CA1", From: "+15551234567", To: "+14155550100", CallStatus: "ringing" },
  { ...STATUS, MessageSid: "a\0b" },
  { MessageStatus: "sent" },
])
  test(`a signed call without content (${JSON.stringify(fields)}) is acknowledged and passes nothing on`, async () => {
    const host = await hostAfter(fields);
    assert.deepEqual([host.calls, host.messages], [[], []]);
  });

test("a call has at most 200 fields", async () => {
  const more = (count: number): Fields => Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, "x"]));
  assert.deepEqual(await call({ fields: { ...STATUS, ...more(196) } }), ACKNOWLEDGED);
  assert.equal((await call({ fields: { ...STATUS, ...more(197) } })).status, 403);
});

test("a field that is repeated is signed with each of its values once, in their order", async () => {
  const signature = createHmac("sha1", TWILIO_SECRETS.authToken).update(`${PUBLIC}MessageSidSM1MessageStatussentab1b2`).digest("base64");
  const request: CarrierRequest = {
    method: "POST",
    url: PUBLIC,
    query: {},
    headers: { "x-twilio-signature": signature },
    body: Buffer.from("b=2&MessageSid=SM1&b=1&a&MessageStatus=sent&b=2"),
  };
  assert.deepEqual(await twilio.handleRequest?.(SETTINGS, request, new RecordingHost()), ACKNOWLEDGED);
});

test("a call that cannot be committed is not acknowledged, so that Twilio repeats it", async () => {
  for (const fields of [STATUS, INBOUND]) {
    const host = new RecordingHost();
    host.behave("rejects");
    assert.equal((await call({ fields, host })).status, 503);
    host.behave("accepts");
    assert.deepEqual(await call({ fields, host }), ACKNOWLEDGED);
    assert.equal(host.receipts.length + host.messages.length, 1);
    for (const word of ["STOP", "5551234567", TWILIO_SECRETS.authToken]) assert.ok(!host.lines.includes(word), word);
  }
});

test("statuses and messages arrive over a real socket", async () => {
  const host = new RecordingHost();
  const carrier = await new FakeTwilio().listen();
  const callbacks = await CallbackServer.open(
    (request) => twilio.handleRequest?.({ ...SETTINGS, statusCallbackUrl: null }, request, host) ?? assert.fail(),
  );
  carrier.call(callbacks.url("/providers/twilio/main?reference=msg_1"), STATUS);
  await host.untilCalled();
  assert.equal(host.receipts[0]?.reference, "msg_1");
  await carrier.close();
  await callbacks.close();
});
