/** Propagation of template changes: events and webhooks, other nodes, and the template that every environment starts with. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Credential } from "../../src/access/authenticate.ts";
import { NO_ID, toId, type AccountId, type TemplateId } from "../../src/model/id.ts";
import { uuidFromText } from "../../src/lib/uuid.ts";
import type { AuditedCall } from "../../src/idempotency/once.ts";
import { cliOrigin } from "../../src/model/origin.ts";
import { TemplateChanger } from "../../src/templates/change-template.ts";
import { Templates } from "../../src/templates/find-template.ts";
import { clientOf, BOTH, newName, TEXT, type Json, type TemplateClient } from "../support/client.ts";
import { LIMIT_MS, until } from "../support/expect.ts";
import { createEmptyDatabase } from "../support/database.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";
import { rowId } from "../support/tables.ts";
import { Customer, WITH_WEBHOOKS } from "../support/webhook-customer.ts";
import { Hook } from "../support/hook-server.ts";

let godwit: Godwit;
let templates: TemplateClient;
let owner: { accountId: AccountId; environment: "live" };
before(async () => {
  // Another process sees a change of a template later.
  godwit = await startGodwit({ isOneProcess: true });
  await godwit.unlimited();
  templates = clientOf(godwit, await godwit.key({ environment: "live" })).templates;
  const [account] = await godwit.rows<{ id: AccountId }>("select id from accounts");
  assert.ok(account !== undefined);
  owner = { accountId: account.id, environment: "live" };
});
after(() => godwit.stop());

const idOf = (template: Json): TemplateId => toId("tmpl", uuidFromText(rowId(template["id"])));

/** Creates the objects that the link of a carrier uses, with a count of the wake-ups of the webhook workers. */
function reviewer() {
  assert.ok(godwit.db !== undefined);
  const wakeUps = { count: 0 };
  const known = new Templates(godwit.db);
  const changer = new TemplateChanger({
    db: godwit.db,
    clock: { now: () => Date.now() },
    wakeWebhooks: () => (wakeUps.count += 1),
    templates: known,
  });
  return { wakeUps, known, changer };
}

describe("a template review", () => {
  for (const [status, reason] of [
    ["approved", null],
    ["rejected", "INVALID_FORMAT"],
    ["paused", "low quality"],
  ] as const) {
    test(`that decides ${status} changes the record and creates one event`, async () => {
      const pending = await templates.create(BOTH);
      assert.equal(pending["status"], "pending");
      const { wakeUps, known, changer } = reviewer();
      assert.equal((await known.find(owner, String(pending["name"])))?.status, "pending");
      await changer.decide(owner, idOf(pending), async () => ({ status, reason }));
      const decided = await templates.read(pending["id"]);
      assert.deepEqual({ ...decided, updated_at: null }, { ...pending, status, status_reason: reason, updated_at: null });
      assert.deepEqual(await templates.events(pending["id"]), [{ type: `template.${status}`, template: decided }]);
      // The cache of the deciding node has no old record.
      assert.equal((await known.find(owner, String(pending["name"])))?.status, status);
      assert.equal(await changer.decide(owner, idOf(pending), async () => ({ status, reason })), undefined);
      assert.equal((await templates.events(pending["id"])).length, 1);
      assert.equal(wakeUps.count, 1);
    });
  }

  test("of a draft, an archived template or a template of another environment changes nothing", async () => {
    const draft = await templates.create({ ...BOTH, status: "draft" });
    const archived = await templates.archive((await templates.create(BOTH))["id"]);
    const pending = await templates.create(BOTH);
    const { changer, wakeUps } = reviewer();
    for (const each of [draft, archived]) await changer.decide(owner, idOf(each), async () => ({ status: "approved", reason: null }));
    await changer.decide({ ...owner, environment: "test" }, idOf(pending), async () => ({ status: "approved", reason: null }));
    for (const each of [draft, archived, pending])
      assert.deepEqual([await templates.read(each["id"]), await templates.events(each["id"])], [each, []]);
    assert.equal(wakeUps.count, 0);
  });

  test("stores a reason of any length, and cuts it with an ellipsis after 499 characters", async () => {
    const template = await templates.create(BOTH);
    const { changer } = reviewer();
    const [fits, long] = ["🐦".repeat(500), "🐦".repeat(501)];
    await changer.decide(owner, idOf(template), async () => ({ status: "rejected", reason: fits }));
    assert.equal((await templates.read(template["id"]))["status_reason"], fits);
    await changer.decide(owner, idOf(template), async () => ({ status: "rejected", reason: long }));
    assert.equal((await templates.read(template["id"]))["status_reason"], `${"🐦".repeat(499)}…`);
  });

  test("is required again after an edit of an approved template, and a rejected template can be submitted again", async () => {
    const template = await templates.create(BOTH);
    const { changer } = reviewer();
    await changer.decide(owner, idOf(template), async () => ({ status: "approved", reason: null }));
    const edited = await templates.edit(template["id"], { footer: "Bye" });
    assert.deepEqual([edited["status"], edited["version"]], ["pending", 2]);
    await changer.decide(owner, idOf(template), async () => ({ status: "rejected", reason: "no" }));
    const again = await templates.edit(template["id"], { status: "pending" });
    assert.deepEqual([again["status"], again["status_reason"], again["version"]], ["pending", null, 2]);
    const types = (await templates.events(template["id"])).map(({ type }) => type);
    assert.deepEqual(types, ["template.approved", "template.rejected"]);
  });
});

