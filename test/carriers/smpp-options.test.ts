/** The `carrier_options` of messages, and the parameters that an SMPP link adds to them. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { assertProblem, until } from "../support/expect.ts";
import { Smsc, type Submit } from "../support/fakes/smsc.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { PASSWORDS, smppTable, textOf } from "../support/smpp-messages.ts";

const TLVS = `dlt_entity_id = "1101000000000000001"
dlt_template_id = "1107000000000000001"
message_tlvs = [0x1500, 0x1501]
tlvs = [{ tag = 0x1600, type = "int16", value = 513 }, { tag = 0x1500, type = "string", value = "link" }]
`;

describe("a link in India", () => {
  let smsc: Smsc;
  let godwit: Godwit;
  let key: string;
  before(async () => {
    smsc = await Smsc.start();
    godwit = await startGodwit({ roles: "api,dispatch", config: smppTable("acme", smsc) + TLVS, env: PASSWORDS });
    await godwit.unlimited();
    await until("the link is bound", () => smsc.bound.length === 1 || undefined);
    key = await godwit.key({ environment: "live" });
  });
  after(async () => {
    await godwit.stop();
    await smsc.stop();
  });

  let count = 0;
  const send = (fields: object, ofKey = key): Promise<Reply> =>
    godwit.send(ofKey, { recipient: "+14155550123", body: `text ${(count += 1)}`, ...fields });
  const submitOf = (text: string): Promise<Submit> =>
    until(`${text} is at the carrier`, () => smsc.submits.find((each) => textOf(each) === text));
  const tlvsOf = ({ short }: Submit) =>
    Object.fromEntries(Array.from(short.tlvs, ([tag, value]) => [tag.toString(16), value.toString("latin1")]));

  test("adds its own parameters to a message without options", async () => {
    const { status, json, text } = await send({});
    assert.equal(status, 202, text);
    assert.deepEqual(tlvsOf(await submitOf(String(json["body"]))), {
      "1400": "1101000000000000001",
      "1401": "1107000000000000001",
      "1500": "link",
      "1600": "\x02\x01",
    });
  });

  test("adds the template and the parameters of a message in place of its own", async () => {
    const tlvs = [
      { tag: 0x1500, type: "string", value: "message" },
      { tag: 0x1501, type: "hex", value: "00ff" },
    ];
    const { status, json, text } = await send({ carrier_options: { dlt_template_id: "1107000000000000009", tlvs } });
    assert.equal(status, 202, text);
    assert.deepEqual(tlvsOf(await submitOf(String(json["body"]))), {
      "1400": "1101000000000000001",
      "1401": "1107000000000000009",
      "1500": "message",
      "1501": "\x00\xff",
      "1600": "\x02\x01",
    });
  });

  const FAULTS: readonly (readonly [what: string, options: object, pointer: string])[] = [
    ["an unknown member", { dlt_templat: "1" }, "/carrier_options/dlt_templat"],
    ["a value of another type", { dlt_template_id: 5 }, "/carrier_options/dlt_template_id"],
    ["a tag that the link does not allow", { tlvs: [{ tag: 0x1600, type: "int8", value: 1 }] }, "/carrier_options/tlvs/0/tag"],
    ["a value out of range", { tlvs: [{ tag: 0x1500, type: "int8", value: 256 }] }, "/carrier_options/tlvs/0/value"],
    ["too many parameters", { tlvs: Array.from({ length: 21 }, () => ({ tag: 0x1500, type: "int8", value: 1 })) }, "/carrier_options/tlvs"],
    ["too many bytes", { dlt_template_id: "1".repeat(5_000) }, "/carrier_options"],
  ];
  for (const [what, options, pointer] of FAULTS)
    test(`refuses ${what} with a pointer, also in a validation and in a batch`, async () => {
      const reply = await send({ carrier_options: options });
      assertProblem(reply, "invalid_request_payload");
      const pointers = (json: Reply["json"]) => (json["errors"] as { pointer: string }[]).map((each) => each.pointer);
      assert.deepEqual(pointers(reply.json), [pointer]);
      const body = { recipient: "+14155550123", channel: "sms", body: "x", carrier_options: options };
      const validation = await godwit.request("POST", "/v1/messages/validate", { key, body });
      assert.deepEqual(pointers(validation.json), [pointer]);
      const batch = await godwit.request("POST", "/v1/batches", { key, body: { items: [body] }, idempotencyKey: crypto.randomUUID() });
      assert.match(batch.text, new RegExp(`"/items/0${pointer}"`));
    });

  test("takes the options of a batch from its defaults and from its items", async () => {
    const items = [
      { recipient: "+14155550123", body: "batch 1" },
      { recipient: "+14155550124", body: "batch 2", carrier_options: { dlt_template_id: "22" } },
    ];
    const body = { defaults: { channel: "sms", carrier_options: { dlt_template_id: "11" } }, items };
    const { status, text } = await godwit.request("POST", "/v1/batches", { key, body, idempotencyKey: crypto.randomUUID() });
    assert.equal(status, 202, text);
    assert.equal(tlvsOf(await submitOf("batch 1"))["1401"], "11");
    assert.equal(tlvsOf(await submitOf("batch 2"))["1401"], "22");
  });

  test("has other options refused with the same idempotency key", async () => {
    const idempotencyKey = crypto.randomUUID();
    const body = { recipient: "+14155550123", channel: "sms", body: "once" };
    const first = await godwit.request("POST", "/v1/messages", { key, body, idempotencyKey });
    assert.equal(first.status, 202, first.text);
    const changed = { ...body, carrier_options: { dlt_template_id: "33" } };
    assertProblem(await godwit.request("POST", "/v1/messages", { key, body: changed, idempotencyKey }), "idempotency_key_reused");
  });

  test("loses the options of a message that is redacted", async () => {
    const { json } = await send({ carrier_options: { dlt_template_id: "44" }, send_at: new Date(Date.now() + 3_600_000).toISOString() });
    const stored = () => godwit.rows("select carrier_options from messages where carrier_options ->> 'dlt_template_id' = '44'");
    assert.equal((await stored()).length, 1);
    for (const change of ["cancel", "redact"]) {
      const { status, text } = await godwit.request("POST", `/v1/messages/${String(json["id"])}/${change}`, { key });
      assert.equal(status, 200, text);
    }
    assert.deepEqual(await stored(), []);
  });

  test("lets any options be tried in test, where no carrier is", async () => {
    const { status, text } = await send({ carrier_options: { anything: { at: ["all"] } } }, await godwit.key());
    assert.equal(status, 202, text);
  });
});
