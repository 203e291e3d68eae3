import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../http/problem.ts";
import { NO_ID, toId } from "../model/id.ts";
import { firstUuidAt } from "../lib/uuid.ts";
import type { Channel } from "../links/channel.ts";
import { fillTemplate, usableFor } from "./fill-template.ts";
import { TEMPLATE_STATUSES, templateRecord, type Template } from "./template.ts";

const template = (fields: Partial<Template> = {}): Template => ({
  accountId: NO_ID,
  environment: "test",
  id: toId("tmpl", firstUuidAt(1_900_000_000_000)),
  name: "order",
  language: "en",
  category: "utility",
  channels: ["sms", "whatsapp"],
  status: "approved",
  statusReason: null,
  version: 1,
  body: "Hello {{name}}, your order {{order}} is on its way.",
  header: null,
  headerMedia: null,
  footer: null,
  buttons: null,
  examples: {},
  updatedAtMs: 1_900_000_000_000,
  createdBy: null,
  ...fields,
});

/** The faults as location and code. */
function faultsOf(outcome: ReturnType<typeof fillTemplate>): (readonly [string, string])[] {
  assert.ok(outcome instanceof Problem);
  return (outcome.errors ?? []).map((fault) => ["pointer" in fault ? fault.pointer : "", fault.code]);
}

test("filling returns the body with its variables, without header, footer and buttons", () => {
  const filled = fillTemplate(template({ header: "For {{name}}", footer: "Bye" }), { order: "7", name: "Ada" }, "whatsapp");
  assert.deepEqual(filled, { kind: "filled", text: "Hello Ada, your order 7 is on its way." });
});

test("a template without variables takes none", () => {
  assert.deepEqual(fillTemplate(template({ body: "Hello" }), {}, "sms"), { kind: "filled", text: "Hello" });
});

const MISMATCHES: readonly (readonly [what: string, variables: Record<string, string>, faults: readonly (readonly [string, string])[]])[] =
  [
    [
      "nothing",
      {},
      [
        ["name", "missing_variable"],
        ["order", "missing_variable"],
      ],
    ],
    ["one of two", { order: "7" }, [["name", "missing_variable"]]],
    ["one too many", { order: "7", name: "Ada", more: "x" }, [["more", "extra_variable"]]],
    ["an empty value", { order: "", name: "Ada" }, [["order", "empty_variable"]]],
    ["white space", { order: " \n\t\u00a0", name: "Ada" }, [["order", "empty_variable"]]],
    [
      "all at once",
      { order: " ", more: "" },
      [
        ["name", "missing_variable"],
        ["order", "empty_variable"],
        ["more", "extra_variable"],
      ],
    ],
    ["names that a pointer escapes", { order: "7", name: "Ada", "a/b~c": "x" }, [["a~1b~0c", "extra_variable"]]],
    [
      "what every object has",
      JSON.parse('{"order":"7","name":"Ada","__proto__":"x"}') as Record<string, string>,
      [["__proto__", "extra_variable"]],
    ],
  ];

for (const [what, variables, expected] of MISMATCHES) {
  test(`with ${what} each variable has its fault`, () => {
    for (const pointer of ["", "/fallback/2"]) {
      const outcome = fillTemplate(template(), variables, "sms", pointer);
      assert.deepEqual(
        faultsOf(outcome),
        expected.map(([name, code]) => [`${pointer}/template_variables/${name}`, code]),
      );
      assert.equal((outcome as Problem).code, "template_variables_mismatch");
    }
  });
}

test("a variable with the name of an inherited property is missing", () => {
  assert.deepEqual(faultsOf(fillTemplate(template({ body: "{{constructor}}" }), {}, "sms")), [
    ["/template_variables/constructor", "missing_variable"],
  ]);
});

test("a variable of only the header is required on SMS too", () => {
  assert.deepEqual(faultsOf(fillTemplate(template({ header: "{{x}}", body: "Hello" }), {}, "sms")), [
    ["/template_variables/x", "missing_variable"],
  ]);
});

const LENGTHS: readonly (readonly [channel: Channel, most: number])[] = [
  ["sms", 1_600],
  ["whatsapp", 1_024],
];

for (const [channel, most] of LENGTHS) {
  test(`on ${channel} the text may have ${most} characters, and is never cut`, () => {
    const long = template({ body: "{{a}}{{b}}" });
    const half = "🐦".repeat(most / 2);
    assert.deepEqual(fillTemplate(long, { a: half, b: half }, channel), { kind: "filled", text: half + half });
    const outcome = fillTemplate(long, { a: half, b: `${half}x` }, channel, "/items/0");
    assert.deepEqual(faultsOf(outcome), [["/items/0/template_variables", "too_long"]]);
    assert.equal((outcome as Problem).code, "template_text_too_long");
    assert.match((outcome as Problem).detail, new RegExp(`${most + 1} .* ${most}$`));
  });
}

test("on whatsapp the header may have 60 characters with its variable, on sms it is not sent", () => {
  const headed = template({ header: "For {{a}}", body: "{{a}}" });
  assert.ok(!(fillTemplate(headed, { a: "x".repeat(56) }, "whatsapp") instanceof Problem));
  assert.deepEqual(faultsOf(fillTemplate(headed, { a: "x".repeat(57) }, "whatsapp")), [["/template_variables", "too_long"]]);
  assert.deepEqual(faultsOf(fillTemplate(headed, { a: "x".repeat(1_025) }, "whatsapp")), [
    ["/template_variables", "too_long"],
    ["/template_variables", "too_long"],
  ]);
  assert.ok(!(fillTemplate(headed, { a: "x".repeat(57) }, "sms") instanceof Problem));
});

for (const status of TEMPLATE_STATUSES) {
  test(`a template that is ${status} ${status === "approved" ? "can be sent" : "cannot be sent"}`, () => {
    const refusal = usableFor(template({ status }), "sms");
    if (status === "approved") return assert.equal(refusal, undefined);
    assert.deepEqual(
      [refusal?.code, refusal?.detail],
      ["template_not_approved", `the template is ${status}: only an approved template can be sent`],
    );
  });
}

test("a template is sent on the channels it lists", () => {
  assert.equal(usableFor(template({ channels: ["sms"] }), "sms"), undefined);
  const refusal = usableFor(template({ channels: ["sms"] }), "whatsapp", "/fallback/0");
  assert.equal(refusal?.code, "template_channel_mismatch");
  assert.deepEqual(
    refusal?.errors?.map((fault) => "pointer" in fault && fault.pointer),
    ["/fallback/0/template_id"],
  );
});

test("the record has the variables with their examples, the header's first, and the time of creation of its id", () => {
  const record = templateRecord(
    template({ header: "{{b}}", body: "{{a}} {{constructor}}", examples: { a: "1" }, updatedAtMs: 1_900_000_000_001 }),
  );
  assert.deepEqual(record.variables, [
    { name: "b", example: null },
    { name: "a", example: "1" },
    { name: "constructor", example: null },
  ]);
  assert.deepEqual([record.created_at, record.updated_at], ["2030-03-17T17:46:40.000Z", "2030-03-17T17:46:40.001Z"]);
});
