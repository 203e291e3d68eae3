import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { HINT, oneOf, optional, Type, type Schema } from "./schema.ts";
import type { Fault } from "./problem.ts";
import { isDateTime } from "../lib/time.ts";
import { coerceQuery, compile, compileSized } from "./validate.ts";

const closed = (properties: Record<string, Schema>): Schema => Type.Object(properties, { additionalProperties: false });

type Row = readonly [keyword: string, field: Schema, value: unknown, code: string, detail: string];
const KEYWORDS: readonly Row[] = [
  ["type", Type.String(), 1, "invalid_type", "must be a string"],
  ["type", Type.Integer(), 1.5, "invalid_type", "must be an integer"],
  ["type", Type.Number(), "1", "invalid_type", "must be a number"],
  ["type", Type.Boolean(), "true", "invalid_type", "must be a boolean"],
  ["type", Type.Array(Type.String()), "a", "invalid_type", "must be an array"],
  ["type", Type.Object({}), [], "invalid_type", "must be an object"],
  ["type", Type.Null(), 0, "invalid_type", "must be null"],
  ["type of an optional field", optional(Type.String()), 1, "invalid_type", "must be a string"],
  ["type of a required field", Type.String(), null, "invalid_type", "must be a string"],
  ["enum", oneOf(["sms", "whatsapp"]), "fax", "invalid_value", "must be one of sms, whatsapp"],
  ["enum of an optional field", optional(oneOf(["high", "bulk"])), "low", "invalid_value", "must be one of high, bulk"],
  ["minLength of one", Type.String({ minLength: 1 }), "", "too_short", "must have at least 1 character"],
  ["minLength", Type.String({ minLength: 3 }), "ab", "too_short", "must have at least 3 characters"],
  ["maxLength", Type.String({ maxLength: 1_600 }), "a".repeat(1_601), "too_long", "must have at most 1,600 characters"],
  ["minimum", Type.Integer({ minimum: 30 }), 29, "out_of_range", "must be at least 30"],
  ["maximum", Type.Integer({ maximum: 172_800 }), 172_801, "out_of_range", "must be at most 172,800"],
  ["minItems", Type.Array(Type.String(), { minItems: 1 }), [], "too_few", "must have at least 1 item"],
  ["maxItems", Type.Array(Type.String(), { maxItems: 2 }), ["a", "b", "c"], "too_many", "must have at most 2 items"],
  ["maxProperties", Type.Record(Type.String(), { maxProperties: 2 }), { a: "", b: "", c: "" }, "too_many", "must have at most 2 fields"],
  ["pattern with a hint", Type.String({ pattern: "^a$", [HINT]: "must be the letter a" }), "b", "invalid_format", "must be the letter a"],
  ["pattern without a hint", Type.String({ pattern: "^a$" }), "b", "invalid_format", "does not have the expected form"],
  ["format", Type.String({ format: "date-time", [HINT]: "must be a time" }), "b", "invalid_format", "must be a time"],
];

for (const [keyword, field, value, code, detail] of KEYWORDS) {
  test(`${keyword}: ${JSON.stringify(value).slice(0, 20)} ${detail}`, () => {
    const validate = compile(closed({ field }), "body");
    assert.deepEqual(validate({ field: value }), [{ pointer: "/field", code, detail }]);
  });
}

test("the fault of a missing field points to the field", () => {
  const validate = compile(closed({ outer: closed({ inner: Type.String() }) }), "body");
  assert.deepEqual(validate({ outer: {} }), [{ pointer: "/outer/inner", code: "required", detail: "is required" }]);
});

test("the fault of an unknown field names the field", () => {
  assert.deepEqual(compile(closed({}), "body")({ extra: 1 }), [
    { pointer: "/extra", code: "unknown_field", detail: "is not a known field" },
  ]);
});

test("the fault of a name that is too long concerns the name", () => {
  const names = Type.Record(Type.String(), { propertyNames: { maxLength: 3 } });
  assert.deepEqual(compile(names, "body")({ long: "" }), [
    { pointer: "/long", code: "too_long", detail: "the name must have at most 3 characters" },
  ]);
});

test("the fault of a body that is not an object points to the root", () => {
  for (const value of [null, [], "text", 1]) {
    assert.deepEqual(compile(closed({}), "body")(value), [{ pointer: "", code: "invalid_type", detail: "must be an object" }]);
  }
});

test("all faults are reported, not only the first", () => {
  const validate = compile(closed({ a: Type.String(), b: Type.Integer(), c: Type.Boolean() }), "body");
  assert.deepEqual(
    validate({ a: 1, b: "x", d: 0 })
      .map((fault) => ("pointer" in fault ? `${fault.pointer} ${fault.code}` : ""))
      .toSorted(),
    ["/a invalid_type", "/b invalid_type", "/c required", "/d unknown_field"],
  );
});

