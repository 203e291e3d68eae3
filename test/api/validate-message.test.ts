/** POST /v1/messages/validate: the result that a request would have and all its faults, without any effect. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { isGsm7 } from "../../src/model/gsm7.ts";
import { clientOf, newName, type Json, type TemplateClient } from "../support/client.ts";
import { assertProblem, faultsOf, pointersOf, until } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply, type RequestOptions } from "../support/harness.ts";
import { Customer, WITH_WEBHOOKS } from "../support/webhook-customer.ts";
import { Hook } from "../support/hook-server.ts";

type Character = { character: string; position: number; alternative: string | null };
type Validation = Json & {
  valid: boolean;
  body: string | null;
  segments: { count: number; encoding: string; characters: number } | null;
  ucs2_characters: Character[];
  fallback: { channel: string; body: string; segments: object | null; ucs2_characters: Character[] }[];
  route: { provider: string; link: string; link_reason: string; sender: string | null; sender_reason: string | null } | null;
  errors: { pointer: string; code: string; detail: string }[];
};

let godwit: Godwit;
let key: string;
let templates: TemplateClient;
before(async () => {
  godwit = await startGodwit();
  key = await godwit.key();
  await godwit.unlimited();
  templates = clientOf(godwit, key).templates;
});
after(() => godwit.stop());

const post = (body: unknown, options: RequestOptions = {}): Promise<Reply> =>
  godwit.request("POST", "/v1/messages/validate", { key, ...options, body });

async function validate(fields: object = {}, options: RequestOptions = {}): Promise<Validation> {
  const reply = await post({ ...sms(), ...fields }, options);
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.json["valid"], (reply.json["errors"] as unknown[]).length === 0);
  return reply.json as Validation;
}

const faultsIn = ({ errors }: Validation): string[] => errors.map(({ pointer, code }) => `${pointer} ${code}`);

/** Counts the rows of every table that a send changes. */
async function everything(node: Godwit): Promise<unknown> {
  const tables = ["messages", "events", "delivery_queue", "idempotency_keys", "fallbacks", "webhook_queue", "batches"];
  const counts = tables.map((table) => `(select count(*)::integer from ${table}) as ${table}`);
  return (await node.rows(`select ${counts.join(", ")}`))[0];
}

describe("a message that would be accepted", () => {
  test("has the text, the segments and the route that it would have", async () => {
    assert.deepEqual(await validate(), {
      object: "message_validation",
      valid: true,
      channel: "sms",
      body: "Your code is 123456",
      segments: { count: 1, encoding: "gsm7", characters: 19 },
      ucs2_characters: [],
      fallback: [],
      route: {
        provider: "simulator",
        link: "simulator",
        link_reason: "simulator",
        links: null,
        sender: "+15005550000",
        sender_reason: "link_default",
      },
      errors: [],
    });
  });

  test("has the requested sender, and no segments on WhatsApp", async () => {
    const {
      route,
      segments,
      ucs2_characters: characters,
      channel,
      valid,
    } = await validate({ sender: "Shop", channel: "whatsapp", body: "Zoë 😀" });
    assert.deepEqual([valid, channel, segments, characters], [true, "whatsapp", null, []]);
    assert.deepEqual([route?.sender, route?.sender_reason], ["Shop", "named"]);
  });

  test("is accepted with the same text and the same segments when it is sent", async () => {
    for (const fields of [
      { body: "Łódź €" },
      { channel: "whatsapp" },
      { send_at: new Date(Date.now() + 60_000).toISOString() },
      { max_segments: 1 },
    ]) {
      const { valid, body, segments } = await validate(fields);
      const sent = await godwit.send(key, fields);
      assert.deepEqual([valid, sent.status, body, segments], [true, 202, sent.json["body"], sent.json["segments"]]);
    }
  });

  test("is not stored, queued, counted or reported, and its key is not stored", async () => {
    await using hook = await Hook.listen();
    await using notifying = await startGodwit(WITH_WEBHOOKS);
    const customer = await Customer.of(notifying);
    const endpoint = await customer.endpoint(hook);
    const earlier = await everything(notifying);
    const idempotencyKey = randomUUID();
    const bodies = [sms(), { ...sms(), channel: "whatsapp" }, { ...sms(), recipient: "+15005550004" }, { ...sms(), recipient: "x" }];
    for (const body of bodies)
      for (const options of [{}, { idempotencyKey }, { idempotencyKey: "not a key" }]) {
        const reply = await notifying.request("POST", "/v1/messages/validate", { key: customer.key, body, ...options });
        assert.equal(reply.status, 200, reply.text);
        assert.equal(reply.headers.get("idempotent-replayed"), null);
        assert.equal(reply.headers.get("location"), null);
      }
    assert.deepEqual(await everything(notifying), earlier);
    assert.deepEqual((await customer.client.get("/v1/usage"))["data"], []);
    // The key is unused, also for another body.
    const sent = await notifying.request("POST", "/v1/messages", { key: customer.key, body: { ...sms(), body: "now" }, idempotencyKey });
    assert.equal(sent.status, 202, sent.text);
    await until("the message is delivered", () => endpoint.calls.some(({ event }) => event.type === "message.delivered") || undefined);
    await endpoint.test();
    for (const { event } of endpoint.calls)
      if (event.type.startsWith("message.")) assert.equal((event.data["message"] as Json)["id"], sent.json["id"]);
  });
});

