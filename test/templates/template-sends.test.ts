/** Messages with templates: found by id or name, filled with variables, stored as sent, and redacted. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { clientOf, afterSeconds, BOTH, newName, type Client, type Json, type TemplateClient } from "../support/client.ts";
import { assertProblem, faultsOf, pointersOf, until } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply, type RequestOptions } from "../support/harness.ts";
import { assertFirst, assertReplayOf } from "../support/replay.ts";
import { eventsOf, rowId, setStatus } from "../support/tables.ts";

let godwit: Godwit;
let key: string;
let client: Client;
let templates: TemplateClient;
before(async () => {
  // Another process sees a change of a template later.
  godwit = await startGodwit({ isOneProcess: true });
  key = await godwit.key();
  await godwit.unlimited();
  client = clientOf(godwit, key);
  templates = clientOf(godwit, key).templates;
});
after(() => godwit.stop());

/** The body of a request with a template: the smallest message without its text. */
const of = (template: unknown, variables: Json | undefined, fields: object = {}): object => ({
  ...sms(),
  body: undefined,
  template_id: template,
  ...(variables === undefined ? {} : { template_variables: variables }),
  ...fields,
});
const post = (body: object, options: RequestOptions = {}): Promise<Reply> => client.request("POST", "/v1/messages", { body, ...options });
const shown = (record: Json): Json => ({
  body: record["body"],
  template_id: record["template_id"],
  template_version: record["template_version"],
  template_variables: record["template_variables"],
});
const messageCount = async (): Promise<number> => (await godwit.rows("select from messages")).length;

async function assertRefused(body: object, code: Parameters<typeof assertProblem>[1], faults: readonly string[]): Promise<void> {
  const earlier = await messageCount();
  const reply = await post(body);
  assertProblem(reply, code);
  assert.deepEqual(
    faultsOf(reply).map(({ pointer, code: fault }) => `${pointer} ${fault}`),
    faults,
  );
  assert.equal(await messageCount(), earlier, "nothing is stored");
}

describe("a template", () => {
  for (const channel of ["sms", "whatsapp"] as const) {
    for (const by of ["id", "name"] as const) {
      test(`is sent by its ${by} on ${channel}, and the record contains its id, version and variables`, async () => {
        const template = await templates.create({ ...BOTH, body: "Hello {{name}}, order {{number}}" });
        const variables = { name: "Ada", number: "A-7" };
        const sent = await post(of(template[by], variables, { channel }));
        assert.equal(sent.status, 202, sent.text);
        assert.deepEqual(shown(sent.json), {
          body: "Hello Ada, order A-7",
          template_id: template["id"],
          template_version: 1,
          template_variables: variables,
        });
        assert.deepEqual(sent.json["segments"], channel === "sms" ? { count: 1, encoding: "gsm7", characters: 20 } : null);
        assert.deepEqual(await client.messages.read(sent.json["id"]), sent.json);
        assert.deepEqual(
          (await eventsOf(godwit, sent.json["id"])).map(({ record }) => JSON.parse(record ?? "") as Json),
          [sent.json],
        );
      });
    }
  }

  test("is filled by position", async () => {
    const { id } = await templates.create({ body: "{{2}} then {{1}} and {{2}}" });
    const sent = await post(of(id, { 1: "one", 2: "two" }));
    assert.equal(sent.json["body"], "two then one and two");
  });

  test("without variables needs none, and accepts none", async () => {
    const { id } = await templates.create({ body: "We are closed today." });
    for (const variables of [undefined, {}]) assert.equal((await post(of(id, variables))).json["body"], "We are closed today.");
    assert.deepEqual((await post(of(id, undefined))).json["template_variables"], {});
    await assertRefused(of(id, { name: "Ada" }), "template_variables_mismatch", ["/template_variables/name extra_variable"]);
  });

  const UNCHANGED_VALUES: readonly (readonly [what: string, value: string])[] = [
    ["a placeholder", "{{x}}"],
    ["a placeholder of the template itself", "{{name}} {{other}}"],
    ["replacement patterns", "$& $1 $` $' $$ $<name>"],
    ["backslashes", "\\1 \\n \\"],
    ["unmatched braces", "}} {{ {"],
    ["a line feed, quotation marks and emoji", 'a\n"b" 👋'],
    ["the name of an inherited property", "constructor"],
  ];
  for (const [what, value] of UNCHANGED_VALUES) {
    test(`sends a value with ${what} unchanged`, async () => {
      const { id } = await templates.create({ body: "<{{name}}|{{other}}>" });
      const sent = await post(of(id, { name: value, other: "!" }));
      assert.equal(sent.status, 202, sent.text);
      assert.equal(sent.json["body"], `<${value}|!>`);
      assert.deepEqual(sent.json["template_variables"], { name: value, other: "!" });
    });
  }

  test("is not visible to the other environment or to another account", async () => {
    const { id, name } = await templates.create({ body: "Hello" });
    const stranger = await godwit.key({ account: "a stranger to templates" });
    await godwit.unlimited();
    for (const which of [id, name]) {
      const reply = await godwit.request("POST", "/v1/messages", { key: stranger, body: of(which, undefined) });
      assertProblem(reply, "template_not_found");
    }
  });

  test("that every environment starts with can be sent", async () => {
    const sent = await post(of("verification_code", { code: "123456" }));
    assert.equal(sent.json["body"], "123456 is your verification code. Do not share it with anyone.");
    assert.match(String(sent.json["template_id"]), /^tmpl_/);
  });
});

