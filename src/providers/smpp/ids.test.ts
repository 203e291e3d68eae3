import assert from "node:assert/strict";
import { test } from "node:test";
import type { Receipt, ReceiptIdForm } from "../provider.ts";
import { MessageIds } from "./ids.ts";
import type { ReceiptIds } from "./settings.ts";

const receipt = (providerMessageId: string): Receipt => ({ providerMessageId, reference: null, status: "delivered", error: null, raw: {} });

const [ANNA, BERT] = ["4915112345678", "4915187654321"];

function start(receiptIds: ReceiptIds = "learn", learnt?: ReceiptIdForm) {
  const forwarded: (readonly [id: string | null, parkedAs: string | undefined])[] = [];
  const forms: ReceiptIdForm[] = [];
  const ids = new MessageIds({
    receiptIds,
    learnt,
    onLearnt: (form) => forms.push(form),
    forward: (receipts) => forwarded.push(...receipts.map((each) => [each.providerMessageId, each.parkedAs] as const)),
  });
  const normalize = (id: string, phone = ""): string | null | undefined =>
    ids.normalize(receipt(id), { source: phone, destination: "14155550100" })?.providerMessageId;
  const send = (id: string, phone = ANNA): void => ids.accepted(ids.requested(), id, phone);
  return { ids, forwarded, forms, normalize, send };
}

const hex = (value: number): string => value.toString(16);
const upper = (value: number): string => hex(value).toUpperCase();

/** The id of the message with this number, in responses and in receipts. */
type Row = readonly [what: string, inResponse: (message: number) => string, inReceipt: (message: number) => string];
const FORMS: readonly Row[] = [
  ["identical", (n) => `abc-${n}`, (n) => `abc-${n}`],
  ["identical numbers", (n) => String(123_456_789 + n), (n) => String(123_456_789 + n)],
  ["decimal for lower-case hexadecimal", (n) => hex(0x5a3c91f0 + n), (n) => String(0x5a3c91f0 + n)],
  ["decimal for upper-case hexadecimal", (n) => upper(0x5a3c91f0 + n), (n) => String(0x5a3c91f0 + n)],
  ["decimal for hexadecimal with leading zeros", (n) => hex(0x0a3c91f0 + n).padStart(8, "0"), (n) => String(0x0a3c91f0 + n)],
  ["hexadecimal for decimal", (n) => String(0x5a3c91f0 + n), (n) => upper(0x5a3c91f0 + n)],
  ["hexadecimal with leading zeros for decimal", (n) => String(0x5a3c91f0 + n), (n) => hex(0x5a3c91f0 + n).padStart(16, "0")],
  ["upper case for lower case", (n) => hex(0xabcdef12 + n), (n) => upper(0xabcdef12 + n)],
  ["lower case for upper case", (n) => `ABC-${n}`, (n) => `abc-${n}`],
  ["with leading zeros", (n) => String(123_456 + n), (n) => String(123_456 + n).padStart(10, "0")],
  ["without leading zeros", (n) => String(123_456 + n).padStart(10, "0"), (n) => String(123_456 + n)],
];
const OLDER = 500;

for (const [what, inResponse, inReceipt] of FORMS) {
  test(`ids in receipts (${what}) are learnt from three messages`, () => {
    const { forms, normalize, send } = start();
    for (const message of [0, 1, 2]) send(inResponse(message));
    for (const message of [0, 1, 2]) normalize(inReceipt(message), ANNA);
    assert.equal(forms.length, 1);
    for (const message of [0, 1, 2]) assert.equal(normalize(inReceipt(message), ANNA), inResponse(message));
    assert.equal(normalize(inReceipt(OLDER)), inResponse(OLDER));
    send(inResponse(OLDER));
    assert.equal(normalize(inReceipt(OLDER)), inResponse(OLDER));
  });

  test(`ids in receipts (${what}) are learnt when the receipts come first, and earlier receipts are forwarded again`, () => {
    const { forms, forwarded, normalize, send } = start();
    for (const message of [OLDER, 0, 1, 2]) assert.equal(normalize(inReceipt(message), ANNA), inReceipt(message), "unchanged");
    for (const message of [0, 1, 2]) send(inResponse(message));
    assert.equal(forms.length, 1);
    // A receipt with the id of its response is parked under it already, and needs no second pass.
    const changed = [OLDER, 0, 1, 2].filter((message) => inReceipt(message) !== inResponse(message));
    assert.deepEqual(forwarded.map(String).toSorted(), changed.map((message) => `${inResponse(message)},${inReceipt(message)}`).toSorted());
  });
}

test("a receipt that comes before its response is not given to an older message whose id is the same number in another base", () => {
  const { ids, forms, forwarded, normalize, send } = start();
  send("10");
  for (const id of ["16", "17", "18", "19", "20"]) {
    const request = ids.requested();
    assert.equal(normalize(id, ANNA), id, "parked under its own id");
    ids.accepted(request, id, ANNA);
  }
  assert.deepEqual(
    forms.map(({ base }) => base),
    ["same"],
  );
  assert.deepEqual(forwarded, []);
});

