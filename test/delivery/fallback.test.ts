/** Fallbacks of messages that are not delivered: when the next step starts, its content, and when no step starts. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Message } from "../../src/messages/message.ts";
import type { NewMessage } from "../../src/messages/new-message.ts";
import type { MessageId } from "../../src/model/id.ts";
import { uuidTimeMs } from "../../src/lib/uuid.ts";
import { recordOf, type Json } from "../support/client.ts";
import { linkTo, LINK, publicId, Rig } from "../support/delivery-rig.ts";
import { RECIPIENT, recipientNo } from "../support/recipient.ts";
import { assertProblem, faultsOf, until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { accepted, receipt, refused, ScriptedCarrier, unknown } from "../support/scripted-carrier.ts";
import { rowId } from "../support/tables.ts";
import { Customer, WITH_WEBHOOKS } from "../support/webhook-customer.ts";
import { Hook, messageOf } from "../support/hook-server.ts";

type Steps = NonNullable<NewMessage["fallback"]>;

// Long enough that only a failure, or the test, starts the step.
const LATER = 3_600;
const BY_SMS: Steps = [{ channel: "sms", body: "By sms", after_seconds: LATER }];

/** The fallback messages of a message, oldest first. */
const childrenOf = async (rig: Rig, { id }: Message): Promise<Message[]> => {
  const rows = await rig.rows<{ id: MessageId }>("select id from messages where fallback_of = $1 order by id", [id]);
  return Promise.all(rows.map((row) => rig.message({ accountId: rig.accountId, environment: "test", id: row.id })));
};
const childOf = (rig: Rig, message: Message): Promise<Message> => until("the next step", async () => (await childrenOf(rig, message))[0]);

/** Makes all steps due. */
const hurry = (rig: Rig): Promise<unknown> => rig.rows("update fallbacks set due_at = now() - interval '1 second'");

/** Starts the fallback of a later message. Every step that was due before it has been processed by then. */
async function anotherFallsBack(rig: Rig, carrier: ScriptedCarrier): Promise<void> {
  carrier.responds(recipientNo(9_999), refused(true));
  const marker = await rig.accept({ recipient: recipientNo(9_999), fallback: BY_SMS });
  await childOf(rig, marker);
}

const startedIn = async (rig: Rig, message: Message) =>
  (await rig.timeline(message)).filter(({ type }) => type === "message.fallback_started");

/** A WhatsApp message that the carrier has accepted, with its carrier id. */
async function sentMessage(rig: Rig, fields: Partial<NewMessage> = {}): Promise<Message> {
  const message = await rig.accept({ channel: "whatsapp", body: "By whatsapp", fallback: BY_SMS, ...fields });
  return rig.untilStatus(message, "sent");
}
const carrierIdOf = ({ provider }: Message): string => provider?.messageId ?? "";

