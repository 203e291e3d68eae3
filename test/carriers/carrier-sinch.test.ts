/** The carrier file of Sinch, against the requests, types and signatures of Sinch's own SDK. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { SmsCallbackWebhooks, SmsService, type Sms } from "@sinch/sdk-core";
import { http } from "../../src/providers/http/http.ts";
import { RECIPIENTS } from "../support/recipient.ts";
import {
  carrierSettings,
  carrierUnderTest,
  compareRequests,
  type Callback,
  type HttpApi,
  type ReportedStatus,
} from "../support/fakes/http-api.ts";
import { describeProvider } from "../support/provider-conformance.ts";
import { mayLeave, outgoing, RecordingHost } from "../support/recording-host.ts";

const SECRETS = { SINCH_API_TOKEN: "token-of-ours", SINCH_WEBHOOK_SECRET: "webhook-secret" };
const PLAN = "plan01";

/** Sinch sends times as texts. */
type Sent<T> = { [K in keyof T]: T[K] extends Date ? string : T[K] };
type Event = Sent<Sms.RecipientDeliveryReport> | Sent<Sms.MOText> | Sent<Sms.MOMedia> | Sent<Sms.MOBinary>;

function signed(event: Event, seconds = Math.floor(Date.now() / 1_000), nonce = "01FC66621VHDBN119Z8PMV1QPU"): Callback {
  const body = JSON.stringify(event);
  const signature = createHmac("sha256", SECRETS.SINCH_WEBHOOK_SECRET).update(`${body}.${nonce}.${seconds}`).digest("base64");
  return {
    headers: {
      "x-sinch-webhook-signature": signature,
      "x-sinch-webhook-signature-algorithm": "HmacSHA256",
      "x-sinch-webhook-signature-nonce": nonce,
      "x-sinch-webhook-signature-timestamp": String(seconds),
    },
    body,
  };
}

const STATUSES: Readonly<Record<ReportedStatus, readonly [Sms.DeliveryStatusEnum, Sms.DeliveryReceiptCodeEnum]>> = {
  sent: ["Dispatched", 401],
  delivered: ["Delivered", 0],
  undelivered: ["Failed", 402],
};

const report = (id: string, reference: string, status: ReportedStatus): Event => ({
  type: "recipient_delivery_report_sms",
  at: "2030-01-31T09:00:00.000Z",
  batch_id: id,
  client_reference: reference,
  code: STATUSES[status][1],
  recipient: "15005550006",
  status: STATUSES[status][0],
});

const requestOf = (body: string): Sms.TextRequest => JSON.parse(body) as Sms.TextRequest;

const API: HttpApi = {
  carrier: "sinch",
  link: { values: { service_plan_id: PLAN } },
  secrets: SECRETS,
  recipientOf: ({ body }) => requestOf(body).to[0] ?? "",
  accepted: (id) => ({ status: 201, body: { id, type: "mt_text", canceled: false } satisfies Sms.TextResponse }),
  refused: { status: 400, body: { code: "syntax_invalid_parameter_format", text: "Invalid number" } },
  throttled: { status: 429, body: { code: "too_many_requests", text: "Too many requests" } },
  callbackUrlOf: ({ body }) => requestOf(body).callback_url ?? "",
  receipt: ({ body }, id, status) => signed(report(id, requestOf(body).client_reference ?? "", status)),
  inbound: ({ id, from, to, text }) =>
    signed({ type: "mo_text", id, from: from.slice(1), to: to.slice(1), body: text, received_at: "2030-01-31T09:00:00.000Z" }),
};

describeProvider(carrierUnderTest(API));

test("the request of Sinch is the one that its SDK makes", async () => {
  const message = outgoing({ recipient: RECIPIENTS.delivered, sender: "+14155550100", body: 'He said "hello" 👋' });
  const { ours, theirs } = await compareRequests(
    API,
    (connection) => connection.send(message, new AbortController().signal, mayLeave),
    (origin) =>
      new SmsService({ servicePlanId: PLAN, apiToken: SECRETS.SINCH_API_TOKEN, smsHostname: origin }).batches.sendTextMessage({
        sendSMSRequestBody: {
          to: [message.recipient],
          from: "+14155550100",
          body: message.body,
          delivery_report: "per_recipient",
          expire_at: new Date(message.expiresAtMs),
          callback_url: "https://godwit.example/providers/http/main",
          client_reference: message.id,
        },
      }),
  );
  assert.deepEqual([ours.method, ours.path], [theirs.method, theirs.path]);
  const [{ expire_at: ourEnd, ...ourBody }, { expire_at: theirEnd, ...theirBody }] = [requestOf(ours.body), requestOf(theirs.body)];
  assert.deepEqual(ourBody, theirBody);
  // Our time to live is in whole seconds from now on.
  assert.ok(Math.abs(Date.parse(String(ourEnd)) - Date.parse(String(theirEnd))) <= 1_000);
  for (const name of ["authorization", "content-type"]) assert.equal(ours.headers[name], theirs.headers[name]);
});

