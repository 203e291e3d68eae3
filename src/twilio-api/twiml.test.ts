import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRequire } from "node:module";
import type Twilio from "twilio";
import { parseTwiml, type Twiml, type TwimlMessage } from "./twiml.ts";

// The package of Twilio is a CommonJS module.
const { twiml } = createRequire(import.meta.url)("twilio") as typeof Twilio;

const verbsOf = (text: string): Twiml => {
  const verbs = parseTwiml(text);
  if (verbs instanceof Error) throw verbs;
  return verbs;
};
const NO_VERBS: Twiml = { messages: [], redirect: undefined };
const message = (fields: { body: string } & Partial<TwimlMessage>): TwimlMessage => ({
  media: [],
  to: null,
  from: null,
  statusCallback: null,
  ...fields,
});

test("a response that Twilio's package writes has its verbs in their order", () => {
  const response = new twiml.MessagingResponse();
  response.message("Thanks & <bye> 👋");
  const second = response.message({ to: "+14155550123", from: "+14155550100", action: "https://example.com/status" }, "");
  second.body("See the picture");
  second.media("https://example.com/1.png");
  response.redirect({ method: "GET" }, "https://example.com/next?a=1&b=2");
  response.message("Never reached");
  response.redirect("https://example.com/never");
  assert.deepEqual(verbsOf(response.toString()), {
    messages: [
      message({ body: "Thanks & <bye> 👋" }),
      message({
        body: "See the picture",
        media: ["https://example.com/1.png"],
        to: "+14155550123",
        from: "+14155550100",
        statusCallback: "https://example.com/status",
      }),
    ],
    redirect: { url: "https://example.com/next?a=1&b=2", method: "GET" },
  });
});

test("an empty response has no verbs, with and without TwiML", () => {
  for (const text of ["", " \n", "<Response/>", '<?xml version="1.0" encoding="UTF-8"?>\n<Response></Response>'])
    assert.deepEqual(verbsOf(text), NO_VERBS);
});

test("a text in CDATA is a text", () => {
  assert.deepEqual(verbsOf("<Response><Message><![CDATA[1 < 2]]></Message></Response>"), {
    ...NO_VERBS,
    messages: [message({ body: "1 < 2" })],
  });
});

describe("refused:", () => {
  const cases: [string, string][] = [
    ["a plain text", "Thanks"],
    ["JSON", '{"ok":true}'],
    ["HTML", "<html><body>OK</body></html>"],
    ["a tag that does not end", "<Response><Message>Hi</Response>"],
    ["a document type", '<!DOCTYPE r [<!ENTITY a "b">]><Response><Message>&a;</Message></Response>'],
    ["an unknown entity", "<Response><Message>&nbsp;</Message></Response>"],
    ["a verb of voice", "<Response><Say>Hi</Say></Response>"],
    ["a noun outside of its verb", "<Response><Body>Hi</Body></Response>"],
    ["an unknown attribute", '<Response><Message nonsense="1">Hi</Message></Response>'],
    ["a message without a body", "<Response><Message/></Response>"],
    ["two bodies", "<Response><Message><Body>1</Body><Body>2</Body></Message></Response>"],
    ["text beside verbs", "<Response>Hi<Message>Hi</Message></Response>"],
    ["an unknown method", '<Response><Redirect method="PUT">/next</Redirect></Response>'],
    ["eleven verbs", `<Response>${"<Message>Hi</Message>".repeat(11)}</Response>`],
    ["a second root", "<Response/><Response/>"],
  ];
  for (const [name, text] of cases) test(name, () => assert.ok(parseTwiml(text) instanceof Error));
});

test("a response of the longest size is parsed in milliseconds", () => {
  const startedAt = performance.now();
  assert.ok(parseTwiml(`<Response>${"<".repeat(16_000)}`) instanceof Error);
  assert.equal(verbsOf(`<Response><Message>${"&amp;".repeat(3_200)}</Message></Response>`).messages.length, 1);
  assert.ok(performance.now() - startedAt < 1_000);
});