describe("the next step starts", () => {
  test("when the carrier refuses the message permanently", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, ({ message: { channel } }) => (channel === "whatsapp" ? refused(true) : accepted()));
    await rig.deliver({ [LINK]: carrier });
    const message = await rig.accept({ channel: "whatsapp", body: "By whatsapp", fallback: BY_SMS });
    const child = await childOf(rig, message);
    assert.deepEqual([child.channel, child.body], ["sms", "By sms"]);
    await rig.untilStatus(child, "sent");
    assert.deepEqual(
      carrier.sends.map(({ message: { channel, body } }) => [channel, body]),
      [
        ["whatsapp", "By whatsapp"],
        ["sms", "By sms"],
      ],
    );
    assert.equal((await rig.message(message)).status, "failed");
  });

  test("when a receipt reports the message as undelivered", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    const message = await sentMessage(rig);
    assert.deepEqual(await childrenOf(rig, message), []);
    await carrier.receive([receipt(carrierIdOf(message), "undelivered")]);
    await childOf(rig, message);
    assert.equal((await rig.message(message)).status, "undelivered");
  });

  test("when no receipt arrives in time", async () => {
    await using rig = await Rig.open();
    await rig.deliver({ [LINK]: new ScriptedCarrier() }, { receiptWaitMs: 100 });
    const message = await rig.accept({ fallback: BY_SMS, channel: "whatsapp" });
    await childOf(rig, message);
    assert.equal((await rig.message(message)).error?.code, "no_receipt");
  });

  test("when the time to live passes in the queue, and gets a time to live of the same length", async () => {
    await using rig = await Rig.open();
    const message = await rig.accept({ fallback: BY_SMS, ttl_seconds: 60 });
    await rig.rows("update messages set expires_at = expires_at - interval '30 seconds' where id = $1", [message.id]);
    await rig.rows("update delivery_queue set expires_at = now() - interval '1 second', link = 'nowhere' where message_id = $1", [
      message.id,
    ]);
    await rig.deliver({ [LINK]: new ScriptedCarrier() });
    const child = await childOf(rig, message);
    assert.equal((await rig.message(message)).error?.code, "ttl_expired");
    assert.equal((child.expiresAtMs ?? 0) - uuidTimeMs(child.id), 30_000);
  });

  test("when the outcome is unknown and no receipt arrives during the hold", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, ({ message: { channel } }) => (channel === "whatsapp" ? unknown : accepted()));
    await rig.deliver({ [LINK]: carrier }, { links: [linkTo(LINK, { holdMs: 200, policy: "fail" })] });
    const message = await rig.accept({ fallback: BY_SMS, channel: "whatsapp" });
    await childOf(rig, message);
    assert.equal((await rig.message(message)).error?.code, "outcome_unknown");
  });

  test("when the message is not delivered within after_seconds, and the message itself continues", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    const message = await rig.accept({ channel: "whatsapp", fallback: [{ channel: "sms", body: "By sms", after_seconds: 1 }] });
    const { id } = await childOf(rig, message);
    assert.ok(uuidTimeMs(id) - uuidTimeMs(message.id) >= 1_000, "not before");
    // On a slow machine the response is stored after the step has started.
    const sent = await rig.untilStatus(message, "sent");
    // A late receipt sets the status and starts no step.
    await carrier.receive([receipt(carrierIdOf(sent), "delivered")]);
    assert.equal((await rig.message(message)).status, "delivered");
    await anotherFallsBack(rig, carrier);
    assert.equal((await childrenOf(rig, message)).length, 1);
  });

  test("once: a failure of the message after that starts nothing more", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    const message = await sentMessage(rig);
    await hurry(rig);
    await childOf(rig, message);
    await carrier.receive([receipt(carrierIdOf(message), "undelivered")]);
    assert.equal((await rig.message(message)).status, "undelivered");
    await anotherFallsBack(rig, carrier);
    assert.equal((await childrenOf(rig, message)).length, 1);
    assert.equal((await startedIn(rig, message)).length, 1);
  });
});

describe("no step starts", () => {
  for (const status of ["delivered", "read"] as const) {
    test(`when the message is ${status} in time`, async () => {
      await using rig = await Rig.open();
      const carrier = new ScriptedCarrier();
      await rig.deliver({ [LINK]: carrier });
      const message = await sentMessage(rig);
      await carrier.receive([receipt(carrierIdOf(message), status)]);
      await hurry(rig);
      await until("the step to be processed", async () => ((await rig.rows("select from fallbacks")).length === 0 ? true : undefined));
      assert.deepEqual(await childrenOf(rig, message), []);
      assert.deepEqual(await startedIn(rig, message), []);
    });
  }

  test("when the message is canceled", async () => {
    await using node = await startGodwit({ roles: "api,dispatch" });
    const key = await node.key();
    const { json } = await node.send(key, { send_at: new Date(Date.now() + 3_600_000).toISOString(), fallback: BY_SMS });
    const canceled = await node.request("POST", `/v1/messages/${String(json["id"])}/cancel`, { key });
    assert.equal(canceled.json["status"], "canceled", canceled.text);
    await node.rows("update fallbacks set due_at = now()");
    await until("the step to be processed", async () => ((await node.rows("select from fallbacks")).length === 0 ? true : undefined));
    assert.deepEqual(await node.rows("select from messages where fallback_of is not null"), []);
  });

  test("while the message waits for its send_at", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    const message = await rig.accept({ send_at: new Date(rig.clock.now() + 3_600_000).toISOString(), fallback: BY_SMS });
    await hurry(rig);
    await anotherFallsBack(rig, carrier);
    assert.deepEqual(await childrenOf(rig, message), []);
    const rows = await rig.rows("select from fallbacks where message_id = $1 and due_at > now()", [message.id]);
    assert.equal(rows.length, 1, "the step is kept for later");
  });
});

