import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fault } from "../http/problem.ts";
import { compile } from "../http/validate.ts";
import { checkNewMessage, NewMessageBody } from "./new-message.ts";

const GOOD = { recipient: "+14155550123", channel: "sms", body: "hello" };
const TEMPLATED = { recipient: "+14155550123", channel: "whatsapp", template_id: "welcome" };

const brief = (faults: readonly Fault[]): string[] =>
  faults.map((fault) => `${"pointer" in fault ? fault.pointer : "?"} ${fault.code}`).toSorted();

type Row = readonly [what: string, request: Record<string, unknown>, faults: readonly string[]];

const RULES: readonly Row[] = [
  ["a text", GOOD, []],
  ["a template", TEMPLATED, []],
  ["a template with variables", { ...TEMPLATED, template_variables: { "1": "Ada" } }, []],
  ["null for optional fields", { ...GOOD, template_id: null, template_variables: null }, []],
  ["a recipient of an impossible length", { ...GOOD, recipient: "+1415555012" }, ["/recipient impossible_number"]],
  ["a recipient that is not E.164, which the schema reports", { ...GOOD, recipient: "0800" }, []],
  ["a recipient of another type, which the schema reports", { ...GOOD, recipient: 14155550123 }, []],
  ["neither text nor template", { ...GOOD, body: undefined }, ["/body required"]],
  ["null for both text and template", { ...GOOD, body: null, template_id: null }, ["/body required"]],
  ["both text and template", { ...GOOD, template_id: "welcome" }, ["/template_id conflict"]],
  ["variables without a template", { ...GOOD, template_variables: {} }, ["/template_variables conflict"]],
  ["1,600 characters on sms", { ...GOOD, body: "a".repeat(1_600) }, []],
  ["1,601 characters on sms", { ...GOOD, body: "a".repeat(1_601) }, ["/body too_long"]],
  ["1,600 emoji on sms, since code points count", { ...GOOD, body: "😀".repeat(1_600) }, []],
  ["1,601 emoji on sms", { ...GOOD, body: "😀".repeat(1_601) }, ["/body too_long"]],
  ["1,601 characters on whatsapp", { ...GOOD, channel: "whatsapp", body: "a".repeat(1_601) }, []],
  ["4,097 characters on sms, which the schema reports", { ...GOOD, body: "a".repeat(4_097) }, []],
  ["an empty request", {}, ["/body required"]],
  [
    "every fault at once",
    { recipient: "+1415555012", channel: "sms", body: "a".repeat(1_601), template_id: "x", template_variables: { a: "b" } },
    ["/body too_long", "/recipient impossible_number", "/template_id conflict"],
  ],
];

for (const [what, request, faults] of RULES) {
  test(`the rules between fields on ${what}: ${faults.join(", ") || "no fault"}`, () =>
    assert.deepEqual(brief(checkNewMessage(request)), faults));
}

// A minute off each limit: the clock goes on while the test runs.
const DAY_MINUTES = 24 * 60;
const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();

const TIMES: readonly (readonly [what: string, sendAt: () => unknown, faults: readonly string[]])[] = [
  ["a time in the future", () => inMinutes(60), []],
  ["a time in another zone that only looks too far ahead", () => inMinutes(35 * DAY_MINUTES + 299).replace("Z", "+05:00"), []],
  ["a time just within 35 days", () => inMinutes(35 * DAY_MINUTES - 1), []],
  ["a time beyond 35 days", () => inMinutes(35 * DAY_MINUTES + 1), ["/send_at too_far"]],
  ["a time years ahead", () => "9999-12-31T23:59:59Z", ["/send_at too_far"]],
  ["a time that has just passed, which means now", () => inMinutes(-1), []],
  ["a time that passed within a day, since a request may be repeated with its key", () => inMinutes(1 - DAY_MINUTES), []],
  ["a time that passed more than a day ago", () => inMinutes(-1 - DAY_MINUTES), ["/send_at in_the_past"]],
  ["the first year", () => "0000-01-01T00:00:00Z", ["/send_at in_the_past"]],
  ["a leap second, which cannot be parsed", () => "2016-12-31T23:59:60Z", ["/send_at invalid_format"]],
  ["a text that is no time", () => "tomorrow", ["/send_at invalid_format"]],
  ["nothing", () => "", ["/send_at invalid_format"]],
  ["null", () => null, []],
  ["a number, which the schema reports", () => 1_900_000_000_000, []],
];

for (const [what, sendAt, faults] of TIMES) {
  test(`send_at on ${what}: ${faults.join(", ") || "no fault"}`, () =>
    assert.deepEqual(brief(checkNewMessage({ ...GOOD, send_at: sendAt() })), faults));
}

