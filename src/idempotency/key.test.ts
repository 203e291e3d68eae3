import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import fc, { type JsonValue } from "fast-check";
import { Problem } from "../http/problem.ts";
import { SecretBox } from "../lib/secret-box.ts";
import { uuidFromText } from "../lib/uuid.ts";
import { fingerprintOf, idempotencyClaim, lockSecretOf, parseIdempotencyKey } from "./key.ts";

const BOX = new SecretBox(Buffer.alloc(32, 1));
const KEY = "3f2a1c64-9b1e-4d7a-8c55-0e6b7f3a9d21";

const TAKEN: readonly (readonly [form: string, header: string])[] = [
  ["in lower case", KEY],
  ["in upper case", KEY.toUpperCase()],
  ["in mixed case", KEY.replace("f2a1c", "F2a1C")],
  ["in double quotes", `"${KEY}"`],
  ["in double quotes and upper case", `"${KEY.toUpperCase()}"`],
];

for (const [form, header] of TAKEN) {
  test(`a version-4 UUID ${form} is the key`, () => assert.deepEqual(parseIdempotencyKey(header), uuidFromText(KEY)));
}

test("every version-4 UUID is a key", () => {
  fc.assert(fc.property(fc.uuid({ version: 4 }), (text) => assert.deepEqual(parseIdempotencyKey(text), uuidFromText(text))));
  const random = randomUUID();
  assert.deepEqual(parseIdempotencyKey(random), uuidFromText(random));
});

test("no header is no key", () => assert.equal(parseIdempotencyKey(undefined), undefined));

const REFUSED: readonly (readonly [what: string, header: string | string[]])[] = [
  ["an empty header", ""],
  ["empty quotes", '""'],
  ["version 1", "c232ab00-9414-11ec-b3c8-9f6bdeced846"],
  ["version 3", "5df41881-3aed-3515-88a7-2f4a814cf09e"],
  ["version 5", "2ed6657d-e927-568b-95e1-2665a8aea6a2"],
  ["version 7", "01890a5d-ac96-774b-bcce-b302099a8057"],
  ["the nil UUID", "00000000-0000-0000-0000-000000000000"],
  ["the max UUID", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
  ["another variant", "3f2a1c64-9b1e-4d7a-cc55-0e6b7f3a9d21"],
  ["no hyphens", KEY.replaceAll("-", "")],
  ["hyphens elsewhere", "3f2a1c6-49b1e-4d7a-8c55-0e6b7f3a9d21"],
  ["braces", `{${KEY}}`],
  ["urn:uuid:", `urn:uuid:${KEY}`],
  ["single quotes", `'${KEY}'`],
  ["only an opening quote", `"${KEY}`],
  ["only a closing quote", `${KEY}"`],
  ["two pairs of quotes", `""${KEY}""`],
  ["a structured field with a parameter", `"${KEY}";a=1`],
  ["a space before it", ` ${KEY}`],
  ["a line end after it", `${KEY}\n`],
  ["a digit too many", `${KEY}0`],
  ["a character that is not a digit", KEY.replace("f", "g")],
  ["10 kB", "a".repeat(10_240)],
  ["10 kB of the same key", KEY.repeat(285)],
  ["letters beyond ASCII", KEY.replace("a", "á")],
  ["full-width digits", KEY.replace("3", "３")],
  ["two keys joined by a comma", `${KEY}, ${randomUUID()}`],
  ["the same key twice", `${KEY}, ${KEY}`],
  ["a list of headers", [KEY]],
  ["a list of two headers", [KEY, KEY]],
];

for (const [what, header] of REFUSED) {
  test(`${what} is refused as a key`, () => {
    assert.throws(
      () => parseIdempotencyKey(header),
      (error) => {
        assert.ok(error instanceof Problem);
        assert.deepEqual([error.status, error.code], [400, "invalid_idempotency_key"]);
        assert.deepEqual(
          error.errors?.map((fault) => ({ ...fault, detail: "" })),
          [{ header: "Idempotency-Key", code: "invalid_format", detail: "" }],
        );
        return true;
      },
    );
  });
}

const of = (body: unknown, method = "POST", target = "/v1/messages"): string => fingerprintOf(method, target, body).toString("hex");

/** The same value with the members of every object in the opposite order. */
function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, item]) => [name, reversed(item as JsonValue)]),
  );
}