test("a receipt of a message without a response is not given to a message whose id is the same number in another base", () => {
  const { ids, forms, normalize, send } = start();
  for (const id of ["3000", "3001", "3002", "3003"]) send(id);
  const lost = [12_288, 12_289, 12_290, 12_291].map((id) => ({ id: String(id), request: ids.requested() }));
  for (const { request } of lost) ids.unanswered(request);
  for (const { id } of lost) assert.equal(normalize(id, ANNA), id);
  assert.deepEqual(forms, [], "as many receipts fit by chance as messages have no response");
  for (const { id, request } of lost) ids.accepted(request, id, ANNA);
  for (const { id } of lost) assert.equal(normalize(id, ANNA), id);
});

test("a pair is none if the receipt is about another person", () => {
  const { forms, normalize, send } = start();
  for (const id of ["3000", "3001", "3002"]) send(id, ANNA);
  for (const id of ["12288", "12289", "12290"]) assert.equal(normalize(id, BERT), id);
  assert.deepEqual(forms, []);
  for (const id of ["12288", "12289", "12290"]) normalize(id, "015112345678");
  assert.deepEqual(
    forms.map(({ base }) => base),
    ["decimal"],
    "a number in national format is the same person's",
  );
});

test("a receipt about another person than the message with its id must come again, until the form is known", () => {
  const { normalize, send } = start();
  const people = [ANNA, BERT, "4915100000003"];
  // In hexadecimal, so that the receipts have 16, 17 and 18.
  for (const [index, id] of ["10", "11", "12"].entries()) send(id, people[index]);
  for (const id of ["16", "17", "18"]) send(id, "4915100000009");
  assert.equal(normalize("16", people[0]), undefined);
  assert.equal(normalize("17", people[1]), undefined);
  assert.equal(normalize("18", people[2]), "12", "learnt with the third");
  assert.equal(normalize("16", people[0]), "10");
});

for (const setting of ["same", "learn"] as const)
  test(`with receipt_ids = "${setting}", the id of a response means that response, also where another one differs in case or zeros only`, () => {
    const { normalize, send } = start(setting);
    for (const id of ["00Ab", "00aB", "0012", "12"]) send(id);
    for (const id of ["00Ab", "00aB", "0012", "12"]) assert.equal(normalize(id, ANNA), id);
  });

test("an id that may belong to two responses teaches nothing", () => {
  const { forms, normalize, send } = start();
  // The receipt 16 may belong to the response 16, or to 10 in hexadecimal.
  for (const id of ["16", "10", "17", "11", "18", "12"]) send(id);
  for (const id of ["16", "17", "18"]) assert.equal(normalize(id), id);
  assert.deepEqual(forms, []);
});

test("a learnt form needs no pair after a restart", () => {
  const { forms, normalize, send } = start("learn", { base: "decimal", letters: "upper", width: 8 });
  assert.equal(normalize("255"), "000000FF");
  send("0A000001");
  assert.equal(normalize(String(0x0a000001)), "0A000001");
  assert.deepEqual(forms, []);
});

test("receipts that were parked before a restart are forwarded when the form is learnt", () => {
  const { ids, forwarded, normalize, send } = start();
  ids.remember("5a3c91f0");
  ids.restore(receipt("1513918960"));
  for (const id of ["abcdef01", "abcdef02"]) send(id);
  normalize(String(0xabcdef01), ANNA);
  assert.deepEqual(forwarded, []);
  normalize(String(0xabcdef02), ANNA);
  assert.deepEqual(forwarded[0], ["5a3c91f0", "1513918960"]);
});

test("a configured form needs no pair and works after a restart", () => {
  const decimal = start("decimal");
  assert.equal(decimal.normalize("3735928559"), "deadbeef");
  decimal.send("0A000001");
  assert.equal(decimal.normalize("255"), "000000FF");
  assert.equal(start("hex").normalize("DEADBEEF"), "3735928559");
  assert.equal(start("same").normalize("DEADBEEF"), "DEADBEEF");
});

test("one contradicting receipt keeps the learnt form, and several in a row replace it", () => {
  const { forms, normalize, send } = start("learn", { base: "same", letters: "kept", width: null });
  const pairs = Array.from({ length: 8 }, (_, index) => ({
    responseId: (0xabcdef00 + index).toString(16),
    receiptId: String(0xabcdef00 + index),
  }));
  for (const { responseId } of pairs) send(responseId);
  const [one, ...others] = pairs.map(({ responseId, receiptId }) => [normalize(receiptId), receiptId, responseId] as const);
  assert.equal(one?.[0], one?.[1], "as learnt");
  const last = others.at(-1);
  assert.equal(last?.[0], last?.[2], "learnt again");
  assert.deepEqual(
    forms.map(({ base }) => base),
    ["decimal"],
  );
});

test("the number of kept ids and receipts is limited", () => {
  const { ids, normalize, send } = start();
  send("abcdef12");
  for (let count = 0; count < 20_000; count += 1) ids.remember(`x-${count}`);
  assert.equal(normalize("ABCDEF12"), "ABCDEF12", "forgotten, and nothing learnt");
  for (let count = 0; count < 5_000; count += 1) normalize(`unknown-${count}`);
  send("y-1");
  assert.equal(normalize("Y-1"), "y-1");
});

test("an id that is not a number is not converted", () => {
  const { normalize } = start("decimal");
  for (const id of ["", "msg_1", "a b", "9".repeat(300), "-1", "0x10"]) assert.equal(normalize(id), id.toLowerCase());
});
