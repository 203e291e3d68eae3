import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Problem } from "../http/problem.ts";
import { uuidFromBytes } from "../lib/uuid.ts";
import { decodeCursor, encodeCursor } from "./paging.ts";

const ids = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => uuidFromBytes(Buffer.from(bytes)));
const cursors = ids.map(encodeCursor);
const characters = fc.oneof(
  fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/= ."),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
);

function assertRefused(text: string): void {
  assert.throws(
    () => decodeCursor(text),
    (error) => {
      assert.ok(error instanceof Problem);
      assert.deepEqual([error.status, error.code], [400, "invalid_request_payload"]);
      assert.deepEqual(error.errors, [
        { parameter: "cursor", code: "invalid_format", detail: "is not a cursor of this list: use next_cursor of the previous page" },
      ]);
      return true;
    },
  );
}

test("a cursor leads back to its id", () => {
  fc.assert(fc.property(ids, (id) => assert.deepEqual(decodeCursor(encodeCursor(id)), id)));
});

test("a cursor needs no escaping in a URL", () => {
  fc.assert(fc.property(cursors, (cursor) => assert.equal(encodeURIComponent(cursor), cursor)));
});

test("a cursor with one character changed is refused", () => {
  fc.assert(
    fc.property(cursors, fc.nat(), characters, (cursor, place, character) => {
      const at = place % cursor.length;
      fc.pre(cursor.charAt(at) !== character);
      assertRefused(cursor.slice(0, at) + character + cursor.slice(at + 1));
    }),
    { numRuns: 2_000 },
  );
});

test("a cursor that was cut is refused", () => {
  fc.assert(fc.property(cursors, fc.nat(), (cursor, length) => assertRefused(cursor.slice(0, length % cursor.length))));
});

test("a cursor with something added is refused", () => {
  fc.assert(
    fc.property(cursors, fc.nat(), characters, (cursor, place, more) => {
      const at = place % (cursor.length + 1);
      assertRefused(cursor.slice(0, at) + more + cursor.slice(at));
    }),
    { numRuns: 1_000 },
  );
});

const CURSOR = encodeCursor(uuidFromBytes(Buffer.alloc(16, 7)));
const MADE_UP: readonly (readonly [what: string, text: string])[] = [
  ["nothing", ""],
  ["a number", "1"],
  ["an id", "msg_01h455vb4pex5vsknk084sn02q"],
  ["a cursor with a space around it", ` ${CURSOR} `],
  ["a cursor with padding", `${CURSOR}=`],
  ["a cursor of a later version", Buffer.concat([Buffer.of(2), Buffer.from(CURSOR, "base64url").subarray(1)]).toString("base64url")],
  ["an id without its checksum", Buffer.alloc(21, 1).toString("base64url")],
];

for (const [what, text] of MADE_UP) test(`${what} is refused as a cursor`, () => assertRefused(text));
