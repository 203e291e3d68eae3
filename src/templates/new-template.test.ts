import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fault } from "../http/problem.ts";
import { compile } from "../http/validate.ts";
import { checkEditTemplate, checkNewTemplate, EditTemplateBody, NewTemplateBody } from "./new-template.ts";

type Json = Record<string, unknown>;

const validateNew = compile(NewTemplateBody, "body");
const validateEdit = compile(EditTemplateBody, "body");

const placeOf = (fault: Fault): string => ("pointer" in fault ? fault.pointer : "");

/** As a request is judged: by the schema, then by what it cannot say; one fault a place is enough. */
function faultsOf(validate: typeof validateNew, check: typeof checkNewTemplate, body: Json): Fault[] {
  const faults = validate(body);
  return [...faults, ...check(body).filter((fault) => !faults.some((other) => placeOf(other) === placeOf(fault)))];
}

const ofNew = (body: Json): Fault[] => faultsOf(validateNew, checkNewTemplate, body);
const ofEdit = (body: Json): Fault[] => faultsOf(validateEdit, checkEditTemplate, body);
const shown = (faults: readonly Fault[]): string[] => faults.map((fault) => `${placeOf(fault)} ${fault.code}`);

const WHATSAPP: Json = { name: "order", language: "en", category: "utility", channels: ["sms", "whatsapp"], body: "Hello {{name}}" };
const SMS: Json = { ...WHATSAPP, channels: ["sms"] };
const quickReply = (text = "Yes"): Json => ({ type: "quick_reply", text });
const link = (fields: Json = {}): Json => ({ type: "url", text: "Open", url: "https://example.com/orders?a=1#b", ...fields });
const call = (fields: Json = {}): Json => ({ type: "phone_number", text: "Call", phone_number: "+14155550123", ...fields });

const FINE: readonly (readonly [what: string, body: Json])[] = [
  ["the least there is", SMS],
  [
    "everything",
    {
      ...WHATSAPP,
      header: "For {{name}}",
      footer: "Bye",
      buttons: [quickReply(), link(), call()],
      examples: { name: "Ada" },
      status: "draft",
    },
  ],
  ["null for all that is optional", { ...SMS, header: null, footer: null, buttons: null, examples: null, status: null }],
  ["empty for what is not there", { ...SMS, header: "", footer: "", buttons: [], examples: {} }],
  ["a name of 64", { ...SMS, name: "a".repeat(64) }],
  ["a name of digits", { ...SMS, name: "0_1" }],
  ["sms with 1,600 characters", { ...SMS, body: "🐦".repeat(1_600) }],
  ["whatsapp with 1,024 characters", { ...WHATSAPP, body: "🐦".repeat(1_024) }],
  ["header and footer of 60", { ...WHATSAPP, header: "🐦".repeat(60), footer: "🐦".repeat(60) }],
  ["a header that has its variable twice", { ...WHATSAPP, header: "{{name}} {{name}}" }],
  ["ten buttons", { ...WHATSAPP, buttons: Array.from({ length: 10 }, (_, index) => quickReply(`${index}`)) }],
  ["two that open and one that calls", { ...WHATSAPP, buttons: [link(), link(), call()] }],
  ["nulls where a button has no target", { ...WHATSAPP, buttons: [{ ...quickReply(), url: null, phone_number: null }] }],
  ...["en", "de", "fil", "en-US", "zh-Hant-TW", "sr-Latn", "es-419"].map((language): [string, Json] => [language, { ...SMS, language }]),
];

for (const [what, body] of FINE) test(`a new template may have ${what}`, () => assert.deepEqual(ofNew(body), []));

const { name: _, ...ANY } = WHATSAPP;

