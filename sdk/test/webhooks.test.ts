/** Webhooks are verified as the standard defines: compared with the standardwebhooks library and with deliveries of the service. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { startGodwit } from "../../test/support/harness.ts";
import { ALLOW_LOOPBACK, Hook } from "../../test/support/hook-server.ts";
import { seeded } from "../../test/support/seed.ts";
import { Godwit, verifyWebhook, WebhookError, type WebhookFault } from "../src/index.ts";

const newSecret = (bytes = 32): string => `whsec_${randomBytes(bytes).toString("base64")}`;
const PAYLOAD = JSON.stringify({
  id: "evt_1",
  type: "webhook.test",
  timestamp: "2030-01-31T09:00:00.000Z",
  environment: "test",
  data: { text: "é 🐦" },
});

type Signed = { payload?: string; id?: string; at?: Date; secret: string };
/** Signs with the standardwebhooks library and returns the headers. */
function sign({ payload = PAYLOAD, id = "evt_1", at = new Date(), secret }: Signed): Record<string, string> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
    "webhook-signature": new Webhook(secret).sign(id, at, payload),
  };
}

const isRefused = (reason: WebhookFault) => (error: unknown) => error instanceof WebhookError && error.reason === reason;
const secondsAgo = (seconds: number): Date => new Date(Date.now() - seconds * 1_000);

describe("a webhook signed by the standardwebhooks library", () => {
  const secret = newSecret();

  test("is accepted and yields the event", async () => {
    const event = await verifyWebhook(PAYLOAD, sign({ secret }), secret);
    assert.deepEqual(event, JSON.parse(PAYLOAD));
  });

  test("is accepted as text, bytes or a buffer, with headers of any kind", async () => {
    const headers = sign({ secret });
    const bytes = new TextEncoder().encode(PAYLOAD);
    for (const payload of [PAYLOAD, bytes, Buffer.from(PAYLOAD), bytes.buffer]) {
      for (const given of [
        headers,
        new Headers(headers),
        {
          "Webhook-Id": headers["webhook-id"],
          "WEBHOOK-TIMESTAMP": headers["webhook-timestamp"],
          "Webhook-Signature": headers["webhook-signature"],
        },
      ])
        assert.equal((await verifyWebhook(payload, given, secret)).id, "evt_1");
    }
  });

  test("is accepted with any payload and with secrets of any length", async (context) => {
    const random = seeded(context);
    for (let round = 0; round < 50; round += 1) {
      const own = newSecret(24 + Math.floor(random() * 41));
      const payload = JSON.stringify({
        id: "evt_1",
        text: String.fromCodePoint(...Array.from({ length: 20 }, () => 0x20 + Math.floor(random() * 0xd000))),
      });
      const headers = sign({ secret: own, payload });
      assert.deepEqual(await verifyWebhook(payload, headers, own), JSON.parse(payload));
      await assert.rejects(verifyWebhook(`${payload} `, headers, own), isRefused("no_matching_signature"));
    }
  });

  test("is accepted if any of the secrets matches any of the signatures", async () => {
    const [old, foreign] = [newSecret(), newSecret()];
    const headers = sign({ secret });
    await verifyWebhook(PAYLOAD, headers, [old, secret]);
    const several = `v1a,AAAA v2,BBBB v1,not base64 ${sign({ secret: old })["webhook-signature"]} ${headers["webhook-signature"]}`;
    await verifyWebhook(PAYLOAD, { ...headers, "webhook-signature": several }, secret);
    await assert.rejects(verifyWebhook(PAYLOAD, headers, [old, foreign]), isRefused("no_matching_signature"));
    await assert.rejects(verifyWebhook(PAYLOAD, headers, []), isRefused("no_matching_signature"));
  });

  test("is accepted up to five minutes before and after its timestamp", async () => {
    for (const at of [secondsAgo(290), secondsAgo(-290)]) await verifyWebhook(PAYLOAD, sign({ secret, at }), secret);
    await assert.rejects(verifyWebhook(PAYLOAD, sign({ secret, at: secondsAgo(310) }), secret), isRefused("timestamp_too_old"));
    await assert.rejects(verifyWebhook(PAYLOAD, sign({ secret, at: secondsAgo(-310) }), secret), isRefused("timestamp_too_new"));
    await verifyWebhook(PAYLOAD, sign({ secret, at: secondsAgo(310) }), secret, { toleranceSeconds: 600 });
  });
});