/** JSON in which every character of every string is an escape. */
const escaped = (value: JsonValue): string =>
  JSON.stringify(value).replaceAll(/"((?:[^"\\]|\\.)*)"/g, (text) => {
    const plain = JSON.parse(text) as string;
    return `"${plain
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join("")}"`;
  });

// Values in the form that JSON.parse returns: without -0, and with `__proto__` as an ordinary member.
const jsonValues = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);

test("a fingerprint has 32 bytes", () => {
  fc.assert(fc.property(jsonValues, (value) => assert.equal(fingerprintOf("POST", "/", value).length, 32)));
});

test("the order of members does not matter", () => {
  fc.assert(fc.property(jsonValues, (value) => assert.equal(of(reversed(value)), of(value))));
});

test("white space does not matter", () => {
  fc.assert(fc.property(jsonValues, (value) => assert.equal(of(JSON.parse(JSON.stringify(value, null, " \t\n"))), of(value))));
});

test("escapes do not matter", () => {
  fc.assert(fc.property(jsonValues, (value) => assert.equal(of(JSON.parse(escaped(value))), of(value))));
  assert.equal(of(JSON.parse(String.raw`{"body":"\u0041"}`)), of({ body: "A" }));
});

test("the notation of a number does not matter", () => assert.equal(of(JSON.parse("[1.0, 1e2, -0]")), of([1, 100, 0])));

test("different values have different fingerprints", () => {
  fc.assert(
    fc.property(jsonValues, jsonValues, (left, right) => {
      const isSame = JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
      assert.equal(of(left) === of(right), isSame);
    }),
  );
});

/** Members by name, so that two values are the same exactly when their texts are. */
function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return ["array", ...value.map(sorted)];
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return ["object", ...members.map(([name, item]) => [name, sorted(item as JsonValue)])];
}

const OTHERS: readonly (readonly [what: string, fingerprint: string])[] = [
  ["null in place of an absent member", of({ a: 1, b: null })],
  ["another value", of({ a: 2 })],
  ["text for a number", of({ a: "1" })],
  ["no body", of(undefined)],
  ["another method", of({ a: 1 }, "PATCH")],
  ["another path", of({ a: 1 }, "POST", "/v1/batches")],
  ["a query", of({ a: 1 }, "POST", "/v1/messages?a=1")],
];

for (const [what, fingerprint] of OTHERS) {
  test(`${what} is another request`, () => assert.notEqual(fingerprint, of({ a: 1 })));
}

test("an array in another order is another request", () => assert.notEqual(of([1, 2]), of([2, 1])));

test("the same key of two environments makes two claims with different locks", () => {
  const key = parseIdempotencyKey(KEY) ?? assert.fail();
  const claims = ["a/test", "a/test", "a/live"].map((environment) =>
    idempotencyClaim(lockSecretOf(BOX), environment, key, Buffer.alloc(32)),
  );
  const [test1, test2, live] = claims;
  assert.deepEqual(test1, test2);
  assert.notEqual(test1?.scopedKey, live?.scopedKey);
  assert.notDeepEqual(test1?.lock, live?.lock);
});

test("a lock has 64 bits that depend on the secret key, so no client can compute it", () => {
  const key = parseIdempotencyKey(KEY) ?? assert.fail();
  const [mine, other] = [BOX, new SecretBox(Buffer.alloc(32, 2))].map(
    (box) => idempotencyClaim(lockSecretOf(box), "a/test", key, Buffer.alloc(32)).lock,
  );
  assert.equal(mine?.length, 8);
  assert.notDeepEqual(mine, other);
});
