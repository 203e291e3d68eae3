/** GET /v1/messages/{id}/parts: the parts that were transmitted, as the carrier reports them. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AccountId } from "../../src/model/id.ts";
import type { Recipient } from "../../src/model/phone-number.ts";
import type { Message } from "../../src/messages/message.ts";
import type { NewMessage } from "../../src/messages/new-message.ts";
import { linkTo, LINK, publicId, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { assertProblem, until } from "../support/expect.ts";
import { Smsc, type Script, type Submit } from "../support/fakes/smsc.ts";
import { deliverSm, receiptSm } from "../support/fakes/smsc-scripts.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { acceptedParts, receipt, refused, ScriptedCarrier, unknown } from "../support/scripted-carrier.ts";
import { PASSWORDS, smppTable } from "../support/smpp-messages.ts";

type Part = {
  object: string;
  number: number;
  provider_message_id: string | null;
  status: string;
  error: { code: string } | null;
  updated_at: string;
};

const UNKNOWN = "msg_01k9zs3v8mf4tb2xg1qj6n0d5c";
const OUR_NUMBER = `[[sender]]\nnumber = "+14155550100"\nlink = "acme"\naccount = "default"\nenvironment = "live"\n`;
const THREE_PARTS = "a".repeat(153 * 2 + 1);

const ask = (node: Godwit, key: string, id: string): Promise<Reply> => node.request("GET", `/v1/messages/${id}/parts`, { key });

async function partsOf(node: Godwit, key: string, id: string): Promise<Part[]> {
  const { status, json, text } = await ask(node, key, id);
  assert.equal(status, 200, text);
  assert.deepEqual([json["has_more"], json["next_cursor"]], [false, null]);
  return json["data"] as Part[];
}

const read = async (node: Godwit, key: string, id: string): Promise<Reply["json"]> =>
  (await node.request("GET", `/v1/messages/${id}`, { key })).json;

const untilStatus = (node: Godwit, key: string, id: string, status: string): Promise<Reply["json"]> =>
  until(`${id} is ${status}`, async () => [await read(node, key, id)].find((record) => record["status"] === status));

/** Returns the single part of a message with one carrier id, which equals its record. */
const partOfRecord = ({ provider, status, error, updated_at }: Reply["json"]): unknown[] => [
  {
    object: "part",
    number: 1,
    provider_message_id: (provider as { message_id: string | null }).message_id,
    status,
    error,
    updated_at,
  },
];

