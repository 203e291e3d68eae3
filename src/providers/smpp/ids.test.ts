import assert from "node:assert/strict";
import { test } from "node:test";
import type { Receipt } from "../provider.ts";
import { MessageIds } from "./ids.ts";
import type { ReceiptIds } from "./settings.ts";

const receipt = (providerMessageId: string): Receipt => ({ providerMessageId, reference: null, status: "delivered", error: null, raw: {} });

function start(form: ReceiptIds = "learn") {
  const forwarded: (string | null)[] = [];
  const ids = new MessageIds(form, (receipts) => forwarded.push(...receipts.map(({ providerMessageId }) => providerMessageId)));
  return { ids, forwarded, normalize: (id: string) => ids.normalize(receipt(id)).providerMessageId };
}

/** The first pair shows the form. The second pair is of a message that another process sent. */
type Row = readonly [what: string, responseId: string, receipt: string, olderReceipt: string, olderResponse: string];
const FORMS: readonly Row[] = [
  ["identical", "abc-123", "abc-123", "XYZ-9", "XYZ-9"],
  ["identical numbers", "123456789", "123456789", "000000042", "000000042"],
  ["decimal for lower-case hexadecimal", "5a3c91f0", "1513918960", "3735928559", "deadbeef"],
  ["decimal for upper-case hexadecimal", "5A3C91F0", "1513918960", "3735928559", "DEADBEEF"],
  ["decimal for hexadecimal with leading zeros", "0a3c91f0", "171741680", "255", "000000ff"],
  ["hexadecimal for decimal", "1513918960", "5A3C91F0", "DEADBEEF", "3735928559"],
  ["hexadecimal with leading zeros for decimal", "1513918960", "000000005a3c91f0", "00000000deadbeef", "3735928559"],
  ["upper case for lower case", "abcdef12", "ABCDEF12", "FEDCBA98", "fedcba98"],
  ["lower case for upper case", "ABC-DEF", "abc-def", "xyz-1", "XYZ-1"],
  ["with leading zeros", "123456", "0000123456", "0000000777", "777"],
  ["without leading zeros", "0000123456", "123456", "777", "0000000777"],
];
for (const [what, responseId, receiptId, olderReceipt, olderResponse] of FORMS) {
  test(`ids in receipts (${what}) are learnt from one pair`, () => {
    const { ids, normalize } = start();
    ids.remember(responseId);
    assert.equal(normalize(receiptId), responseId);
    assert.equal(normalize(olderReceipt), olderResponse);
    ids.remember(olderResponse);
    assert.equal(normalize(olderReceipt), olderResponse);
  });

  test(`ids in receipts (${what}) are learnt when the receipt comes first, and earlier receipts are forwarded again`, () => {
    const { ids, forwarded, normalize } = start();
    assert.equal(normalize(olderReceipt), olderReceipt, "unchanged");
    assert.equal(normalize(receiptId), receiptId);
    ids.remember(responseId);
    const expected = [
      [olderReceipt, olderResponse],
      [receiptId, responseId],
    ].flatMap(([from, to]) => (from === to ? [] : [to]));
    assert.deepEqual(forwarded, expected);
    assert.equal(normalize(olderReceipt), olderResponse);
  });
}

test("an id that may belong to two responses teaches nothing", () => {
  const { ids, forwarded, normalize } = start();
  // The receipt 16 may belong to the response 16, or to 10 in hexadecimal.
  ids.remember("16");
  ids.remember("10");
  assert.equal(normalize("16"), "16");
  ids.remember("5a3c91f0");
  assert.equal(normalize("1513918960"), "5a3c91f0");
  // The form is known now: the id is converted, and the earlier receipt is forwarded with its converted id.
  assert.deepEqual(forwarded, ["10"]);
  assert.equal(normalize("16"), "10");
});

test("a configured form needs no pair and works after a restart", () => {
  const decimal = start("decimal");
  assert.equal(decimal.normalize("3735928559"), "deadbeef");
  decimal.ids.remember("0A000001");
  assert.equal(decimal.normalize("255"), "000000FF");
  assert.equal(start("hex").normalize("DEADBEEF"), "3735928559");
  assert.equal(start("same").normalize("DEADBEEF"), "DEADBEEF");
});

test("one contradicting receipt keeps the learnt form, and several in a row replace it", () => {
  const { ids, normalize } = start();
  ids.remember("first");
  normalize("first");
  const pairs = Array.from({ length: 8 }, (_, index) => ({
    responseId: (0xabcdef00 + index).toString(16),
    receiptId: String(0xabcdef00 + index),
  }));
  for (const { responseId } of pairs) ids.remember(responseId);
  const [one, ...others] = pairs.map(({ responseId, receiptId }) => [normalize(receiptId), receiptId, responseId] as const);
  assert.equal(one?.[0], one?.[1], "as learnt");
  const last = others.at(-1);
  assert.equal(last?.[0], last?.[2], "learnt again");
});

test("the number of kept ids and receipts is limited", () => {
  const { ids, normalize } = start();
  ids.remember("abcdef12");
  for (let count = 0; count < 20_000; count += 1) ids.remember(`x-${count}`);
  assert.equal(normalize("ABCDEF12"), "ABCDEF12", "forgotten, and nothing learnt");
  for (let count = 0; count < 5_000; count += 1) normalize(`unknown-${count}`);
  ids.remember("y-1");
  assert.equal(normalize("Y-1"), "y-1");
});

test("an id that is not a number is not converted", () => {
  const { normalize } = start("decimal");
  for (const id of ["", "msg_1", "a b", "9".repeat(300), "-1", "0x10"]) assert.equal(normalize(id), id.toLowerCase());
});
