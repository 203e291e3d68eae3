/** The texts of messages over an SMPP link, as the API counts them and as the carrier gets them. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { assertProblem, until } from "../support/expect.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { PASSWORDS, smppTable } from "../support/smpp-messages.ts";

describe("a link to a carrier with Latin-1", () => {
  // The euro sign is a character of the GSM alphabet, and not of Latin-1.
  const TEXT = `${"x".repeat(100)}€`;
  const UCS2 = { count: 2, encoding: "ucs2", characters: 101 };
  let smsc: Smsc;
  let godwit: Godwit;
  let key: string;
  before(async () => {
    smsc = await Smsc.start();
    godwit = await startGodwit({ roles: "api,dispatch", config: smppTable("acme", smsc, { alphabet: "latin1" }), env: PASSWORDS });
    await godwit.unlimited();
    await until("the link is bound", () => smsc.bound.length === 1 || undefined);
    key = await godwit.key({ environment: "live" });
  });
  after(async () => {
    await godwit.stop();
    await smsc.stop();
  });

  const send = (fields: object): Promise<Reply> => godwit.send(key, { recipient: "+14155550123", body: TEXT, ...fields });

  test("has as many segments in the record as the carrier gets parts", async () => {
    const { status, json, text } = await send({});
    assert.equal(status, 202, text);
    assert.deepEqual(json["segments"], UCS2);
    await until("both parts are at the carrier", () => smsc.submits.length === 2 || undefined);
    assert.deepEqual(
      smsc.submits.map(({ short }) => short.dataCoding),
      [8, 8],
    );
  });

  test("refuses a text with more parts than max_segments allows", async () => {
    const reply = await send({ max_segments: 1 });
    assertProblem(reply, "max_segments_exceeded");
    assert.match(reply.text, /the text needs 2 segments, max_segments allows 1/);
  });

  test("counts a scheduled message again when its text is edited", async () => {
    const scheduled = await send({ body: "short", send_at: new Date(Date.now() + 3_600_000).toISOString() });
    const edited = await godwit.request("PATCH", `/v1/messages/${String(scheduled.json["id"])}`, { key, body: { body: TEXT } });
    assert.deepEqual(edited.json["segments"], UCS2, edited.text);
  });

  test("has its segments and the characters that force UCS-2 in a validation, also for a step of a fallback", async () => {
    const body = { recipient: "+14155550123", channel: "sms", body: TEXT, fallback: [{ channel: "sms", body: TEXT, after_seconds: 60 }] };
    const { json, text } = await godwit.request("POST", "/v1/messages/validate", { key, body });
    const characters = [{ character: "€", position: 100, alternative: null }];
    const [step] = json["fallback"] as Record<string, unknown>[];
    assert.deepEqual([json["segments"], json["ucs2_characters"]], [UCS2, characters], text);
    assert.deepEqual([step?.["segments"], step?.["ucs2_characters"]], [UCS2, characters]);
  });
});