describe("with an SMPP link and the simulator", () => {
  const [HALF_REFUSED, SILENT] = ["+14155550111", "+14155550112"];
  const submitted = new Map<string, Submit[]>();
  const script: Script = {
    submit(submit, session) {
      const recipient = `+${submit.short.destination.text}`;
      const all = [...(submitted.get(recipient) ?? []), submit];
      submitted.set(recipient, all);
      if (recipient === HALF_REFUSED && all.length === 2) session.refuse(submit, 0x0b);
      else if (recipient !== SILENT) session.accept(submit, `${submit.short.destination.text}-${all.length}`);
    },
  };
  let smsc: Smsc;
  let godwit: Godwit;
  let live: string;
  let simulated: string;
  before(async () => {
    smsc = await Smsc.start(script);
    godwit = await startGodwit({
      roles: "api,dispatch",
      config: smppTable("acme", smsc) + OUR_NUMBER,
      env: PASSWORDS,
      simulatorSpeed: 100,
    });
    await godwit.unlimited();
    await until("the link is bound", () => smsc.bound.length === 1 || undefined);
    [live, simulated] = [await godwit.key({ environment: "live" }), await godwit.key()];
  });
  after(async () => {
    await godwit.stop();
    await smsc.stop();
  });

  let people = 0;
  async function send(fields: object = {}, key = live): Promise<string> {
    const { status, json, text } = await godwit.send(key, { recipient: recipientNo((people += 1)), ...fields });
    assert.equal(status, 202, text);
    return String(json["id"]);
  }

  test("a long SMS has its parts in order, each with its carrier id and its own status", async () => {
    const id = await send({ recipient: "+14155550110", body: THREE_PARTS });
    const { sent_at: sentAt } = await untilStatus(godwit, live, id, "sent");
    const names = ["14155550110-1", "14155550110-2", "14155550110-3"];
    assert.deepEqual(
      await partsOf(godwit, live, id),
      names.map((name, index) => ({
        object: "part",
        number: index + 1,
        provider_message_id: name,
        status: "sent",
        error: null,
        updated_at: sentAt,
      })),
    );
    assert.equal(await smsc.session.deliver(receiptSm("14155550110-1")), 0);
    assert.equal(await smsc.session.deliver(receiptSm("14155550110-2", "UNDELIV", "005")), 0);
    const { error } = await untilStatus(godwit, live, id, "undelivered");
    const parts = await partsOf(godwit, live, id);
    assert.deepEqual(
      parts.map(({ number, provider_message_id: name, status }) => [number, name, status]),
      [
        [1, names[0], "delivered"],
        [2, names[1], "undelivered"],
        [3, names[2], "sent"],
      ],
    );
    assert.ok(typeof error === "object" && error !== null);
    assert.deepEqual(
      parts.map((part) => part.error),
      [null, error, null],
    );
    const times = parts.map(({ updated_at: at }) => at);
    assert.ok(String(sentAt) < (times[0] ?? "") && (times[0] ?? "") <= (times[1] ?? ""), times.join(" "));
    assert.equal(times[2], sentAt, "there is no receipt for the third part");

    const redacted = await godwit.request("POST", `/v1/messages/${id}/redact`, { key: live });
    assert.equal(redacted.status, 200, redacted.text);
    assert.deepEqual(await partsOf(godwit, live, id), parts, "parts contain no text");
  });

  test("a short SMS has one part that equals its record once the carrier accepts it", async () => {
    const id = await send({ recipient: "+14155550113" });
    const sent = await untilStatus(godwit, live, id, "sent");
    assert.deepEqual(await partsOf(godwit, live, id), partOfRecord(sent));
    assert.equal(await smsc.session.deliver(receiptSm("14155550113-1", "UNDELIV", "005")), 0);
    const [part] = await partsOf(godwit, live, id);
    assert.deepEqual([part?.provider_message_id, part?.status], ["14155550113-1", "undelivered"]);
    const ended = await read(godwit, live, id);
    assert.deepEqual([part], partOfRecord(ended));
    assert.ok(ended["error"] !== null);
  });

  test("an SMS whose second part is refused has the first part with its receipt, and the error names the refused part", async () => {
    const id = await send({ recipient: HALF_REFUSED, body: THREE_PARTS });
    const { error } = await untilStatus(godwit, live, id, "failed");
    assert.match((error as { message: string }).message, /part 2 of 3, after the previous parts were accepted/);
    const shown = async (): Promise<unknown[]> =>
      (await partsOf(godwit, live, id)).map(({ number, provider_message_id: name, status }) => [number, name, status]);
    assert.deepEqual(await shown(), [[1, "14155550111-1", "sent"]]);
    assert.equal(await smsc.session.deliver(receiptSm("14155550111-1")), 0);
    assert.deepEqual(await shown(), [[1, "14155550111-1", "delivered"]]);
    assert.equal((await read(godwit, live, id))["status"], "failed", "one of three parts is not the whole message");
  });

  test("a message has no parts while it is scheduled, before the carrier responds, and after it is canceled", async () => {
    const scheduled = await send({ body: THREE_PARTS, send_at: new Date(Date.now() + 3_600_000).toISOString() });
    assert.deepEqual(await partsOf(godwit, live, scheduled), []);
    await godwit.request("POST", `/v1/messages/${scheduled}/cancel`, { key: live });
    assert.deepEqual(await partsOf(godwit, live, scheduled), []);
    const silent = await send({ recipient: SILENT, body: THREE_PARTS });
    await until("the message is submitted", () => submitted.has(SILENT) || undefined);
    assert.equal((await read(godwit, live, silent))["status"], "sending");
    assert.deepEqual(await partsOf(godwit, live, silent), []);
  });

  test("an inbound message has no parts", async () => {
    assert.equal(await smsc.session.deliver(deliverSm({ text: Buffer.from("Hello") })), 0);
    const inbound = await until("the inbound message is stored", async () => {
      const { json } = await godwit.request("GET", "/v1/messages?direction=inbound", { key: live });
      return (json["data"] as { id: string }[])[0]?.id;
    });
    assert.deepEqual(await partsOf(godwit, live, inbound), []);
  });

  test("a long SMS that the carrier splits itself has one part", async () => {
    const id = await send({ body: THREE_PARTS }, simulated);
    const record = await untilStatus(godwit, simulated, id, "delivered");
    assert.equal((record["segments"] as { count: number }).count, 3);
    assert.deepEqual(await partsOf(godwit, simulated, id), partOfRecord(record));
  });

  test("a refused message has no parts, and one without a response has one part after its receipt", async () => {
    const wrong = await send({ recipient: "+15005550002" }, simulated);
    await untilStatus(godwit, simulated, wrong, "failed");
    assert.deepEqual(await partsOf(godwit, simulated, wrong), []);
    const lost = await send({ recipient: "+15005550013" }, simulated);
    const found = await untilStatus(godwit, simulated, lost, "delivered");
    assert.deepEqual(await partsOf(godwit, simulated, lost), partOfRecord(found));
  });

  test("a message of a channel without parts has none, in any status", async () => {
    const id = await send({ channel: "whatsapp" }, simulated);
    await untilStatus(godwit, simulated, id, "read");
    assert.deepEqual(await partsOf(godwit, simulated, id), []);
  });

  test("a message of another environment or account, or with an invalid id, is a 404", async () => {
    const id = await send();
    const stranger = await godwit.key({ account: "stranger", environment: "live" });
    for (const key of [simulated, stranger]) assertProblem(await ask(godwit, key, id), "not_found");
    for (const none of [UNKNOWN, "msg_x", "whe_01k9zs3v8mf4tb2xg1qj6n0d5c"]) assertProblem(await ask(godwit, live, none), "not_found");
    assert.equal((await ask(godwit, live, id)).status, 200);
  });

  test("the request requires messages:read, and accepts no parameter", async () => {
    const id = await send();
    const reply = await ask(godwit, await godwit.key({ environment: "live", scopes: ["messages:send", "events:read"] }), id);
    assertProblem(reply, "forbidden_insufficient_scope");
    assert.deepEqual(reply.json["required_scopes"], ["messages:read"]);
    assertProblem(await godwit.request("GET", `/v1/messages/${id}/parts?limit=1`, { key: live }), "invalid_request_payload");
  });
});

