/** A code is only for the recipient: the carrier receives it on any channel, and it is readable nowhere else. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decodeId, newId, type IdPrefix } from "../../src/model/id.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import type { Message } from "../../src/messages/message.ts";
import { SIMULATOR_LINK } from "../../src/links/link.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import { seedTemplates } from "../../src/templates/seed.ts";
import type { NewVerification } from "../../src/verifications/new-verification.ts";
import { Verifier } from "../../src/verifications/verifier.ts";
import { clientOf, clientOfAccount, NO_LIMITS, RIGHT, WRONG } from "../support/client.ts";
import { linkTo, Rig } from "../support/delivery-rig.ts";
import { RECIPIENT, recipientNo } from "../support/recipient.ts";
import { composerOf, credentialOf, queueOnly, wakeNothing } from "../support/engine.ts";
import { until } from "../support/expect.ts";
import { ALLOW_LOOPBACK, Hook } from "../support/hook-server.ts";
import { SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";
import { accepted, receipt, refused, ScriptedCarrier } from "../support/scripted-carrier.ts";
import { Customer, WITH_WEBHOOKS } from "../support/webhook-customer.ts";

/** A code that is unique in all texts, also as bytes. */
const CODE = "1234567890";
const FORMS = [CODE, Buffer.from(CODE).toString("hex"), Buffer.from(CODE).toString("base64").slice(0, 12)];

/** Returns every row of every table as text. */
async function dump(node: Pick<Godwit, "rows">): Promise<{ table: string; text: string }[]> {
  const tables = await node.rows<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name
       from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  );
  const all = await Promise.all(
    tables.map(async ({ name }) =>
      (await node.rows<{ text: string }>(`select t::text as text from ${name} t`)).map(({ text }) => ({ table: name, text })),
    ),
  );
  return all.flat();
}

async function assertNowhere(node: Pick<Godwit, "rows">): Promise<void> {
  const rows = await dump(node);
  assert.ok(rows.some(({ table }) => table.endsWith("verifications")) && rows.some(({ table }) => table.includes("messages")));
  for (const { table, text } of rows) for (const form of FORMS) assert.ok(!text.includes(form), `${table} contains the code: ${text}`);
}

/** Returns the encrypted contents beside messages that wait, the only place of the code. */
const sealedOf = async (node: Pick<Godwit, "rows">): Promise<string[]> =>
  (await node.rows<{ sealed_content: string }>("select sealed_content from delivery_queue where sealed_content is not null")).map(
    ({ sealed_content: sealed }) => sealed,
  );

describe("the code is not readable", () => {
  test("in the database, responses, events, webhooks or logs, from the accept to the last channel", async () => {
    await using hook = await Hook.listen();
    await using api = await startGodwit({ env: { ...NO_LIMITS, ...ALLOW_LOOPBACK } });
    const customer = await Customer.of(api, { account: "default" });
    const endpoint = await customer.endpoint(hook);
    const client = clientOf(api, customer.key);
    // WhatsApp refuses the message, which is then sent by SMS.
    const verification = await client.verifications.started({ recipient: "+15005550015", channels: ["whatsapp", "sms"], code_length: 10 });
    const plain = await client.verifications.started({ recipient: "+15005550006", code_length: 10 });
    for (const sealed of await sealedOf(api)) assert.match(sealed, /^sealed:/);
    assert.equal((await sealedOf(api)).length, 2);
    const [fallback] = await api.rows<{ steps: string }>("select steps from fallbacks");
    assert.match(fallback?.steps ?? "", /^sealed:/);
    await assertNowhere(api);

    await using all = await startGodwit({ ...WITH_WEBHOOKS, databaseUrl: api.databaseUrl, env: { ...ALLOW_LOOPBACK, ...NO_LIMITS } });
    const delivered = await until("the code is delivered by SMS", async () =>
      (await client.messages.list({ recipient: "+15005550015", limit: "100" })).data.find(
        ({ channel, status }) => channel === "sms" && status === "delivered",
      ),
    );
    assert.equal(delivered["fallback_of"], verification["message_id"]);
    assert.equal(delivered["body"], `${"*".repeat(10)} is your verification code. Do not share it with anyone.`);
    assert.deepEqual(delivered["template_variables"], { code: "*".repeat(10) });
    await until("the other message is delivered", async () =>
      (await client.messages.read(plain["message_id"]))["status"] === "delivered" ? true : undefined,
    );
    assert.deepEqual(await sealedOf(api), []);
    assert.deepEqual(await api.rows("select from fallbacks"), []);
    await until("its events arrive", () => endpoint.calls.find(({ event }) => event.type === "message.fallback_started"));
    await endpoint.at(all).test();
    await assertNowhere(api);
    assert.equal((await client.verifications.checked(verification["id"], CODE))["valid"], true);
    assert.equal((await client.verifications.checked(plain["id"], CODE))["valid"], true);
    await assertNowhere(api);
    const events = (await api.request("GET", "/v1/events?limit=100", { key: customer.key })).text;
    const output = JSON.stringify([events, endpoint.calls, api.logs, api.output, all.logs, all.output]);
    assert.ok(output.includes("**********"), "the output contains the events");
    assert.ok(!output.includes(CODE));
  });
});

