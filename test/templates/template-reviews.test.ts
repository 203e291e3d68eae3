/** Templates of `live` and their review by the carrier through the API: submission, decision, use, edits and deletion. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { graphError } from "../support/fakes/graph-templates.ts";
import { graphSignature, templateCall } from "../support/fakes/graph.ts";
import { assertProblem, until } from "../support/expect.ts";
import { componentsIn, ReviewRig, SHIPPED } from "../support/review-rig.ts";

let rig: ReviewRig;
before(async () => {
  rig = await ReviewRig.start();
  await rig.synced();
});
after(() => rig[Symbol.asyncDispose]());

const text = (value: string, name?: string): object => ({
  type: "text",
  ...(name === undefined ? {} : { parameter_name: name }),
  text: value,
});

describe("a WhatsApp template in live", () => {
  test("is submitted with its parts and examples, approved by a review update, reported as an event, and sent with its variables", async () => {
    const made = await rig.create({ language: "en-US", buttons: [{ type: "url", text: "Track", url: "https://example.com/orders" }] });
    assert.equal(made["status"], "pending");
    const theirs = await rig.submitted(made);
    assert.deepEqual(rig.creations(made["name"]), [
      {
        name: made["name"],
        language: "en_US",
        category: "UTILITY",
        parameter_format: "NAMED",
        components: [
          {
            type: "HEADER",
            format: "TEXT",
            text: "Order {{order}}",
            example: { header_text_named_params: [{ param_name: "order", example: "A-17" }] },
          },
          {
            type: "BODY",
            text: SHIPPED.body,
            example: {
              body_text_named_params: [
                { param_name: "name", example: "Ada" },
                { param_name: "order", example: "A-17" },
              ],
            },
          },
          { type: "FOOTER", text: "Reply STOP to opt out" },
          { type: "BUTTONS", buttons: [{ type: "URL", text: "Track", url: "https://example.com/orders" }] },
        ],
      },
    ]);
    const variables = { name: "Grace", order: "B-2" };
    const tooSoon = {
      recipient: "+4915112345678",
      channel: "whatsapp",
      body: null,
      template_id: made["id"],
      template_variables: variables,
    };
    assertProblem(await rig.godwit.send(rig.key, tooSoon), "template_not_approved");
    assert.equal((await rig.templates.read(made["id"]))["status"], "pending");
    rig.graph.decide(theirs, "APPROVED");
    await rig.untilStatus(made["id"], "approved");
    assert.deepEqual(
      (await rig.templates.events(made["id"])).map(({ type, template }) => [type, template["status"]]),
      [["template.approved", "approved"]],
    );
    await rig.send(made["id"], variables);
    const [sent] = await rig.untilSent();
    assert.deepEqual(sent?.["template"], {
      name: made["name"],
      language: { code: "en_US" },
      components: [
        { type: "header", parameters: [text("B-2", "order")] },
        { type: "body", parameters: [text("Grace", "name"), text("B-2", "order")] },
      ],
    });
  });

  test("with positional variables is submitted and sent with the variables numbered per part", async () => {
    const { template } = await rig.approved({
      header: "Order {{1}}",
      body: "Hello {{3}}, {{2}} of order {{1}}",
      examples: { "1": "A-17", "2": "two", "3": "Ada" },
    });
    const [creation] = rig.creations(template["name"]);
    assert.equal(creation?.["parameter_format"], "POSITIONAL");
    assert.deepEqual(componentsIn(creation).slice(0, 2), [
      { type: "HEADER", format: "TEXT", text: "Order {{1}}", example: { header_text: ["A-17"] } },
      { type: "BODY", text: "Hello {{3}}, {{2}} of order {{1}}", example: { body_text: [["A-17", "two", "Ada"]] } },
    ]);
    const sentBefore = rig.graph.messages.length;
    await rig.send(template["id"], { "1": "B-2", "2": "three", "3": "Grace" });
    const sent = await rig.untilSent(sentBefore + 1);
    assert.deepEqual(componentsIn(sent.at(-1)), [
      { type: "header", parameters: [text("B-2")] },
      { type: "body", parameters: [text("B-2"), text("three"), text("Grace")] },
    ]);
  });

  test("that is rejected shows the reason, and is submitted again on request", async () => {
    const made = await rig.create();
    const theirs = await rig.submitted(made);
    rig.graph.decide(theirs, "REJECTED", {
      reason: "INVALID_FORMAT",
      rejection_info: { reason: "Variables at the end", recommendation: "Add words" },
    });
    const rejected = await rig.untilStatus(made["id"], "rejected");
    assert.equal(rejected["status_reason"], "INVALID_FORMAT: Variables at the end: Add words");
    await rig.syncAgain();
    // The list of the carrier has a shorter reason, which causes no further event.
    assert.deepEqual(
      (await rig.templates.events(made["id"])).map(({ type }) => type),
      ["template.rejected"],
    );
    assert.equal(theirs.status, "REJECTED");
    await rig.templates.edit(made["id"], { status: "pending" });
    await until("the template is submitted again", () => theirs.status === "PENDING" || undefined);
    assert.equal((await rig.templates.read(made["id"]))["status"], "pending");
    rig.graph.decide(theirs, "APPROVED");
    assert.equal((await rig.untilStatus(made["id"], "approved"))["version"], 1);
    assert.equal(rig.creations(made["name"]).length, 1, "the template is edited at the carrier, and not created again");
  });

  test("that is paused cannot be sent until it is reinstated", async () => {
    const { template, theirs } = await rig.approved();
    const description = "Paused for 3 hours for its quality.";
    rig.graph.decide(theirs, "PAUSED", { other_info: { title: "FIRST_PAUSE", description } });
    const paused = await rig.untilStatus(template["id"], "paused");
    assert.equal(paused["status_reason"], description);
    theirs.status = "APPROVED";
    assert.equal((await rig.hook(templateCall(theirs, "REINSTATED"))).status, 200);
    assert.equal((await rig.templates.read(template["id"]))["status"], "approved");
    assert.deepEqual(
      (await rig.templates.events(template["id"])).map(({ type }) => type),
      ["template.approved", "template.paused", "template.approved"],
    );
  });

  test("that is edited is submitted as a new version, and review updates of the old version do not apply to it", async () => {
    const made = await rig.create();
    const theirs = await rig.submitted(made);
    const edited = await rig.templates.edit(made["id"], { body: "Hello {{name}}, order {{order}} comes today." });
    assert.equal(edited["version"], 2);
    await rig.syncAgain();
    assert.equal(
      rig.graph.templateCalls("POST").filter(({ path }) => path.endsWith(theirs.id)).length,
      0,
      "a template under review cannot be edited",
    );
    // The carrier approves the old version while the new version waits.
    const old = templateCall(theirs, "APPROVED", {}, Math.floor(Date.now() / 1_000));
    theirs.status = "APPROVED";
    assert.equal((await rig.hook(old)).status, 200);
    assert.equal((await rig.templates.read(made["id"]))["status"], "pending");
    await rig.makeDue();
    await until("the new version is submitted", () => theirs.status === "PENDING" || undefined);
    assert.equal(theirs.components[1]?.["text"], "Hello {{name}}, order {{order}} comes today.");
    await until(
      "the submission is stored",
      async () =>
        (await rig.godwit.rows("select from template_reviews where name = $1 and version = 2 and status = 'pending'", [made["name"]]))[0],
    );
    // The carrier repeats the call with a time before the new version was submitted.
    assert.equal((await rig.hook(templateCall(theirs, "APPROVED", {}, Math.floor(Date.now() / 1_000) - 60))).status, 200);
    assert.equal((await rig.templates.read(made["id"]))["status"], "pending");
    rig.graph.decide(theirs, "APPROVED");
    assert.equal((await rig.untilStatus(made["id"], "approved"))["version"], 2);
    assert.equal((await rig.templates.events(made["id"])).length, 1);
  });

  test("that the carrier refuses is rejected with the reason of the carrier", async () => {
    rig.graph.templates.behavior = ({ method, body }) =>
      method === "POST" && body.includes("unwanted")
        ? graphError(100, 400, { error_user_title: "Too many emoji", error_user_msg: "Use fewer." })
        : undefined;
    const made = await rig.create({ body: "unwanted {{name}} {{order}}" });
    assert.equal((await rig.untilStatus(made["id"], "rejected"))["status_reason"], "Too many emoji: Use fewer.");
    rig.graph.templates.behavior = undefined;
    await rig.syncAgain();
    assert.equal((await rig.templates.read(made["id"]))["status"], "rejected", "there is no automatic second submission");
    await rig.templates.edit(made["id"], { status: "pending" });
    await rig.submitted(made);
  });

  test("that is archived is deleted at the carrier, unless it was created there", async () => {
    const { template, theirs } = await rig.approved();
    const foreign = rig.graph.templates.add({ name: "by_hand", components: [{ type: "BODY", text: "By hand" }] });
    await rig.syncAgain();
    const [imported] = (await rig.templates.list({ name: "by_hand" })).data;
    assert.ok(imported !== undefined);
    await rig.templates.archive(imported["id"]);
    await rig.templates.archive(template["id"]);
    await until("the template is deleted at the carrier", () => !rig.graph.templates.all.includes(theirs) || undefined);
    const [call] = rig.graph.templateCalls("DELETE");
    assert.match(call?.path ?? "", new RegExp(`/message_templates\\?hsm_id=${theirs.id}&name=${theirs.name}$`));
    await rig.syncAgain();
    assert.ok(rig.graph.templates.all.includes(foreign));
    assert.deepEqual((await rig.templates.list({ name: "by_hand" })).data, [], "an archived template is not imported again");
    assert.equal(rig.graph.templateCalls("DELETE").length, 1);
  });

  test("that fails to replace a template of the carrier does not delete that template when it is archived", async () => {
    const foreign = rig.graph.templates.add({ name: "by_another_hand", status: "PAUSED" });
    rig.graph.templates.behavior = ({ method }) => (method === "POST" ? graphError(100) : undefined);
    const made = await rig.create({}, "by_another_hand");
    assert.equal((await rig.untilStatus(made["id"], "rejected"))["status_reason"], "WhatsApp refused the template: code 100");
    rig.graph.templates.behavior = undefined;
    await rig.templates.archive(made["id"]);
    await rig.syncAgain();
    assert.ok(rig.graph.templates.all.includes(foreign));
    assert.deepEqual(foreign.components, [{ type: "BODY", text: "Hello" }]);
  });

  test("that is now only for SMS is not affected by the carrier", async () => {
    const { template, theirs } = await rig.approved({ header: null, footer: null, channels: ["sms", "whatsapp"] });
    assert.equal((await rig.templates.edit(template["id"], { channels: ["sms"] }))["status"], "approved");
    theirs.status = "DISABLED";
    assert.equal((await rig.hook(templateCall(theirs, "DISABLED"))).status, 200);
    await rig.syncAgain();
    assert.equal((await rig.templates.read(template["id"]))["status"], "approved");
  });

  test("that is deleted at the carrier is rejected", async () => {
    const { template, theirs } = await rig.approved();
    rig.graph.decide(theirs, "PENDING_DELETION");
    assert.equal((await rig.untilStatus(template["id"], "rejected"))["status_reason"], "It was deleted at WhatsApp.");
  });

  test("that is missing in the list long after its submission is rejected", async () => {
    const { template, theirs } = await rig.approved();
    rig.graph.templates.all.splice(rig.graph.templates.all.indexOf(theirs), 1);
    await rig.syncAgain();
    assert.equal((await rig.templates.read(template["id"]))["status"], "approved", "a list may be outdated");
    await rig.godwit.rows("update template_reviews set asked_at = asked_at - interval '2 hours' where name = $1", [template["name"]]);
    rig.graph.templates.junk = [{ name: 7 }, null, "x", { id: "1" }];
    await rig.syncAgain();
    assert.equal((await rig.templates.read(template["id"]))["status"], "approved", "an unreadable entry may be the template");
    rig.graph.templates.junk = [];
    await rig.syncAgain();
    await rig.untilStatus(template["id"], "rejected");
  });

  test("is found on a list of many pages", async () => {
    rig.graph.templates.pageSize = 2;
    const made = await rig.create();
    const theirs = await rig.submitted(made);
    theirs.status = "APPROVED";
    await rig.syncAgain();
    await rig.untilStatus(made["id"], "approved");
    const pages = rig.graph.templateCalls("GET").filter(({ path }) => path.includes("after="));
    assert.ok(pages.length > 1, `${pages.length} further pages`);
    rig.graph.templates.pageSize = 1_000;
  });

  test("that already exists at the carrier with the same text is not submitted again", async () => {
    const body = "The very same {{name}}";
    rig.graph.templates.add({
      name: "same_words",
      parameter_format: "NAMED",
      status: "PENDING",
      components: [{ type: "BODY", text: body, example: { body_text_named_params: [{ param_name: "name", example: "x" }] } }],
    });
    const made = await rig.create({ header: null, footer: null, body, examples: { name: "Ada" } }, "same_words");
    await until(
      "the template of the carrier is adopted",
      async () => (await rig.godwit.rows("select from template_reviews where name = 'same_words' and status = 'pending'"))[0],
    );
    assert.equal(rig.creations("same_words").length, 0);
    rig.graph.decide(rig.graph.templates.find("same_words") ?? assert.fail(), "APPROVED");
    await rig.untilStatus(made["id"], "approved");
  });

  test("whose text was changed at the carrier is not replaced while it can be sent", async () => {
    const { theirs } = await rig.approved();
    theirs.components = [{ type: "BODY", text: "Somebody wrote this by hand" }];
    const posts = rig.graph.templateCalls("POST").length;
    await rig.syncAgain();
    assert.equal(rig.graph.templateCalls("POST").length, posts);
  });
});

describe("review updates", () => {
  test("with a wrong signature change nothing", async () => {
    const made = await rig.create();
    const theirs = await rig.submitted(made);
    const body = templateCall(theirs, "APPROVED");
    assert.equal((await rig.hook(body, { signature: graphSignature(body, "another secret") })).status, 401);
    assert.equal((await rig.templates.read(made["id"]))["status"], "pending");
    assert.deepEqual(await rig.templates.events(made["id"]), []);
  });

  test("of another business account, of unknown templates or with unknown statuses are accepted and change nothing", async () => {
    const made = await rig.create();
    const theirs = await rig.submitted(made);
    for (const body of [
      templateCall({ ...theirs, waba: "999" }, "APPROVED"),
      templateCall({ ...theirs, name: "nobodys" }, "APPROVED"),
      templateCall({ ...theirs, language: "de" }, "APPROVED"),
      templateCall(theirs, "SOMETHING_NEW"),
      templateCall(theirs, "FLAGGED"),
      templateCall(theirs, "constructor"),
    ])
      assert.equal((await rig.hook(body)).status, 200);
    assert.equal((await rig.templates.read(made["id"]))["status"], "pending");
  });
});

describe("a message that the carrier refuses because of its template", () => {
  test("causes a template sync", async () => {
    const { template, theirs } = await rig.approved();
    rig.graph.behaviors.set("+4915112345678", graphError(132015));
    theirs.status = "PAUSED";
    await rig.backdateSync();
    await rig.send(template["id"], { name: "a", order: "b" });
    const paused = await rig.untilStatus(template["id"], "paused");
    assert.equal(paused["status_reason"], "WhatsApp has paused it for its low quality.");
    rig.graph.behaviors.delete("+4915112345678");
  });
});

test("the syncs are counted", async () => {
  const { text: metrics } = await rig.godwit.request("GET", "/metrics");
  assert.match(metrics, /godwit_template_syncs_total\{link="wa",outcome="synced"\} \d+/);
});

test("the log contains neither secrets nor texts", () => {
  const lines = JSON.stringify(rig.godwit.logs);
  for (const word of [...Object.values(rig.env), "is on its way", "Use fewer"]) assert.ok(!lines.includes(word), word);
});