test("a template change wakes the webhook workers, and a refused change does not", async () => {
  const { wakeUps, changer } = reviewer();
  const credential: Credential = {
    ...owner,
    keyId: NO_ID,
    keyName: null,
    environmentKey: "",
    scopes: new Set(),
    tier: { name: "", limit: null },
    tokenExpiresAtMs: null,
    expiresAtMs: null,
    allowedIps: null,
  };
  const call: AuditedCall = { credential, origin: cliOrigin, claim: undefined, writeProblem: String };
  const name = newName();
  await changer.create(call, { ...TEXT, channels: ["sms"], name });
  assert.equal(wakeUps.count, 1);
  await changer.edit(call, name, { body: "Bye {{name}}" });
  assert.equal(wakeUps.count, 2);
  await assert.rejects(changer.edit(call, "no_such_template", { body: "x" }), { code: "not_found" });
  await assert.rejects(changer.edit(call, name, { header: "x" }), { code: "invalid_request_payload" });
  assert.equal(wakeUps.count, 2);
});

test("endpoints receive the decision about a template", async () => {
  await using notifying = await startGodwit(WITH_WEBHOOKS);
  await using hook = await Hook.listen();
  const customer = await Customer.of(notifying);
  const [all, some] = [await customer.endpoint(hook, ["template.*"]), await customer.endpoint(hook, ["template.rejected"])];
  const records: Json[] = [];
  for (const prefix of ["order", "simulate_rejected", "simulate_paused", "simulate_pending"])
    records.push(await customer.client.templates.create({ ...BOTH, name: newName(prefix) }));
  const calls = await all.received(3);
  assert.deepEqual(calls.map(({ event }) => event.type).toSorted(), ["template.approved", "template.paused", "template.rejected"]);
  for (const record of records.slice(0, 3)) {
    const reported = calls.find(({ event }) => (event.data["template"] as Json)["id"] === record["id"]);
    assert.deepEqual(reported?.event.data, { template: record });
    assert.equal(reported?.event.environment, "test");
  }
  assert.deepEqual(
    (await some.received(1)).map(({ event }) => event.data),
    [{ template: records[1] }],
  );
  // A test event comes after all earlier events.
  await Promise.all([all.test(), some.test()]);
  assert.deepEqual([all.calls.length, some.calls.length], [4, 2]);
});

