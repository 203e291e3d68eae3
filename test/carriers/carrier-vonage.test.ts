/** The carrier file of Vonage, against the requests and signatures of Vonage's own SDK. The SDK does not describe callbacks: their form
 *  is that of Vonage's documentation. */
import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";
import { verifySignature } from "@vonage/jwt";
import { Channels, Messages, MessageTypes } from "@vonage/messages";
import { http } from "../../src/providers/http/http.ts";
import type { CarrierRequest } from "../../src/providers/provider.ts";
import { RECIPIENTS } from "../support/recipient.ts";
import {
  carrierSettings,
  carrierUnderTest,
  compareRequests,
  type Callback,
  type HttpApi,
  type ReportedStatus,
} from "../support/fakes/http-api.ts";
import type { Seen } from "../support/fakes/http-carrier.ts";
import { describeProvider } from "../support/provider-conformance.ts";
import { mayLeave, outgoing, RecordingHost } from "../support/recording-host.ts";

const SECRETS = {
  VONAGE_API_KEY: "abcd1234",
  VONAGE_API_SECRET: "secret-of-ours",
  VONAGE_SIGNATURE_SECRET: "signature-secret-of-32-characters",
};

const STATUSES: Readonly<Record<ReportedStatus, string>> = { sent: "submitted", delivered: "delivered", undelivered: "undeliverable" };
const errorType = (code: string): string => `https://developer.vonage.com/api-errors/messages#${code}`;

const problem = (code: string, title: string): object => ({ type: errorType(code), title, detail: "…", instance: "bf0ca0bf927b" });

type SentBody = { to: string; client_ref: string; webhook_url: string };

const base64url = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");

