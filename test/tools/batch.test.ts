/** Columns of a batch, as a real server receives them. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { newUuid, type Uuid } from "../../src/lib/uuid.ts";
import { batchStatement, column } from "../../src/database/batch.ts";
import { Database } from "../../src/database/database.ts";
import { createDatabase } from "../support/database.ts";

type Item = {
  id: Uuid | null;
  text: string | null;
  bytes: Buffer | null;
  lock: Buffer | null;
  small: number | null;
  whole: number | null;
  timeMs: number | null;
};
type Row = {
  id: Uuid | null;
  text: string | null;
  bytes: Buffer | null;
  lock: string | null;
  small: number | null;
  whole: number | null;
  time: Date | null;
  ordinal: number;
};

const COLUMNS = [
  column<Item, "uuid">("id", "uuid", ({ id }) => id),
  column<Item, "text">("text", "text", ({ text }) => text),
  column<Item, "bytea">("bytes", "bytea", ({ bytes }) => bytes),
  column<Item, "bigint">("lock", "bigint", ({ lock }) => lock),
  column<Item, "smallint">("small", "smallint", ({ small }) => small),
  column<Item, "integer">("whole", "integer", ({ whole }) => whole),
  column<Item, "timestamptz">("time", "timestamptz", ({ timeMs }) => timeMs),
];
const echo = batchStatement<Item>(
  COLUMNS,
  (items) => `select id, text, bytes, lock::text, small, whole, time, ordinal::integer from ${items} order by ordinal`,
);

const int64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
};

const item = (text: string, index: number): Item => ({
  id: newUuid(Date.now()),
  text,
  bytes: Buffer.from([0, index & 0xff, 255]),
  lock: int64(BigInt(index) - 5n),
  small: (index % 65_536) - 32_768,
  whole: index - 2 ** 31,
  timeMs: Date.UTC(1999, 11, 31, 23, 59, 59, 999) + index * 86_400_000,
});

const NOTHING: Item = { id: null, text: null, bytes: null, lock: null, small: null, whole: null, timeMs: null };

let db: Database;
before(async () => {
  db = new Database({ url: await createDatabase() }, "batch-test", () => undefined);
});
after(() => db.close());

async function assertSame(items: readonly Item[]): Promise<void> {
  const rows = await db.rows<Row>(echo(items));
  const received = rows.map(({ id, text, bytes, lock, small, whole, time }) => ({
    id,
    text,
    bytes,
    small,
    whole,
    lock: lock === null ? null : int64(BigInt(lock)),
    timeMs: time?.getTime() ?? null,
  }));
  assert.deepEqual(received, items);
  assert.deepEqual(
    rows.map(({ ordinal }) => ordinal),
    Array.from(items.keys(), (index) => index + 1),
  );
}

test("every type arrives unchanged, also null and text that is not ASCII", async () => {
  await assertSame([
    item("plain", 0),
    NOTHING,
    item("", 1),
    item("naïve €5 🐦 漢字 \u{10ffff}", 2),
    item('line\nbreak "quote" \\ {brace}', 3),
    NOTHING,
  ]);
});

test("an empty batch has an empty result", () => assertSame([]));

test("a batch larger than the reused buffer arrives whole, and so does the next one", async () => {
  await assertSame(Array.from({ length: 300 }, (_, index) => item("€".repeat(1_000), index)));
  await assertSame([item("small again", 7)]);
});

test("concurrent batches on many connections do not share a buffer", async () => {
  await Promise.all(
    Array.from({ length: 40 }, (_, batch) =>
      assertSame(Array.from({ length: 50 }, (_unused, index) => item(`batch ${batch}`.repeat(50), index))),
    ),
  );
});

test("a parameter of the whole statement arrives beside the columns", async () => {
  const statement = batchStatement(
    [column("value", "text", (value: number) => String(value))],
    (items, parameter) => `select ${parameter} as given, value from ${items}`,
  );
  const rows = await db.rows<{ given: string; value: string }>(statement([1, 2], "250ms"));
  assert.deepEqual(rows, [
    { given: "250ms", value: "1" },
    { given: "250ms", value: "2" },
  ]);
});