describe("a text", () => {
  const of = (character: string, position: number, alternative: string | null): Character => ({ character, position, alternative });
  const ROWS: readonly (readonly [
    what: string,
    body: string,
    segments: readonly [count: number, encoding: string, characters: number],
    characters: readonly Character[],
  ])[] = [
    ["of GSM characters", "Hello @£$ ÄÖÜ ñ Ω", [1, "gsm7", 17], []],
    ["with characters of the GSM extension", "a^{}\\[~]|€b", [1, "gsm7", 11], []],
    ["of 160 characters", "a".repeat(160), [1, "gsm7", 160], []],
    ["of 161 characters", "a".repeat(161), [2, "gsm7", 161], []],
    ["of 81 GSM characters that count twice", "€".repeat(81), [2, "gsm7", 81], []],
    ["with one curly apostrophe", "it’s", [1, "ucs2", 4], [of("’", 2, "'")]],
    ["with quotation marks and a dash", "“a” – b", [1, "ucs2", 7], [of("“", 0, '"'), of("”", 2, '"'), of("–", 4, "-")]],
    ["with a non-breaking space", "10\u00a0000", [1, "ucs2", 6], [of("\u00a0", 2, " ")]],
    ["with the same character twice", "ç€ç", [1, "ucs2", 3], [of("ç", 0, "c"), of("ç", 2, "c")]],
    ["with a surrogate pair, counted as one", "a😀b’", [1, "ucs2", 4], [of("😀", 1, null), of("’", 3, "'")]],
    ["with a combining mark", "e\u0301!", [1, "ucs2", 3], [of("\u0301", 1, null)]],
    ["with an emoji of several code points", "👩‍👧 ok", [1, "ucs2", 6], [of("👩", 0, null), of("\u200d", 1, null), of("👧", 2, null)]],
    ["of another script", "я€", [1, "ucs2", 2], [of("я", 0, null)]],
    [
      "of 71 characters of another script",
      "я".repeat(71),
      [2, "ucs2", 71],
      Array.from({ length: 71 }, (_, position) => of("я", position, null)),
    ],
    ["with a tab and a line feed", "a\tb\nc", [1, "ucs2", 5], [of("\t", 1, " ")]],
  ];
  for (const [what, body, [count, encoding, characters], ucs2] of ROWS) {
    test(`${what}: ${count} in ${encoding}`, async () => {
      const validation = await validate({ body });
      assert.deepEqual(validation.segments, { count, encoding, characters });
      assert.deepEqual(validation.ucs2_characters, ucs2);
      assert.equal(validation.body, body);
      assert.equal(validation.valid, true);
    });
  }

  test("with the suggested alternatives for UCS-2 characters has only GSM characters", async () => {
    const body = "“Zoë’s café” – 5\u202f€ … ½ price • now™ à Łódź";
    const { ucs2_characters: found, segments } = await validate({ body });
    assert.equal(segments?.encoding, "ucs2");
    const characters = Array.from(body);
    for (const { character, position, alternative } of found) {
      assert.equal(characters[position], character);
      assert.ok(alternative !== null && isGsm7(alternative), `${character} has an alternative`);
      characters[position] = alternative;
    }
    const plain = await validate({ body: characters.join("") });
    assert.deepEqual([plain.segments?.encoding, plain.ucs2_characters], ["gsm7", []]);
  });

  test("of 1,600 emoji lists them all", async () => {
    const { ucs2_characters: found, segments } = await validate({ body: "😀".repeat(1_600) });
    assert.deepEqual([found.length, found.at(-1)?.position, segments?.count], [1_600, 1_599, 49]);
  });
});

