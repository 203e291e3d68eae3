import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Problem } from "../http/problem.ts";
import { toTwilioError } from "./errors.ts";
import { parseParameters } from "./forms.ts";
import { readNewMessage, type TwilioMessage } from "./new-message.ts";

const NOW = Date.parse("2026-11-19T10:00:00Z");
const TO = "+14155550123";
const FROM = "+14155550100";
const SERVICE = `MG${"a".repeat(32)}`;

const read = (form: Record<string, string | string[]>): TwilioMessage => {
  const fields = Object.entries(form).flatMap(([name, value]) => [value].flat().map((each): [string, string] => [name, each]));
  return readNewMessage(parseParameters(new URLSearchParams(fields).toString()), NOW);
};

const codeOf = (form: Record<string, string | string[]>): number => {
  try {
    read(form);
  } catch (error) {
    assert.ok(error instanceof Problem);
    return toTwilioError(error).code;
  }
  throw new Error(`accepted: ${JSON.stringify(form)}`);
};

test("a form is a request of ours, with Twilio's time to live", () => {
  assert.deepEqual(read({ To: TO, From: FROM, Body: "Hello" }), {
    request: { recipient: TO, channel: "sms", body: "Hello", sender: FROM, ttl_seconds: 36_000 },
    mediaUrl: undefined,
    statusCallback: undefined,
    serviceSid: undefined,
  });
});

test("addresses with the prefix whatsapp are on WhatsApp", () => {
  const { request } = read({ To: `whatsapp:${TO}`, From: `whatsapp:${FROM}`, Body: "Hello" });
  assert.deepEqual([request.channel, request.recipient, request.sender], ["whatsapp", TO, FROM]);
});

test("a messaging service chooses the sender, also if it is named as the sender", () => {
  for (const form of [{ MessagingServiceSid: SERVICE }, { From: SERVICE }]) {
    const { request, serviceSid } = read({ To: TO, Body: "Hello", ...form });
    assert.deepEqual([request.sender, serviceSid], [undefined, SERVICE]);
  }
});

test("a scheduled message has its time", () => {
  const form = { To: TO, MessagingServiceSid: SERVICE, Body: "Later", ScheduleType: "fixed" };
  assert.equal(read({ ...form, SendAt: "2026-11-19T10:05:00Z" }).request.send_at, "2026-11-19T10:05:00.000Z");
  assert.equal(read({ ...form, SendAt: "2026-12-24T11:00:00+01:00" }).request.send_at, "2026-12-24T10:00:00.000Z");
});

test("parameters with the values that ask for nothing are accepted", () => {
  const none = { ProvideFeedback: "false", Attempt: "1", ContentRetention: "retain", AddressRetention: "retain", SmartEncoded: "false" };
  assert.equal(read({ To: TO, From: FROM, Body: "Hello", ...none, MaxPrice: "0.01", RiskCheck: "disable" }).request.body, "Hello");
});

describe("refused with Twilio's code:", () => {
  const good = { To: TO, From: FROM, Body: "Hello" };
  const scheduled = { To: TO, MessagingServiceSid: SERVICE, Body: "Later" };
  const cases: [string, Record<string, string | string[]>, number][] = [
    ["no recipient", { From: FROM, Body: "Hello" }, 21604],
    ["an empty recipient", { ...good, To: "" }, 21604],
    ["a recipient that is no number", { ...good, To: "4155550123" }, 21211],
    ["a number of an impossible length", { ...good, To: "+1415555" }, 21211],
    ["no sender", { To: TO, Body: "Hello" }, 21603],
    ["a sender of no form", { ...good, From: "a very long name of a sender" }, 21212],
    ["channels that differ", { ...good, To: `whatsapp:${TO}` }, 21910],
    ["no text", { To: TO, From: FROM }, 21602],
    ["a text of 1,601 characters", { ...good, Body: "x".repeat(1_601) }, 21617],
    ["a content of Twilio", { ...good, ContentSid: `HX${"a".repeat(32)}` }, 21655],
    ["two files", { ...good, MediaUrl: ["https://example.com/1.png", "https://example.com/2.png"] }, 21623],
    ["a time to live of no seconds", { ...good, ValidityPeriod: "0" }, 21624],
    ["a time to live of more than ten hours", { ...good, ValidityPeriod: "36001" }, 21624],
    ["a service that is none", { ...good, MessagingServiceSid: "MG1" }, 21701],
    ["a schedule without a time", { ...scheduled, ScheduleType: "fixed" }, 35111],
    ["a time without a schedule", { ...scheduled, SendAt: "2026-11-19T11:00:00Z" }, 35126],
    ["a schedule without a service", { ...good, ScheduleType: "fixed", SendAt: "2026-11-19T11:00:00Z" }, 35118],
    ["a time that is too near", { ...scheduled, ScheduleType: "fixed", SendAt: "2026-11-19T10:04:59Z" }, 35114],
    ["a time that is too far", { ...scheduled, ScheduleType: "fixed", SendAt: "2026-12-24T10:00:01Z" }, 35114],
    ["a time of no form", { ...scheduled, ScheduleType: "fixed", SendAt: "tomorrow" }, 35114],
    ["a parameter that is there twice", { ...good, Body: ["one", "two"] }, 20001],
    ["a parameter that Twilio does not have", { ...good, Boddy: "Hello" }, 20001],
  ];
  for (const [name, form, code] of cases) test(name, () => assert.equal(codeOf(form), code));

  const unsupported = {
    ApplicationSid: `AP${"a".repeat(32)}`,
    ProvideFeedback: "true",
    Attempt: "2",
    ForceDelivery: "true",
    ContentRetention: "discard",
    AddressRetention: "obfuscate",
    SmartEncoded: "true",
    PersistentAction: "geo:1,2",
    TrafficType: "free",
    ShortenUrls: "true",
    SendAsMms: "true",
    RiskCheck: "enable",
    FallbackFrom: FROM,
  };
  for (const [name, value] of Object.entries(unsupported))
    test(`${name}=${value}`, () => assert.equal(codeOf({ ...good, [name]: value }), 20001));
});
