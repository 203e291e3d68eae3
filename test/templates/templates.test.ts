/** The API of templates: input, life cycle and access. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { SCOPES, type Scope } from "../../src/access/scope.ts";
import { readTemplate } from "../../src/templates/find-template.ts";
import { MAX_TEMPLATES_EACH } from "../../src/templates/template.ts";
import { toId, type AccountId } from "../../src/model/id.ts";
import { uuidFromText } from "../../src/lib/uuid.ts";
import { clientOf, clientOfAccount, itemsOf, walk, BOTH, newName, TEXT, type Json, type TemplateClient } from "../support/client.ts";
import { LIMIT_MS, assertProblem, faultsOf, pointersOf } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { lockTable } from "../support/locks.ts";
import { rowId } from "../support/tables.ts";
import type { Environment } from "../../src/model/owner.ts";

let godwit: Godwit;
let key: string;
let templates: TemplateClient;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  key = await godwit.key();
  templates = clientOf(godwit, key).templates;
});
after(() => godwit.stop());

const newClient = async (account: string, environment: Environment = "test"): Promise<TemplateClient> =>
  (await clientOfAccount(godwit, account, { environment })).templates;

const namesOf = (data: readonly Json[]): unknown[] => data.map((each) => each["name"]);

describe("create", () => {
  test("returns 201 with the location and the whole record, which can be read by id and by name", async () => {
    const body = {
      name: "order_shipped",
      language: "de-AT",
      category: "marketing",
      channels: ["whatsapp", "sms"],
      body: "{{b}} für {{a}}: {{b}} 🐦",
      header: "An {{c}}",
      footer: "Servus",
      buttons: [
        { type: "quick_reply", text: "Ja" },
        { type: "url", text: "Auf", url: "https://example.com/x" },
        { type: "phone_number", text: "Ruf", phone_number: "+4366012345678" },
      ],
    };
    const reply = await templates.request("POST", "", { body: { ...body, examples: { b: "1", c: "Ada" } } });
    assert.equal(reply.status, 201, reply.text);
    const { id, created_at: createdAt, updated_at: updatedAt, created_by: createdBy, ...rest } = reply.json;
    assert.match(String(createdBy), /^key_/);
    assert.match(String(id), /^tmpl_[0-9a-z]{26}$/);
    assert.equal(reply.headers.get("location"), `/v1/templates/${String(id)}`);
    assert.ok(Math.abs(Date.parse(String(createdAt)) - Date.now()) < LIMIT_MS);
    assert.equal(updatedAt, createdAt);
    assert.deepEqual(rest, {
      object: "template",
      header_media: null,
      environment: "test",
      ...body,
      buttons: [
        { type: "quick_reply", text: "Ja", url: null, phone_number: null },
        { type: "url", text: "Auf", url: "https://example.com/x", phone_number: null },
        { type: "phone_number", text: "Ruf", url: null, phone_number: "+4366012345678" },
      ],
      variables: [
        { name: "c", example: "Ada" },
        { name: "b", example: "1" },
        { name: "a", example: null },
      ],
      status: "approved",
      status_reason: null,
      version: 1,
    });
    assert.deepEqual(await templates.read(id), reply.json);
    assert.deepEqual(await templates.read("order_shipped"), reply.json);
  });

  for (const [what, fields] of Object.entries({
    absent: {},
    null: { header: null, footer: null, buttons: null, examples: null, status: null },
    empty: { header: "", footer: "", buttons: [], examples: {} },
  })) {
    test(`with ${what} optional fields has null for them`, async () => {
      const { header, footer, buttons, variables } = await templates.create(fields);
      assert.deepEqual([header, footer, buttons, variables], [null, null, null, [{ name: "name", example: null }]]);
    });
  }

  const OUTCOMES: readonly (readonly [environment: Environment, prefix: string, fields: object, status: string])[] = [
    ["test", "order", TEXT, "approved"],
    ["test", "order", BOTH, "approved"],
    ["test", "order", { ...BOTH, status: "draft" }, "draft"],
    ["test", "simulate_rejected", BOTH, "rejected"],
    ["test", "simulate_paused", BOTH, "paused"],
    ["test", "simulate_pending", BOTH, "pending"],
    ["live", "order", TEXT, "approved"],
    ["live", "order", BOTH, "pending"],
  ];
  for (const [environment, prefix, fields, status] of OUTCOMES) {
    test(`in ${environment} of ${prefix}… with ${JSON.stringify(fields)} results in ${status}`, async () => {
      const own = await newClient("outcomes", environment);
      const template = await own.create({ name: newName(prefix), ...fields });
      assert.equal(template["status"], status);
      assert.equal(template["status_reason"] !== null, ["rejected", "paused"].includes(status));
      assert.deepEqual(
        (await own.events(template["id"])).map(({ type }) => type),
        ["approved", "rejected", "paused"].includes(status) ? [`template.${status}`] : [],
      );
    });
  }

  test("reports all faults at once, and creates nothing", async () => {
    const name = newName();
    const body = { ...TEXT, name, language: "en_US", body: "{{1}} {{a}} {{", footer: "{{x}}", examples: { q: "1" }, extra: 1 };
    const reply = await templates.request("POST", "", { body });
    assertProblem(reply, "invalid_request_payload");
    assert.deepEqual([...new Set(pointersOf(reply).map(String))].toSorted(), ["/body", "/examples/q", "/extra", "/footer", "/language"]);
    assert.match(faultsOf(reply).find(({ pointer }) => pointer === "/language")?.detail ?? "", /en-US/);
    assertProblem(await templates.request("GET", `/${name}`), "not_found");
  });

  test("refuses a template that is too large for an event", async () => {
    const variables = Array.from({ length: 20 }, (_, index) => `v${index}`);
    const body = variables.map((name) => `{{${name}}}`).join("");
    const examples = (length: number): object => Object.fromEntries(variables.map((name) => [name, "x".repeat(length)]));
    await templates.create({ body, examples: examples(700) });
    const reply = await templates.request("POST", "", { body: { ...TEXT, name: newName(), body, examples: examples(800) } });
    assertProblem(reply, "invalid_request_payload");
    assert.deepEqual(
      faultsOf(reply).map(({ code }) => code),
      ["too_large"],
    );
  });
});

describe("a repeated idempotency key", () => {
  test("returns the same bytes, and creates one template and one event", async () => {
    const own = await newClient("repeats");
    const request = { body: { ...TEXT, name: "order" }, idempotencyKey: randomUUID() };
    const first = await own.request("POST", "", request);
    const second = await own.request("POST", "", request);
    assert.deepEqual([first.status, second.status, second.text], [201, 201, first.text]);
    assert.equal(second.headers.get("location"), first.headers.get("location"));
    assert.deepEqual(
      [first, second].map(({ headers }) => headers.get("idempotent-replayed")),
      [null, "true"],
    );
    assert.deepEqual(namesOf((await own.list()).data), ["order", "verification_code"]);
    assert.equal((await own.events(first.json["id"])).length, 1);
    assertProblem(await own.request("POST", "", { ...request, body: { ...TEXT, name: "other" } }), "idempotency_key_reused");
  });

  test("returns the same refusal, although the request would succeed by then", async () => {
    const { id, name } = await templates.create();
    const request = { body: { ...TEXT, name }, idempotencyKey: randomUUID() };
    const refused = await templates.request("POST", "", request);
    assertProblem(refused, "template_name_taken");
    assert.deepEqual(pointersOf(refused), ["/name"]);
    await templates.archive(id);
    assert.equal((await templates.request("POST", "", request)).text, refused.text);
    assert.equal((await templates.request("POST", "", { ...request, idempotencyKey: randomUUID() })).status, 201);
  });

  test("of an edit creates one version", async () => {
    const { id } = await templates.create();
    const request = { body: { body: "Bye {{name}}" }, idempotencyKey: randomUUID() };
    const first = await templates.request("PATCH", `/${String(id)}`, request);
    await templates.edit(id, { body: "Again {{name}}" });
    assert.equal((await templates.request("PATCH", `/${String(id)}`, request)).text, first.text);
    assert.equal((await templates.read(id))["version"], 3);
  });
});

describe("the name of a template", () => {
  test("is given to one of two concurrent requests", async () => {
    const name = newName();
    await using lock = await lockTable(godwit.databaseUrl, "templates");
    const asked = [1, 2].map(() => templates.request("POST", "", { body: { ...TEXT, name }, idempotencyKey: randomUUID() }));
    await lock.waiting(2);
    await lock.release();
    const replies = await Promise.all(asked);
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 422],
    );
    const refused = replies.find(({ status }) => status === 422);
    assert.ok(refused !== undefined);
    assertProblem(refused, "template_name_taken");
  });

  test("is unique only within its environment", async () => {
    const name = newName();
    await templates.create({ name });
    await (await newClient("a namesake")).create({ name });
    await (await newClient("a namesake", "live")).create({ name });
  });

  test("is free after the template is archived: a new template can have it, and the id still finds the old one", async () => {
    const first = await templates.create();
    const { id, name } = first;
    const archived = await templates.archive(name);
    assert.deepEqual({ ...archived, updated_at: null }, { ...first, status: "archived", updated_at: null });
    assertProblem(await templates.request("GET", `/${String(name)}`), "not_found");
    const second = await templates.create({ name, body: "Another {{name}}" });
    assert.deepEqual(await templates.read(name), second);
    assert.deepEqual(await templates.read(id), archived);
  });
});

describe("list", () => {
  test("contains whole records, newest first, in pages without gaps or duplicates, and no archived templates", async () => {
    const own = await newClient("lists");
    const newestFirst: Json[] = [await own.read("verification_code")];
    for (let index = 0; index < 6; index += 1) newestFirst.unshift(await own.create());
    await own.archive((await own.create())["id"]);
    for (const limit of [1, 3, 6, 7, 100]) {
      const pages = await walk(own.list, { limit: String(limit) });
      assert.deepEqual(itemsOf(pages), newestFirst);
      assert.equal(pages.length, Math.ceil(7 / limit));
    }
  });

  test("can be filtered by status, channel and name, and by all of them", async () => {
    const own = await newClient("filters");
    await own.create({ name: "text" });
    await own.create({ name: "chat", channels: ["whatsapp"] });
    await own.create({ name: "draft", status: "draft" });
    await own.create({ name: "simulate_paused", ...BOTH });
    await own.archive((await own.create({ name: "text_old" }))["id"]);
    await own.archive((await own.create({ name: "chat_old", channels: ["whatsapp"] }))["id"]);
    const ROWS: readonly (readonly [query: Record<string, string>, names: readonly string[]])[] = [
      [{}, ["simulate_paused", "draft", "chat", "text", "verification_code"]],
      [{ status: "approved" }, ["chat", "text", "verification_code"]],
      [{ status: "draft" }, ["draft"]],
      [{ status: "pending" }, []],
      [{ status: "archived" }, ["chat_old", "text_old"]],
      [{ status: "archived", channel: "whatsapp" }, ["chat_old"]],
      [{ channel: "whatsapp" }, ["simulate_paused", "chat", "verification_code"]],
      [{ channel: "sms", status: "approved" }, ["text", "verification_code"]],
      [{ name: "chat" }, ["chat"]],
      [{ name: "chat_old" }, []],
      [{ name: "chat_old", status: "archived" }, ["chat_old"]],
      [{ name: "no such" }, []],
      [{ limit: "1", status: "approved" }, ["chat"]],
    ];
    for (const [query, names] of ROWS) assert.deepEqual(namesOf((await own.list(query)).data), names, JSON.stringify(query));
  });

  test("of very many archived templates is searched in several pages until its end", async () => {
    const own = await newClient("a long history");
    const { id } = await own.archive((await own.create({ name: "wanted" }))["id"]);
    await godwit.rows(
      `with made as (
         insert into templates (account_id, environment, id, name, language, category, channels, status, version, updated_at)
         select account_id, environment, ('f' || right(gen_random_uuid()::text, 35))::uuid, 'other', language, category, channels, status, 1, now()
           from templates, generate_series(1, 12500) where id = $1
         returning account_id, environment, id)
       insert into template_versions (account_id, environment, template_id, version, body, examples)
       select account_id, environment, id, 1, 'x', '{}' from made`,
      [rowId(id)],
    );
    const first = await own.list({ status: "archived", name: "wanted" });
    assert.deepEqual([first.data, first.has_more], [[], true]);
    const second = await own.list({ status: "archived", name: "wanted", cursor: String(first.next_cursor) });
    const third = await own.list({ status: "archived", name: "wanted", cursor: String(second.next_cursor) });
    assert.deepEqual([namesOf(third.data), third.has_more], [["wanted"], false]);
  });

  for (const query of ["limit=0", "limit=101", "cursor=abc", "status=deleted", "channel=fax", "language=en", "name="]) {
    test(`with ?${query} is a 400 that names the parameter`, async () => {
      const reply = await templates.request("GET", `?${query}`);
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        faultsOf(reply).map(({ parameter }) => parameter),
        [query.split("=")[0]],
      );
    });
  }
});

describe("edit", () => {
  test("of the content creates a version, and earlier versions stay unchanged", async () => {
    const { id } = await templates.create({ ...BOTH, header: "For {{name}}", examples: { name: "Ada" } });
    const second = await templates.edit(id, { body: "Bye {{name}}", header: "" });
    assert.deepEqual([second["version"], second["body"], second["header"], second["status"]], [2, "Bye {{name}}", null, "approved"]);
    const third = await templates.edit(id, { body: "Bye {{friend}}" });
    assert.deepEqual([third["version"], third["variables"]], [3, [{ name: "friend", example: null }]]);
    assert.deepEqual(await templates.read(id), third);
    const [row] = await godwit.rows<{ account_id: AccountId }>("select account_id from templates where id = $1", [rowId(id)]);
    assert.ok(row !== undefined && godwit.db !== undefined);
    const owner = { accountId: row.account_id, environment: "test" } as const;
    const said = [];
    for (const version of [1, 2, 3, 4]) said.push(await readTemplate(godwit.db, owner, toId("tmpl", uuidFromText(rowId(id))), version));
    assert.deepEqual(
      said.map((each) => each && [each.version, each.header, each.body, each.examples]),
      [
        [1, "For {{name}}", "Hello {{name}}", { name: "Ada" }],
        [2, null, "Bye {{name}}", { name: "Ada" }],
        [3, null, "Bye {{friend}}", {}],
        undefined,
      ],
    );
    const types = (await templates.events(id)).map(({ type, template }) => [type, template["version"]]);
    assert.deepEqual(types, [
      ["template.approved", 1],
      ["template.approved", 2],
      ["template.approved", 3],
    ]);
  });

  test("of other fields creates no version", async () => {
    const { id } = await templates.create();
    const { version, language, category } = await templates.edit(id, { language: "fr", category: "marketing" });
    assert.deepEqual([version, language, category], [1, "fr", "marketing"]);
    assert.equal((await templates.events(id)).length, 1);
  });

  test("without a change keeps the record unchanged, also by name", async () => {
    const template = await templates.create();
    assert.deepEqual(await templates.edit(template["id"], {}), template);
    assert.deepEqual(await templates.edit(template["name"], { body: TEXT.body, header: null }), template);
    assert.equal((await templates.events(template["id"])).length, 1);
  });

  test("submits a draft", async () => {
    const { id } = await templates.create({ status: "draft" });
    assert.deepEqual([(await templates.edit(id, { footer: null, body: "x" }))["status"], await templates.events(id)], ["draft", []]);
    const submitted = await templates.edit(id, { status: "pending" });
    assert.equal(submitted["status"], "approved");
    assert.deepEqual(await templates.events(id), [{ type: "template.approved", template: submitted }]);
  });

  const MERGED: readonly (readonly [what: string, before: object, change: object, ...pointers: string[]])[] = [
    ["of a header without WhatsApp", TEXT, { header: "x" }, "/header"],
    [
      "of the channels without WhatsApp, despite parts only for WhatsApp,",
      { ...BOTH, header: "a", footer: "b", buttons: [{ type: "quick_reply", text: "c" }] },
      { channels: ["sms"] },
      "/header",
      "/footer",
      "/buttons",
    ],
    [
      "of the channels to WhatsApp, despite a longer text,",
      { ...TEXT, body: "x".repeat(1_025) },
      { channels: ["sms", "whatsapp"] },
      "/body",
    ],
    ["of a header with another kind of variables than the body", BOTH, { header: "{{1}}" }, "/body"],
    ["of an example without a variable", TEXT, { examples: { other: "1", name: "2" } }, "/examples/other"],
    ["of several invalid fields", TEXT, { footer: "x", body: "{{1}} {{3}}", examples: { 2: "x" } }, "/footer", "/body", "/examples/2"],
    ["of the status of an approved template", TEXT, { status: "pending" }, "/status"],
  ];
  for (const [what, fields, change, ...pointers] of MERGED) {
    test(`${what} is a 400 that changes nothing, and leaves its key unused`, async () => {
      const template = await templates.create(fields);
      const idempotencyKey = randomUUID();
      const reply = await templates.request("PATCH", `/${String(template["id"])}`, { body: change, idempotencyKey });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(pointersOf(reply), pointers);
      assert.deepEqual(await templates.read(template["id"]), template);
      const another = await templates.request("PATCH", `/${String(template["id"])}`, { body: { language: "fr" }, idempotencyKey });
      assert.equal(another.status, 200, another.text);
    });
  }

  test("by two concurrent requests creates two versions, and none is lost", async () => {
    const { id, name } = await templates.create();
    await using lock = await lockTable(godwit.databaseUrl, "templates");
    const asked = [id, name].map((which, index) => templates.edit(which, { body: `${index} {{name}}` }));
    await lock.waiting(2);
    await lock.release();
    const versions = (await Promise.all(asked)).map((each) => Number(each["version"]));
    assert.deepEqual(
      versions.toSorted((a, b) => a - b),
      [2, 3],
    );
    const rows = await godwit.rows<{ version: number; body: string }>(
      "select version, body from template_versions where template_id = $1 and version > 1 order by version",
      [rowId(id)],
    );
    assert.deepEqual(
      rows,
      versions.map((version, index) => ({ version, body: `${index} {{name}}` })).toSorted((a, b) => a.version - b.version),
    );
  });
});

test("an archived template cannot be edited, and can be archived again", async () => {
  const { id } = await templates.create();
  const archived = await templates.archive(id);
  assert.equal(archived["status"], "archived");
  assert.deepEqual(await templates.archive(id), archived);
  const idempotencyKey = randomUUID();
  const refused = await templates.request("PATCH", `/${String(id)}`, { body: { body: "x" }, idempotencyKey });
  assertProblem(refused, "template_not_editable");
  assert.equal((await templates.request("PATCH", `/${String(id)}`, { body: { body: "x" }, idempotencyKey })).text, refused.text);
  assert.deepEqual(await templates.read(id), archived);
});

test("an environment cannot exceed its limit of templates, not counting archived ones, even with concurrent requests", async () => {
  const own = await newClient("very many");
  const { id } = await own.create();
  // With the initial template, one more template is permitted.
  await godwit.rows(
    `insert into templates (account_id, environment, id, name, language, category, channels, status, version, updated_at)
     select account_id, environment, gen_random_uuid(), 'more_' || number, language, category, channels, status, 1, now()
       from templates, generate_series(1, ${MAX_TEMPLATES_EACH - 3}) number
      where id = $1`,
    [rowId(id)],
  );
  await using lock = await lockTable(godwit.databaseUrl, "templates");
  const asked = Array.from({ length: 5 }, () => own.request("POST", "", { body: { ...TEXT, name: newName() } }));
  await lock.waiting(3);
  await lock.release();
  const refused = (await Promise.all(asked)).filter(({ status }) => status !== 201);
  assert.equal(refused.length, 4);
  for (const reply of refused) assertProblem(reply, "too_many_templates");
  await (await newClient("very many", "live")).create();
  await own.archive(id);
  await own.create();
  assertProblem(await own.request("POST", "", { body: { ...TEXT, name: newName() } }), "too_many_templates");
});

describe("preview", () => {
  const RICH = { ...BOTH, header: "For {{name}}", footer: "Bye", examples: { name: "Ada" } };

  test("uses the examples and the first channel", async () => {
    const { id } = await templates.create(RICH);
    assert.deepEqual(await templates.preview(id), {
      object: "template_preview",
      template_id: id,
      version: 1,
      channel: "sms",
      body: "Hello Ada",
      header: null,
      footer: null,
      segments: { count: 1, encoding: "gsm7", characters: 9 },
    });
  });

  test("accepts variables and a channel, the name of a draft, and null for absent fields", async () => {
    const { id, name } = await templates.create({ ...RICH, status: "draft" });
    await templates.edit(id, { footer: "Ciao" });
    assert.deepEqual(await templates.preview(name, { channel: "whatsapp", template_variables: { name: "{{name}} $&" } }), {
      object: "template_preview",
      template_id: id,
      version: 2,
      channel: "whatsapp",
      body: "Hello {{name}} $&",
      header: "For {{name}} $&",
      footer: "Ciao",
      segments: null,
    });
    assert.equal((await templates.preview(id, { channel: null, template_variables: null }))["body"], "Hello Ada");
  });

  test("reports the reason why the template cannot be filled in", async () => {
    const { id } = await templates.create();
    const { id: chat } = await templates.create({ channels: ["whatsapp"] });
    const ask = (which: unknown, body: object) => templates.request("POST", `/${String(which)}/preview`, { body });
    const mismatch = await ask(id, { template_variables: { nam: "x" } });
    assertProblem(mismatch, "template_variables_mismatch");
    assert.deepEqual(
      faultsOf(mismatch).map(({ pointer, code }) => [pointer, code]),
      [
        ["/template_variables/name", "missing_variable"],
        ["/template_variables/nam", "extra_variable"],
      ],
    );
    assertProblem(await ask(id, {}), "template_variables_mismatch");
    assertProblem(await ask(id, { channel: "whatsapp" }), "template_channel_mismatch");
    assertProblem(await ask(chat, { template_variables: { name: "x".repeat(1_019) } }), "template_text_too_long");
    assertProblem(await ask(id, { variables: {} }), "invalid_request_payload");
  });

  test("ignores an idempotency key", async () => {
    const { id } = await templates.create(RICH);
    const idempotencyKey = randomUUID();
    for (const name of ["a", "b"]) {
      const reply = await templates.request("POST", `/${String(id)}/preview`, { body: { template_variables: { name } }, idempotencyKey });
      assert.equal(reply.json["body"], `Hello ${name}`);
    }
  });
});

/** Every operation on one template. */
const OPERATIONS: readonly (readonly [method: string, path: string, scope: Scope, body?: () => object])[] = [
  ["GET", "", "templates:read"],
  ["GET", "/{id}", "templates:read"],
  ["POST", "/{id}/preview", "templates:read", () => ({ template_variables: { name: "Ada" } })],
  ["POST", "", "templates:write", () => ({ ...TEXT, name: newName() })],
  ["PATCH", "/{id}", "templates:write", () => ({ category: "marketing" })],
  ["DELETE", "/{id}", "templates:write"],
];