describe("a message is refused because of", () => {
  let named: Json;
  let positional: Json;
  let both: Json;
  before(async () => {
    named = await templates.create({ body: "{{a}} {{b}} {{c}}" });
    positional = await templates.create({ body: "{{1}} {{2}}" });
    both = await templates.create({ ...BOTH, body: "Hello {{name}}" });
  });

  test("every missing, empty or extra variable, each with its own fault", async () => {
    await assertRefused(of(named["id"], { a: "", c: " \n", d: "x", e: "" }), "template_variables_mismatch", [
      "/template_variables/a empty_variable",
      "/template_variables/b missing_variable",
      "/template_variables/c empty_variable",
      "/template_variables/d extra_variable",
      "/template_variables/e extra_variable",
    ]);
    await assertRefused(of(positional["name"], { 1: "x", name: "y" }), "template_variables_mismatch", [
      "/template_variables/2 missing_variable",
      "/template_variables/name extra_variable",
    ]);
    await assertRefused(of(both["id"], undefined), "template_variables_mismatch", ["/template_variables/name missing_variable"]);
    await assertRefused(of(both["id"], { name: "x", "a/b~": "y" }), "template_variables_mismatch", [
      "/template_variables/a~1b~0 extra_variable",
    ]);
  });

  test("an unknown template, given by id, by name or by an invalid text", async () => {
    for (const which of ["nothing", `tmpl_${"0".repeat(26)}`, "Not A Name", "msg_x"])
      await assertRefused(of(which, {}), "template_not_found", ["/template_id template_not_found"]);
  });

  test("a template for another channel", async () => {
    await assertRefused(of(named["id"], { a: "1", b: "2", c: "3" }, { channel: "whatsapp" }), "template_channel_mismatch", [
      "/template_id template_channel_mismatch",
    ]);
  });

  for (const status of ["draft", "pending", "rejected", "paused", "archived"] as const) {
    test(`a template that is ${status}, by id`, async () => {
      const template = await templates.create({ ...BOTH, name: newName(`simulate_${status}`) });
      await godwit.rows("update templates set status = $2 where id = $1", [rowId(template["id"]), status]);
      // Templates are cached for a second.
      const reply = await until("the change is visible", async () => {
        const response = await post(of(template["id"], { name: "Ada" }));
        return response.status === 422 ? response : undefined;
      });
      assertProblem(reply, "template_not_approved");
      assert.deepEqual(pointersOf(reply), ["/template_id"]);
      assert.match(String(reply.json["detail"]), new RegExp(status));
      const byName = await post(of(template["name"], { name: "Ada" }));
      assertProblem(byName, status === "archived" ? "template_not_found" : "template_not_approved");
    });
  }

  test("a text that exceeds the limit of its channel after the variables are filled in", async () => {
    const long = await templates.create({ ...BOTH, body: "{{a}}{{b}}" });
    assert.equal((await post(of(long["id"], { a: "x".repeat(1_024), b: "y".repeat(576) }))).status, 202);
    await assertRefused(of(long["id"], { a: "x".repeat(1_024), b: "y".repeat(577) }), "template_text_too_long", [
      "/template_variables too_long",
    ]);
    const whatsapp = { channel: "whatsapp" };
    assert.equal((await post(of(long["id"], { a: "😀".repeat(1_000), b: "y".repeat(24) }, whatsapp))).status, 202);
    await assertRefused(of(long["id"], { a: "😀".repeat(1_000), b: "y".repeat(25) }, whatsapp), "template_text_too_long", [
      "/template_variables too_long",
    ]);
  });

  test("a filled-in text with more segments than max_segments", async () => {
    const { id } = await templates.create({ body: "{{a}}" });
    assert.equal((await post(of(id, { a: "x".repeat(160) }, { max_segments: 1 }))).status, 202);
    await assertRefused(of(id, { a: "x".repeat(161) }, { max_segments: 1 }), "max_segments_exceeded", [
      "/max_segments max_segments_exceeded",
    ]);
  });

  const FORM: readonly (readonly [what: string, fields: object, faults: readonly string[]])[] = [
    ["a text beside the template", { body: "x" }, ["/template_id conflict"]],
    ["variables that are not an object", { template_variables: ["x"] }, ["/template_variables invalid_type"]],
    ["a variable that is not a string", { template_variables: { name: 7 } }, ["/template_variables/name invalid_type"]],
    ["a variable of 1,025 characters", { template_variables: { name: "x".repeat(1_025) } }, ["/template_variables/name too_long"]],
    ["an empty name", { template_id: "" }, ["/template_id too_short"]],
    ["a name of 65 characters", { template_id: "x".repeat(65) }, ["/template_id too_long"]],
  ];
  for (const [what, fields, faults] of FORM)
    test(`${what}, which is a fault of the request`, () =>
      assertRefused({ ...of(both["id"], { name: "x" }), ...fields }, "invalid_request_payload", faults));

  test("an unknown template again when its key is replayed, although the template exists by then", async () => {
    const name = newName();
    const options = { idempotencyKey: randomUUID() };
    const first = await post(of(name, { name: "Ada" }), options);
    assertProblem(first, "template_not_found");
    await templates.create({ name });
    assertReplayOf(first, await post(of(name, { name: "Ada" }), options));
    const later = await until("the template is visible", async () => {
      const reply = await post(of(name, { name: "Ada" }));
      return reply.status === 202 ? reply : undefined;
    });
    assert.equal(later.json["body"], "Hello Ada");
  });
});