describe("a template", () => {
  test("is returned with its variables filled in, by id and by name, with its segments", async () => {
    const { id, name } = await templates.create({ body: "Hello {{name}}, it’s {{time}}" });
    for (const which of [id, name]) {
      const validation = await validate({ body: null, template_id: which, template_variables: { name: "Zoë", time: "9:00" } });
      assert.deepEqual(faultsIn(validation), []);
      assert.equal(validation.body, "Hello Zoë, it’s 9:00");
      assert.deepEqual(
        validation.ucs2_characters.map(({ character, position }) => [character, position]),
        [
          ["ë", 8],
          ["’", 13],
        ],
      );
    }
  });

  test("that cannot be filled in has one fault for each variable, and no text", async () => {
    const { id } = await templates.create({ body: "{{a}} {{b}} {{c}}" });
    const validation = await validate({ body: null, template_id: id, template_variables: { a: "", c: "x", d: "y" } });
    assert.deepEqual(faultsIn(validation), [
      "/template_variables/a empty_variable",
      "/template_variables/b missing_variable",
      "/template_variables/d extra_variable",
    ]);
    assert.deepEqual([validation.body, validation.segments, validation.ucs2_characters], [null, null, []]);
    assert.ok(validation.route !== null);
  });

  const simulated = newName("simulate_rejected");
  for (const [what, fields, code] of [
    ["that is unknown", { template_id: "nothing" }, "template_not_found"],
    [
      "that is for another channel",
      { channel: "whatsapp", template_id: "for_sms_alone", template_variables: { name: "x" } },
      "template_channel_mismatch",
    ],
    ["that is not approved", { template_id: simulated, template_variables: { name: "x" } }, "template_not_approved"],
  ] as const)
    test(`${what} is reported, without a text`, async () => {
      if (code === "template_channel_mismatch") await templates.create({ name: "for_sms_alone" });
      if (code === "template_not_approved") await templates.create({ name: simulated, channels: ["sms", "whatsapp"] });
      const validation = await validate({ body: null, ...fields });
      assert.deepEqual(faultsIn(validation), [`/template_id ${code}`]);
      assert.equal(validation.body, null);
    });
});

describe("a fallback", () => {
  test("is reported step by step, each on its own channel", async () => {
    const { name } = await templates.create({ body: "Code {{code}} ✓", channels: ["sms", "whatsapp"] });
    const validation = await validate({
      channel: "whatsapp",
      fallback: [
        { channel: "sms", template_id: name, template_variables: { code: "1" }, after_seconds: 60 },
        { channel: "whatsapp", body: "ça va", after_seconds: 60 },
      ],
    });
    assert.deepEqual(validation.fallback, [
      {
        channel: "sms",
        body: "Code 1 ✓",
        segments: { count: 1, encoding: "ucs2", characters: 8 },
        ucs2_characters: [{ character: "✓", position: 7, alternative: null }],
      },
      { channel: "whatsapp", body: "ça va", segments: null, ucs2_characters: [] },
    ]);
    assert.equal(validation.valid, true);
  });

  test("has its faults reported by step, beside those of the message", async () => {
    const validation = await validate({
      body: null,
      template_id: "verification_code",
      fallback: [
        { channel: "sms", template_id: "nothing", after_seconds: 60 },
        { channel: "sms", template_id: "verification_code", template_variables: { code: "1", x: "2" }, after_seconds: 60 },
      ],
    });
    assert.deepEqual(
      new Set(faultsIn(validation)),
      new Set([
        "/template_variables/code missing_variable",
        "/fallback/0/template_id template_not_found",
        "/fallback/1/template_variables/x extra_variable",
      ]),
    );
  });

  test("with an invalid form does not hide the faults of the message", async () => {
    const validation = await validate({ body: null, template_id: "verification_code", fallback: [{ channel: "sms", body: "x" }] });
    assert.deepEqual(
      new Set(faultsIn(validation)),
      new Set(["/fallback/0/after_seconds required", "/template_variables/code missing_variable"]),
    );
    const text = await validate({ body: "Zoë", fallback: [] });
    assert.deepEqual([faultsIn(text), text.segments?.encoding, text.ucs2_characters.length], [["/fallback too_few"], "ucs2", 1]);
  });
});