test("the SDK of Sinch accepts the same signatures as the link", async () => {
  const theirs = new SmsCallbackWebhooks(SECRETS.SINCH_WEBHOOK_SECRET);
  const settings = carrierSettings(API, "https://us.sms.api.sinch.com", "https://godwit.example");
  const good = signed(report("b1", "msg_1", "delivered"));
  for (const { headers, body } of [
    good,
    { ...good, body: good.body.replace("Delivered", "Failed") },
    { ...good, headers: { ...good.headers, "x-sinch-webhook-signature-nonce": "another" } },
    { ...good, headers: {} },
  ]) {
    const isValid = theirs.validateAuthenticationHeader(headers, body, "/x", "POST");
    const request = { method: "POST", url: "https://godwit.example/x", query: {}, headers, body: Buffer.from(body) };
    const response = await http.handleRequest?.(settings, request, new RecordingHost());
    assert.equal(response?.status, isValid ? 200 : 403);
  }
  const old = signed(report("b1", "msg_1", "delivered"), Math.floor(Date.now() / 1_000) - 3_600);
  const request = { method: "POST", url: "https://x/", query: {}, headers: old.headers, body: Buffer.from(old.body) };
  assert.equal((await http.handleRequest?.(settings, request, new RecordingHost()))?.status, 403, "an old signature");
});

test("an inbound message of Sinch is one that its SDK parses, and is passed on", async () => {
  const { headers, body } = API.inbound({ id: "in-1", from: "+15551234567", to: "+14155550100", text: "STOP", inReplyTo: "" });
  assert.equal((SmsCallbackWebhooks.parseEvent(body) as Sms.MOText).body, "STOP");
  const settings = carrierSettings(API, "https://us.sms.api.sinch.com", "https://godwit.example");
  const host = new RecordingHost();
  await http.handleRequest?.(settings, { method: "POST", url: "https://x/", query: {}, headers, body: Buffer.from(body) }, host);
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

const URL = "https://media.example/1";
const MEDIA: Sms.MmsMoBody = { media: [{ code: 0, content_type: "image/jpeg", status: "Uploaded", url: URL }] };
const OF_MEDIA = { media_url: URL, media_type: "image/jpeg" };

for (const [what, event, text, details] of [
  ["media", { type: "mo_media", body: { ...MEDIA, message: "STOP" } }, "STOP", OF_MEDIA],
  ["media without a text", { type: "mo_media", body: { ...MEDIA, subject: "My cat" } }, "[image]", { ...OF_MEDIA, subject: "My cat" }],
  // In base64 this is three bytes, and no word of a person.
  ["binary contents", { type: "mo_binary", body: "STOP", udh: "0605" }, "", { binary: "STOP", udh: "0605" }],
] as const)
  test(`a message of Sinch with ${what} is passed on`, async () => {
    const fields = { id: "in-1", from: "15551234567", to: "14155550100", received_at: "2030-01-31T09:00:00.000Z" };
    const { headers, body } = signed({ ...fields, ...event });
    assert.equal((SmsCallbackWebhooks.parseEvent(body) as Sms.MOText).id, "in-1");
    const settings = carrierSettings(API, "https://us.sms.api.sinch.com", "https://godwit.example");
    const host = new RecordingHost();
    await http.handleRequest?.(settings, { method: "POST", url: "https://x/", query: {}, headers, body: Buffer.from(body) }, host);
    const [message, ...others] = host.messages;
    assert.deepEqual(others, []);
    assert.deepEqual([message?.providerMessageId, message?.from, message?.to], ["in-1", fields.from, fields.to]);
    assert.deepEqual([message?.text, message?.details], [text, details]);
  });
