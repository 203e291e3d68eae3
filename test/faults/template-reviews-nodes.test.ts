/** Templates with several nodes, several business accounts, several accounts of ours, and failing carriers. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clientOf } from "../support/client.ts";
import { graphError, type GraphTemplate } from "../support/fakes/graph-templates.ts";
import { templateCall } from "../support/fakes/graph.ts";
import { until } from "../support/expect.ts";
import { componentsIn, ReviewRig, SHIPPED, waLink } from "../support/review-rig.ts";

const SECOND = "202290129340398";
const twoAccounts = (url: string): string => waLink({ url }) + waLink({ url, name: "wb", waba: SECOND });

const at = (rig: ReviewRig, waba: string, name: unknown): GraphTemplate | undefined =>
  rig.graph.templates.all.find((each) => each.waba === waba && each.name === name);

describe("two nodes", () => {
  test("submit a template once, and a review update to one of them is seen by the other", async () => {
    await using rig = await ReviewRig.start();
    await using other = await rig.another("api,dispatch");
    await rig.synced();
    const made = await Promise.all(Array.from({ length: 5 }, () => rig.create()));
    for (const each of made) await rig.submitted(each);
    for (const each of made) assert.equal(rig.creations(each["name"]).length, 1);
    rig.graph.webhookUrl = `${other.url}/providers/whatsapp/wa`;
    for (const each of made) rig.graph.decide(rig.graph.templates.find(String(each["name"])) ?? assert.fail(), "APPROVED");
    for (const each of made) await rig.untilStatus(each["id"], "approved");
    assert.equal(rig.creations("verification_code").length, 1);
  });

  test("continue where one was killed, and submit nothing twice", async () => {
    await using rig = await ReviewRig.start({ asProcess: true });
    await rig.synced();
    let isHeard = 0;
    // The first template is created, and its response is lost with the node. The others follow later.
    rig.graph.templates.behavior = ({ method, path, body }) => {
      if (method !== "POST" || !path.endsWith("/message_templates")) return undefined;
      isHeard += 1;
      if (isHeard > 1) return undefined;
      const { name, language, category, components, parameter_format: format } = JSON.parse(body) as GraphTemplate;
      rig.graph.templates.add({ name, language, category, components, parameter_format: format, status: "PENDING" });
      return { kind: "is silent" };
    };
    await rig.godwit.rows("update template_syncs set due_at = now() + interval '1 hour'");
    const made = [await rig.create(), await rig.create(), await rig.create()];
    await until("one submission to arrive", () => isHeard > 0 || undefined);
    rig.godwit.child.kill("SIGKILL");
    const asked = await rig.godwit.rows<{ status: string }>("select status from template_reviews where status = 'asked'");
    assert.equal(asked.length, 1, "the submission is stored before it leaves");
    await using other = await rig.another("api,dispatch");
    const [claim] = await rig.godwit.rows<{ isHeld: boolean }>(`select claimed_until > now() as "isHeld" from template_syncs`);
    assert.equal(claim?.isHeld, true, "the claim of the dead node lasts until it expires");
    await rig.godwit.rows("update template_syncs set claimed_until = now()");
    const templates = clientOf(other, rig.key).templates;
    for (const each of made) await rig.submitted(each);
    rig.graph.webhookUrl = `${other.url}/providers/whatsapp/wa`;
    for (const each of made) rig.graph.decide(rig.graph.templates.find(String(each["name"])) ?? assert.fail(), "APPROVED");
    for (const each of made)
      await until("the template to be approved", async () => (await templates.read(each["id"]))["status"] === "approved" || undefined);
    for (const each of made) assert.equal(rig.creations(each["name"]).length, 1);
  });

  test("release the business account when they stop during a sync", async () => {
    await using rig = await ReviewRig.start({ asProcess: true });
    await rig.synced();
    rig.graph.templates.behavior = () => ({ kind: "is silent" });
    await rig.makeDue();
    await until("the business account to be read", () => rig.graph.templateCalls("GET").length > 1 || undefined);
    await using other = await rig.another("api");
    rig.godwit.child.kill("SIGTERM");
    await until("the business account to be released", async () => {
      const rows = await other.rows("select from template_syncs where claimed_by is null and due_at <= now() and failures = 0");
      return rows.length === 1 || undefined;
    });
  });
});

describe("two business accounts", () => {
  test("must both approve, and the one that does not is named", async () => {
    await using rig = await ReviewRig.start({ config: twoAccounts });
    const made = await rig.create();
    const [first, second] = await until("both to have the template", () => {
      const both = [at(rig, "102290129340398", made["name"]), at(rig, SECOND, made["name"])] as const;
      return both[0] !== undefined && both[1] !== undefined ? ([both[0], both[1]] as const) : undefined;
    });
    // The review update arrives at the link of the other account, because an app has one webhook URL.
    rig.graph.decide(first, "APPROVED");
    await until(
      "the rejection to be stored",
      async () => (await rig.godwit.rows("select from template_reviews where name = $1 and status = 'approved'", [made["name"]]))[0],
    );
    assert.equal((await rig.templates.read(made["id"]))["status"], "pending");
    rig.graph.decide(second, "REJECTED", { reason: "SCAM" });
    assert.equal((await rig.untilStatus(made["id"], "rejected"))["status_reason"], "wb: SCAM");
    await rig.templates.edit(made["id"], { status: "pending" });
    await until("the template to be submitted there again", () => second.status === "PENDING" || undefined);
    rig.graph.decide(second, "APPROVED");
    await rig.untilStatus(made["id"], "approved");
    assert.equal(first.status, "APPROVED", "an approved template is not submitted again");
    rig.graph.decide(first, "PAUSED");
    assert.match(String((await rig.untilStatus(made["id"], "paused"))["status_reason"]), /^wa: /);
  });

  test("are one if two links have the same business account", async () => {
    await using rig = await ReviewRig.start({ config: (url) => waLink({ url }) + waLink({ url, name: "wb" }) });
    await rig.synced();
    const made = await rig.create();
    await rig.submitted(made);
    assert.equal(rig.creations(made["name"]).length, 1);
    assert.equal((await rig.godwit.rows("select from template_syncs")).length, 1);
  });

  test("do not include a link without one, which makes no requests", async () => {
    await using rig = await ReviewRig.start({ config: (url) => waLink({ url, waba: null }) });
    const made = await rig.create();
    await rig.godwit.send(rig.key, { recipient: "+4915112345679", channel: "whatsapp", body: "hi" });
    assert.equal((await rig.hook(templateCall({ ...rig.graph.templates.add({ name: "x" }) }, "APPROVED"))).status, 200);
    assert.deepEqual(await rig.godwit.rows("select from template_syncs"), []);
    assert.equal(rig.graph.templateCalls().length, 0);
    assert.equal((await rig.templates.read(made["id"]))["status"], "pending");
  });
});

describe("two accounts of ours with one business account", () => {
  test("share equal templates, and do not overwrite each other", async () => {
    await using rig = await ReviewRig.start();
    await rig.synced();
    const other = clientOf(rig.godwit, await rig.godwit.key({ account: "other", environment: "live" })).templates;
    const { template, theirs } = await rig.approved();
    const same = await other.create({ ...SHIPPED, name: String(template["name"]) });
    await until("the approval to be shared", async () => (await other.read(same["id"]))["status"] === "approved" || undefined);
    assert.equal(rig.creations(template["name"]).length, 1);
    const edited = await other.edit(same["id"], { body: "Something else {{name}} {{order}}" });
    const refused = await until("the template to be refused", async () => {
      const now = await other.read(edited["id"]);
      return now["status"] === "rejected" ? now : undefined;
    });
    assert.match(String(refused["status_reason"]), /Another account of this service/);
    assert.equal(theirs.components[1]?.["text"], SHIPPED.body);
    // The template of the first account is deleted, and that of the other stays.
    await rig.templates.archive(template["id"]);
    await rig.syncAgain();
    assert.ok(rig.graph.templates.all.includes(theirs));
    assert.equal(rig.graph.templateCalls("DELETE").length, 0);
  });

  test("replace an archived template by a new one with the same name", async () => {
    await using rig = await ReviewRig.start();
    await rig.synced();
    const { template, theirs } = await rig.approved();
    await rig.templates.archive(template["id"]);
    const next = await rig.create({ body: "Anew {{name}} {{order}}" }, String(template["name"]));
    await until("the new template to replace it", () => theirs.status === "PENDING" || undefined);
    rig.graph.decide(theirs, "APPROVED");
    await rig.untilStatus(next["id"], "approved");
    assert.equal(rig.graph.templateCalls("DELETE").length, 0);
  });
});

describe("a failing carrier", () => {
  test("leaves templates unchanged, is reported once, and is asked again later", async () => {
    await using rig = await ReviewRig.start();
    await rig.synced();
    const { template } = await rig.approved();
    const waiting = await rig.create({ status: "draft" });
    for (const [behavior, error] of [
      [graphError(190, 401), /token has expired/],
      [graphError(80008), /asks for less/],
      [{ kind: "disconnects" }, /no response from WhatsApp/],
    ] as const) {
      rig.graph.templates.behavior = () => behavior;
      for (let round = 0; round < 2; round += 1) {
        const before = (await rig.sync())?.failures ?? 0;
        await rig.makeDue();
        await until("the sync to fail", async () => ((await rig.sync())?.failures ?? 0) > before || undefined);
      }
      assert.match((await rig.sync())?.last_error ?? "", error);
      const [row] = await rig.godwit.rows<{ wait: number }>(
        "select extract(epoch from due_at - now())::float8 as wait from template_syncs",
      );
      assert.ok((row?.wait ?? 0) > 10, `${row?.wait} s`);
    }
    assert.equal((await rig.templates.read(template["id"]))["status"], "approved");
    const failureLines = () => rig.godwit.logs.filter(({ event }) => event === "templates.sync_refused").length;
    await until("three failures to be logged", () => failureLines() >= 3 || undefined);
    assert.equal(failureLines(), 3, "one line for each failure");
    // A new template does not shorten the wait.
    await rig.templates.edit(waiting["id"], { status: "pending" });
    const [row] = await rig.godwit.rows<{ wait: number }>("select extract(epoch from due_at - now())::float8 as wait from template_syncs");
    assert.ok((row?.wait ?? 0) > 10);
    rig.graph.templates.behavior = undefined;
    await rig.makeDue();
    await rig.submitted(waiting);
    await until("the sync to end", async () => (await rig.sync())?.last_error === null || undefined);
    await until("the recovery to be logged", () =>
      rig.godwit.logs.find(({ msg }) => msg === "templates are synced with the carrier again"),
    );
    const { text } = await rig.godwit.request("GET", "/metrics");
    for (const outcome of ["blocked", "throttled", "unavailable"])
      assert.match(text, new RegExp(`godwit_template_syncs_total\\{link="wa",outcome="${outcome}"\\} 2`));
  });

  test("that accepts one template and throttles the next continues later, and its review updates count", async () => {
    await using rig = await ReviewRig.start();
    await rig.synced();
    const decided = await rig.create();
    const theirs = await rig.submitted(decided);
    await rig.backdateSync();
    let posts = 0;
    rig.graph.templates.behavior = ({ method }) => (method === "POST" && (posts += 1) > 1 ? graphError(80008) : undefined);
    await rig.godwit.rows("update template_syncs set due_at = now() + interval '1 hour', synced_at = now() + interval '1 hour'");
    const made = [await rig.create(), await rig.create()];
    theirs.status = "APPROVED";
    await rig.makeDue();
    await until("the sync to be throttled", async () => ((await rig.sync())?.failures ?? 0) > 0 || undefined);
    for (const each of made) assert.equal((await rig.templates.read(each["id"]))["status"], "pending");
    assert.equal((await rig.templates.read(decided["id"]))["status"], "approved");
    rig.graph.templates.behavior = undefined;
    await rig.makeDue();
    for (const each of made) await rig.submitted(each);
    assert.equal(
      rig.creations(made[0]?.["name"]).length + rig.creations(made[1]?.["name"]).length,
      3,
      "only the throttled template is submitted twice",
    );
    assert.equal(rig.graph.templates.all.filter(({ name }) => made.some((each) => each["name"] === name)).length, 2);
  });
});

describe("the initial template of every environment", () => {
  test("is submitted in WhatsApp's format, sent with its button, and stays sendable when WhatsApp rejects it", async () => {
    await using rig = await ReviewRig.start();
    await rig.synced();
    const [creation] = rig.creations("verification_code");
    assert.equal(creation?.["category"], "AUTHENTICATION");
    const reply = await rig.godwit.request("POST", "/v1/verifications", {
      key: rig.key,
      body: { recipient: "+4915112345678", channel: "whatsapp" },
    });
    assert.equal(reply.status, 201, reply.text);
    const [sent] = await rig.untilSent();
    const [words, button, ...more] = componentsIn(sent);
    assert.deepEqual([words?.type, button?.type, more], ["body", "button", []]);
    assert.match(words?.parameters?.[0]?.text ?? "", /^\d{4,10}$/);
    assert.deepEqual(button?.parameters, words?.parameters);
    const theirs = rig.graph.templates.find("verification_code") ?? assert.fail();
    rig.graph.decide(theirs, "REJECTED", { reason: "INCORRECT_CATEGORY" });
    await until(
      "the rejection to be stored",
      async () => (await rig.godwit.rows("select from template_reviews where status = 'rejected'"))[0],
    );
    assert.equal((await rig.templates.read("verification_code"))["status"], "approved");
    assert.deepEqual(await rig.templates.events((await rig.templates.read("verification_code"))["id"]), []);
  });
});

test("a message from before its components were stored is sent in the old format", async () => {
  await using rig = await ReviewRig.start();
  const { template } = await rig.approved({ header: null, body: "Hello {{2}} and {{1}}", examples: {} });
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const body = { recipient: "+4915112345678", channel: "whatsapp", body: null, send_at: sendAt };
  const reply = await rig.godwit.send(rig.key, { ...body, template_id: template["id"], template_variables: { "1": "a", "2": "b" } });
  assert.equal(reply.status, 202, reply.text);
  await rig.godwit.rows("update messages set template = (template::jsonb - 'parts' - 'category')::json");
  const edited = await rig.godwit.request("PATCH", `/v1/messages/${String(reply.json["id"])}`, {
    key: rig.key,
    body: { send_at: new Date(Date.now() + 1_000).toISOString() },
  });
  assert.equal(edited.status, 200, edited.text);
  const [sent] = await rig.untilSent();
  assert.deepEqual(componentsIn(sent), [
    {
      type: "body",
      parameters: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    },
  ]);
});
