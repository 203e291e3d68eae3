import assert from "node:assert/strict";
import { test } from "node:test";
import type { CarrierResponse, CarrierRequest } from "../../src/providers/provider.ts";
import { whatsapp, WHATSAPP_DEFAULTS, type WhatsAppSettings } from "../../src/providers/whatsapp/whatsapp.ts";
import { GRAPH_SECRETS, graphCall, graphSignature, OUR_NUMBER, PHONE_NUMBER_ID, status, templateCall } from "../support/fakes/graph.ts";
import type { GraphTemplate } from "../support/fakes/graph-templates.ts";
import { CallbackServer } from "../support/fakes/http-carrier.ts";
import { RecordingHost } from "../support/recording-host.ts";

const SETTINGS: WhatsAppSettings = { ...WHATSAPP_DEFAULTS, ...GRAPH_SECRETS, phoneNumberId: PHONE_NUMBER_ID, wabaId: null };
const FROM = "15551234567";

const request = (fields: Partial<CarrierRequest>): CarrierRequest => ({
  method: "POST",
  url: "https://godwit.example/providers/whatsapp/main",
  query: {},
  headers: {},
  body: Buffer.alloc(0),
  ...fields,
});

const respond = async (fields: Partial<CarrierRequest>, host = new RecordingHost(), settings = SETTINGS): Promise<CarrierResponse> =>
  (await whatsapp.handleRequest?.(settings, request(fields), host)) ?? assert.fail("no response");

/** A call with a valid signature. */
const post = (body: string, host = new RecordingHost()): Promise<CarrierResponse> =>
  respond({ headers: { "x-hub-signature-256": graphSignature(body) }, body: Buffer.from(body) }, host);

async function hostAfter(body: string): Promise<RecordingHost> {
  const host = new RecordingHost();
  assert.equal((await post(body, host)).status, 200);
  return host;
}

const written = (type: string, fields: object): object => ({ from: FROM, id: "wamid.in", timestamp: "1749416383", type, ...fields });
const textOf = async (type: string, fields: object): Promise<string | undefined> =>
  (await hostAfter(graphCall({ messages: [written(type, fields)] }))).messages[0]?.text;

const challenge = (fields: Record<string, string>): Promise<CarrierResponse> =>
  respond({
    method: "GET",
    query: { "hub.mode": "subscribe", "hub.verify_token": GRAPH_SECRETS.verifyToken, "hub.challenge": "1158201444", ...fields },
  });

test("a challenge with the right token is returned as text", async () => {
  assert.deepEqual(await challenge({}), { status: 200, contentType: "text/plain; charset=utf-8", body: "1158201444" });
});

for (const [what, fields] of [
  ["another token", { "hub.verify_token": "wrong" }],
  ["no token", { "hub.verify_token": "" }],
  ["another mode", { "hub.mode": "unsubscribe" }],
  ["an invalid challenge", { "hub.challenge": "<script>" }],
] as const)
  test(`the challenge with ${what} is refused and not returned`, async () => {
    const { status: code, body } = await challenge(fields);
    assert.equal(code, 403);
    assert.ok(!body.includes("1158201444") && !body.includes("<script>"));
  });

test("an empty token or secret accepts no call", async () => {
  const unset = { ...SETTINGS, verifyToken: "", appSecret: "" };
  const query = { "hub.mode": "subscribe", "hub.verify_token": "", "hub.challenge": "1" };
  assert.equal((await respond({ method: "GET", query }, new RecordingHost(), unset)).status, 403);
  const body = Buffer.from(graphCall({ statuses: [] }));
  const headers = { "x-hub-signature-256": graphSignature(body, "") };
  assert.equal((await respond({ body, headers }, new RecordingHost(), unset)).status, 401);
});

test("Meta's published signature is valid: its body is refused only because it is not JSON", async () => {
  const settings = { ...SETTINGS, appSecret: "It's a Secret to Everybody" };
  const body = Buffer.from("Hello, World!");
  const hex = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  assert.equal((await respond({ body, headers: { "x-hub-signature-256": `sha256=${hex}` } }, new RecordingHost(), settings)).status, 400);
  const wrong = `sha256=${hex.replace(/.$/, "8")}`;
  assert.equal((await respond({ body, headers: { "x-hub-signature-256": wrong } }, new RecordingHost(), settings)).status, 401);
});

