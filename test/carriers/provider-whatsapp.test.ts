import assert from "node:assert/strict";
import { test } from "node:test";
import { poll } from "../../src/lib/wait.ts";
import type { OutgoingTemplate, Variable } from "../../src/providers/provider.ts";
import { whatsapp, WHATSAPP_DEFAULTS } from "../../src/providers/whatsapp/whatsapp.ts";
import { LIMIT_MS } from "../support/expect.ts";
import { FakeGraph, GRAPH_SECRETS, PHONE_NUMBER_ID } from "../support/fakes/graph.ts";
import { graphError } from "../support/fakes/graph-templates.ts";
import { ANOTHER, message, onLink, send, TO } from "../support/fakes/graph-link.ts";
import type { CarrierBehavior } from "../support/fakes/http-carrier.ts";
import { mayLeave, RecordingHost, settled } from "../support/recording-host.ts";

test("a text is sent in the format of the Cloud API", () =>
  onLink(async ({ graph, connection }) => {
    const hello = message({ body: "Hello 👋", id: "msg_1" });
    const outcome = await send(connection, hello);
    assert.ok(outcome.kind === "accepted" && outcome.providerMessageId.startsWith("wamid."));
    const [seen] = graph.seen;
    assert.equal(seen?.method, "POST");
    assert.equal(seen.path, `/v23.0/${PHONE_NUMBER_ID}/messages`);
    assert.equal(seen.headers["authorization"], `Bearer ${GRAPH_SECRETS.accessToken}`);
    assert.equal(seen.headers["content-type"], "application/json");
    assert.deepEqual(graph.messages[0], {
      messaging_product: "whatsapp",
      recipient_type: "individual",
      to: "4915112345678",
      type: "text",
      text: { body: "Hello 👋", preview_url: false },
      biz_opaque_callback_data: "msg_1",
    });
  }));

test("a message to a user id has it as recipient, and no phone number", () =>
  onLink(async ({ graph, connection }) => {
    const recipient = "US.13491208655302741918";
    const outcome = await send(connection, message({ recipient, id: "msg_1" }));
    assert.equal(outcome.kind, "accepted");
    assert.deepEqual([graph.messages[0]?.["recipient"], graph.messages[0]?.["to"]], [recipient, undefined]);
  }));

test("the version and the path of the base URL are part of the request URL", async () => {
  const graph = await new FakeGraph().listen();
  const settings = {
    ...WHATSAPP_DEFAULTS,
    ...GRAPH_SECRETS,
    baseUrl: `${graph.url}/meta/`,
    version: "v24.0",
    phoneNumberId: PHONE_NUMBER_ID,
    wabaId: null,
  };
  const connection = await whatsapp.open(settings, new RecordingHost());
  await send(connection);
  assert.equal(graph.seen[0]?.path, `/meta/v24.0/${PHONE_NUMBER_ID}/messages`);
  await connection.close();
  await graph.close();
});

const variables = (values: Record<string, string>, names = Object.keys(values)): Variable[] =>
  names.map((name) => ({ name, value: values[name] ?? "" }));
const template = (fields: Partial<OutgoingTemplate> = {}): OutgoingTemplate => ({
  name: "order",
  language: "en",
  category: "utility",
  header: [],
  body: [],
  ...fields,
});
const text = (value: string, name?: string): object => ({
  type: "text",
  ...(name === undefined ? {} : { parameter_name: name }),
  text: value,
});

