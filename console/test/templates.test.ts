/** The texts of templates in the form: their names, placeholders and previews. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Template } from "godwit-sdk";
import { toChanges, toDraft, toNew } from "../src/templates/template-draft.ts";
import { fillPlaceholders, nextVariable, toTemplateName } from "../src/templates/placeholders.ts";

test("a title becomes the name of a template", () => {
  assert.equal(toTemplateName("Order Shipped"), "order_shipped");
  assert.equal(toTemplateName("order-shipped"), "order_shipped");
});

test("a preview fills in examples, and keeps placeholders without one", () => {
  assert.equal(fillPlaceholders("Hello {{name}}, {{1}} {{Bad}} {{", { name: "Ada", 1: " " }), "Hello Ada, {{1}} {{Bad}} {{");
});

test("a further variable has a name of its own", () => {
  assert.equal(nextVariable([]), "variable");
  assert.equal(nextVariable(["variable", "variable_2", "name"]), "variable_3");
});

const TEMPLATE = {
  name: "parcel",
  language: "en",
  category: "utility",
  channels: ["whatsapp"],
  body: "Hello {{name}}",
  header: null,
  header_media: "image",
  footer: null,
  buttons: [{ type: "url", text: "Track", url: "https://a.example/{{1}}", phone_number: null }],
  variables: [{ name: "name", example: "Ada" }],
} as unknown as Template;

test("a template with a file and an open URL keeps them when its text is changed", () => {
  const draft = toDraft(TEMPLATE);
  assert.deepEqual(toChanges(draft, TEMPLATE), {});
  assert.deepEqual(toChanges({ ...draft, body: "Hi {{name}}" }, TEMPLATE), { body: "Hi {{name}}" });
  const { header_media: media, header, buttons } = toNew({ ...draft, header: "Kept in the form" }, true);
  assert.deepEqual([media, header, buttons], ["image", "", [{ type: "url", text: "Track", url: "https://a.example/{{1}}" }]]);
  assert.deepEqual(toChanges({ ...draft, headerMedia: "" }, TEMPLATE), { header_media: "" });
});