/** Creates delivery with a scripted carrier, and a client that sends codes. */
async function setUp(rig: Rig, box = new SecretBox(Buffer.alloc(32))) {
  const { db, clock, accountId } = rig;
  const environment = "test";
  await db.transaction((tx) => seedTemplates(tx, clock, { accountId, environment }));
  const composer = composerOf(rig, new LinkDirectory(linkTo(SIMULATOR_LINK)));
  const limits = { cooldownSeconds: 0, perRecipientHour: 1_000, perPrefixHour: 1_000 };
  const verifier = new Verifier({ db, clock, composer, box, limits, handover: queueOnly, wakeWebhooks: wakeNothing });
  const credential = { ...credentialOf(accountId, environment), keyId: newId("key", clock.now()) };
  const call = { credential, claim: undefined, writeProblem: (problem: object) => JSON.stringify(problem) };
  const carrier = new ScriptedCarrier();
  const idOf = <P extends IdPrefix>(prefix: P, id: unknown) => decodeId(prefix, String(id));
  return {
    carrier,
    deliver: () => rig.deliver({ [SIMULATOR_LINK]: carrier }),
    start: async (request: Partial<NewVerification> = {}): Promise<{ id: string; message: Message }> => {
      const { status, body } = await verifier.start(call, {
        recipient: RECIPIENT,
        channel: "channels" in request ? null : "sms",
        ...request,
      });
      assert.equal(status, 201, body);
      const { id, message_id: messageId } = JSON.parse(body) as { id: string; message_id: string };
      const messageUuid = idOf("msg", messageId);
      assert.ok(messageUuid !== undefined);
      return { id, message: await rig.message({ accountId, environment, id: messageUuid }) };
    },
    check: async (id: string, code: string): Promise<unknown> =>
      (JSON.parse((await verifier.check(call, idOf("ver", id), code)).body) as { valid: unknown }).valid,
    cancel: (id: string) => verifier.cancel(call, idOf("ver", id)),
    /** Makes the next channel due. */
    hurry: () => rig.rows("update fallbacks set due_at = now() - interval '1 second'"),
    childrenOf: ({ id }: Message) =>
      rig.rows<{ id: Buffer; channel: string; status: string; body: string; expires_at: Date }>(
        "select id, channel, status, body, expires_at from messages where fallback_of = $1",
        [id],
      ),
    fallbacks: async (): Promise<number> => (await rig.rows("select from fallbacks")).length,
  };
}

