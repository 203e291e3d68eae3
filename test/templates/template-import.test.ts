/** Import of templates that exist only at the carrier. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clientOf } from "../support/client.ts";
import type { FakeGraph } from "../support/fakes/graph.ts";
import { until } from "../support/expect.ts";
import { ReviewRig, SHIPPED, waLink } from "../support/review-rig.ts";

const BODY = { type: "BODY", text: "Hello {{1}}, it costs {{2}}.", example: { body_text: [["Ada", "$5"]] } };

function furnish({ templates }: FakeGraph): void {
  templates.add({
    name: "price",
    language: "en_US",
    category: "MARKETING",
    components: [
      { type: "HEADER", format: "TEXT", text: "For {{1}}", example: { header_text: ["you"] } },
      BODY,
      { type: "FOOTER", text: "Bye" },
      { type: "BUTTONS", buttons: [{ type: "URL", text: "Open", url: "https://example.com" }] },
    ],
  });
  templates.add({ name: "was_rejected", status: "REJECTED", rejected_reason: "PROMOTIONAL" });
  templates.add({ name: "is_paused", status: "PAUSED" });
  templates.add({ name: "is_open", status: "PENDING" });
  templates.add({
    name: "a_code",
    category: "AUTHENTICATION",
    components: [
      { type: "BODY", text: "*{{1}}* is your verification code." },
      { type: "BUTTONS", buttons: [{ type: "URL", text: "Copy", url: "https://www.whatsapp.com/otp/code/?code=otp{{1}}" }] },
    ],
  });
  // Templates that cannot be imported.
  templates.add({ name: "picture", components: [{ type: "HEADER", format: "LOCATION" }, BODY] });
  templates.add({ name: "with_picture", components: [{ type: "HEADER", format: "IMAGE" }, BODY] });
  templates.add({ name: "carousel", components: [BODY, { type: "CAROUSEL" }] });
  templates.add({ name: "many_languages" });
  templates.add({ name: "many_languages", language: "de" });
  templates.add({ name: "x".repeat(65) });
  templates.add({ name: "tmpl_like_an_id" });
  templates.add({ name: "braces", components: [{ type: "BODY", text: "Hello {{Name}}" }] });
  templates.add({ name: "gone", status: "PENDING_DELETION" });
}
const IMPORTED = ["a_code", "is_open", "is_paused", "price", "verification_code", "was_rejected", "with_picture"];
const SKIPPED = 6;

const names = async (rig: ReviewRig, key = rig.key): Promise<unknown[]> => {
  const { data } = await clientOf(rig.godwit, key).templates.list({ limit: "100" });
  return data.map(({ name }) => name).toSorted((a, b) => String(a).localeCompare(String(b)));
};

describe("templates that already exist at the carrier", () => {
  test("are imported once, with their review status, if our format can represent them", async () => {
    await using rig = await ReviewRig.start({ prepare: furnish });
    await rig.synced();
    assert.deepEqual(await names(rig), IMPORTED);
    const { id, created_at: _c, updated_at: _u, ...price } = await rig.templates.read("price");
    assert.deepEqual(price, {
      object: "template",
      environment: "live",
      name: "price",
      language: "en-US",
      category: "marketing",
      channels: ["whatsapp"],
      body: "Hello {{2}}, it costs {{3}}.",
      header: "For {{1}}",
      header_media: null,
      footer: "Bye",
      buttons: [{ type: "url", text: "Open", url: "https://example.com", phone_number: null }],
      variables: [
        { name: "1", example: "you" },
        { name: "2", example: "Ada" },
        { name: "3", example: "$5" },
      ],
      status: "approved",
      status_reason: null,
      version: 1,
      created_by: "carrier",
    });
    const statuses = await Promise.all(["was_rejected", "is_paused", "is_open", "a_code"].map((name) => rig.templates.read(name)));
    assert.deepEqual(
      statuses.map(({ status, status_reason: reason, category }) => [status, reason, category]),
      [
        ["rejected", "PROMOTIONAL", "utility"],
        ["paused", "WhatsApp has paused it for its low quality.", "utility"],
        ["pending", null, "utility"],
        ["approved", null, "authentication"],
      ],
    );
    const line = await until("the sync is logged", () =>
      rig.godwit.logs.find(({ msg }) => msg === "templates were synced with the carrier"),
    );
    assert.deepEqual([line["imported"], line["skipped"], line["submitted"]], [6, SKIPPED, 1]);
    const posts = rig.graph.templateCalls("POST").length;
    await rig.syncAgain();
    assert.deepEqual(await names(rig), IMPORTED);
    assert.equal(rig.graph.templateCalls("POST").length, posts, "no imported template is submitted");
    assert.deepEqual(
      (await rig.templates.events(id)).map(({ type }) => type),
      ["template.approved"],
    );

    await rig.send("price", { "1": "you", "2": "Ada", "3": "$6" });
    await rig.send("a_code", { "1": "123456" });
    const sent = (await rig.untilSent(2)).map(({ template }) => template as { name: string; components: object[] });
    const value = (text: string) => ({ type: "text", text });
    assert.deepEqual(sent.find(({ name }) => name === "price")?.components, [
      { type: "header", parameters: [value("you")] },
      { type: "body", parameters: [value("Ada"), value("$6")] },
    ]);
    assert.deepEqual(sent.find(({ name }) => name === "a_code")?.components, [
      { type: "body", parameters: [value("123456")] },
      { type: "button", sub_type: "url", index: "0", parameters: [value("123456")] },
    ]);

    rig.graph.decide(rig.graph.templates.find("is_open") ?? assert.fail(), "APPROVED");
    await rig.untilStatus("is_open", "approved");
  });

  test("are not imported while two accounts may send, and belong to the account that has the number", async () => {
    await using rig = await ReviewRig.start({ prepare: furnish });
    await rig.synced();
    const before = await names(rig);
    const other = await rig.godwit.key({ account: "other", environment: "live" });
    rig.graph.templates.add({ name: "later" });
    await rig.syncAgain();
    assert.deepEqual(await names(rig), before);
    assert.deepEqual(await names(rig, other), ["verification_code"]);
    assert.equal(rig.creations("verification_code").length, 1, "a template of both accounts is submitted once");
    await using second = await ReviewRig.start({
      prepare: furnish,
      config: (url) => `${waLink({ url })}[[sender]]\nnumber = "+14155550100"\nlink = "wa"\naccount = "default"\nenvironment = "live"\n`,
    });
    await second.godwit.key({ account: "other", environment: "live" });
    await second.synced();
    await second.syncAgain();
    assert.deepEqual(await names(second), IMPORTED);
    assert.equal(second.creations("verification_code").length, 1, "one sync submits a template of both accounts once");
  });

  test("do not replace a template of the same name that was written here", async () => {
    await using rig = await ReviewRig.start();
    await rig.synced();
    const draft = await rig.create({ status: "draft" }, "mine");
    const theirs = rig.graph.templates.add({ name: "mine" });
    const text = await rig.templates.create({ name: "for_sms", body: "By sms" });
    rig.graph.templates.add({ name: "for_sms" });
    await rig.syncAgain();
    assert.deepEqual([(await rig.templates.read("mine"))["id"], (await rig.templates.read("for_sms"))["id"]], [draft["id"], text["id"]]);
    assert.equal((await rig.templates.read("mine"))["body"], SHIPPED.body);
    assert.deepEqual(theirs.components, [{ type: "BODY", text: "Hello" }], "a draft does not replace the template of the carrier");
    await rig.templates.edit("mine", { status: "pending" });
    await until("the template of the carrier is replaced", () => theirs.status === "PENDING" || undefined);
    assert.equal(theirs.components.length, 3);
  });
});