const REFUSED: readonly (readonly [what: string, body: Json, ...faults: string[]])[] = [
  ["nothing", {}, "/name required", "/language required", "/category required", "/channels required", "/body required"],
  ["a field too many", { ...SMS, version: 2 }, "/version unknown_field"],
  ["no name", ANY, "/name required"],
  ["an empty name", { ...SMS, name: "" }, "/name invalid_format"],
  ["a name of 65", { ...SMS, name: "a".repeat(65) }, "/name invalid_format"],
  ["a capital in the name", { ...SMS, name: "Order" }, "/name invalid_format"],
  ["a hyphen in the name", { ...SMS, name: "a-b" }, "/name invalid_format"],
  ["a line break after the name", { ...SMS, name: "order\n" }, "/name invalid_format"],
  ["a name like an id", { ...SMS, name: "tmpl_01k9zs3v8mf4tb2xg1qj6n0d5c" }, "/name invalid_format"],
  ["another category", { ...SMS, category: "news" }, "/category invalid_value"],
  ["no channel", { ...SMS, channels: [] }, "/channels too_few"],
  ["a channel twice", { ...SMS, channels: ["sms", "sms"] }, "/channels/1 repeated"],
  ["a channel that is none", { ...SMS, channels: ["fax"] }, "/channels/0 invalid_value"],
  ["an empty body", { ...SMS, body: "" }, "/body too_short"],
  ["1,601 characters on sms", { ...SMS, body: "x".repeat(1_601) }, "/body too_long"],
  ["1,025 characters on whatsapp", { ...WHATSAPP, body: "x".repeat(1_025) }, "/body too_long"],
  ["1,601 characters on whatsapp", { ...WHATSAPP, body: "x".repeat(1_601) }, "/body too_long"],
  ["a header of 61", { ...WHATSAPP, header: "x".repeat(61) }, "/header too_long"],
  ["a footer of 61", { ...WHATSAPP, footer: "x".repeat(61) }, "/footer too_long"],
  ["two variables in the header", { ...WHATSAPP, header: "{{a}} {{b}}" }, "/header too_many"],
  ["a variable in the footer", { ...WHATSAPP, footer: "{{name}}" }, "/footer not_allowed"],
  ["braces in the footer", { ...WHATSAPP, footer: "a }}" }, "/footer not_allowed"],
  [
    "what is whatsapp's, on sms",
    { ...SMS, header: "a", footer: "b", buttons: [quickReply()] },
    "/header conflict",
    "/footer conflict",
    "/buttons conflict",
  ],
  [
    "braces that are wrong, everywhere",
    { ...WHATSAPP, header: "{{", body: "{{}} {{A}}" },
    "/body invalid_placeholder",
    "/body invalid_placeholder",
    "/header invalid_placeholder",
  ],
  ["both kinds of variables", { ...SMS, body: "{{1}} {{a}}" }, "/body mixed_placeholders"],
  ["a gap", { ...SMS, body: "{{2}}" }, "/body placeholder_gap"],
  [
    "examples of what is no variable",
    { ...SMS, examples: { name: "Ada", "a/b": "1", c: "2" } },
    "/examples/a~1b unknown_variable",
    "/examples/c unknown_variable",
  ],
  ["an empty example", { ...SMS, examples: { name: "" } }, "/examples/name too_short"],
  ["a blank example", { ...SMS, examples: { name: " " } }, "/examples/name empty_variable"],
  ["an example that is no text", { ...SMS, examples: { name: 1 } }, "/examples/name invalid_type"],
  ["status pending", { ...SMS, status: "pending" }, "/status invalid_value"],
  ["status approved", { ...SMS, status: "approved" }, "/status invalid_value"],
  ["eleven buttons", { ...WHATSAPP, buttons: Array.from({ length: 11 }, () => quickReply()) }, "/buttons too_many"],
  ["three that open", { ...WHATSAPP, buttons: [link(), link(), link()] }, "/buttons too_many"],
  ["two that call", { ...WHATSAPP, buttons: [call(), call()] }, "/buttons too_many"],
  ["a button of no kind", { ...WHATSAPP, buttons: [{ ...link(), type: "flow" }] }, "/buttons/0/type invalid_value"],
  ["a button that is none", { ...WHATSAPP, buttons: ["Yes"] }, "/buttons/0 invalid_type"],
  ["a button without text", { ...WHATSAPP, buttons: [{ type: "quick_reply" }] }, "/buttons/0/text required"],
  ["a button of 26", { ...WHATSAPP, buttons: [quickReply("x".repeat(26))] }, "/buttons/0/text too_long"],
  ["a button with a variable", { ...WHATSAPP, buttons: [quickReply("{{name}}")] }, "/buttons/0/text not_allowed"],
  ["a link to nowhere", { ...WHATSAPP, buttons: [quickReply(), link({ url: null })] }, "/buttons/1/url required"],
  ["a call without a number", { ...WHATSAPP, buttons: [call({ phone_number: null })] }, "/buttons/0/phone_number required"],
  [
    "a reply that opens and calls",
    { ...WHATSAPP, buttons: [{ ...link(), ...call(), ...quickReply() }] },
    "/buttons/0/url conflict",
    "/buttons/0/phone_number conflict",
  ],
  ["a link that calls", { ...WHATSAPP, buttons: [link({ phone_number: "+14155550123" })] }, "/buttons/0/phone_number conflict"],
  ["a link with a variable", { ...WHATSAPP, buttons: [link({ url: "https://example.com/{{name}}" })] }, "/buttons/0/url not_allowed"],
  ["a link to a script", { ...WHATSAPP, buttons: [link({ url: "javascript:alert(1)" })] }, "/buttons/0/url invalid_format"],
  ["a link with a blank", { ...WHATSAPP, buttons: [link({ url: "https://example.com/a b" })] }, "/buttons/0/url invalid_format"],
  ["a link that is none", { ...WHATSAPP, buttons: [link({ url: "example.com" })] }, "/buttons/0/url invalid_format"],
  ["a link of 2,001", { ...WHATSAPP, buttons: [link({ url: "https://example.com/".padEnd(2_001, "x") })] }, "/buttons/0/url too_long"],
  ["a number that is none", { ...WHATSAPP, buttons: [call({ phone_number: "4155550123" })] }, "/buttons/0/phone_number invalid_format"],
  [
    "an impossible number",
    { ...WHATSAPP, buttons: [call({ phone_number: "+141555501234" })] },
    "/buttons/0/phone_number impossible_number",
  ],
  ["a button with a field too many", { ...WHATSAPP, buttons: [{ ...quickReply(), id: "1" }] }, "/buttons/0/id unknown_field"],
  [
    "no types at all",
    { name: 1, language: 2, category: 3, channels: 4, body: 5, header: 6, footer: 7, buttons: 8, examples: 9, status: 10 },
    ...["name", "language", "category", "channels", "body", "header", "footer", "buttons", "examples", "status"].map(
      (field) => `/${field} invalid_type`,
    ),
  ],
  [
    "many faults, all reported",
    { ...SMS, language: "xx_YY", body: "{{1}} {{a}}", footer: "{{x}}", examples: { q: " " } },
    "/language invalid_format",
    "/footer not_allowed",
    "/examples/q empty_variable",
    "/footer conflict",
    "/body mixed_placeholders",
    "/examples/q unknown_variable",
  ],
];

