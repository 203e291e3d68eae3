/** The carrier file of Telnyx, against the requests, types and signatures of Telnyx's own SDK. */
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { Telnyx } from "telnyx";
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

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const PUBLIC_KEY = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
const SECRETS = { TELNYX_API_KEY: "KEY0123", TELNYX_PUBLIC_KEY: PUBLIC_KEY };

type Event = { data: Telnyx.OutboundMessage | Telnyx.MessagingInboundMessage };

function signed(event: Event, seconds = Math.floor(Date.now() / 1_000)): Callback {
  const body = JSON.stringify(event);
  const signature = sign(null, Buffer.from(`${seconds}|${body}`), privateKey).toString("base64");
  return { headers: { "telnyx-timestamp": String(seconds), "telnyx-signature-ed25519": signature }, body };
}

type OutboundStatus = NonNullable<NonNullable<Telnyx.OutboundMessagePayload["to"]>[number]["status"]>;
const STATUSES: Readonly<Record<ReportedStatus, OutboundStatus>> = { sent: "sent", delivered: "delivered", undelivered: "delivery_failed" };

const outbound = (id: string, status: ReportedStatus): Event => ({
  data: {
    record_type: "event",
    event_type: status === "sent" ? "message.sent" : "message.finalized",
    payload: {
      id,
      record_type: "message",
      direction: "outbound",
      to: [{ phone_number: RECIPIENTS.delivered, status: STATUSES[status] }],
      errors: status === "undelivered" ? [{ code: "40002", title: "Blocked as spam - temporary" }] : [],
    },
  },
});

const errors = (code: string, title: string): { errors: Telnyx.MessagingError0b38e7044b[] } => ({ errors: [{ code, title }] });

const API: HttpApi = {
  carrier: "telnyx",
  secrets: SECRETS,
  recipientOf: ({ body }) => (JSON.parse(body) as Telnyx.MessageSendParams).to,
  accepted: (id) => ({ status: 200, body: { data: { id, record_type: "message" } } satisfies Telnyx.MessageSendResponse }),
  refused: { status: 422, body: errors("40310", "Invalid 'to' address") },
  throttled: { status: 429, body: errors("10011", "Too many requests") },
  callbackUrlOf: ({ body }) => (JSON.parse(body) as Telnyx.MessageSendParams).webhook_url ?? "",
  receipt: (_, id, status) => signed(outbound(id, status)),
  inbound: ({ id, from, to, text }) =>
    signed({
      data: {
        record_type: "event",
        event_type: "message.received",
        payload: { id, direction: "inbound", from: { phone_number: from }, to: [{ phone_number: to }], text },
      },
    }),
};

describeProvider(carrierUnderTest(API));

test("the request of Telnyx is the one that its SDK makes", async () => {
  const message = outgoing({ recipient: RECIPIENTS.delivered, sender: "+14155550100", body: 'He said "hello" 👋' });
  const { ours, theirs } = await compareRequests(
    API,
    (connection) => connection.send(message, new AbortController().signal, mayLeave),
    (origin) =>
      new Telnyx({ apiKey: SECRETS.TELNYX_API_KEY, baseURL: `${origin}/v2` }).messages.send({
        to: message.recipient,
        from: "+14155550100",
        text: message.body,
        webhook_url: `https://godwit.example/providers/http/main?reference=${message.id}`,
        use_profile_webhooks: false,
      }),
  );
  assert.deepEqual([ours.method, ours.path], [theirs.method, theirs.path]);
  assert.deepEqual(JSON.parse(ours.body), JSON.parse(theirs.body));
  for (const name of ["authorization", "content-type"]) assert.equal(ours.headers[name], theirs.headers[name]);
});

test("the SDK of Telnyx accepts the same signatures as the link", async () => {
  const client = new Telnyx({ apiKey: SECRETS.TELNYX_API_KEY, publicKey: PUBLIC_KEY });
  const settings = carrierSettings(API, "https://api.telnyx.com", "https://godwit.example");
  const now = Math.floor(Date.now() / 1_000);
  const good = signed(outbound("m1", "delivered"));
  for (const { headers, body } of [
    good,
    { ...good, body: good.body.replace("delivered", "delivered ") },
    { ...good, headers: { ...good.headers, "telnyx-timestamp": String(now - 1) } },
    { ...good, headers: {} },
    signed(outbound("m1", "delivered"), now - 3_600),
  ]) {
    const isValid = await client.webhooks.unwrap(body, { headers }).then(
      () => true,
      () => false,
    );
    const request = { method: "POST", url: "https://godwit.example/x", query: {}, headers, body: Buffer.from(body) };
    const response = await http.handleRequest?.(settings, request, new RecordingHost());
    assert.equal(response?.status, isValid ? 200 : 403);
  }
});

test("an inbound message of Telnyx is passed on", async () => {
  const { headers, body } = API.inbound({ id: "in-1", from: "+15551234567", to: "+14155550100", text: "STOP", inReplyTo: "" });
  const settings = carrierSettings(API, "https://api.telnyx.com", "https://godwit.example");
  const host = new RecordingHost();
  await http.handleRequest?.(settings, { method: "POST", url: "https://x/", query: {}, headers, body: Buffer.from(body) }, host);
  const [type, ...others] = host.messages.map(({ fromType, toType }) => [fromType, toType]);
  assert.deepEqual([type, others], [["international", "international"], []]);
  const [{ providerMessageId, from, to, text } = assert.fail()] = host.messages;
  assert.deepEqual([providerMessageId, from, to, text], ["in-1", "+15551234567", "+14155550100", "STOP"]);
});

test("an MMS of Telnyx keeps the addresses of its media", async () => {
  const media = [
    { url: "https://media.telnyx.com/1.png", content_type: "image/png" },
    { url: "https://media.telnyx.com/2.pdf", content_type: "application/pdf" },
  ];
  const addresses = { from: { phone_number: "+15551234567" }, to: [{ phone_number: "+14155550100" }] };
  const settings = carrierSettings(API, "https://api.telnyx.com", "https://godwit.example");
  const host = new RecordingHost();
  for (const text of ["My cat", ""]) {
    const payload: Telnyx.MessagingInboundMessagePayload = { id: "in-1", direction: "inbound", type: "MMS", ...addresses, media, text };
    const { headers, body } = signed({ data: { record_type: "event", event_type: "message.received", payload } });
    await http.handleRequest?.(settings, { method: "POST", url: "https://x/", query: {}, headers, body: Buffer.from(body) }, host);
  }
  assert.deepEqual(
    host.messages.map(({ text }) => text),
    ["My cat", "[image]"],
  );
  const [one, other] = media;
  for (const { details } of host.messages)
    assert.deepEqual(details, {
      media_url: one?.url,
      media_url_2: other?.url,
      media_type: one?.content_type,
      media_type_2: other?.content_type,
    });
});