test("a template change is visible on another node later, and on the same node at once", async (context) => {
  await using second = await startGodwit({ databaseUrl: godwit.databaseUrl });
  const key = await godwit.key();
  const [here, there] = [clientOf(godwit, key).templates, clientOf(second, key).templates];
  const { id, name } = await here.create({ body: "Hello" });
  const send = async (node: Godwit): Promise<string> => {
    const reply = await node.send(key, { body: null, template_id: name });
    return reply.status === 202 ? String(reply.json["body"]) : String(reply.json["code"]);
  };
  assert.deepEqual([await send(godwit), await send(second)], ["Hello", "Hello"]);
  const STEPS: readonly (readonly [change: () => Promise<Json>, answer: string])[] = [
    [() => here.edit(id, { body: "Bye" }), "Bye"],
    [() => here.archive(id), "template_not_found"],
    [() => here.create({ name, body: "Again" }), "Again"],
  ];
  for (const [change, answer] of STEPS) {
    await change();
    assert.equal(await send(godwit), answer);
    const changedAt = performance.now();
    await until(`the other node responds with ${answer}`, async () => ((await send(second)) === answer ? true : undefined));
    const tookMs = performance.now() - changedAt;
    context.diagnostic(`the other node saw it after ${Math.round(tookMs)} ms`);
  }
  assert.equal((await there.read(name))["body"], "Again");
});

const SEEDED = {
  object: "template",
  name: "verification_code",
  language: "en",
  category: "authentication",
  channels: ["sms", "whatsapp"],
  body: "{{code}} is your verification code. Do not share it with anyone.",
  header: null,
  header_media: null,
  footer: null,
  buttons: null,
  variables: [{ name: "code", example: "123456" }],
  status: "approved",
  status_reason: null,
  version: 1,
};

describe("the initial template for verification codes", () => {
  /** Asserts that it is the only template and can be used like any other. */
  async function assertSeeded(node: Godwit, account: string | undefined): Promise<void> {
    for (const environment of ["test", "live"] as const) {
      const own = clientOf(node, await node.key({ ...(account === undefined ? {} : { account }), environment })).templates;
      const { data } = await own.list();
      assert.equal(data.length, 1);
      const { id, created_at: createdAt, updated_at: updatedAt, created_by: createdBy, ...rest } = data[0] ?? {};
      // Null for a template that a migration inserted.
      assert.ok(createdBy === "system" || createdBy === null);
      assert.deepEqual(rest, { ...SEEDED, environment });
      assert.deepEqual(await own.read(id), data[0]);
      for (const time of [createdAt, updatedAt]) assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < LIMIT_MS, String(time));
      assert.equal((await own.preview("verification_code"))["body"], SEEDED.body.replace("{{code}}", "123456"));
      assert.deepEqual(await own.events(id), []);
      assert.equal((await own.edit(id, { body: "{{code}}" }))["version"], 2);
    }
  }

  test("exists in the environments of the first account", async () => {
    await using fresh = await startGodwit();
    await assertSeeded(fresh, undefined);
  });

  test("exists in the environments of an account that an operator creates", async () => {
    const env = { DATABASE_URL: godwit.databaseUrl ?? "", GODWIT_SECRET_KEY: SECRET_KEY };
    const { code, stderr } = await runGodwit(["accounts", "create", "by hand", "--json"], env);
    assert.equal(code, 0, stderr);
    await assertSeeded(godwit, "by hand");
  });

  test("exists in the environments of the account that the first key creates", async () => {
    const databaseUrl = await createEmptyDatabase();
    const env = { DATABASE_URL: databaseUrl, GODWIT_SECRET_KEY: SECRET_KEY };
    const { code, stderr } = await runGodwit(["keys", "create", "--environment", "test", "--scopes", "templates:read", "--json"], env);
    assert.equal(code, 0, stderr);
    await using node = await startGodwit({ databaseUrl });
    await assertSeeded(node, undefined);
  });
});
