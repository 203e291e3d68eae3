import assert from "node:assert/strict";
import { test } from "node:test";
import type { Receipt } from "../provider.ts";
import { MessageIds } from "./ids.ts";
import type { ReceiptIds } from "./settings.ts";

const receipt = (providerMessageId: string): Receipt => ({ providerMessageId, reference: null, status: "delivered", error: null, raw: {} });

function start(form: ReceiptIds = "learn") {
  const again: (string | null)[] = [];
  const ids = new MessageIds(form, (receipts) => again.push(...receipts.map(({ providerMessageId }) => providerMessageId)));
  return { ids, again, named: (id: string) => ids.named(receipt(id)).providerMessageId };
}

/** The first pair shows the form; the second is of a message that this process has not sent. */
type Row = readonly [what: string, answer: string, receipt: string, olderReceipt: string, olderAnswer: string];
const FORMS: readonly Row[] = [
  ["the same", "abc-123", "abc-123", "XYZ-9", "XYZ-9"],
  ["the same numbers", "123456789", "123456789", "000000042", "000000042"],
  ["decimal for small hexadecimal", "5a3c91f0", "1513918960", "3735928559", "deadbeef"],
  ["decimal for great hexadecimal", "5A3C91F0", "1513918960", "3735928559", "DEADBEEF"],
  ["decimal for hexadecimal with zeros", "0a3c91f0", "171741680", "255", "000000ff"],
  ["hexadecimal for decimal", "1513918960", "5A3C91F0", "DEADBEEF", "3735928559"],
  ["hexadecimal with zeros for decimal", "1513918960", "000000005a3c91f0", "00000000deadbeef", "3735928559"],
  ["capitals for small letters", "abcdef12", "ABCDEF12", "FEDCBA98", "fedcba98"],
  ["small letters for capitals", "ABC-DEF", "abc-def", "xyz-1", "XYZ-1"],
  ["zeros before it", "123456", "0000123456", "0000000777", "777"],
  ["no zeros before it", "0000123456", "123456", "777", "0000000777"],
];
for (const [what, answer, receiptId, olderReceipt, olderAnswer] of FORMS) {
  test(`receipts that are ${what}: learnt from one pair`, () => {
    const { ids, named } = start();
    ids.remember(answer);
    assert.equal(named(receiptId), answer);
    assert.equal(named(olderReceipt), olderAnswer);
    ids.remember(olderAnswer);
    assert.equal(named(olderReceipt), olderAnswer);
  });

  test(`receipts that are ${what}: learnt also when the receipt was quicker, and what came before is passed again`, () => {
    const { ids, again, named } = start();
    assert.equal(named(olderReceipt), olderReceipt, "as it came");
    assert.equal(named(receiptId), receiptId);
    ids.remember(answer);
    const expected = [
      [olderReceipt, olderAnswer],
      [receiptId, answer],
    ].flatMap(([from, to]) => (from === to ? [] : [to]));
    assert.deepEqual(again, expected);
    assert.equal(named(olderReceipt), olderAnswer);
  });
}

test("what can mean two answers teaches nothing", () => {
  const { ids, again, named } = start();
  // The receipt 16 may be of the answer 16, or of 10 in hexadecimal.
  ids.remember("16");
  ids.remember("10");
  assert.equal(named("16"), "16");
  ids.remember("5a3c91f0");
  assert.equal(named("1513918960"), "5a3c91f0");
  // Now that it is known it is translated, and what had been passed is passed as it should have been.
  assert.deepEqual(again, ["10"]);
  assert.equal(named("16"), "10");
});

test("a form that is told needs no pair, and works after a restart", () => {
  const decimal = start("decimal");
  assert.equal(decimal.named("3735928559"), "deadbeef");
  decimal.ids.remember("0A000001");
  assert.equal(decimal.named("255"), "000000FF");
  assert.equal(start("hex").named("DEADBEEF"), "3735928559");
  assert.equal(start("same").named("DEADBEEF"), "DEADBEEF");
});

test("a chance hit does not unlearn a form, many in a row do", () => {
  const { ids, named } = start();
  ids.remember("first");
  named("first");
  const pairs = Array.from({ length: 8 }, (_, index) => ({
    answer: (0xabcdef00 + index).toString(16),
    receiptId: String(0xabcdef00 + index),
  }));
  for (const { answer } of pairs) ids.remember(answer);
  const [one, ...others] = pairs.map(({ answer, receiptId }) => [named(receiptId), receiptId, answer] as const);
  assert.equal(one?.[0], one?.[1], "as learnt");
  const last = others.at(-1);
  assert.equal(last?.[0], last?.[2], "learnt anew");
});

test("what is remembered is bounded", () => {
  const { ids, named } = start();
  ids.remember("abcdef12");
  for (let count = 0; count < 20_000; count += 1) ids.remember(`x-${count}`);
  assert.equal(named("ABCDEF12"), "ABCDEF12", "forgotten, and nothing learnt");
  for (let count = 0; count < 5_000; count += 1) named(`stranger-${count}`);
  ids.remember("y-1");
  assert.equal(named("Y-1"), "y-1");
});

test("an id that is no number, or none of a carrier's, is left alone", () => {
  const { named } = start("decimal");
  for (const id of ["", "msg_1", "a b", "9".repeat(300), "-1", "0x10"]) assert.equal(named(id), id.toLowerCase());
});
