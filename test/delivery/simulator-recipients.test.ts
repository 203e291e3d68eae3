/** The rows of the simulator's table that refuse a message or reply to one: refusals before the submission, replies,
 *  opt-outs, the service window, and numbers without WhatsApp. The other rows are in journeys.test.ts. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { clientOf, typesOf, type Client, type Json } from "../support/client.ts";
import { assertProblem, pointersOf, until } from "../support/expect.ts";
import { sms, startGodwit, type Godwit } from "../support/harness.ts";
import { readMetrics } from "../support/metrics-text.ts";
import { withoutDatabase } from "../support/outage.ts";
import { assertReplayOf } from "../support/replay.ts";
import { eventsOf } from "../support/tables.ts";
import { Customer, WITH_WEBHOOKS, type Endpoint } from "../support/webhook-customer.ts";
import { Hook, verify } from "../support/hook-server.ts";

const CHANNELS = ["sms", "whatsapp"] as const;
const OURS = "+15005550000";
const TEMPLATE = { body: null, template_id: "verification_code", template_variables: { code: "1" } };

let godwit: Godwit;
let hook: Hook;
before(async () => {
  godwit = await startGodwit(WITH_WEBHOOKS);
  hook = await Hook.listen();
});
after(async () => {
  await godwit.stop();
  await hook[Symbol.asyncDispose]();
});

type Subscriber = { client: Client; endpoint: Endpoint };

/** A client of a new account, with an endpoint that receives all events. */
async function subscriber(): Promise<Subscriber> {
  const customer = await Customer.of(godwit);
  return { client: customer.client, endpoint: await customer.endpoint(hook) };
}

const inboundOf = async ({ client }: Pick<Subscriber, "client">): Promise<Json[]> =>
  (await client.messages.list({ direction: "inbound", limit: "100" })).data;

const replyTo = (own: Pick<Subscriber, "client">, id: unknown): Promise<Json> =>
  until(`a reply to ${String(id)}`, async () => (await inboundOf(own)).find(({ in_reply_to: repliedTo }) => repliedTo === id));

const outboundCount = async ({ client }: Subscriber): Promise<number> =>
  (await client.messages.list({ direction: "outbound", limit: "100" })).data.length;

const endOf = (channel: string): string => (channel === "sms" ? "delivered" : "read");

describe("+15005550004, which has opted out of everything,", () => {
  for (const channel of CHANNELS)
    test(`is refused on ${channel}, text and template, and the idempotency key replays the refusal`, async () => {
      const own = await subscriber();
      for (const content of [{}, TEMPLATE]) {
        const options = { body: { ...sms(), recipient: "+15005550004", channel, ...content }, idempotencyKey: randomUUID() };
        const reply = await own.client.request("POST", "/v1/messages", options);
        assertProblem(reply, "recipient_opted_out");
        assert.deepEqual(pointersOf(reply), ["/recipient"]);
        assert.match(reply.text, /is a test number .* no entry in the suppressions/);
        assertReplayOf(reply, await own.client.request("POST", "/v1/messages", options));
      }
      assert.equal(await outboundCount(own), 0);
      await own.endpoint.test();
      assert.deepEqual(
        own.endpoint.calls.filter(({ event }) => event.type !== "webhook.test"),
        [],
      );
    });
});