describe("all faults are reported at once:", () => {
  const SUPPRESSED = "+14155550177";
  before(async () => {
    const added = await godwit.request("POST", "/v1/suppressions", { key, body: { recipient: SUPPRESSED } });
    assert.equal(added.status, 201, added.text);
  });

  test("of the form, of rules between fields, of a template, and of consent", async () => {
    const validation = await validate({
      recipient: SUPPRESSED,
      body: null,
      template_id: "verification_code",
      template_variables: { wrong: "x" },
      priority: "urgent",
      send_at: "2020-01-01T00:00:00Z",
      color: "red",
      metadata: { a: 1 },
    });
    assert.deepEqual(
      new Set(faultsIn(validation)),
      new Set([
        "/priority invalid_value",
        "/send_at in_the_past",
        "/color unknown_field",
        "/metadata/a invalid_type",
        "/template_variables/code missing_variable",
        "/template_variables/wrong extra_variable",
        "/recipient recipient_opted_out",
      ]),
    );
    assert.ok(validation.errors.every(({ detail }) => detail !== ""));
  });

  test("a missing route with a live key, beside the other faults", async () => {
    const live = await godwit.key({ environment: "live" });
    await godwit.unlimited();
    const validation = await validate({ body: null, template_id: "nothing", ttl_seconds: 1 }, { key: live });
    assert.deepEqual(new Set(faultsIn(validation)), new Set(["/ttl_seconds out_of_range", "/template_id template_not_found", " no_route"]));
    assert.equal(validation.route, null);
    const text = await validate({ body: "Zoë" }, { key: live });
    assert.deepEqual([faultsIn(text), text.body, text.segments?.encoding], [[" no_route"], "Zoë", "ucs2"]);
  });

  test("the route and the consent are checked, although other fields are invalid", async () => {
    const validation = await validate({ recipient: SUPPRESSED, template_id: "welcome", max_segments: 0 });
    assert.deepEqual(
      new Set(faultsIn(validation)),
      new Set(["/template_id conflict", "/max_segments out_of_range", "/recipient recipient_opted_out"]),
    );
    assert.equal(validation.route?.link, "simulator");
    assert.equal(validation.body, "Your code is 123456");
  });

  const ROWS: readonly (readonly [what: string, fields: object, errors: readonly string[]])[] = [
    ["no recipient, with the text in the response", { recipient: undefined }, ["/recipient required"]],
    ["an impossible number", { recipient: "+1415555" }, ["/recipient impossible_number"]],
    ["no channel", { channel: undefined }, ["/channel required"]],
    ["an unknown channel", { channel: "fax" }, ["/channel invalid_value"]],
    ["no text", { body: undefined }, ["/body required"]],
    ["a text of the wrong type", { body: 7 }, ["/body invalid_type"]],
    ["a text that is too long for SMS", { body: "a".repeat(1_601) }, ["/body too_long"]],
    [
      "variables of the wrong type",
      { body: null, template_id: "verification_code", template_variables: "x" },
      ["/template_variables invalid_type"],
    ],
    ["a template of the wrong type", { body: null, template_id: 7 }, ["/template_id invalid_type"]],
    ["a fallback of the wrong type", { fallback: "sms" }, ["/fallback invalid_type"]],
    ["steps of the wrong type", { fallback: [null, 7] }, ["/fallback/0 invalid_type", "/fallback/1 invalid_type"]],
    ["a sender of the wrong type", { sender: 7 }, ["/sender invalid_type"]],
    ["an unknown field", { color: "red" }, ["/color unknown_field"]],
    ["more segments than max_segments", { body: "a".repeat(161), max_segments: 1 }, ["/max_segments max_segments_exceeded"]],
    ["a recipient who opted out at the carrier", { recipient: "+15005550004" }, ["/recipient recipient_opted_out"]],
    ["a closed service window", { recipient: "+15005550014", channel: "whatsapp" }, ["/recipient service_window_closed"]],
    ["a suppressed recipient", { recipient: SUPPRESSED }, ["/recipient recipient_opted_out"]],
    ["a suppressed recipient on WhatsApp", { recipient: SUPPRESSED, channel: "whatsapp" }, ["/recipient recipient_opted_out"]],
    [
      "a record that is too large",
      { metadata: Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`name${index}`, "v".repeat(500)])) },
      [" too_large"],
    ],
    [
      "a fallback whose record is too large",
      {
        metadata: Object.fromEntries(Array.from({ length: 24 }, (_, index) => [`name${index}`, "v".repeat(500)])),
        fallback: [{ channel: "whatsapp", body: "b".repeat(4_000), after_seconds: 60 }],
      },
      ["/fallback/0 too_large"],
    ],
  ];
  for (const [what, fields, errors] of ROWS) {
    test(what, async () => {
      const validation = await validate(fields);
      assert.deepEqual(new Set(faultsIn(validation)), new Set(errors));
      assert.equal(validation.errors.length, errors.length);
      assert.equal(validation.valid, false);
      // Sending is refused with the same faults.
      const sent = await godwit.send(key, fields);
      assert.ok([400, 422].includes(sent.status), sent.text);
      assert.deepEqual(new Set(faultsOf(sent).map(({ pointer, code }) => `${pointer} ${code}`)), new Set(errors));
    });
  }

  test("a service window that was open and is closed by now", async () => {
    const recipient = "+14155550178";
    await godwit.rows(
      `insert into service_windows (account_id, environment, recipient, sender, opened_at)
       select account_id, 'test', $1, '+15005550000', now() - interval '25 hours' from environments where environment = 'test' limit 1`,
      [recipient],
    );
    assert.deepEqual(faultsIn(await validate({ recipient, channel: "whatsapp" })), ["/recipient service_window_closed"]);
    for (const fields of [
      { channel: "sms" },
      { channel: "whatsapp", body: null, template_id: "verification_code", template_variables: { code: "1" } },
    ])
      assert.deepEqual(faultsIn(await validate({ recipient, ...fields })), []);
    assert.deepEqual(faultsIn(await validate({ recipient, channel: "whatsapp", priority: "urgent" })), [
      "/priority invalid_value",
      "/recipient service_window_closed",
    ]);
  });
});