describe("a message with a template", () => {
  test("keeps the version that it was sent with, and later messages have the new version", async () => {
    const template = await templates.create({ body: "One {{name}}" });
    const first = await post(of(template["id"], { name: "Ada" }));
    await templates.edit(template["id"], { body: "Two {{name}}" });
    const second = await post(of(template["id"], { name: "Ada" }));
    assert.deepEqual([second.json["body"], second.json["template_version"]], ["Two Ada", 2]);
    assert.deepEqual(await client.messages.read(first.json["id"]), first.json);
    assert.deepEqual([first.json["body"], first.json["template_version"]], ["One Ada", 1]);
  });

  test("is replayed for its key after the template was edited and archived", async () => {
    const template = await templates.create({ body: "One {{name}}" });
    const options = { idempotencyKey: randomUUID() };
    const body = of(template["name"], { name: "Ada" });
    const first = await post(body, options);
    assertFirst(first);
    await templates.edit(template["id"], { body: "Two {{name}} {{more}}" });
    assertReplayOf(first, await post(body, options));
    await templates.archive(template["id"]);
    assertReplayOf(first, await post(body, options));
    assertProblem(await post(body), "template_not_found");
  });

  test("reaches the carrier with its variables filled in", async () => {
    await using delivering = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 50 });
    await delivering.unlimited();
    const ownKey = await delivering.key();
    const own = clientOf(delivering, ownKey);
    const template = await clientOf(delivering, ownKey).templates.create(BOTH);
    for (const channel of ["sms", "whatsapp"]) {
      const { id } = await own.messages.send({ ...of(template["id"], { name: "Ada" }, { channel }), body: null });
      const record = await own.messages.reached(id, channel === "sms" ? "delivered" : "read");
      assert.deepEqual(shown(record), {
        body: "Hello Ada",
        template_id: template["id"],
        template_version: 1,
        template_variables: { name: "Ada" },
      });
    }
  });
});