describe("a fallback message", () => {
  test("inherits the fields of the message and refers to it", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, refused(true), refused(true));
    await rig.deliver({ [LINK]: carrier });
    const message = await rig.accept({
      channel: "whatsapp",
      body: "By whatsapp",
      sender: "SHOP",
      priority: "bulk",
      metadata: { order: "7" },
      client_reference: "order 7",
      ttl_seconds: 300,
      max_segments: 2,
      fallback: BY_SMS,
    });
    const child = await childOf(rig, message);
    const { sender, priority, metadata, clientReference, maxSegments, recipient, fallbackOf, segments, sendAtMs, batchId } = child;
    assert.deepEqual(
      { sender, priority, metadata, clientReference, maxSegments, recipient, sendAtMs, batchId, segments },
      {
        sender: "SHOP",
        priority: "bulk",
        metadata: { order: "7" },
        clientReference: "order 7",
        maxSegments: 2,
        recipient: RECIPIENT,
        sendAtMs: null,
        batchId: null,
        segments: { count: 1, encoding: "gsm7", characters: 6 },
      },
    );
    assert.deepEqual(fallbackOf, message.id);
    assert.equal((child.expiresAtMs ?? 0) - uuidTimeMs(child.id), 300_000);
    const [entry, ...more] = await startedIn(rig, message);
    assert.ok(entry !== undefined && more.length === 0);
    const failed = await rig.message(message);
    assert.deepEqual([entry.sequence, entry.status, entry.isIgnored], [failed.sequence, "failed", false]);
    assert.equal((entry.detail as Json | null)?.["fallback_message_id"], publicId(child));
  });

  test("is followed by the next step when it fails, up to the last", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.otherwise = refused(true);
    await rig.deliver({ [LINK]: carrier });
    const steps = ["One", "Two", "Three"].map((body): Steps[number] => ({ channel: "sms", body, after_seconds: LATER }));
    const message = await rig.accept({ body: "Zero", fallback: steps });
    const chain = [message];
    for (let step = 0; step < 3; step += 1) chain.push(await childOf(rig, chain.at(-1) as Message));
    const last = await rig.untilStatus(chain.at(-1) as Message, "failed");
    await anotherFallsBack(rig, carrier);
    assert.deepEqual(
      chain.map(({ body }) => body),
      ["Zero", "One", "Two", "Three"],
    );
    assert.deepEqual(
      carrier.sendsTo(RECIPIENT).map(({ message: { body } }) => body),
      ["Zero", "One", "Two", "Three"],
    );
    assert.deepEqual(await childrenOf(rig, last), []);
    for (const each of chain.slice(0, -1)) assert.equal((await childrenOf(rig, each)).length, 1);
  });

  test("counts after_seconds of the next step from its own creation", async () => {
    await using rig = await Rig.open();
    await rig.deliver({ [LINK]: new ScriptedCarrier() });
    const message = await rig.accept({ fallback: [...BY_SMS, { channel: "whatsapp", body: "Last", after_seconds: 100 }] });
    await rig.untilStatus(message, "sent");
    await hurry(rig);
    const child = await childOf(rig, message);
    const [row] = await rig.rows<{ due_at: Date }>("select due_at from fallbacks where message_id = $1", [child.id]);
    assert.equal((row?.due_at.getTime() ?? 0) - uuidTimeMs(child.id), 100_000);
  });

  test("skips the steps that cannot be sent, with a timeline entry for each", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, refused(true));
    const message = await rig.accept({
      fallback: [
        { channel: "whatsapp", body: "Free text", after_seconds: LATER },
        { channel: "whatsapp", body: "More of it", after_seconds: LATER },
        ...BY_SMS,
      ],
    });
    await rig.rows(
      `insert into service_windows (account_id, environment, recipient, sender, opened_at)
       values ($1, 'test', $2, $3, now() - interval '25 hours')`,
      [rig.accountId, RECIPIENT, message.sender],
    );
    await rig.deliver({ [LINK]: carrier });
    const child = await childOf(rig, message);
    assert.deepEqual([child.channel, child.body], ["sms", "By sms"]);
    const entries = (await rig.timeline(message)).slice(-3);
    assert.deepEqual(
      entries.map(({ type, isIgnored, detail }) => [type, isIgnored, detail?.reason]),
      [
        ["fallback.refused", true, "service_window_closed"],
        ["fallback.refused", true, "service_window_closed"],
        ["message.fallback_started", false, "not delivered in time, or failed"],
      ],
    );
    assert.equal((await childrenOf(rig, message)).length, 1);
  });

  test("is not sent to a recipient who has opted out meanwhile", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    const message = await sentMessage(rig, { fallback: [...BY_SMS, ...BY_SMS] });
    await rig.rows(
      `insert into suppressions (account_id, environment, recipient, sender, id, is_active, source, updated_at)
       values ($1, 'test', $2, '', gen_random_uuid(), true, 'api', now())`,
      [rig.accountId, RECIPIENT],
    );
    await carrier.receive([receipt(carrierIdOf(message), "undelivered")]);
    await until("the step to be processed", async () => ((await rig.rows("select from fallbacks")).length === 0 ? true : undefined));
    assert.deepEqual(await childrenOf(rig, message), []);
    assert.equal(carrier.sends.length, 1);
    assert.deepEqual(
      (await rig.timeline(message)).slice(-2).map(({ type, detail }) => [type, detail?.reason]),
      [
        ["fallback.refused", "recipient_opted_out"],
        ["fallback.refused", "recipient_opted_out"],
      ],
    );
  });

  test("is skipped where an edit has made it too large, and the next step is sent", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.responds(RECIPIENT, refused(true));
    const message = await rig.accept({
      fallback: [{ channel: "whatsapp", body: "€".repeat(4_096), after_seconds: LATER }, ...BY_SMS],
    });
    const metadata = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`k${index}`, "x".repeat(500)]));
    await rig.rows("update messages set metadata = $2::json where id = $1", [message.id, JSON.stringify(metadata)]);
    await rig.deliver({ [LINK]: carrier });
    assert.equal((await childOf(rig, message)).body, "By sms");
    const refusal = (await rig.timeline(message)).find(({ type }) => type === "fallback.refused");
    assert.equal(refusal?.detail?.reason, "too_large");
  });

  test("that cannot be created does not delay others", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    const [bad, good] = [await sentMessage(rig), await sentMessage(rig)];
    await rig.rows("update fallbacks set steps = '[null]' where message_id = $1", [bad.id]);
    await rig.rows(
      "update fallbacks set due_at = case message_id when $1 then now() - interval '2 seconds' else now() - interval '1 second' end",
      [bad.id],
    );
    await childOf(rig, good);
    assert.deepEqual(await childrenOf(rig, bad), []);
  });
});