function hs256(claims: object, secret: string): string {
  const text = `${base64url({ alg: "HS256", typ: "JWT" })}.${base64url(claims)}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

function signed(payload: object, secret = SECRETS.VONAGE_SIGNATURE_SECRET, seconds = Math.floor(Date.now() / 1_000)): Callback {
  const body = JSON.stringify(payload);
  const claims = {
    iss: "Vonage",
    api_key: SECRETS.VONAGE_API_KEY,
    iat: seconds,
    payload_hash: createHash("sha256").update(body).digest("hex"),
  };
  return { headers: { authorization: `Bearer ${hs256(claims, secret)}` }, body };
}

const sentBody = (body: string): SentBody => JSON.parse(body) as SentBody;

const status = (id: string, reference: string, reported: ReportedStatus): object => ({
  message_uuid: id,
  to: "15005550006",
  from: "14155550100",
  timestamp: "2030-01-31T09:00:00.000Z",
  status: STATUSES[reported],
  channel: "sms",
  client_ref: reference,
  ...(reported === "undelivered" ? { error: problem("1120", "1120") } : {}),
});

const API: HttpApi = {
  carrier: "vonage",
  secrets: SECRETS,
  recipientOf: ({ body }) => `+${sentBody(body).to}`,
  accepted: (id) => ({ status: 202, body: { message_uuid: id } }),
  refused: { status: 422, body: problem("1170", "Invalid or Missing MSISDN Param") },
  throttled: { status: 429, body: problem("1000", "Throttled") },
  callbackUrlOf: ({ body }) => sentBody(body).webhook_url,
  receipt: ({ body }, id, reported) => signed(status(id, sentBody(body).client_ref, reported)),
  inbound: ({ id, from, to, text }) =>
    signed({
      channel: "sms",
      message_uuid: id,
      to: to.slice(1),
      from: from.slice(1),
      message_type: "text",
      text,
      timestamp: "2030-01-31T09:00:00Z",
    }),
};

describeProvider(carrierUnderTest(API));

const toRequest = ({ headers, body }: Callback): CarrierRequest => ({
  method: "POST",
  url: "https://godwit.example/providers/http/main",
  query: {},
  headers,
  body: Buffer.from(body),
});

test("the request of Vonage is the one that its SDK makes", async () => {
  const message = outgoing({ recipient: RECIPIENTS.delivered, sender: "+14155550100", body: 'He said "hello" 👋' });
  const { ours, theirs } = await compareRequests(
    API,
    (connection) => connection.send(message, new AbortController().signal, mayLeave),
    (apiHost) =>
      new Messages({ apiKey: SECRETS.VONAGE_API_KEY, apiSecret: SECRETS.VONAGE_API_SECRET }, { apiHost }).send({
        messageType: MessageTypes.TEXT,
        channel: Channels.SMS,
        to: RECIPIENTS.delivered.slice(1),
        from: "14155550100",
        text: message.body,
        ttl: 3_599,
        clientRef: message.id,
        webhookUrl: "https://godwit.example/providers/http/main",
        webhookVersion: "v1",
        sms: { encodingType: "auto" },
      }),
  );
  assert.deepEqual([ours.method, ours.path], [theirs.method, theirs.path]);
  const parse = ({ body }: Seen): { ttl: number } => JSON.parse(body) as { ttl: number };
  const [{ ttl, ...ourBody }, { ttl: _, ...theirBody }] = [parse(ours), parse(theirs)];
  assert.deepEqual(ourBody, theirBody);
  assert.ok(Number.isInteger(ttl) && ttl > 3_000 && ttl <= 3_600);
  for (const name of ["authorization", "content-type"]) assert.equal(ours.headers[name], theirs.headers[name]);
});

test("the SDK of Vonage accepts the same tokens as the link, which also compares the hash of the body", async () => {
  const settings = carrierSettings(API, "https://api.nexmo.com", "https://godwit.example");
  const payload = status("m1", "msg_1", "delivered");
  const [good, forged] = [signed(payload), signed(payload, "another secret of 32 characters..")];
  for (const callback of [good, forged]) {
    const isValid = verifySignature(callback.headers["authorization"]?.slice("Bearer ".length) ?? "", SECRETS.VONAGE_SIGNATURE_SECRET);
    assert.equal((await http.handleRequest?.(settings, toRequest(callback), new RecordingHost()))?.status, isValid ? 200 : 403);
  }
  const now = Math.floor(Date.now() / 1_000);
  const none = `Bearer ${base64url({ alg: "none" })}.${base64url({ iat: now })}.`;
  for (const callback of [
    { ...good, body: good.body.replace("delivered", "rejected") },
    { ...good, headers: {} },
    { ...good, headers: { authorization: none } },
    signed(payload, SECRETS.VONAGE_SIGNATURE_SECRET, now - 3_600),
  ])
    assert.equal((await http.handleRequest?.(settings, toRequest(callback), new RecordingHost()))?.status, 403);
});

test("an inbound message of Vonage is passed on", async () => {
  const settings = carrierSettings(API, "https://api.nexmo.com", "https://godwit.example");
  const host = new RecordingHost();
  const callback = API.inbound({ id: "in-1", from: "+15551234567", to: "+14155550100", text: "STOP", inReplyTo: "" });
  await http.handleRequest?.(settings, toRequest(callback), host);
  assert.deepEqual(host.messages, [
    {
      providerMessageId: "in-1",
      channel: "sms",
      from: "15551234567",
      to: "14155550100",
      fromType: "international",
      toType: "international",
      text: "STOP",
      inReplyTo: null,
    },
  ]);
});

const URL_1 = "https://api.nexmo.com/v3/media/1";
const URL_2 = "https://api.nexmo.com/v3/media/2";
for (const [type, content, text, details] of [
  ["image", { image: { url: URL_1, name: "cat.jpg", caption: "STOP" } }, "STOP", { media_url: URL_1, filename: "cat.jpg" }],
  ["audio", { audio: { url: URL_1 } }, "[audio]", { media_url: URL_1 }],
  ["content", { content: [{ type: "image", url: URL_1 }, { url: URL_2 }] }, "[content]", { media_url: URL_1, media_url_2: URL_2 }],
  ["location", { location: { lat: 40.5, long: -3.25 } }, "[location]", { latitude: "40.5", longitude: "-3.25" }],
  ["of_next_year", { of_next_year: {} }, "[of_next_year]", {}],
] as const)
  test(`a message of Vonage with the type ${type} is passed on`, async () => {
    const settings = carrierSettings(API, "https://api.nexmo.com", "https://godwit.example");
    const host = new RecordingHost();
    const fields = { channel: "mms", message_uuid: "in-1", to: "14155550100", from: "15551234567", message_type: type };
    await http.handleRequest?.(settings, toRequest(signed({ ...fields, ...content })), host);
    const [message, ...others] = host.messages;
    assert.deepEqual([message?.providerMessageId, message?.from, message?.to, others], ["in-1", fields.from, fields.to, []]);
    assert.deepEqual([message?.text, message?.details], [text, { type, ...details }]);
  });