describe("an edit of a scheduled message", () => {
  const schedule = async (template: unknown, variables: Json, fields: object = {}): Promise<Json> => {
    const reply = await post(of(template, variables, { send_at: afterSeconds(3_600), ...fields }));
    assert.equal(reply.status, 202, reply.text);
    return reply.json;
  };
  const unchanged = async (
    message: Json,
    reply: Reply,
    code: Parameters<typeof assertProblem>[1],
    faults: readonly string[],
  ): Promise<void> => {
    assertProblem(reply, code);
    assert.deepEqual(
      faultsOf(reply).map(({ pointer, code: fault }) => `${pointer} ${fault}`),
      faults,
    );
    assert.deepEqual(await client.messages.read(message["id"]), message);
    assert.equal((await eventsOf(godwit, message["id"])).length, 1);
  };

  test("with new variables uses the template version of the message, although the template has a newer one", async () => {
    const template = await templates.create({ body: "One {{name}}" });
    const message = await schedule(template["id"], { name: "Ada" });
    await templates.edit(template["id"], { body: "Two {{name}} {{more}}" });
    const edited = await client.messages.edit(message["id"], { template_variables: { name: "Zoë 👋" } });
    assertFirst(edited, 200);
    assert.deepEqual(shown(edited.json), {
      body: "One Zoë 👋",
      template_id: template["id"],
      template_version: 1,
      template_variables: { name: "Zoë 👋" },
    });
    assert.deepEqual(edited.json["segments"], { count: 1, encoding: "ucs2", characters: 9 });
    assert.deepEqual(await client.messages.read(message["id"]), edited.json);
    await templates.archive(template["id"]);
    assert.equal((await client.messages.edit(message["id"], { template_variables: { name: "Eve" } })).json["body"], "One Eve");
  });

  test("of another field keeps the text, the template and the variables", async () => {
    const template = await templates.create();
    const message = await schedule(template["id"], { name: "Ada" });
    const edited = await client.messages.edit(message["id"], { priority: "high" });
    assertFirst(edited, 200);
    assert.deepEqual(shown(edited.json), shown(message));
  });

  test("with invalid variables has one fault for each, and changes nothing", async () => {
    const template = await templates.create({ body: "{{a}} {{b}}" });
    const message = await schedule(template["id"], { a: "1", b: "2" });
    await unchanged(
      message,
      await client.messages.edit(message["id"], { template_variables: { a: " ", c: "x" } }),
      "template_variables_mismatch",
      ["/template_variables/a empty_variable", "/template_variables/b missing_variable", "/template_variables/c extra_variable"],
    );
    await unchanged(message, await client.messages.edit(message["id"], { template_variables: {} }), "template_variables_mismatch", [
      "/template_variables/a missing_variable",
      "/template_variables/b missing_variable",
    ]);
    await unchanged(
      message,
      await client.messages.edit(message["id"], { template_variables: { a: "x".repeat(1_024), b: "y".repeat(1_024) } }),
      "template_text_too_long",
      ["/template_variables too_long"],
    );
    await unchanged(message, await client.messages.edit(message["id"], { template_variables: { a: 1 } }), "invalid_request_payload", [
      "/template_variables/a invalid_type",
    ]);
  });

  test("that exceeds max_segments is refused", async () => {
    const template = await templates.create({ body: "{{a}}" });
    const message = await schedule(template["id"], { a: "1" }, { max_segments: 1 });
    const reply = await client.messages.edit(message["id"], { template_variables: { a: "x".repeat(161) } });
    assertProblem(reply, "max_segments_exceeded");
    assert.deepEqual(await client.messages.read(message["id"]), message);
  });

  test("of the text of a message with a template, or of the variables of a message without one, is a 400", async () => {
    const template = await templates.create();
    const message = await schedule(template["id"], { name: "Ada" });
    await unchanged(message, await client.messages.edit(message["id"], { body: "Other" }), "invalid_request_payload", ["/body conflict"]);
    await unchanged(
      message,
      await client.messages.edit(message["id"], { body: "Other", template_variables: { name: "x" } }),
      "invalid_request_payload",
      ["/body conflict"],
    );
    const text = await client.messages.send({ send_at: afterSeconds(3_600) });
    await unchanged(text, await client.messages.edit(text["id"], { template_variables: { name: "x" } }), "invalid_request_payload", [
      "/template_variables conflict",
    ]);
    await unchanged(text, await client.messages.edit(text["id"], { template_id: template["id"] }), "invalid_request_payload", [
      "/template_id unknown_field",
    ]);
  });
});