describe("a refused request", () => {
  for (const [what, body] of [
    ["that is not JSON", "{"],
    ["that is empty", ""],
    ["that is a list", "[]"],
    ["that is a string", '"x"'],
    ["that is null", "null"],
    ["that is a number", "7"],
  ] as const)
    test(`${what} is a 400`, async () => {
      assertProblem(await post(body, { headers: { "content-type": "application/json" } }), "invalid_request_payload");
    });

  test("with a query parameter is a 400 or reported as invalid, and never accepted", async () => {
    const reply = await godwit.request("POST", "/v1/messages/validate?x=1", { key, body: sms() });
    assert.ok(reply.status === 400 || (reply.json["valid"] === false && pointersOf(reply).length > 0), reply.text);
  });

  test("without the scope is a 403, and with messages:send it is accepted", async () => {
    const reader = await godwit.key({ scopes: ["messages:read"] });
    assertProblem(await post(sms(), { key: reader }), "forbidden_insufficient_scope");
    const sender = await godwit.key({ scopes: ["messages:send"] });
    assert.equal((await post(sms(), { key: sender })).status, 200);
  });

  test("with another media type is a 415", async () => {
    assertProblem(await post("x", { headers: { "content-type": "text/plain" } }), "unsupported_media_type");
  });
});