for (const [what, body, ...expected] of REFUSED) {
  test(`a new template may not have ${what}`, () => assert.deepEqual(shown(ofNew(body)).toSorted(), expected.toSorted()));
}

const LANGUAGES: readonly (readonly [language: string, detail: RegExp])[] = [
  ["en_US", /en-US/],
  ["", /en-US/],
  ["e", /en-US/],
  ["english", /en-US/],
  ["en-", /en-US/],
  ["en-US\n", /en-US/],
  ["en-us", /must be written en-US$/],
  ["EN", /must be written en$/],
  ["iw", /must be written he$/],
  ["en-US-US", /not a BCP 47/],
  ["en-abcdefgh-abcdefgh", /not a BCP 47/],
];

for (const [language, detail] of LANGUAGES) {
  test(`the language ${JSON.stringify(language)} is refused with a hint`, () => {
    const faults = ofNew({ ...SMS, language });
    assert.deepEqual(shown(faults), ["/language invalid_format"]);
    assert.match(faults[0]?.detail ?? "", detail);
  });
}

test("an edit may have any field except the name, or none", () => {
  assert.deepEqual(ofEdit({}), []);
  const { name: _name, ...rest } = WHATSAPP;
  assert.deepEqual(ofEdit({ ...rest, header: "", footer: "", buttons: [], examples: {}, status: "pending" }), []);
  assert.deepEqual(
    ofEdit(
      Object.fromEntries(Object.keys({ ...rest, header: 1, footer: 1, buttons: 1, examples: 1, status: 1 }).map((field) => [field, null])),
    ),
    [],
  );
  assert.deepEqual(shown(ofEdit({ name: "other" })), ["/name unknown_field"]);
  assert.deepEqual(shown(ofEdit({ status: "draft" })), ["/status invalid_value"]);
});

test("the fields of an edit are checked before the template is read", () => {
  const body = {
    language: "en-us",
    channels: ["sms", "sms"],
    body: "{{",
    header: "{{a}} {{b}}",
    footer: "{{a}}",
    buttons: [link({ url: null })],
    examples: { a: " " },
  };
  assert.deepEqual(shown(ofEdit(body)), [
    "/language invalid_format",
    "/channels/1 repeated",
    "/body invalid_placeholder",
    "/header too_many",
    "/footer not_allowed",
    "/buttons/0/url required",
    "/examples/a empty_variable",
  ]);
});