describe("after an unknown outcome", () => {
  let rig: Rig;
  let node: Godwit;
  let key: string;
  let accountId: AccountId;
  const carrier = new ScriptedCarrier();
  const late = Promise.withResolvers<ReturnType<typeof acceptedParts>>();
  const [AGAIN, REFUSED_AGAIN, WITHOUT_ID, TOO_LATE] = [recipientNo(1), recipientNo(2), recipientNo(3), recipientNo(4)];
  const links = [linkTo(LINK, { holdMs: 50, policy: "resend" }), linkTo("strict", { holdMs: 50, policy: "fail" })];
  before(async () => {
    rig = await Rig.open();
    node = await startGodwit({ databaseUrl: rig.url });
    await node.unlimited();
    key = await node.key();
    accountId = (await rig.rows<{ id: AccountId }>("select id from accounts"))[0]?.id ?? assert.fail();
    carrier.responds(AGAIN, unknown, acceptedParts("b-1", "b-2"));
    carrier.responds(REFUSED_AGAIN, unknown, refused(true));
    carrier.responds(WITHOUT_ID, unknown);
    carrier.responds(TOO_LATE, () => late.promise);
    await rig.deliver({ [LINK]: carrier, strict: carrier }, { links, responseTimeoutMs: 200 });
  });
  after(async () => {
    late.resolve(acceptedParts("never"));
    await node.stop();
    await rig[Symbol.asyncDispose]();
  });

  async function accept(recipient: Recipient, link = LINK): Promise<{ message: Message; id: string }> {
    const fields: Partial<NewMessage> = { recipient, body: THREE_PARTS };
    const message = await rig.accept(fields, { accountId, link });
    carrier.changed();
    return { message, id: publicId(message) };
  }

  test("a message that is sent again has the parts of the accepted attempt", async () => {
    const { message, id } = await accept(AGAIN);
    await rig.untilStatus(message, "sent");
    const shown = async (): Promise<unknown[]> =>
      (await partsOf(node, key, id)).map(({ number, provider_message_id: name, status }) => [number, name, status]);
    assert.deepEqual(await shown(), [
      [1, "b-1", "sent"],
      [2, "b-2", "sent"],
    ]);
    await carrier.receive([receipt("b-2", "delivered")]);
    assert.deepEqual(await shown(), [
      [1, "b-1", "sent"],
      [2, "b-2", "delivered"],
    ]);
  });

  test("a message that is refused when it is sent again has no parts, as the first attempt is unknown", async () => {
    const { message, id } = await accept(REFUSED_AGAIN);
    await rig.untilStatus(message, "failed");
    assert.deepEqual(await partsOf(node, key, id), []);
  });

  test("a message with only a receipt without a carrier id has one part without a carrier id", async () => {
    const { message, id } = await accept(WITHOUT_ID, "strict");
    await rig.untilStatus(message, "failed");
    assert.deepEqual(await partsOf(node, key, id), [], "the outcome is unknown");
    await carrier.receive([receipt(null, "delivered", { reference: id })], 1);
    const { status, error } = await rig.message(message);
    assert.deepEqual([status, error?.code], ["delivered", "outcome_unknown"]);
    assert.deepEqual(
      (await partsOf(node, key, id)).map(({ provider_message_id: name, status: is }) => [name, is]),
      [[null, "delivered"]],
    );
  });

  test("a failed message has the parts of a late response, and their receipts still deliver it", async () => {
    const { message, id } = await accept(TOO_LATE, "strict");
    await rig.untilStatus(message, "failed");
    assert.deepEqual(await partsOf(node, key, id), []);
    late.resolve(acceptedParts("a-1", "a-2"));
    await until("the late response is stored", async () => (await rig.message(message)).provider?.messageId ?? undefined);
    const shown = (await partsOf(node, key, id)).map(({ number, provider_message_id: name, status }) => [number, name, status]);
    assert.deepEqual(shown, [
      [1, "a-1", "sent"],
      [2, "a-2", "sent"],
    ]);
    await carrier.receive([receipt("a-1", "delivered")], 1);
    assert.equal((await rig.message(message)).status, "failed", "one of two parts is not the whole message");
    await carrier.receive([receipt("a-2", "delivered")], 1);
    assert.equal((await rig.message(message)).status, "delivered");
  });
});
