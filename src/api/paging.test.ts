import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Problem } from "../http/problem.ts";
import { uuidFromBytes } from "../lib/uuid.ts";
import { decodeCursor, encodeCursor, markOf, markPage, nextPageOf, toPage } from "./paging.ts";

const ids = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => uuidFromBytes(Buffer.from(bytes)));
const marks = fc.uint8Array({ minLength: 6, maxLength: 6 }).map((bytes) => Buffer.from(bytes));
const cursors = fc.tuple(ids, fc.option(marks, { nil: undefined })).map(([id, mark]) => encodeCursor(id, mark));
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

test("a cursor with the mark of a server leads back to its id and to the mark", () => {
  fc.assert(
    fc.property(ids, marks, (id, mark) => {
      const cursor = encodeCursor(id, mark);
      assert.deepEqual([decodeCursor(cursor), markOf(cursor)], [id, mark]);
      assert.equal(markOf(encodeCursor(id)), undefined);
    }),
  );
});

test("a page with a mark differs from the page without it only in its cursor", () => {
  fc.assert(
    fc.property(ids, marks, fc.array(fc.json()), (id, mark, data) => {
      const page = JSON.stringify(toPage(data, id));
      const marked = markPage(page, mark);
      assert.deepEqual(JSON.parse(marked), { ...(JSON.parse(page) as object), next_cursor: encodeCursor(id, mark) });
      assert.equal(nextPageOf("/v1/events", marked), `/v1/events?cursor=${encodeCursor(id, mark)}`);
      const last = JSON.stringify(toPage(data, null));
      assert.equal(markPage(last, mark), last);
    }),
  );
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
  ["a cursor of a later version", Buffer.concat([Buffer.of(3), Buffer.from(CURSOR, "base64url").subarray(1)]).toString("base64url")],
  ["an id without its checksum", Buffer.alloc(21, 1).toString("base64url")],
];

for (const [what, text] of MADE_UP) test(`${what} is refused as a cursor`, () => assertRefused(text));