const TEMPLATES: readonly (readonly [what: string, fields: Partial<OutgoingTemplate>, code: string, components: object[] | undefined])[] = [
  ["without variables", { language: "de" }, "de", undefined],
  [
    "with numbered variables, in their order",
    { language: "en-US", body: variables({ "1": "a", "2": "b", "10": "j" }, ["1", "2", "10"]) },
    "en_US",
    [{ type: "body", parameters: [text("a"), text("b"), text("j")] }],
  ],
  [
    "with named variables, by their names",
    { language: "pt-BR", body: variables({ name: "Ada", order: "A-17" }) },
    "pt_BR",
    [{ type: "body", parameters: [text("Ada", "name"), text("A-17", "order")] }],
  ],
  [
    "with the same variable in header and body",
    { header: variables({ order: "A-17" }), body: variables({ name: "Ada", order: "A-17" }) },
    "en",
    [
      { type: "header", parameters: [text("A-17", "order")] },
      { type: "body", parameters: [text("Ada", "name"), text("A-17", "order")] },
    ],
  ],
  ["with a variable only in its header", { header: variables({ "1": "x" }) }, "en", [{ type: "header", parameters: [text("x")] }]],
  [
    "with a code, which its button copies, without a variable name",
    { category: "authentication", body: variables({ code: "123456" }) },
    "en",
    [
      { type: "body", parameters: [text("123456")] },
      { type: "button", sub_type: "url", index: "0", parameters: [text("123456")] },
    ],
  ],
  [
    "without a known category",
    { category: null, body: variables({ code: "123456" }) },
    "en",
    [{ type: "body", parameters: [text("123456", "code")] }],
  ],
  ["with a code and no variable", { category: "authentication" }, "en", undefined],
];

for (const [what, fields, code, components] of TEMPLATES)
  test(`a template ${what} is sent as a template`, () =>
    onLink(async ({ graph, connection }) => {
      await send(connection, { template: template(fields), body: "the rendered text" });
      assert.equal(graph.messages[0]?.["type"], "template");
      assert.deepEqual(graph.messages[0]["template"], {
        name: "order",
        language: { code },
        ...(components === undefined ? {} : { components }),
      });
      assert.equal("text" in graph.messages[0], false);
    }));

test("a response about a template causes a sync of the template, and no other response does", () =>
  onLink(async ({ graph, connection, host }) => {
    for (const code of [131026, 100, 131047]) {
      graph.behaviors.set(TO, graphError(code));
      await send(connection, { template: template() });
    }
    assert.equal(host.templateChanges, 0);
    for (const code of [132000, 132001, 132015, 132018, 132068, 132069]) {
      graph.behaviors.set(TO, graphError(code));
      await send(connection, { template: template() });
    }
    assert.equal(host.templateChanges, 6);
  }));

for (const [ours, theirs] of [
  ["en", "en"],
  ["en-gb", "en_GB"],
  ["sr-Latn", "sr"],
  ["zh-Hant-TW", "zh_TW"],
  ["zh-Hant", "zh_TW"],
  ["zh", "zh_CN"],
  ["es-419", "es_419"],
] as const)
  test(`the language ${ours} is ${theirs} at WhatsApp`, () =>
    onLink(async ({ graph, connection }) => {
      await send(connection, { template: template({ language: ours }) });
      assert.deepEqual(graph.messages[0]?.["template"], { name: "order", language: { code: theirs } });
    }));

test("a link that reaches its carrier again reports it", () =>
  onLink(async ({ graph, connection, host }) => {
    graph.behaviors.set(TO, { ...graphError(4), headers: { "retry-after": "0" } } as CarrierBehavior);
    await send(connection);
    assert.equal(connection.state?.kind, "throttled");
    await send(connection, { recipient: ANOTHER });
    assert.deepEqual(connection.state, { kind: "connected", reason: null });
    assert.equal(host.changes, 2);
  }));

test("the rate is kept, also by many concurrent messages", () =>
  onLink(
    async ({ graph, connection }) => {
      const startedAt = performance.now();
      const outcomes = await Promise.all(Array.from({ length: 60 }, () => send(connection)));
      for (const { kind } of outcomes) assert.equal(kind, "accepted");
      // 59 turns of 10 ms.
      const took = Math.max(...graph.seen.map(({ atMs }) => atMs)) - startedAt;
      assert.ok(took >= 580, `60 messages at 100 a second took ${took} ms`);
    },
    { messagesPerSecond: 100 },
  ));