describe("through the API", () => {
  let godwit: Godwit;
  let customer: Customer;
  before(async () => {
    godwit = await startGodwit(WITH_WEBHOOKS);
    customer = await Customer.of(godwit);
  });
  after(() => godwit.stop());

  const post = (body: object): Promise<Reply> => godwit.send(customer.key, body);
  const dueOf = async (id: unknown): Promise<number | undefined> => {
    const [row] = await godwit.rows<{ due_at: Date }>("select due_at from fallbacks where message_id = $1", [rowId(id)]);
    return row?.due_at.getTime();
  };

  test("a number without WhatsApp gets an SMS, and the customer is notified once", async () => {
    await using hook = await Hook.listen();
    const endpoint = await customer.endpoint(hook, ["message.*"]);
    const sent = await customer.send({ recipient: "+15005550015", channel: "whatsapp", body: "Hello", fallback: BY_SMS });
    const child = await until("the sms to be delivered", () =>
      endpoint.calls.map(messageOf).find((message) => message["fallback_of"] === sent.id && message["status"] === "delivered"),
    );
    await endpoint.idle();
    const started = endpoint.calls.filter(({ event }) => event.type === "message.fallback_started");
    assert.equal(new Set(started.map(({ event }) => event.id)).size, 1);
    const event = started[0]?.event;
    assert.ok(event !== undefined);
    const first = await customer.client.messages.read(sent.id);
    assert.equal(event.data["fallback_message_id"], child["id"]);
    assert.deepEqual(event.data["message"], { ...first, updated_at: (event.data["message"] as Json)["updated_at"] });
    assert.deepEqual([first["status"], event.data["sequence"]], ["failed", first["sequence"]]);
    const stored = await customer.client.events.list({ type: "message.fallback_started", message_id: sent.id });
    assert.deepEqual(stored["data"], [JSON.parse(started[0]?.text ?? "")]);
    const timeline = (await customer.client.get(`/v1/messages/${sent.id}/events`))["data"] as Json[];
    const entries = timeline.filter(({ type }) => type === "message.fallback_started");
    assert.deepEqual(
      entries.map((entry) => entry["fallback_message_id"]),
      [child["id"]],
    );
  });

  test("after_seconds of a scheduled message counts from send_at and moves with it", async () => {
    const at = (ms: number): string => new Date(ms).toISOString();
    const sendAt = Math.floor(Date.now() / 1_000) * 1_000 + 600_000;
    const { id } = await customer.send({ send_at: at(sendAt), fallback: [{ channel: "sms", body: "Later", after_seconds: 90 }] });
    assert.equal(await dueOf(id), sendAt + 90_000);
    recordOf(await customer.client.messages.edit(id, { send_at: at(sendAt + 120_000) }));
    assert.equal(await dueOf(id), sendAt + 210_000);
    recordOf(await customer.client.messages.edit(id, { send_at: at(sendAt - 60_000), body: "Other" }));
    assert.equal(await dueOf(id), sendAt + 30_000);
    recordOf(await customer.client.messages.edit(id, { body: "Another", priority: "high", ttl_seconds: 60 }));
    assert.equal(await dueOf(id), sendAt + 30_000);
    const [row] = await godwit.rows<{ steps: string }>("select steps from fallbacks where message_id = $1", [rowId(id)]);
    assert.match(row?.steps ?? "", /"body":"Later"/);
  });

  test("the next step of an edited message inherits the edited fields", async () => {
    const { id } = await customer.send({
      recipient: "+15005550002",
      send_at: new Date(Date.now() + 600_000).toISOString(),
      fallback: BY_SMS,
    });
    recordOf(await customer.client.messages.edit(id, { metadata: { a: "1" }, priority: "high", ttl_seconds: 77 }));
    recordOf(await customer.client.messages.edit(id, { send_at: new Date().toISOString() }));
    const page = await until("the next step", async () => {
      const { data } = await customer.client.messages.list({ recipient: "+15005550002" });
      return data.find((message) => message["fallback_of"] === id);
    });
    assert.deepEqual([page["metadata"], page["priority"], page["send_at"]], [{ a: "1" }, "high", null]);
    assert.equal(Date.parse(String(page["expires_at"])) - Date.parse(String(page["created_at"])), 77_000);
  });

  const STEP = { channel: "sms", body: "x", after_seconds: 1 };
  const BAD: readonly (readonly [what: string, fallback: unknown, faults: readonly string[]])[] = [
    ["that is not a list", STEP, ["/fallback invalid_type"]],
    ["without steps", [], ["/fallback too_few"]],
    ["with six steps", Array.from({ length: 6 }, () => STEP), ["/fallback too_many"]],
    ["with a step that is not an object", [STEP, "x"], ["/fallback/1 invalid_type"]],
    ["with a step without a channel", [{ body: "x", after_seconds: 1 }], ["/fallback/0/channel required"]],
    ["with a step without after_seconds", [{ channel: "sms", body: "x" }], ["/fallback/0/after_seconds required"]],
    ["with after_seconds of zero", [{ ...STEP, after_seconds: 0 }], ["/fallback/0/after_seconds out_of_range"]],
    ["with after_seconds above two days", [{ ...STEP, after_seconds: 172_801 }], ["/fallback/0/after_seconds out_of_range"]],
    ["with a step without content", [STEP, { channel: "sms", after_seconds: 1 }], ["/fallback/1/body required"]],
    ["with an empty body", [{ ...STEP, body: "" }], ["/fallback/0/body too_short"]],
    ["with a step with body and template", [STEP, { ...STEP, template_id: "x" }], ["/fallback/1/template_id conflict"]],
    ["with variables but no template", [{ ...STEP, template_variables: { a: "b" } }], ["/fallback/0/template_variables conflict"]],
    ["with a step too long for sms", [STEP, { ...STEP, body: "x".repeat(1_601) }], ["/fallback/1/body too_long"]],
    ["with a step too long for whatsapp", [{ ...STEP, channel: "whatsapp", body: "x".repeat(4_097) }], ["/fallback/0/body too_long"]],
    ["with a recipient in a step", [{ ...STEP, recipient: "+14155550123" }], ["/fallback/0/recipient unknown_field"]],
  ];
  for (const [what, fallback, faults] of BAD) {
    test(`a fallback ${what} is refused`, async () => {
      const reply = await post({ client_reference: "refused", fallback });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        faultsOf(reply).map(({ pointer, code }) => `${pointer} ${code}`),
        faults,
        reply.text,
      );
      assert.deepEqual(await godwit.rows("select from messages where client_reference = 'refused'"), []);
    });
  }

  test("a fallback with a step that is too large is refused, and one that just fits is accepted", async () => {
    const metadata = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`k${index}`, "x".repeat(500)]));
    const whatsapp = (characters: number) => ({ channel: "whatsapp", body: "€".repeat(characters), after_seconds: 1 });
    const reply = await post({ metadata, fallback: [STEP, whatsapp(4_096), STEP, whatsapp(4_095)], client_reference: "refused" });
    assert.equal(reply.status, 400, reply.text);
    assert.deepEqual(
      faultsOf(reply).map(({ pointer, code }) => `${pointer} ${code}`),
      ["/fallback/1 too_large", "/fallback/3 too_large"],
    );
    assert.deepEqual(await godwit.rows("select from messages where client_reference = 'refused'"), []);
    assert.equal((await post({ metadata, fallback: [whatsapp(3_000)] })).status, 202);
  });

  test("a fallback with an SMS of too many segments is refused, and the limit does not apply to WhatsApp", async () => {
    const long = { ...STEP, body: "x".repeat(161) };
    const reply = await post({ max_segments: 1, fallback: [STEP, long] });
    assertProblem(reply, "max_segments_exceeded");
    assert.deepEqual(
      faultsOf(reply).map(({ pointer, code }) => `${pointer} ${code}`),
      ["/fallback/1 max_segments_exceeded"],
    );
    assert.equal((await post({ max_segments: 1, fallback: [{ ...long, channel: "whatsapp" }] })).status, 202);
    assert.equal((await post({ max_segments: 2, fallback: [long] })).status, 202);
  });

  describe("a step with a template", () => {
    test("keeps the text from when the message was accepted, whatever happens to the template", async () => {
      const templates = customer.client.templates;
      const { id } = await templates.create({ body: "Hello {{name}}" });
      const step = { channel: "sms", template_id: id, template_variables: { name: "Ada" }, after_seconds: LATER };
      const sent = await customer.send({
        recipient: "+15005550003",
        send_at: new Date(Date.now() + 600_000).toISOString(),
        fallback: [step],
      });
      await templates.edit(id, { body: "Goodbye {{name}}" });
      await templates.archive(id);
      recordOf(await customer.client.messages.edit(sent.id, { send_at: new Date().toISOString() }));
      const child = await until("the next step", async () => {
        const { data } = await customer.client.messages.list({ recipient: "+15005550003" });
        return data.find((message) => message["fallback_of"] === sent.id);
      });
      assert.deepEqual(
        [child["body"], child["template_id"], child["template_version"], child["template_variables"]],
        ["Hello Ada", id, 1, { name: "Ada" }],
      );
    });

    const refusals = {
      "that is unknown": [{ template_id: "nothing" }, "template_not_found", "/fallback/1/template_id"],
      "that lacks a variable": [{ template_variables: {} }, "template_variables_mismatch", "/fallback/1/template_variables/name"],
      "that has an unknown variable": [
        { template_variables: { name: "a", more: "b" } },
        "template_variables_mismatch",
        "/fallback/1/template_variables/more",
      ],
      "for another channel": [{ channel: "whatsapp" }, "template_channel_mismatch", "/fallback/1/template_id"],
    } as const;
    for (const [what, [fields, code, pointer]] of Object.entries(refusals)) {
      test(`${what} is refused`, async () => {
        const { id } = await customer.client.templates.create({ body: "Hello {{name}}" });
        const step = { channel: "sms", template_id: id, template_variables: { name: "Ada" }, after_seconds: 1, ...fields };
        const reply = await post({ fallback: [STEP, step], client_reference: "refused" });
        assertProblem(reply, code);
        assert.deepEqual(
          faultsOf(reply).map((fault) => fault.pointer),
          [pointer],
        );
        assert.deepEqual(await godwit.rows("select from messages where client_reference = 'refused'"), []);
      });
    }
  });
});