/** Waits until all due fallbacks are processed: a later one has started. */
async function untilFallbacksProcessed(rig: Rig, carrier: ScriptedCarrier): Promise<void> {
  const recipient = recipientNo(9_999);
  carrier.responds(recipient, refused(true));
  const marker = await rig.accept(
    { recipient, fallback: [{ channel: "sms", body: "Again", after_seconds: 3_600 }] },
    { link: SIMULATOR_LINK },
  );
  await until("a later fallback starts", async () => (await rig.rows("select from messages where fallback_of = $1", [marker.id]))[0]);
}

const TEXT = `${RIGHT} is your verification code. Do not share it with anyone.`;

describe("the carrier receives the code as clear text", () => {
  test("while the record shows asterisks, and the encrypted content is deleted", async () => {
    await using rig = await Rig.open();
    const { carrier, deliver, start } = await setUp(rig);
    const { message } = await start();
    assert.equal((await sealedOf(rig)).length, 1);
    await deliver();
    await rig.untilStatus(message, "sent");
    const [send, ...more] = carrier.sends;
    assert.equal(more.length, 0);
    assert.equal(send?.message.body, TEXT);
    assert.deepEqual(send?.message.template, {
      name: "verification_code",
      language: "en",
      category: "authentication",
      header: [],
      body: [{ name: "code", value: RIGHT }],
    });
    assert.equal((await rig.message(message)).body, TEXT.replace(RIGHT, "******"));
    assert.deepEqual(await rig.rows("select from delivery_queue"), []);
  });

  test("also in a retry", async () => {
    await using rig = await Rig.open();
    const { carrier, deliver, start } = await setUp(rig);
    carrier.responds(RECIPIENT, refused(false), accepted());
    const { message } = await start();
    await deliver();
    await until("the first attempt is made", () => carrier.sends[0]);
    await rig.untilStatus(message, "queued");
    await rig.makeDue(message);
    carrier.changed();
    await rig.untilStatus(message, "sent");
    assert.deepEqual(
      carrier.sends.map(({ message: { body } }) => body),
      [TEXT, TEXT],
    );
  });

  test("on the next channel with the same code, which expires at the same time", async () => {
    await using rig = await Rig.open();
    const { carrier, deliver, start, check, childrenOf } = await setUp(rig);
    carrier.otherwise = ({ message: { channel } }) => (channel === "whatsapp" ? refused(true) : accepted());
    const { id, message } = await start({ channels: ["whatsapp", "sms"], ttl: 120 });
    await deliver();
    const child = await until("the next channel is used", async () => (await childrenOf(message)).find(({ status }) => status === "sent"));
    assert.deepEqual(
      carrier.sends.map(({ message: { channel, body } }) => [channel, body]),
      [
        ["whatsapp", TEXT],
        ["sms", TEXT],
      ],
    );
    assert.equal(child.body, TEXT.replace(RIGHT, "******"));
    assert.equal(child.expires_at.getTime(), message.expiresAtMs);
    assert.equal(await check(id, RIGHT), true);
  });
});