const SCHEMA: readonly Row[] = [
  ["a text", GOOD, []],
  [
    "every optional field as null",
    {
      ...GOOD,
      ...Object.fromEntries(
        Object.keys(NewMessageBody.properties)
          .filter((name) => !(name in GOOD))
          .map((name) => [name, null]),
      ),
    },
    [],
  ],
  ["nothing", {}, ["/channel required", "/recipient required"]],
  ["a misspelled field", { ...GOOD, recipent: "x" }, ["/recipent unknown_field"]],
  ["a recipient that is not E.164", { ...GOOD, recipient: "0800" }, ["/recipient invalid_format"]],
  ["a recipient as a number", { ...GOOD, recipient: 14155550123 }, ["/recipient invalid_type"]],
  ["null for the recipient", { ...GOOD, recipient: null }, ["/recipient invalid_type"]],
  ["another channel", { ...GOOD, channel: "fax" }, ["/channel invalid_value"]],
  ["an empty text", { ...GOOD, body: "" }, ["/body too_short"]],
  ["4,097 characters", { ...GOOD, body: "a".repeat(4_097) }, ["/body too_long"]],
  ["an empty template", { ...TEMPLATED, template_id: "" }, ["/template_id too_short"]],
  ["a variable that is a number", { ...TEMPLATED, template_variables: { "1": 1 } }, ["/template_variables/1 invalid_type"]],
  [
    "a variable of two lines in its name that is a number",
    { ...TEMPLATED, template_variables: { "a\nb": 1 } },
    ["/template_variables/a\nb invalid_type"],
  ],
  ["a short code as sender", { ...GOOD, sender: "12345" }, []],
  ["a name as sender", { ...GOOD, sender: "Godwit & Co" }, []],
  ["a sender of 12 letters", { ...GOOD, sender: "abcdefghijkl" }, ["/sender invalid_format"]],
  ["a sender of two digits", { ...GOOD, sender: "12" }, ["/sender invalid_format"]],
  ["a text that is no time", { ...GOOD, send_at: "tomorrow" }, ["/send_at invalid_format"]],
  ["a time as a number", { ...GOOD, send_at: 1_900_000_000_000 }, ["/send_at invalid_type"]],
  ["a leap second", { ...GOOD, send_at: "2016-12-31T23:59:60Z" }, ["/send_at invalid_format"]],
  ["a time of any year, since a rule limits the distance", { ...GOOD, send_at: "2099-01-31T09:00:00.5+01:00" }, []],
  ["29 seconds to live", { ...GOOD, ttl_seconds: 29 }, ["/ttl_seconds out_of_range"]],
  ["30 seconds to live", { ...GOOD, ttl_seconds: 30 }, []],
  ["172,801 seconds to live", { ...GOOD, ttl_seconds: 172_801 }, ["/ttl_seconds out_of_range"]],
  ["half a second to live", { ...GOOD, ttl_seconds: 30.5 }, ["/ttl_seconds invalid_type"]],
  ["seconds as text", { ...GOOD, ttl_seconds: "60" }, ["/ttl_seconds invalid_type"]],
  ["another priority", { ...GOOD, priority: "urgent" }, ["/priority invalid_value"]],
  ["a reference of 128 characters", { ...GOOD, client_reference: "😀".repeat(128) }, []],
  ["a reference of 129 characters", { ...GOOD, client_reference: "x".repeat(129) }, ["/client_reference too_long"]],
  [
    "metadata of 51 keys",
    { ...GOOD, metadata: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`k${index}`, ""])) },
    ["/metadata too_many"],
  ],
  ["a key of 41 characters", { ...GOOD, metadata: { ["k".repeat(41)]: "" } }, [`/metadata/${"k".repeat(41)} too_long`]],
  ["an empty key", { ...GOOD, metadata: { "": "" } }, ["/metadata/ too_short"]],
  ["a value of 501 characters", { ...GOOD, metadata: { key: "v".repeat(501) } }, ["/metadata/key too_long"]],
  ["a value that is a number", { ...GOOD, metadata: { key: 1 } }, ["/metadata/key invalid_type"]],
  ["a value that is a number under a key of two lines", { ...GOOD, metadata: { "a\nb": 1 } }, ["/metadata/a\nb invalid_type"]],
  ["metadata as a list", { ...GOOD, metadata: ["a"] }, ["/metadata invalid_type"]],
  ["a fallback without steps", { ...GOOD, fallback: [] }, ["/fallback too_few"]],
  [
    "six steps of a fallback",
    { ...GOOD, fallback: Array.from({ length: 6 }, () => ({ channel: "sms", body: "x", after_seconds: 60 })) },
    ["/fallback too_many"],
  ],
  ["a step without after_seconds", { ...GOOD, fallback: [{ channel: "sms", body: "x" }] }, ["/fallback/0/after_seconds required"]],
  ["a limit of zero segments", { ...GOOD, max_segments: 0 }, ["/max_segments out_of_range"]],
];

const validate = compile(NewMessageBody, "body");

for (const [what, request, faults] of SCHEMA) {
  test(`the schema on ${what}: ${faults.join(", ").replaceAll("\n", " ") || "no fault"}`, () =>
    assert.deepEqual(brief(validate(request)), faults));
}
