import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Fault } from "../http/problem.ts";
import { checkNewBatch, toItem, type NewBatch } from "./new-batch.ts";

const DEFAULTS = { channel: "sms", body: "Hello", priority: "bulk", metadata: { campaign: "spring", wave: "1" } };
const RECIPIENT = "+14155550123";

const only = (item: Record<string, unknown>, defaults: NewBatch["defaults"] = DEFAULTS) => toItem({ defaults, items: [item] }, 0);
const inShort = (faults: readonly Fault[]): string[] => faults.map((fault) => `${"pointer" in fault ? fault.pointer : "?"} ${fault.code}`);

describe("an item", () => {
  test("has the defaults, replaced by its own fields", () => {
    const { request, faults } = only({ recipient: RECIPIENT, body: "Hello Ada", priority: "high" });
    assert.deepEqual(faults, []);
    assert.deepEqual(request, { ...DEFAULTS, recipient: RECIPIENT, body: "Hello Ada", priority: "high" });
  });

  test("may have all fields itself, with or without defaults", () => {
    const item = { recipient: RECIPIENT, channel: "whatsapp", body: "Hello" };
    for (const defaults of [undefined, null, {}]) {
      const { request, faults } = toItem(defaults === undefined ? { items: [item] } : { defaults, items: [item] }, 0);
      assert.deepEqual(faults, []);
      assert.deepEqual(request, item);
    }
  });

  test("removes a default with null", () => {
    const { request, faults } = only({ recipient: RECIPIENT, body: null, template_id: "welcome" });
    assert.deepEqual(faults, []);
    assert.deepEqual([request.body, request.template_id], [null, "welcome"]);
    assert.deepEqual(inShort(only({ recipient: RECIPIENT, body: null }).faults), ["/items/0/body required"]);
  });

  test("has either its own metadata or the default metadata", () => {
    assert.deepEqual(only({ recipient: RECIPIENT, metadata: { wave: "2" } }).request.metadata, { wave: "2" });
    assert.deepEqual(only({ recipient: RECIPIENT, metadata: {} }).request.metadata, {});
    assert.deepEqual(only({ recipient: RECIPIENT }).request.metadata, DEFAULTS.metadata);
  });

  test("leaves the defaults and the other items unchanged", () => {
    const batch: NewBatch = { defaults: { ...DEFAULTS }, items: [{ recipient: RECIPIENT, body: "one" }, { recipient: RECIPIENT }] };
    const before = structuredClone(batch);
    toItem(batch, 0);
    assert.equal(toItem(batch, 1).request.body, "Hello");
    assert.deepEqual(batch, before);
  });

  test("with a field named __proto__ is refused and inherits nothing", () => {
    const batch = JSON.parse(`{"items":[{"recipient":"${RECIPIENT}","channel":"sms","__proto__":{"body":"x"}}]}`) as NewBatch;
    const { request, faults } = toItem(batch, 0);
    assert.deepEqual(new Set(inShort(faults)), new Set(["/items/0/__proto__ unknown_field", "/items/0/body required"]));
    assert.equal(Object.getPrototypeOf(request), Object.prototype);
  });
});

describe("a fault points into the batch", () => {
  const ROWS: readonly (readonly [what: string, item: Record<string, unknown>, faults: readonly string[]])[] = [
    ["a field that is missing", {}, ["recipient required"]],
    ["a field of the wrong type", { recipient: RECIPIENT, priority: 1 }, ["priority invalid_type"]],
    ["a rule between fields", { recipient: RECIPIENT, template_id: "welcome" }, ["template_id conflict"]],
    ["a number that no country has", { recipient: "+1415555" }, ["recipient impossible_number"]],
    ["a time too far away", { recipient: RECIPIENT, send_at: "2999-01-01T00:00:00Z" }, ["send_at too_far"]],
    ["a value inside", { recipient: RECIPIENT, metadata: { "a/b": 1 } }, ["metadata/a~1b invalid_type"]],
    [
      "a step of the fallback",
      { recipient: RECIPIENT, fallback: [{ channel: "sms" }] },
      ["fallback/0/after_seconds required", "fallback/0/body required"],
    ],
    [
      "several at once, each place once",
      { recipient: "nobody", body: "", color: "red", ttl_seconds: 1 },
      ["recipient invalid_format", "body too_short", "color unknown_field", "ttl_seconds out_of_range"],
    ],
  ];
  for (const [what, item, faults] of ROWS) {
    test(what, () => {
      const items = Array.from({ length: 12 }, () => ({ recipient: RECIPIENT }));
      items[7] = item as { recipient: string };
      const found = toItem({ defaults: DEFAULTS, items }, 7).faults;
      assert.deepEqual(new Set(inShort(found)), new Set(faults.map((fault) => `/items/7/${fault}`)));
      assert.equal(found.length, faults.length);
      assert.deepEqual(toItem({ defaults: DEFAULTS, items }, 8).faults, []);
    });
  }

  test("also a rule between a field of the item and one of the defaults", () => {
    const items = [{ recipient: RECIPIENT, body: null }, { recipient: RECIPIENT }];
    const defaults = { ...DEFAULTS, body: "a".repeat(2_000) };
    assert.deepEqual(inShort(toItem({ defaults, items }, 0).faults), ["/items/0/body required"]);
    assert.deepEqual(inShort(toItem({ defaults, items }, 1).faults), ["/items/1/body too_long"]);
  });
});

describe("the rules of the defaults", () => {
  const faultsOf = (defaults: object): string[] => inShort(checkNewBatch({ defaults, items: [{}] }));

  test("are those of single fields, with pointers into the defaults", () => {
    assert.deepEqual(faultsOf({ recipient: "+1415555", send_at: "2999-01-01T00:00:00Z" }), [
      "/defaults/recipient impossible_number",
      "/defaults/send_at too_far",
    ]);
    assert.deepEqual(faultsOf({ fallback: [{ channel: "sms", after_seconds: 1 }] }), ["/defaults/fallback/0/body required"]);
  });

  test("require no field, since each item may have it", () => {
    assert.deepEqual(faultsOf({}), []);
    assert.deepEqual(faultsOf({ template_variables: { name: "Ada" } }), []);
  });
});
