import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Problem } from "../http/problem.ts";
import { assertStorable, parseJsonBody } from "./read-request.ts";

/** Both steps, as the server takes them. */
function read(bytes: Buffer): unknown {
  const { value, isSuspect } = parseJsonBody(bytes);
  if (isSuspect) assertStorable(value);
  return value;
}

const parse = (text: string): unknown => read(Buffer.from(text));

function assertRefused(bytes: Buffer, code: string, pointer = ""): void {
  assert.throws(
    () => read(bytes),
    (error) => {
      assert.ok(error instanceof Problem);
      assert.equal(error.code, "invalid_request_payload");
      assert.deepEqual(
        error.errors?.map((fault) => ({ ...fault, detail: "" })),
        [{ pointer, code, detail: "" }],
      );
      return true;
    },
  );
}

test("every JSON value is parsed unchanged", () => {
  fc.assert(fc.property(fc.json({ maxDepth: 5 }), (text) => assert.deepEqual(parse(text), JSON.parse(text))));
});

const nested = (depth: number, open = "[", close = "]"): string => open.repeat(depth) + close.repeat(depth);

const FINE: readonly (readonly [what: string, text: string])[] = [
  ["32 levels of arrays", nested(32)],
  ["32 levels of objects", `${'{"a":'.repeat(32)}1${"}".repeat(32)}`],
  ["32 levels of both", `${'[{"a":'.repeat(16)}1${"}]".repeat(16)}`],
  ["a thousand arrays side by side", `[${Array.from({ length: 1_000 }, () => "[]").join(",")}]`],
  ["brackets inside a string", JSON.stringify({ body: "[{".repeat(1_000) })],
  ["brackets inside a name", JSON.stringify({ ["[{".repeat(1_000)]: 1 })],
  ["brackets after an escaped quote", JSON.stringify({ body: `"${"[".repeat(100)}` })],
  ["brackets after an escaped backslash at a string's end", String.raw`["a\\",${nested(31)}]`],
  ["an escaped backslash before u0000", String.raw`"\\u0000"`],
  ["an escaped backslash before ud800", String.raw`{"\\ud800":"\\udc00"}`],
  ["a pair of surrogates as escapes", String.raw`"\ud83d\ude00"`],
  ["an emoji as it is", '"😀"'],
  ["the last of the control characters", String.raw`"\u001f"`],
  ["a byte order mark inside", '"\ufeff"'],
  ["32,768 values", `[${"1,".repeat(32_766)}1]`],
  ["commas inside a string", JSON.stringify({ body: ",".repeat(60_000) })],
  ["the largest number", "[1.7976931348623157e308,1E-400]"],
  ["a plain value", "null"],
  ["one name in several objects", '[{"a":{"a":1}},{"a":":"}]'],
  ["colons in names and strings", '{"a:b":":","__proto__":{"constructor":1}}'],
  ["white space around", " \t\r\n[1]\n"],
];

for (const [what, text] of FINE) test(`${what} is fine`, () => assert.deepEqual(parse(text), JSON.parse(text)));

type Row = readonly [what: string, bytes: string | Buffer, code: string, pointer?: string];
const REFUSED: readonly Row[] = [
  ["no body", "", "required"],
  ["only white space", "  ", "invalid_json"],
  ["half an object", '{"a":', "invalid_json"],
  ["a comma at the end", "[1,]", "invalid_json"],
  ["single quotes", "{'a':1}", "invalid_json"],
  ["a comment", "[1] // one", "invalid_json"],
  ["NaN", "NaN", "invalid_json"],
  ["a line end in a string", '"a\nb"', "invalid_json"],
  ["a raw U+0000 in a string", '"a\0b"', "invalid_json"],
  ["a byte order mark in front", "\ufeff{}", "invalid_json"],
  ["a byte that is not UTF-8", Buffer.from([0x22, 0xff, 0x22]), "invalid_encoding"],
  ["Latin-1", Buffer.from('"é"', "latin1"), "invalid_encoding"],
  ["UTF-16", Buffer.from('"é"', "utf16le"), "invalid_encoding"],
  ["an overlong form", Buffer.from([0x22, 0xc0, 0xaf, 0x22]), "invalid_encoding"],
  ["a surrogate written in UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), "invalid_encoding"],
  ["a character cut short", Buffer.from([0x22, 0xf0, 0x9f, 0x98, 0x22]), "invalid_encoding"],
  ["33 levels of arrays", nested(33), "too_deep"],
  ["33 levels of objects", `${'{"a":'.repeat(33)}1${"}".repeat(33)}`, "too_deep"],
  ["33 levels after many brackets in a string", `["${"]".repeat(100)}",${nested(32)}]`, "too_deep"],
  ["33 levels after many arrays side by side", `[${"[],".repeat(100)}${nested(32)}]`, "too_deep"],
  ["a hundred thousand levels", nested(100_000), "too_deep"],
  ["a hundred thousand levels never closed", "[".repeat(100_000), "too_deep"],
  ["more than 32,768 values", `[${"{},".repeat(16_383)}{}]`, "too_many"],
  ["a number with too large an exponent", '{"a":[1,1e400]}', "out_of_range", "/a/1"],
  ["a number with too many digits", `{"a":-${"9".repeat(400)}}`, "out_of_range", "/a"],
  ["U+0000 as an escape", String.raw`{"body":"a\u0000b"}`, "invalid_character", "/body"],
  ["U+0000 after an escaped backslash", String.raw`{"body":"\\\u0000"}`, "invalid_character", "/body"],
  ["U+0000 in a name", String.raw`{"metadata":{"a\u0000":"b"}}`, "invalid_character", "/metadata"],
  ["U+0000 deep inside", String.raw`{"a/b":[0,{"c~d":"\u0000"}]}`, "invalid_character", "/a~1b/1/c~0d"],
  ["a lone high surrogate", String.raw`{"body":"\ud83d"}`, "invalid_character", "/body"],
  ["a lone low surrogate", String.raw`["\uDE00"]`, "invalid_character", "/0"],
  ["a pair the wrong way round", String.raw`["\ude00\ud83d"]`, "invalid_character", "/0"],
  ["a lone surrogate in a name", String.raw`{"\ud83d":1}`, "invalid_character"],
  ["a name twice", '{"a":1,"a":1}', "repeated_name"],
  ["a name twice, once as an escape", String.raw`[{"b":{"a":1,"\u0061":2}}]`, "repeated_name"],
  ["the name __proto__ twice", '{"__proto__":1,"__proto__":1}', "repeated_name"],
  ["a lone surrogate as the whole body", String.raw`"\ud83d"`, "invalid_character"],
];

for (const [what, bytes, code, pointer] of REFUSED) {
  test(`${what} is refused as ${code}`, () => assertRefused(Buffer.from(bytes as string), code, pointer));
}

test("any bytes are parsed or refused with a Problem", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        read(Buffer.from(bytes));
      } catch (error) {
        assert.ok(error instanceof Problem);
      }
    }),
  );
});