describe("+15005550008, which replies,", () => {
  for (const channel of CHANNELS)
    test(`on ${channel}: the message is ${endOf(channel)}, and the reply is received, listed, counted and notified once`, async () => {
      const own = await subscriber();
      const { client, endpoint } = own;
      const { id } = await client.messages.send({ recipient: "+15005550008", channel, sender: "+14155550100" });
      const inbound = await replyTo(own, id);
      await client.messages.reached(id, endOf(channel));
      assert.deepEqual(
        [inbound["direction"], inbound["status"], inbound["channel"], inbound["sender"], inbound["recipient"], inbound["body"]],
        ["inbound", "received", channel, "+15005550008", "+14155550100", "Thank you, got it."],
      );
      const { name, link, message_id: messageId, attempts } = inbound["provider"] as Json;
      assert.deepEqual([name, link, attempts], ["simulator", "simulator", 0]);
      assert.match(String(messageId), /^sim_/);
      assert.deepEqual(await client.messages.read(inbound["id"]), inbound);
      assert.deepEqual(typesOf(await client.messages.timeline(inbound["id"])), ["message.received"]);

      const call = await until("the webhook", () => endpoint.calls.find(({ event }) => event.type === "message.received"));
      verify(call, endpoint.secret);
      assert.deepEqual(call.event.data, { message: inbound, previous_status: null, sequence: 1 });
      await endpoint.test();
      assert.equal(endpoint.calls.filter(({ event }) => event.type === "message.received").length, 1);
      assert.deepEqual((await inboundOf(own)).length, 1);
      const listed = (await own.client.messages.list({ direction: "outbound" })).data;
      assert.deepEqual(
        listed.map((each) => each["id"]),
        [id],
      );
      const { totals } = await own.client.get("/v1/usage");
      assert.deepEqual((totals as Json)["by_status"], { [endOf(channel)]: 1, received: 1 });
      const suppressions = await own.client.suppressions.list();
      assert.deepEqual(suppressions["data"], []);
    });

  test("has a reply that can be redacted, and neither canceled nor edited", async () => {
    const own = await subscriber();
    const { id } = await own.client.messages.send({ recipient: "+15005550008" });
    const inbound = await replyTo(own, id);
    assertProblem(await own.client.messages.cancel(inbound["id"]), "message_not_cancelable");
    assertProblem(await own.client.messages.edit(inbound["id"], { body: "x" }), "message_not_editable");
    assert.deepEqual(await own.client.messages.read(inbound["id"]), inbound);
    const redacted = await own.client.messages.redact(inbound["id"]);
    assert.equal(redacted.status, 200, redacted.text);
    assert.equal((await own.client.messages.read(inbound["id"]))["body"], null);
    for (const { record } of await eventsOf(godwit, inbound["id"])) assert.ok(!String(record).includes("got it"));
  });

  test("has one reply, though the database was unavailable when it arrived", async () => {
    await using slow = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 1 });
    await slow.unlimited();
    const client = clientOf(slow, await slow.key());
    const { id } = await client.messages.send({ recipient: "+15005550008" });
    await client.messages.reached(id, "sent");
    await withoutDatabase(slow, () =>
      until(
        "the carrier to be refused",
        () => slow.logs.some(({ event, replies }) => replies === 1 && event === "providers.receive_failed") || undefined,
      ),
    );
    const list = async (): Promise<Json[]> => (await client.request("GET", "/v1/messages?direction=inbound")).json["data"] as Json[];
    const [inbound] = await until("the reply", async () => ((await list()).length > 0 ? list() : undefined));
    assert.equal(inbound?.["in_reply_to"], id);
    const metrics = await readMetrics(slow);
    assert.equal(metrics.get('godwit_inbound_total{link="simulator",outcome="received"}'), 1);
    assert.equal((await list()).length, 1);
  });

  test("has its reply stored before the service stops", async () => {
    const slow = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 1 });
    await using other = await startGodwit({ databaseUrl: slow.databaseUrl });
    await slow.unlimited();
    const key = await slow.key();
    const { id } = await clientOf(slow, key).messages.send({ recipient: "+15005550008" });
    await clientOf(slow, key).messages.reached(id, "sent");
    assert.equal(await slow.stop(), 0, slow.output.join("\n"));
    const inbound = (await clientOf(other, key).request("GET", "/v1/messages?direction=inbound")).json["data"] as Json[];
    assert.deepEqual(
      inbound.map((each) => each["in_reply_to"]),
      [id],
    );
    assert.equal((await clientOf(other, key).messages.read(id))["status"], "delivered");
  });
});