test("at most 100 faults are reported", () => {
  const body = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field${index}`, index]));
  assert.equal(compile(closed({}), "body")(body).length, 100);
});

const pointers = (faults: readonly Fault[]): string[] => faults.map((fault) => `${"pointer" in fault ? fault.pointer : ""} ${fault.code}`);

test("an array that is too long is one fault, beside those of as many items as are allowed", () => {
  const validate = compile(closed({ list: Type.Array(oneOf(["a", "b"]), { maxItems: 3, uniqueItems: true }) }), "body");
  const numbers = Array.from({ length: 100_000 }, (_, index) => index);
  assert.deepEqual(pointers(validate({ list: numbers })), [
    "/list too_many",
    "/list/0 invalid_type",
    "/list/1 invalid_type",
    "/list/2 invalid_type",
  ]);
});

test("a text that is too long is one fault, whatever its form", () => {
  const validate = compile(
    closed({ text: Type.String({ maxLength: 3, pattern: "^x+$" }), time: Type.String({ format: "date-time" }) }),
    "body",
  );
  assert.deepEqual(pointers(validate({ text: "a".repeat(1_000), time: "x" })), ["/text too_long", "/time invalid_format"]);
  assert.deepEqual(pointers(validate({ text: "\u{1f600}".repeat(4), time: "2030-01-31T09:00:00Z" })), ["/text too_long"]);
});

test("a record with too many members is one fault, beside those of as many members as are allowed", () => {
  const validate = compile(closed({ record: Type.Record(Type.String(), { maxProperties: 2 }) }), "body");
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`name${index}`, index]));
  assert.deepEqual(pointers(validate({ record: many })), ["/record too_many", "/record/name0 invalid_type", "/record/name1 invalid_type"]);
});

test("the faults of the other fields are reported beside those of sizes", () => {
  const validate = compile(closed({ list: Type.Array(Type.String(), { maxItems: 1 }), count: Type.Integer() }), "body");
  assert.deepEqual(
    new Set(pointers(validate({ list: ["a", "b"], count: "x", more: 1 }))),
    new Set(["/list too_many", "/count invalid_type", "/more unknown_field"]),
  );
});

test("a value of an allowed size is checked unchanged, and another is not changed either", () => {
  const check = compileSized(closed({ list: Type.Array(closed({ text: Type.String({ maxLength: 2 }) }), { maxItems: 2 }) }), "body");
  const fine = { list: [{ text: "ab" }] };
  assert.equal(check(fine).sized, fine);
  const long = JSON.parse('{"list":[{"text":"ab"},{"text":"abc","__proto__":{"x":1}},{}]}') as object;
  const before = structuredClone(long);
  const { sized, faults } = check(long);
  assert.deepEqual(long, before);
  assert.deepEqual(sized, JSON.parse('{"list":[{"text":"ab"},{"text":"ab","__proto__":{"x":1}}]}'));
  assert.deepEqual(new Set(pointers(faults)), new Set(["/list too_many", "/list/1/text too_long", "/list/1/__proto__ unknown_field"]));
});

test("lengths count code points", () => {
  const validate = compile(Type.String({ minLength: 2, maxLength: 2 }), "body");
  assert.deepEqual(validate("😀😀"), []);
  assert.equal(validate("😀").length, 1);
});

test("null means an absent optional field, and only that", () => {
  const validate = compile(closed({ field: optional(Type.Integer({ minimum: 1 })), other: optional(oneOf(["a"])) }), "body");
  assert.deepEqual(validate({ field: null, other: null }), []);
  assert.deepEqual(validate({}), []);
});

test("the names in a pointer are escaped according to RFC 6901", () => {
  const [unknown] = compile(closed({}), "body")({ "a/b~c": 1 });
  assert.deepEqual(unknown, { pointer: "/a~1b~0c", code: "unknown_field", detail: "is not a known field" });
  const [inside] = compile(Type.Record(Type.String()), "body")({ "a/b~c": 1 });
  assert.deepEqual(inside, { pointer: "/a~1b~0c", code: "invalid_type", detail: "must be a string" });
  const [missing] = compile(closed({ "a/b~c": Type.String() }), "body")({});
  assert.deepEqual(missing, { pointer: "/a~1b~0c", code: "required", detail: "is required" });
});

test("the faults of a query name the parameter as it was sent", () => {
  const validate = compile(closed({ limit: Type.Integer() }), "query");
  assert.deepEqual(validate({ limit: "many" }), [{ parameter: "limit", code: "invalid_type", detail: "must be an integer" }]);
  assert.deepEqual(validate({ limit: 1, "a/b~c": "" }), [
    { parameter: "a/b~c", code: "unknown_field", detail: "is not a known parameter" },
  ]);
});

test("the faults of a path name the parameter", () => {
  assert.deepEqual(compile(closed({ id: Type.String({ minLength: 2 }) }), "path")({ id: "x" }), [
    { parameter: "id", code: "too_short", detail: "must have at least 2 characters" },
  ]);
});

test("nothing is coerced in a body", () => {
  const validate = compile(closed({ count: Type.Integer(), flag: Type.Boolean(), text: Type.String() }), "body");
  const body = { count: "1", flag: 1, text: 7 };
  assert.deepEqual(
    validate(body).map(({ code }) => code),
    ["invalid_type", "invalid_type", "invalid_type"],
  );
  assert.deepEqual(body, { count: "1", flag: 1, text: 7 });
});

const COERCIONS: readonly (readonly [text: unknown, value: unknown])[] = [
  ["25", 25],
  ["-3", -3],
  ["007", 7],
  ["", ""],
  ["0x10", "0x10"],
  ["1e1", "1e1"],
  ["1.5", "1.5"],
  [" 1", " 1"],
  ["9".repeat(16), "9".repeat(16)],
  [
    ["1", "2"],
    ["1", "2"],
  ],
];

for (const [text, value] of COERCIONS) {
  test(`in a query ${JSON.stringify(text)} is ${JSON.stringify(value)} for a number, and unchanged otherwise`, () => {
    const schema = closed({ limit: optional(Type.Integer()), text: Type.String() });
    assert.deepEqual(coerceQuery(schema, { limit: text, text, other: text }), { limit: value, text, other: text });
  });
}

test("a repeated parameter is refused where one value is expected", () => {
  assert.equal(compile(closed({ limit: optional(Type.Integer()) }), "query")({ limit: ["1", "2"] })[0]?.code, "invalid_type");
});

const TIMES: readonly (readonly [text: string, is: boolean])[] = [
  ["2030-01-31T09:00:00Z", true],
  ["2030-01-31T09:00:00.123Z", true],
  ["2030-01-31T09:00:00.123456789Z", true],
  ["2030-01-31T09:00:00+01:00", true],
  ["2030-01-31T09:00:00-23:59", true],
  ["2030-01-31T09:00:00-00:00", true],
  ["2030-01-31t09:00:00z", true],
  ["2028-02-29T00:00:00Z", true],
  ["2000-02-29T00:00:00Z", true],
  ["2030-12-31T23:59:59Z", true],
  ["2030-02-30T00:00:00Z", false],
  ["2030-02-29T00:00:00Z", false],
  ["2100-02-29T00:00:00Z", false],
  ["2030-04-31T00:00:00Z", false],
  ["2030-13-01T00:00:00Z", false],
  ["2030-00-01T00:00:00Z", false],
  ["2030-01-00T00:00:00Z", false],
  ["2030-01-32T00:00:00Z", false],
  ["2030-01-31T24:00:00Z", false],
  ["2030-01-31T09:60:00Z", false],
  ["2030-01-31T09:00:61Z", false],
  ["2030-01-31T09:00:60Z", false],
  ["2030-01-31T09:00:00", false],
  ["2030-01-31T09:00Z", false],
  ["2030-01-31 09:00:00Z", false],
  ["2030-01-31", false],
  ["2030-01-31T09:00:00+0100", false],
  ["2030-01-31T09:00:00+24:00", false],
  ["2030-01-31T09:00:00.Z", false],
  ["2030-01-31T09:00:00,5Z", false],
  ["30-01-31T09:00:00Z", false],
  ["+002030-01-31T09:00:00Z", false],
  ["2030-01-31T09:00:00Z\n", false],
  ["1900000000", false],
  ["", false],
];

for (const [text, is] of TIMES) test(`${JSON.stringify(text)} is ${is ? "a" : "no"} time`, () => assert.equal(isDateTime(text), is));

test("a text that is accepted as a time can be parsed", () => {
  const two = (max: number) => fc.nat(max).map((value) => String(value).padStart(2, "0"));
  const offset = fc.oneof(
    fc.constantFrom("Z", "z"),
    fc.tuple(fc.constantFrom("+", "-"), two(25), two(61)).map(([sign, h, m]) => `${sign}${h}:${m}`),
  );
  const fraction = fc.oneof(
    fc.constant(""),
    fc.nat(999_999_999).map((digits) => `.${digits}`),
  );
  const time = fc
    .tuple(fc.integer({ min: 1_000, max: 9_999 }), two(13), two(32), fc.constantFrom("T", "t"), two(24), two(60), two(61), fraction, offset)
    .map(([year, month, day, t, h, m, s, parts, zone]) => `${year}-${month}-${day}${t}${h}:${m}:${s}${parts}${zone}`);
  fc.assert(
    fc.property(time, (text) => {
      if (isDateTime(text)) assert.ok(Number.isFinite(Date.parse(text)), text);
    }),
    { numRuns: 3_000 },
  );
});

test("the fault of an unknown field suggests the field that was probably meant", () => {
  const validateFields = compile(
    Type.Object(
      { recipient: Type.Optional(Type.String()), body: Type.Optional(Type.String()), send_at: Type.Optional(Type.String()) },
      { additionalProperties: false },
    ),
    "body",
  );
  const details = (value: object): string[] => validateFields(value).map(({ detail }) => detail);
  assert.deepEqual(details({ to: "x" }), ["is not a known field; did you mean recipient?"]);
  assert.deepEqual(details({ text: "x" }), ["is not a known field; did you mean body?"]);
  assert.deepEqual(details({ sendAt: "x" }), ["is not a known field; did you mean send_at?"]);
  // The schema has no sender.
  assert.deepEqual(details({ from: "x" }), ["is not a known field"]);
  assert.deepEqual(details({ constructor: "x" }), ["is not a known field"]);
});