test("a message that is aborted while it waits for the rate has not left, and is not sent later", () =>
  onLink(
    async ({ graph, connection }) => {
      const limit = new AbortController();
      const sends = [connection.send(message(), limit.signal, mayLeave), connection.send(message(), limit.signal, mayLeave)];
      await sends[0];
      limit.abort();
      const second = await settled(sends[1] ?? assert.fail(), "an aborted attempt");
      assert.ok(second.kind === "throttled" && second.providerCode === "not_sent");
      assert.equal(graph.seen.length, 1);
    },
    { messagesPerSecond: 1 },
  ));

test("close ends the messages that wait for the rate", () =>
  onLink(
    async ({ graph, connection }) => {
      const sends = Array.from({ length: 5 }, () => send(connection));
      await sends[0];
      await connection.close();
      const kinds = await settled(Promise.all(sends), "the waiting messages", 500);
      for (const outcome of kinds.slice(1)) assert.ok(outcome.kind === "throttled" && outcome.providerCode === "not_sent");
      assert.equal(graph.seen.length, 1);
    },
    { messagesPerSecond: 1 },
  ));

test("a slow link accepts few messages at a time, and none waits longer than permitted", () =>
  onLink(
    async ({ connection }) => {
      assert.equal(connection.window, 5);
      const limit = new AbortController();
      const sends = Array.from({ length: 20 }, () => connection.send(message(), limit.signal, mayLeave));
      const outcome = await settled(Promise.race(sends.slice(15)), "the first message above the limit");
      assert.ok(outcome.kind === "throttled" && (outcome.retryAfterMs ?? 0) > 10_000, JSON.stringify(outcome));
      limit.abort();
      await settled(Promise.all(sends), "the rest");
    },
    { messagesPerSecond: 1 },
  ));

test("no more connections are open than the size of the window, and none after close", async () => {
  let graph: FakeGraph | undefined;
  await onLink(
    async ({ graph: fake, connection }) => {
      graph = fake;
      for (let round = 0; round < 3; round += 1) await Promise.all(Array.from({ length: 12 }, () => send(connection)));
      assert.ok(fake.connections <= 4, `${fake.connections} connections`);
      await connection.close();
      const areGone = await poll(async () => (fake.connections === 0 ? true : undefined), { timeoutMs: LIMIT_MS, everyMs: 5 });
      assert.ok(areGone, "connections are left");
      const late = await send(connection);
      assert.ok(late.kind === "throttled" && late.providerCode === "link_closed");
    },
    { window: 4 },
  );
  assert.equal(graph?.seen.length, 36);
});

test("a link with an invalid setting does not open", async () => {
  const settings = { ...WHATSAPP_DEFAULTS, ...GRAPH_SECRETS, phoneNumberId: PHONE_NUMBER_ID, wabaId: null };
  const host = new RecordingHost();
  for (const wrong of [
    { phoneNumberId: "1/../2" },
    { version: "latest" },
    { messagesPerSecond: 0 },
    { window: 0 },
    { baseUrl: "graph" },
  ] as const)
    await assert.rejects(whatsapp.open({ ...settings, ...wrong }, host));
});

test("the log contains no secret, text or number", async () => {
  let lines = "";
  await onLink(
    async ({ graph, connection, host }) => {
      const hasty = { ...graphError(4), headers: { "retry-after": "0" } } as CarrierBehavior;
      // The last response pauses the link. After that nothing is sent.
      for (const behavior of [graphError(131026), hasty, { kind: "disconnects" }, { kind: "is silent" }, graphError(190)] as const) {
        graph.behaviors.set(TO, behavior);
        await send(connection, { body: "the secret text" });
      }
      assert.equal(graph.seen.length, 5);
      ({ lines } = host);
    },
    { timeoutMs: 100 },
  );
  assert.notEqual(lines, "");
  for (const word of [...Object.values(GRAPH_SECRETS), "the secret text", TO.slice(1)]) assert.ok(!lines.includes(word), word);
});