describe("+15005550010, which opts out,", () => {
  for (const channel of CHANNELS)
    test(`on ${channel}: the message is ${endOf(channel)}, STOP is received, and the next message is refused`, async () => {
      const own = await subscriber();
      const { client, endpoint } = own;
      const { id } = await client.messages.send({ recipient: "+15005550010", channel });
      const inbound = await replyTo(own, id);
      assert.deepEqual([inbound["body"], (await client.messages.read(id))["status"]], ["STOP", endOf(channel)]);
      const [suppression, ...more] = (await client.suppressions.list()).data;
      assert.deepEqual(more, []);
      assert.deepEqual(
        [
          suppression?.["recipient"],
          suppression?.["sender"],
          suppression?.["source"],
          suppression?.["keyword"],
          suppression?.["message_id"],
        ],
        ["+15005550010", OURS, "keyword", "STOP", inbound["id"]],
      );
      const call = await until("the webhook", () => endpoint.calls.find(({ event }) => event.type === "recipient.opted_out"));
      assert.deepEqual(call.event.data["suppression"], suppression);
      for (const next of CHANNELS) {
        const refused = await client.request("POST", "/v1/messages", { body: { ...sms(), recipient: "+15005550010", channel: next } });
        assertProblem(refused, "recipient_opted_out");
      }
      assert.equal(await outboundCount(own), 1);
      // The opt-out applies to that sender only, and ends when it is lifted.
      await client.messages.send({ recipient: "+15005550010", channel, sender: "Shop" });
      await client.suppressions.lift(suppression?.["id"]);
      const again = await client.messages.send({ recipient: "+15005550010", channel });
      await replyTo(own, again["id"]);
      await until(
        "the second opt-out",
        () => endpoint.calls.filter(({ event }) => event.type === "recipient.opted_out").length >= 3 || undefined,
      );
      await endpoint.test();
      const types = endpoint.calls.map(({ event }) => event.type).filter((type) => type.startsWith("recipient."));
      assert.deepEqual(types.toSorted(), ["recipient.opted_in", "recipient.opted_out", "recipient.opted_out", "recipient.opted_out"]);
    });
});

describe("+15005550014, whose service window is closed,", () => {
  const recipient = "+15005550014";

  test("is refused free text on WhatsApp, and the idempotency key replays the refusal", async () => {
    const own = await subscriber();
    const options = { body: { ...sms(), recipient, channel: "whatsapp" }, idempotencyKey: randomUUID() };
    const reply = await own.client.request("POST", "/v1/messages", options);
    assertProblem(reply, "service_window_closed");
    assert.deepEqual(pointersOf(reply), ["/recipient"]);
    assertReplayOf(reply, await own.client.request("POST", "/v1/messages", options));
    assert.equal(await outboundCount(own), 0);
  });

  test("gets a template on WhatsApp and a text by SMS", async () => {
    const { client } = await subscriber();
    await client.messages.reached((await client.messages.send({ recipient, channel: "whatsapp", ...TEMPLATE }))["id"], "read");
    await client.messages.reached((await client.messages.send({ recipient, channel: "sms" }))["id"], "delivered");
  });
});

describe("+15005550015, which is not on WhatsApp,", () => {
  const recipient = "+15005550015";

  test("fails there permanently, with the reason", async () => {
    const { client } = await subscriber();
    const record = await client.messages.reached((await client.messages.send({ recipient, channel: "whatsapp" }))["id"], "failed");
    assert.deepEqual(record["error"], {
      code: "recipient_not_on_whatsapp",
      message: "The number has no account on WhatsApp",
      permanent: true,
      provider_code: "sim-015",
    });
  });

  test("gets one SMS where the message has a fallback, and the customer is notified", async () => {
    const own = await subscriber();
    const { client, endpoint } = own;
    const fallback = [{ channel: "sms", body: "By sms then", after_seconds: 3_600 }];
    const { id } = await client.messages.send({ recipient, channel: "whatsapp", fallback });
    await client.messages.reached(id, "failed");
    const children = async (): Promise<Json[]> =>
      (await client.messages.list({ limit: "100" })).data.filter(({ fallback_of: parent }) => parent === id);
    const [child] = await until("the fallback", async () => ((await children()).length > 0 ? children() : undefined));
    const record = await client.messages.reached(child?.["id"], "delivered");
    assert.deepEqual([record["channel"], record["body"], record["recipient"]], ["sms", "By sms then", recipient]);
    const call = await until("the webhook", () => endpoint.calls.find(({ event }) => event.type === "message.fallback_started"));
    assert.equal(call.event.data["fallback_message_id"], record["id"]);
    await until("the delivery to be notified", () => endpoint.calls.some(({ event }) => event.type === "message.delivered") || undefined);
    await endpoint.test();
    assert.equal(endpoint.calls.filter(({ event }) => event.type === "message.fallback_started").length, 1);
    assert.equal((await children()).length, 1);
  });

  test("gets messages by SMS", async () => {
    const { client } = await subscriber();
    await client.messages.reached((await client.messages.send({ recipient, channel: "sms" }))["id"], "delivered");
  });
});
