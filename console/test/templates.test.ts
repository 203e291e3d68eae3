/** The texts of templates in the form: their names, placeholders and previews. */
import assert from "node:assert/strict";
import { test } from "node:test";
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