describe("no other channel is used", () => {
  const ends = {
    "after the right code is checked": async ({ check }: Awaited<ReturnType<typeof setUp>>, id: string) => void (await check(id, RIGHT)),
    "after five wrong codes": async ({ check }: Awaited<ReturnType<typeof setUp>>, id: string) => {
      for (let attempts = 0; attempts < 5; attempts += 1) assert.equal(await check(id, WRONG), false);
    },
    "after it is canceled": async ({ cancel }: Awaited<ReturnType<typeof setUp>>, id: string) => void (await cancel(id)),
    "after another code is sent": async ({ start }: Awaited<ReturnType<typeof setUp>>) => void (await start()),
  };
  for (const [when, end] of Object.entries(ends)) {
    test(when, async () => {
      await using rig = await Rig.open();
      const setting = await setUp(rig);
      const { id, message } = await setting.start({ channels: ["whatsapp", "sms"] });
      await setting.deliver();
      await rig.untilStatus(message, "sent");
      assert.equal(await setting.fallbacks(), 1);
      await end(setting, id);
      assert.equal(await setting.fallbacks(), 0);
      // An undelivered message causes no fallback any more.
      const { provider } = await rig.message(message);
      await setting.carrier.receive([receipt(provider?.messageId ?? null, "undelivered")]);
      await rig.untilStatus(message, "undelivered");
      await untilFallbacksProcessed(rig, setting.carrier);
      assert.deepEqual(await setting.childrenOf(message), []);
    });
  }

  test("unless the verification is pending after one wrong code", async () => {
    await using rig = await Rig.open();
    const { start, deliver, check, hurry, childrenOf } = await setUp(rig);
    const { id, message } = await start({ channels: ["whatsapp", "sms"] });
    await deliver();
    await rig.untilStatus(message, "sent");
    assert.equal(await check(id, WRONG), false);
    await hurry();
    await until("the next channel is used", async () => (await childrenOf(message))[0]);
  });

  test("after the code expires, although its message expires then", async () => {
    await using rig = await Rig.open();
    const { carrier, start, deliver, childrenOf } = await setUp(rig);
    const { message } = await start({ channels: ["whatsapp", "sms"], ttl: 60 });
    await rig.rows("update messages set expires_at = now() - interval '1 second' where id = $1", [message.id]);
    await deliver();
    await rig.untilStatus(message, "expired");
    await untilFallbacksProcessed(rig, carrier);
    assert.deepEqual(await childrenOf(message), []);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 0);
    const last = (await rig.timeline(message)).at(-1);
    assert.deepEqual([last?.type, last?.isIgnored, last?.detail?.reason], ["fallback.refused", true, "ttl_expired"]);
  });
});

describe("a changed secret key", () => {
  test("still checks the codes and decrypts the texts of the previous key", async () => {
    const before = await startGodwit({ env: NO_LIMITS });
    const client = await clientOfAccount(before, "default");
    const [first, second] = [await client.verifications.started(), await client.verifications.started()];
    await before.stop();
    const env = { ...NO_LIMITS, GODWIT_SECRET_KEY: Buffer.alloc(32, 9).toString("base64"), GODWIT_PREVIOUS_SECRET_KEY: SECRET_KEY };
    await using now = await startGodwit({
      databaseUrl: before.databaseUrl,
      roles: "api,dispatch",
      env,
      simulatorSpeed: 50,
    });
    const again = clientOf(now, client.key);
    assert.equal((await again.verifications.checked(first["id"], WRONG))["valid"], false);
    assert.equal((await again.verifications.checked(first["id"]))["valid"], true);
    for (const { message_id: id } of [first, second])
      await until("the message is delivered", async () => ((await again.messages.read(id))["status"] === "delivered" ? true : undefined));
    const third = await again.verifications.started();
    assert.equal((await again.verifications.checked(third["id"]))["valid"], true);
  });

  test("without the previous one fails the encrypted messages once, and delays no other", async () => {
    await using rig = await Rig.open();
    const { carrier, start, deliver, childrenOf, fallbacks } = await setUp(rig, new SecretBox(Buffer.alloc(32, 5)));
    const { message } = await start({ channels: ["whatsapp", "sms"] });
    await deliver();
    const { error, attempts } = await rig.untilStatus(message, "failed");
    assert.deepEqual([error?.code, attempts], ["content_unreadable", 0]);
    await untilFallbacksProcessed(rig, carrier);
    await until("the fallback is removed", async () => ((await fallbacks()) === 0 ? true : undefined));
    assert.deepEqual(await childrenOf(message), []);
    assert.equal(carrier.sendsTo(RECIPIENT).length, 0);
    assert.deepEqual(
      (await rig.timeline(message)).map(({ type, detail }) => [type, detail?.reason]),
      [
        ["message.queued", undefined],
        ["message.failed", "the server's secret key was changed"],
        ["fallback.refused", "content_unreadable"],
      ],
    );
  });
});