const GOOD = graphCall({ statuses: [status("wamid.1", FROM, "msg_1", "delivered")] });

for (const [what, header] of [
  ["missing", undefined],
  ["empty", ""],
  ["by another secret", graphSignature(GOOD, "another")],
  ["of another body", graphSignature(`${GOOD} `)],
  ["too short", graphSignature(GOOD).slice(0, -2)],
  ["of another algorithm", graphSignature(GOOD).replace("sha256", "sha1")],
  ["too long", `${graphSignature(GOOD)}00`],
] as const)
  test(`a call whose signature is ${what} is refused and passes nothing on`, async () => {
    const host = new RecordingHost();
    const headers: Record<string, string> = header === undefined ? {} : { "x-hub-signature-256": header };
    assert.equal((await respond({ headers, body: Buffer.from(GOOD) }, host)).status, 401);
    assert.deepEqual([host.calls, host.messages], [[], []]);
    assert.ok(!host.lines.includes(GRAPH_SECRETS.appSecret));
  });

test("the signature covers the received bytes, also those that are not UTF-8", async () => {
  const body = Buffer.concat([Buffer.from('{"entry":[],"x":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
  assert.equal((await respond({ headers: { "x-hub-signature-256": graphSignature(body) }, body })).status, 200);
});

test("a signed call with more values than a thousand notifications have is refused before it is parsed", async () => {
  const host = new RecordingHost();
  assert.equal((await post(`{"entry":[${"{},".repeat(300_000)}{}]}`, host)).status, 400);
  assert.equal((await post(`{"entry":${"[".repeat(100_000)}`, host)).status, 400);
  assert.deepEqual([host.calls, host.messages], [[], []]);
});

test("a call has at most 1,000 notifications", async () => {
  const statuses = (count: number): string =>
    graphCall({ statuses: Array.from({ length: count }, (_, index) => status(`wamid.${index}`, FROM, "msg_1", "sent")) });
  const host = new RecordingHost();
  assert.deepEqual([(await post(statuses(1_000), host)).status, (await post(statuses(1_001), host)).status], [200, 413]);
  assert.equal(host.receipts.length, 1_000);
});

test("statuses are passed on in the order of their arrival, repeated ones too, with our reference", async () => {
  const words = ["read", "delivered", "sent", "delivered"];
  const host = await hostAfter(graphCall({ statuses: words.map((word) => status("wamid.1", FROM, "msg_1", word)) }));
  assert.equal(host.calls.length, 1, "one commit");
  assert.deepEqual(
    host.receipts.map((receipt) => receipt.status),
    words,
  );
  assert.deepEqual(host.receipts[0], {
    providerMessageId: "wamid.1",
    reference: "msg_1",
    status: "read",
    error: null,
    raw: { id: "wamid.1", status: "read", timestamp: "1749416383", recipient_id: FROM },
  });
});

test("a status without our reference is passed on without one", async () => {
  const { biz_opaque_callback_data: _, ...bare } = status("wamid.1", FROM, "msg_1", "sent");
  assert.equal((await hostAfter(graphCall({ statuses: [bare] }))).receipts[0]?.reference, null);
});

const FAILURES: readonly (readonly [code: unknown, ours: string, isPermanent: boolean])[] = [
  [131026, "recipient_not_on_whatsapp", true],
  [131047, "service_window_closed", true],
  [131050, "recipient_opted_out", true],
  [131049, "blocked_by_carrier", true],
  [132015, "template_rejected_by_carrier", true],
  [131053, "carrier_unavailable", false],
  [130429, "throttled_by_carrier", false],
  [131056, "throttled_by_carrier", false],
  [131042, "carrier_account_blocked", false],
  [999_999, "rejected_by_carrier", true],
  ["odd", "rejected_by_carrier", true],
];

for (const [code, ours, isPermanent] of FAILURES)
  test(`a status failed with code ${String(code)} is undelivered with ${ours}`, async () => {
    const errors = [{ code, title: "Meta's title", error_data: { details: "details with the text" } }];
    const { receipts } = await hostAfter(graphCall({ statuses: [{ ...status("wamid.1", FROM, "msg_1", "failed"), errors }] }));
    assert.equal(receipts[0]?.status, "undelivered");
    const { error, raw } = receipts[0];
    assert.deepEqual([error?.code, error?.isPermanent], [ours, isPermanent]);
    assert.equal(error?.providerCode, typeof code === "number" ? String(code) : null);
    assert.equal(raw["error_title"], "Meta's title");
    assert.ok(!JSON.stringify(receipts).includes("details with"));
  });

test("a status failed without an error gets rejected_by_carrier", async () => {
  const { receipts } = await hostAfter(graphCall({ statuses: [status("wamid.1", FROM, "msg_1", "failed")] }));
  assert.equal(receipts[0]?.error?.code, "rejected_by_carrier");
});

test("malformed statuses of a call are counted, and the others are processed", async () => {
  const good = (id: string): object => status(id, FROM, "msg_1", "delivered");
  const odd = [null, 7, "x", [], {}, { id: "wamid.2" }, { ...good("a"), status: "warning" }, { ...good("a"), status: "constructor" }];
  const bad = [
    { ...good("a"), id: "a\0b" },
    { ...good("a"), id: "\ud83d" },
    { ...good("a"), id: "x".repeat(1_000) },
  ];
  const host = await hostAfter(graphCall({ statuses: [good("wamid.1"), ...odd, ...bad, good("wamid.3")] }));
  assert.deepEqual(
    host.receipts.map(({ providerMessageId }) => providerMessageId),
    ["wamid.1", "wamid.3"],
  );
  assert.match(host.lines, /"ignored":11/);
});

for (const body of ["{}", "[]", "null", "7", '{"entry":7}', '{"entry":[null,{"changes":[null,{"field":"messages","value":null}]}]}'])
  test(`JSON without content, such as ${body}, is acknowledged and passes nothing on`, async () => {
    const host = await hostAfter(body);
    assert.deepEqual([host.calls, host.messages], [[], []]);
  });

test("a call that is not JSON is refused", async () => assert.equal((await post("{not json")).status, 400));

test("a call may have many entries and changes of several kinds", async () => {
  const one = JSON.parse(graphCall({ statuses: [status("wamid.1", FROM, "msg_1", "sent")] })) as { entry: object[] };
  const two = JSON.parse(graphCall({ messages: [written("text", { text: { body: "hi" } })] })) as { entry: object[] };
  const three = JSON.parse(graphCall({ event: "APPROVED" }, "message_template_status_update")) as { entry: object[] };
  const four = JSON.parse(graphCall({}, "something_new")) as { entry: object[] };
  const host = await hostAfter(JSON.stringify({ entry: [one, two, three, four].flatMap(({ entry }) => entry) }));
  assert.deepEqual([host.receipts.length, host.messages.length], [1, 1]);
  assert.match(host.lines, /"level":30.*"ignored":2/);
});

const KINDS: readonly (readonly [type: string, fields: object, text: string])[] = [
  ["text", { text: { body: "STOP" } }, "STOP"],
  ["text", { text: { body: "a\0b\ud83d" } }, "ab\ufffd"],
  ["button", { button: { text: "Yes, please", payload: "p" } }, "Yes, please"],
  ["interactive", { interactive: { type: "button_reply", button_reply: { id: "1", title: "Confirm" } } }, "Confirm"],
  ["interactive", { interactive: { type: "list_reply", list_reply: { id: "1", title: "Tuesday" } } }, "Tuesday"],
  ["interactive", { interactive: { type: "something_new" } }, "[interactive]"],
  ["image", { image: { id: "1", caption: "My cat" } }, "My cat"],
  ["image", { image: { id: "1" } }, "[image]"],
  ["document", { document: { id: "1", caption: "The contract", filename: "c.pdf" } }, "The contract"],
  ["video", { video: {} }, "[video]"],
  ["audio", { audio: { id: "1", voice: true } }, "[audio]"],
  ["sticker", { sticker: { id: "1" } }, "[sticker]"],
  ["location", { location: { latitude: 1, longitude: 2 } }, "[location]"],
  ["contacts", { contacts: [{}] }, "[contacts]"],
  ["reaction", { reaction: { message_id: "wamid.out", emoji: "👍" } }, "👍"],
  ["edit", { edit: { original_message_id: "wamid.1", message: { type: "text", text: { body: "STOP" } } } }, "STOP"],
  ["edit", { edit: { message: { type: "image", image: { id: "1", caption: "My cat" } } } }, "My cat"],
  ["edit", { edit: {} }, "[edit]"],
  ["revoke", { revoke: { original_message_id: "wamid.1" } }, "[revoke]"],
  ["unsupported", { errors: [{ code: 131051 }] }, "[unsupported]"],
  ["<script>", {}, "[unsupported]"],
  ["constructor", {}, "[constructor]"],
];

for (const [type, fields, text] of KINDS)
  test(`an inbound message of type ${type} (${JSON.stringify(fields)}) has the text ${text}`, async () =>
    assert.equal(await textOf(type, fields), text));

const DETAILS: readonly (readonly [type: string, fields: object, details: Record<string, string> | undefined])[] = [
  ["text", { text: { body: "Hello" } }, undefined],
  ["image", { image: { id: "77", mime_type: "image/jpeg", sha256: "x", caption: "My cat" } }, undefined],
  ["location", { location: { latitude: 52.5, longitude: 13.4, url: "https://example.com" } }, { url: "https://example.com" }],
  [
    "edit",
    { edit: { original_message_id: "wamid.1", message: { type: "image", image: { id: "77" } } } },
    { original_message_id: "wamid.1" },
  ],
  ["revoke", { revoke: { original_message_id: "wamid.1" } }, { original_message_id: "wamid.1" }],
  ["text", { text: { body: "Hello" }, referral: { source_id: "7" } }, { referral: '{"source_id":"7"}' }],
  ["constructor", {}, undefined],
];

for (const [type, fields, details] of DETAILS)
  test(`an inbound message of type ${type} (${JSON.stringify(fields)}) has its details`, async () => {
    const { messages } = await hostAfter(graphCall({ messages: [written(type, fields)] }));
    assert.deepEqual(messages[0]?.details, details);
  });

for (const [timestamp, writtenAtMs] of [
  ["1749416383", 1_749_416_383_999],
  ["soon", undefined],
  ["-1", undefined],
  ["99999999999999999999", undefined],
  [null, undefined],
] as const)
  test(`an inbound message with the timestamp ${timestamp} was written at ${writtenAtMs ?? "an unknown time"}`, async () => {
    const { messages } = await hostAfter(graphCall({ messages: [written("text", { text: { body: "Hello" }, timestamp })] }));
    assert.equal(messages[0]?.writtenAtMs, writtenAtMs);
  });

test("a message to a group is marked as such, and has the id of the group", async () => {
  const { messages } = await hostAfter(graphCall({ messages: [written("text", { text: { body: "STOP" }, group_id: "g-1" })] }));
  assert.deepEqual([messages[0]?.isToGroup, messages[0]?.details], [true, { group_id: "g-1" }]);
});

test("an inbound message has its sender, its recipient and the message that it replies to", async () => {
  const context = { from: OUR_NUMBER.slice(1), id: "wamid.out" };
  const host = await hostAfter(graphCall({ messages: [written("text", { text: { body: "Yes" }, context })] }));
  const [{ writtenAtMs: _, ...message } = assert.fail(), ...others] = host.messages;
  assert.deepEqual(others, []);
  assert.deepEqual(message, {
    providerMessageId: "wamid.in",
    channel: "whatsapp",
    from: `+${FROM}`,
    to: OUR_NUMBER,
    text: "Yes",
    inReplyTo: "wamid.out",
  });
});

test("a reaction is a reply to the message that it refers to", async () => {
  const { messages } = await hostAfter(
    graphCall({ messages: [written("reaction", { reaction: { message_id: "wamid.out", emoji: "👍" } })] }),
  );
  assert.equal(messages[0]?.inReplyTo, "wamid.out");
});

test("a formatted display number is parsed as our number", async () => {
  const metadata = { display_phone_number: "+1 (415) 555-0100" };
  const { messages } = await hostAfter(graphCall({ metadata, messages: [written("text", { text: { body: "Yes" } })] }));
  assert.equal(messages[0]?.to, OUR_NUMBER);
});

/** Meta's example of the webhook field `user_preferences`. */
const preference = (fields: object): object => ({
  wa_id: FROM,
  detail: "User requested to stop marketing messages",
  category: "marketing_messages",
  value: "stop",
  timestamp: 1_731_705_721,
  ...fields,
});

test("choices to stop and to resume marketing messages are passed on, and others are counted", async () => {
  const odd = [{ category: "something_new" }, { value: "something_new" }, { wa_id: undefined }];
  const host = await hostAfter(
    graphCall({ user_preferences: [preference({}), preference({ value: "resume" }), ...odd.map(preference), 7] }, "user_preferences"),
  );
  assert.deepEqual(host.preferences, [
    { from: `+${FROM}`, to: OUR_NUMBER, isOptOut: true },
    { from: `+${FROM}`, to: OUR_NUMBER, isOptOut: false },
  ]);
  assert.match(host.lines, /"ignored":4/);
});

test("a choice without our number is passed on, and so is one of a person whose id has an unknown form", async () => {
  const metadata = { phone_number_id: undefined };
  const body = graphCall({ metadata, user_preferences: [preference({ wa_id: "someone" })] }, "user_preferences");
  assert.deepEqual((await hostAfter(body)).preferences, [{ from: "someone", to: null, isOptOut: true }]);
});

test("a choice that cannot be committed is not acknowledged, so that Meta repeats it", async () => {
  const host = new RecordingHost();
  host.behave("rejects");
  assert.equal((await post(graphCall({ user_preferences: [preference({})] }, "user_preferences"), host)).status, 503);
});

test("an opened chat without a message is ignored", async () => {
  const host = await hostAfter(graphCall({ messages: [written("request_welcome", {})] }));
  assert.deepEqual(host.messages, []);
  assert.match(host.lines, /"ignored":1/);
});

for (const [what, fields, metadata, expected] of [
  ["with a writer in an unknown form", { from: "someone" }, {}, { from: "someone" }],
  ["without a writer", { from: undefined }, {}, { from: "" }],
  ["without our number", {}, { display_phone_number: undefined }, { to: null }],
  ["with our number in an unknown form", {}, { display_phone_number: "N/A" }, { to: "N/A" }],
  ["without an id", { id: undefined }, {}, { providerMessageId: null }],
] as const)
  test(`a message ${what} is passed on`, async () => {
    const message = { ...written("text", { text: { body: "STOP" } }), ...fields };
    const body = graphCall({
      metadata: { display_phone_number: OUR_NUMBER.slice(1), ...metadata },
      messages: [message],
      contacts: [{ user_id: "US.1" }, { user_id: "US.2" }],
    });
    const [passed] = (await hostAfter(body)).messages;
    assert.deepEqual({ ...passed, ...expected }, passed);
    assert.equal(passed?.text, "STOP");
  });

const USER_ID = "US.13491208655302741918";

for (const [what, fields, contacts, from] of [
  ["from_user_id", { from: undefined, from_user_id: USER_ID }, [], USER_ID],
  ["from", { from: USER_ID }, [], USER_ID],
  ["the only contact", { from: undefined }, [{ user_id: USER_ID, profile: { username: "@ann" } }], USER_ID],
  [
    "an id that related businesses share",
    { from: undefined, from_user_id: "US.ENT.11815799212886844830" },
    [],
    "US.ENT.11815799212886844830",
  ],
  ["a number beside the id", { from_user_id: USER_ID }, [{ wa_id: FROM, user_id: USER_ID }], `+${FROM}`],
  ["a number of the only contact", { from: undefined, from_user_id: undefined }, [{ wa_id: FROM, user_id: USER_ID }], `+${FROM}`],
] as const)
  test(`an inbound message has its writer by ${what}`, async () => {
    const message = { ...written("text", { text: { body: "STOP" } }), ...fields };
    const host = await hostAfter(graphCall({ messages: [message], contacts }));
    assert.deepEqual(
      host.messages.map((each) => each.from),
      [from],
    );
  });

test("a choice of a person without a number is passed on with the user id", async () => {
  const body = graphCall({ user_preferences: [preference({ wa_id: undefined, user_id: USER_ID })] }, "user_preferences");
  assert.deepEqual((await hostAfter(body)).preferences, [{ from: USER_ID, to: OUR_NUMBER, isOptOut: true }]);
});

/** Posts to the URL of one link, where the app has further links. Returns the response and the host of each link. */
async function postToApp(
  body: string,
  links: Readonly<Record<string, Partial<WhatsAppSettings>>>,
  behavior: "accepts" | "rejects" = "accepts",
) {
  const host = new RecordingHost();
  const others = Object.entries(links).map(([name, fields]) => ({
    name,
    settings: { ...SETTINGS, phoneNumberId: name, ...fields },
    host: new RecordingHost().behave(behavior),
  }));
  const call = request({ headers: { "x-hub-signature-256": graphSignature(body) }, body: Buffer.from(body) });
  const own = { name: "main", settings: SETTINGS, host };
  const response = (await whatsapp.handleRequest?.(SETTINGS, call, host, () => [own, ...others])) ?? assert.fail("no response");
  return { response, host, others: others.map((each) => each.host) };
}

const ofNumber = (id: string, word = "Yes"): string =>
  graphCall({
    metadata: { display_phone_number: "14155550177", phone_number_id: id },
    statuses: [status("wamid.1", FROM, "msg_1", "delivered")],
    messages: [written("text", { text: { body: word } })],
  });

test("notifications are passed to the link with their phone number id, whichever link of the app the URL belongs to", async () => {
  const { response, host, others } = await postToApp(ofNumber("222"), { 111: {}, 222: {} });
  assert.equal(response.status, 200);
  assert.deepEqual(
    [host, ...others].map(({ receipts, messages }) => [receipts.length, messages.length]),
    [
      [0, 0],
      [0, 0],
      [1, 1],
    ],
  );
  assert.equal(others[1]?.messages[0]?.to, "+14155550177");
});

test("a link with another app secret gets nothing of this app", async () => {
  const { response, host, others } = await postToApp(ofNumber("222"), { 111: {}, 222: { appSecret: "of another app" } });
  assert.equal(response.status, 200);
  assert.deepEqual([others[1]?.receipts, others[1]?.messages], [[], []]);
  const [reports] = host.unmatched;
  assert.deepEqual(reports?.links, ["main", "111"]);
  assert.deepEqual(
    reports?.messages.map(({ text }) => text),
    ["Yes"],
  );
  const [receipt] = reports?.receipts ?? [];
  assert.deepEqual([receipt?.receipt.reference, receipt?.recipient], ["msg_1", `+${FROM}`]);
  assert.deepEqual(JSON.parse(receipt?.raw ?? ""), status("wamid.1", FROM, "msg_1", "delivered"));
});

test("a call is acknowledged only when the links of all its numbers have committed", async () => {
  assert.equal((await postToApp(ofNumber("222"), { 222: {} }, "rejects")).response.status, 503);
  const host = new RecordingHost();
  host.behave("rejects");
  assert.equal((await post(ofNumber("222"), host)).status, 503, "what matches no link is committed as well");
});

test("a call that cannot be committed is not acknowledged, so that Meta repeats it", async () => {
  const both = graphCall({
    statuses: [status("wamid.1", FROM, "msg_1", "sent")],
    messages: [written("text", { text: { body: "the text" } })],
  });
  const host = new RecordingHost();
  host.behave("rejects");
  assert.equal((await post(both, host)).status, 503);
  host.behave("accepts");
  assert.equal((await post(both, host)).status, 200);
  assert.deepEqual([host.receipts.length, host.messages.length], [1, 1]);
  for (const word of ["the text", FROM, ...Object.values(GRAPH_SECRETS)]) assert.ok(!host.lines.includes(word), word);
});

test("statuses and messages arrive over a real socket", async () => {
  const host = new RecordingHost();
  const callbacks = await CallbackServer.open((call) => whatsapp.handleRequest?.(SETTINGS, call, host) ?? assert.fail());
  const asked = await fetch(`${callbacks.url()}?hub.mode=subscribe&hub.verify_token=${GRAPH_SECRETS.verifyToken}&hub.challenge=77`);
  assert.equal(await asked.text(), "77");
  const said = await fetch(callbacks.url(), { method: "POST", body: GOOD, headers: { "X-Hub-Signature-256": graphSignature(GOOD) } });
  assert.equal(said.status, 200);
  assert.equal(host.receipts.length, 1);
  await callbacks.close();
});

const THEIRS: GraphTemplate = {
  id: "1689556908129832",
  waba: "7",
  name: "order",
  language: "en_US",
  category: "UTILITY",
  status: "PENDING",
  rejected_reason: "NONE",
  parameter_format: "NAMED",
  components: [],
};
const UPDATE = { account: "whatsapp graph.facebook.com 7", name: "order", code: "en_US", atMs: 1_749_416_383_999 };

for (const [event, fields, decided, reason] of [
  ["APPROVED", {}, "approved", null],
  ["REINSTATED", {}, "approved", null],
  ["REJECTED", { reason: "PROMOTIONAL" }, "rejected", "PROMOTIONAL"],
  ["REJECTED", { reason: null, rejection_info: 7 }, "rejected", "WhatsApp has rejected it."],
  ["PAUSED", { other_info: { title: "FIRST_PAUSE" } }, "paused", "FIRST_PAUSE"],
  ["PAUSED", {}, "paused", "WhatsApp has paused it for its low quality."],
  ["DISABLED", { disable_info: { disable_date: 1 } }, "paused", "WhatsApp has disabled it."],
  ["PENDING_DELETION", { reason: null }, "deleted", "It was deleted at WhatsApp."],
  ["FLAGGED", {}, null, null],
  ["PENDING", {}, null, null],
  ["LIMIT_EXCEEDED", {}, null, null],
  ["toString", {}, null, null],
] as const)
  test(`the template status ${event} is ${decided ?? "a reason for a sync"}`, async () => {
    const host = await hostAfter(templateCall(THEIRS, event, fields, 1_749_416_383));
    assert.deepEqual(host.reviewUpdates, [{ ...UPDATE, status: decided, reason }]);
  });

test("a call about a template is acknowledged when it is committed, and not before", async () => {
  const host = new RecordingHost();
  host.behave("rejects");
  assert.equal((await post(templateCall(THEIRS, "APPROVED"), host)).status, 503);
});

test("a call about a template without a name or an account is acknowledged and ignored", async () => {
  for (const fields of [{ message_template_name: 7 }, { message_template_language: null }]) {
    const host = await hostAfter(templateCall(THEIRS, "APPROVED", fields));
    assert.deepEqual(host.reviewUpdates, []);
    assert.match(host.lines, /"ignored":1/);
  }
  assert.deepEqual((await hostAfter(templateCall({ ...THEIRS, waba: "x" }, "APPROVED"))).reviewUpdates, []);
  const host = new RecordingHost();
  const body = templateCall({ ...THEIRS, waba: "x" }, "APPROVED");
  await respond({ headers: { "x-hub-signature-256": graphSignature(body) }, body: Buffer.from(body) }, host, { ...SETTINGS, wabaId: "8" });
  assert.equal(host.reviewUpdates[0]?.account, "whatsapp graph.facebook.com 8", "the account of the link is used");
});

test("a status that failed because of its template causes a sync of the template", async () => {
  const failed = (code: number) => graphCall({ statuses: [{ ...status("wamid.1", FROM, "msg_1", "failed"), errors: [{ code }] }] });
  assert.equal((await hostAfter(failed(132015))).templateChanges, 1);
  assert.equal((await hostAfter(failed(131026))).templateChanges, 0);
});