describe("a modified webhook is refused", () => {
  const secret = newSecret();
  const headers = sign({ secret });
  const signature = headers["webhook-signature"] ?? "";
  for (const [what, change, reason] of [
    ["another id", { "webhook-id": "evt_2" }, "no_matching_signature"],
    ["another time", { "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 1) }, "no_matching_signature"],
    ["an invalid time", { "webhook-timestamp": "1e9" }, "invalid_timestamp"],
    ["a signature cut short", { "webhook-signature": signature.slice(0, 20) }, "no_matching_signature"],
    ["an empty signature", { "webhook-signature": "v1," }, "no_matching_signature"],
    ["a signature of another version", { "webhook-signature": signature.replace("v1", "v2") }, "no_matching_signature"],
    ["no signature", { "webhook-signature": undefined }, "missing_headers"],
    ["no id", { "webhook-id": "" }, "missing_headers"],
    ["a header that occurs twice", { "webhook-id": ["evt_1", "evt_1"] }, "missing_headers"],
  ] as const) {
    test(what, () => assert.rejects(verifyWebhook(PAYLOAD, { ...headers, ...change }, secret), isRefused(reason)));
  }

  test("another body", () =>
    assert.rejects(verifyWebhook(PAYLOAD.replace("evt_1", "evt_2"), headers, secret), isRefused("no_matching_signature")));

  test("a signed body that is not JSON", () =>
    assert.rejects(verifyWebhook("no", sign({ secret, payload: "no" }), secret), isRefused("invalid_payload")));

  test("a parsed or missing body is a TypeError that names the raw body", async () => {
    for (const payload of [JSON.parse(PAYLOAD), undefined])
      await assert.rejects(verifyWebhook(payload, headers, secret), { name: "TypeError", message: /raw body/ });
  });

  test("an invalid secret is a TypeError of the receiver", async () => {
    for (const wrong of ["", "whsec_", "whsec_%%%"]) await assert.rejects(verifyWebhook(PAYLOAD, headers, wrong), TypeError);
    const missing = undefined as unknown as string;
    for (const wrong of [missing, [secret, missing]])
      await assert.rejects(verifyWebhook(PAYLOAD, headers, wrong), {
        name: "TypeError",
        message: "a webhook secret is whsec_ followed by base64, and its type is undefined",
      });
  });

  test("an invalid or unknown option is a TypeError: a webhook of any age would pass", async () => {
    for (const [options, message] of [
      [{ tolerance: 600 } as object, /^verifyWebhook has no option tolerance; did you mean toleranceSeconds\?$/],
      [{ toleranceSeconds: Number.NaN }, /^toleranceSeconds must be a number from 0 to Infinity, and is NaN$/],
    ] as const)
      await assert.rejects(verifyWebhook(PAYLOAD, headers, secret, options), { name: "TypeError", message });
  });
});

test("deliveries of the service are accepted, also while the secret is rotated", async () => {
  await using server = await startGodwit({ roles: "api,dispatch,webhooks", simulatorSpeed: 100, env: ALLOW_LOOPBACK });
  await using hooks = await Hook.listen();
  const client = new Godwit({ apiKey: await server.key(), baseUrl: server.url });
  const { id, secret } = await client.webhookEndpoints.create({ url: hooks.url(), event_types: ["message.delivered"] });
  const { event_id: first } = await client.webhookEndpoints.test(id);
  const call = await hooks.called(first);
  assert.equal((await verifyWebhook(call.text, call.headers, secret)).data.webhook_endpoint?.id, id);

  const { secret: rotated } = await client.webhookEndpoints.rotateSecret(id);
  const { event_id: second } = await client.webhookEndpoints.test(id);
  const signedTwice = await hooks.called(second);
  for (const known of [secret, rotated]) assert.equal((await verifyWebhook(signedTwice.text, signedTwice.headers, known)).id, second);
  await assert.rejects(verifyWebhook(call.text, call.headers, rotated), isRefused("no_matching_signature"));

  const message = await client.messages.send({ recipient: "+14155550123", channel: "sms", body: "Hello" });
  const [event] = await Array.fromAsync(client.events.list({ message_id: message.id, type: "message.queued" }));
  assert.equal(event?.data.message?.id, message.id);
  const delivery = (await client.events.deliveries(second).page()).data[0];
  assert.equal(delivery?.status, "succeeded");
  assert.equal((await client.webhookEndpoints.retry(id, delivery.id)).id, delivery.id);
  await hooks.called(second, 2);
  assert.equal((await client.webhookEndpoints.delivery(id, delivery.id)).event_id, second);
  assert.equal((await client.webhookEndpoints.recover(id, { since: new Date().toISOString() })).id, id);
  assert.equal((await client.webhookEndpoints.edit(id, { status: "disabled" })).status, "disabled");
  assert.equal((await client.webhookEndpoints.delete(id)).deleted, true);
});