describe("access", () => {
  let template: Json;
  let strangers: TemplateClient[];
  before(async () => {
    template = await templates.create();
    strangers = [await newClient("a stranger"), clientOf(godwit, await godwit.key({ environment: "live" })).templates];
    await godwit.unlimited();
  });
  const at = (path: string, id: unknown = template["id"]): string => path.replace("{id}", String(id));

  for (const [method, path, scope, body] of OPERATIONS) {
    const options = () => (body === undefined ? {} : { body: body() });
    test(`${method} ${path} requires exactly the scope ${scope}`, async () => {
      const others = await godwit.key({ scopes: SCOPES.filter((each) => each !== scope) });
      const reply = await clientOf(godwit, others).templates.request(method, at(path), options());
      assertProblem(reply, "forbidden_insufficient_scope");
      assert.deepEqual(reply.json["required_scopes"], [scope]);
      const enough = clientOf(godwit, await godwit.key({ scopes: [scope] })).templates;
      const own = method === "DELETE" ? (await templates.create())["id"] : template["id"];
      assert.ok((await enough.request(method, at(path, own), options())).status < 300);
    });

    if (!path.includes("{id}")) continue;
    test(`${method} ${path} finds no template of another account or environment, by id or by name`, async () => {
      for (const stranger of strangers)
        for (const which of [template["id"], template["name"]])
          assertProblem(await stranger.request(method, at(path, which), options()), "not_found");
    });
    test(`${method} ${path} finds no template with an invalid id or name`, async () => {
      const suffix = String(template["id"]).slice(5);
      for (const id of [
        "tmpl_",
        "tmpl_x",
        `evt_${suffix}`,
        suffix,
        `tmpl_${suffix.toUpperCase()}`,
        `tmpl_${suffix}0`,
        "No",
        "x".repeat(65),
      ])
        assertProblem(await templates.request(method, at(path, id), options()), "not_found");
    });
  }

  test("of another account or environment shows only the initial template, and its requests change nothing", async () => {
    for (const stranger of strangers) assert.deepEqual(namesOf((await stranger.list()).data), ["verification_code"]);
    assert.equal((await templates.read(template["id"]))["status"], "approved");
  });
});