describe("the redaction of a message with a template", () => {
  const SECRET = "Grace Hopper 0815";

  test("removes its variables and its text from the record, its events and every stored response", async () => {
    const template = await templates.create({ body: "For {{name}}" });
    const keys = { post: randomUUID(), patch: randomUUID() };
    const body = of(template["id"], { name: SECRET }, { send_at: afterSeconds(3_600) });
    const sent = await post(body, { idempotencyKey: keys.post });
    assertFirst(sent);
    const { id } = sent.json;
    const edit = { template_variables: { name: `${SECRET}!` } };
    assertFirst(await client.messages.edit(id, edit, { idempotencyKey: keys.patch }), 200);
    assertFirst(await client.messages.cancel(id), 200);
    const redacted = await client.messages.redact(id);
    assertFirst(redacted, 200);
    const gone = { body: null, template_id: template["id"], template_version: 1, template_variables: null };
    assert.deepEqual(shown(redacted.json), gone);
    assert.deepEqual(shown(await client.messages.read(id)), gone);
    for (const { record } of await eventsOf(godwit, id)) assert.deepEqual(shown(JSON.parse(record ?? "{}") as Json), gone);
    for (const again of [
      await post(body, { idempotencyKey: keys.post }),
      await client.messages.edit(id, edit, { idempotencyKey: keys.patch }),
    ]) {
      assert.equal(again.headers.get("idempotent-replayed"), "true");
      assert.deepEqual(shown(again.json), gone);
      assert.ok(!again.text.includes(SECRET));
    }
    const events = await client.request("GET", `/v1/events?message_id=${String(id)}&limit=100`);
    assert.ok(!events.text.includes(SECRET));
    assert.deepEqual(await tablesWith(SECRET), []);
  });

  test("keeps the id of the template, and other messages with it", async () => {
    const template = await templates.create();
    const [one, other] = [await post(of(template["id"], { name: "Ada" })), await post(of(template["id"], { name: "Eve" }))];
    await setStatus(godwit, one.json["id"], "delivered");
    assertFirst(await client.messages.redact(one.json["id"]), 200);
    assert.equal((await client.messages.read(one.json["id"]))["template_id"], template["id"]);
    assert.deepEqual(await client.messages.read(other.json["id"]), other.json);
    const [row] = await godwit.rows<{ template: Json }>("select template from messages where id = $1", [rowId(one.json["id"])]);
    assert.equal(row?.template["variables"], null);
  });

  /** Returns the tables that contain this text. */
  async function tablesWith(text: string): Promise<string[]> {
    const tables = await godwit.rows<{ name: string }>(
      "select c.oid::regclass::text as name from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace",
    );
    const found: string[] = [];
    for (const { name } of tables)
      if ((await godwit.rows(`select from ${name} t where t::text like '%' || $1 || '%' limit 1`, [text])).length > 0) found.push(name);
    return found;
  }
});
