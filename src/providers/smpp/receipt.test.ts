import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Receipt, ReceiptStatus } from "../provider.ts";
import { TLV, type ShortMessage } from "./pdu.ts";
import { parseReceipt, type ReceiptSettings } from "./receipt.ts";

const short = (esmClass: number, text: string | Buffer, tlvs: readonly (readonly [number, string])[] = []): ShortMessage => ({
  serviceType: "",
  source: { ton: 1, npi: 1, text: "4915112345678" },
  destination: { ton: 1, npi: 1, text: "14155550100" },
  esmClass,
  protocolId: 0,
  priority: 0,
  scheduledFor: "",
  validFor: "",
  registeredDelivery: 0,
  dataCoding: 0,
  text: Buffer.isBuffer(text) ? text : Buffer.from(text, "latin1"),
  tlvs: new Map(tlvs.map(([tag, hex]) => [tag, Buffer.from(hex, "hex")])),
});
const hexOf = (text: string): string => Buffer.from(`${text}\0`).toString("hex");

const receipt = (...given: Parameters<typeof short>): Receipt => {
  const found = parseReceipt(short(...given));
  assert.ok(typeof found === "object", JSON.stringify(found));
  return found;
};

type Row = readonly [what: string, esmClass: number, text: string, id: string, status: ReceiptStatus, providerCode: string | null];
const TEXTS: readonly Row[] = [
  [
    "the usual form",
    4,
    "id:0123456789 sub:001 dlvrd:001 submit date:2611151200 done date:2611151201 stat:DELIVRD err:000 text:Hello",
    "0123456789",
    "delivered",
    null,
  ],
  [
    "seconds in the dates",
    4,
    "id:abc-DEF sub:001 dlvrd:000 submit date:261115120000 done date:261115120101 stat:UNDELIV err:0A1 text:",
    "abc-DEF",
    "undelivered",
    "0A1",
  ],
  [
    "capitals in the names",
    4,
    "ID:7 SUB:001 DLVRD:001 SUBMIT DATE:2611151200 DONE DATE:2611151201 STAT:EXPIRED ERR:034 TEXT:x",
    "7",
    "expired",
    "034",
  ],
  [
    "Text with a capital",
    4,
    "id:7 sub:1 dlvrd:1 submit date:2611151200 done date:2611151201 stat:DELIVRD err:0 Text: hi",
    "7",
    "delivered",
    null,
  ],
  [
    "another order",
    4,
    "stat:REJECTD err:88 done date:2611151201 id:99 submit date:2611151200 dlvrd:000 sub:001",
    "99",
    "undelivered",
    "88",
  ],
  ["the text first", 4, "text:Hello id:55 stat:DELIVRD done date:2611151201", "55", "delivered", null],
  ["few fields", 4, "id:42 stat:DELETED", "42", "undelivered", null],
  ["lines", 4, "id:42\nsub:001\ndlvrd:001\nstat:DELIVRD\nerr:000", "42", "delivered", null],
  ["spaces after the colons", 4, "id: 42 sub: 001 dlvrd: 001 stat: DELIVRD err: 000", "42", "delivered", null],
  ["words in full", 4, "id:42 stat:DELIVERED", "42", "delivered", null],
  ["a word that denies the delivery", 4, "id:42 stat:DELIVERY_FAILED err:1", "42", "undelivered", "1"],
  ["a word that only begins like a delivery", 4, "id:42 stat:DELIVERY_PENDING", "42", "sent", null],
  ["a delivery to the phone", 4, "id:42 stat:DELIVERED_TO_HANDSET", "42", "delivered", null],
  ["words in full, undelivered", 4, "id:42 stat:UNDELIVERABLE err:1", "42", "undelivered", "1"],
  ["a zero byte at the end", 4, "id:42 stat:DELIVRD\0", "42", "delivered", null],
  ["a zero byte after the id", 4, "stat:DELIVRD id:42\0", "42", "delivered", null],
  ["small letters", 4, "id:42 stat:delivrd", "42", "delivered", null],
  ["the state as a number", 4, "id:42 stat:5", "42", "undelivered", null],
  ["a state of unknown fate", 4, "id:42 stat:UNKNOWN err:001", "42", "undelivered", "001"],
  ["accepted", 4, "id:42 stat:ACCEPTD", "42", "sent", null],
  ["under way", 4, "id:42 stat:ENROUTE", "42", "sent", null],
  ["buffered, which is not in the standard", 4, "id:42 stat:BUFFERD", "42", "sent", null],
  ["a blocked message", 4, "id:42 stat:BLOCKED err:9", "42", "undelivered", "9"],
  ["an absent subscriber", 4, "id:42 stat:ABSENT err:27", "42", "undelivered", "27"],
  ["not delivered in one word", 4, "id:42 stat:NOTDELIVERED", "42", "undelivered", null],
  ["not delivered in two words", 4, "id:42 stat:NOT_DELIVERED", "42", "undelivered", null],
  ["an id in quotation marks", 4, 'id:"42 a" sub:"001" stat:"DELIVRD" err:"000"', "42 a", "delivered", null],
  ["other names of the fields", 4, "msgid:42 status:UNDELIV error:005", "42", "undelivered", "005"],
  ["the names of the fields in full", 4, "message_id: 42; status: DELIVERED; error: 0", "42", "delivered", null],
  ["an unknown name", 4, "id:42 stat:WHATEVR", "42", "sent", null],
  ["no state", 4, "id:42", "42", "sent", null],
  ["dates of some other form", 4, "id:42 submit date:2026-11-15T12:00 done date:never stat:DELIVRD", "42", "delivered", null],
  ["an id of 65 characters", 4, `id:${"f".repeat(65)} stat:DELIVRD`, "f".repeat(65), "delivered", null],
  ["a receipt in the text", 4, "id:1 stat:DELIVRD text:id:2 stat:UNDELIV err:9", "1", "delivered", null],
  ["other bits of esm_class", 0x44 | 0x80, "id:42 stat:DELIVRD", "42", "delivered", null],
  ["an intermediate flag", 0x20, "id:42 stat:UNDELIV err:001", "42", "sent", null],
  ["an intermediate flag on a delivery", 0x20, "id:42 stat:DELIVRD", "42", "delivered", null],
  ["no flag", 0, "id:42 sub:001 dlvrd:001 submit date:2611151200 done date:2611151201 stat:DELIVRD err:000 text:", "42", "delivered", null],
];
for (const [what, esmClass, text, id, status, providerCode] of TEXTS)
  test(`a receipt with ${what} is ${status}`, () => {
    const found = receipt(esmClass, text);
    assert.deepEqual([found.providerMessageId, found.status, found.reference], [id, status, null]);
    assert.equal(found.error?.providerCode ?? null, providerCode);
    assert.equal(found.error === null, status === "sent" || status === "delivered");
    assert.ok(!JSON.stringify(found.raw).includes("Hello"), "no text of the message is kept");
  });

const STATES: readonly ReceiptStatus[] = [
  "sent",
  "sent",
  "delivered",
  "expired",
  "undelivered",
  "undelivered",
  "sent",
  "undelivered",
  "undelivered",
  "undelivered",
];
for (const [number, status] of STATES.entries())
  test(`message_state ${number} is ${status}`, () => {
    const found = receipt(4, "", [
      [TLV.receiptedMessageId, hexOf("abc")],
      [TLV.messageState, Buffer.from([number]).toString("hex")],
    ]);
    assert.deepEqual([found.providerMessageId, found.status], ["abc", status]);
  });

test("parameters take precedence over the text", () => {
  const found = receipt(4, "id:1 stat:UNDELIV err:5", [
    [TLV.receiptedMessageId, hexOf("2")],
    [TLV.messageState, "02"],
  ]);
  assert.deepEqual([found.providerMessageId, found.status, found.error], ["2", "delivered", null]);
});

test("the network error is the carrier's code, where there is one", () => {
  const found = receipt(4, "id:1 stat:UNDELIV err:5", [[TLV.networkError, "03001b"]]);
  assert.equal(found.error?.providerCode, "3:27");
  assert.deepEqual(found.raw, { stat: "UNDELIV", err: "5", id: "1", network_error: "3:27" });
});

test("the parameters make a receipt without the flag", () =>
  assert.equal(
    receipt(0, "", [
      [TLV.receiptedMessageId, hexOf("2")],
      [TLV.messageState, "02"],
    ]).status,
    "delivered",
  ));

test("a text in UTF-16 is parsed", () => {
  const text = Buffer.from("id:42 stat:DELIVRD", "utf16le").swap16();
  assert.equal(receipt(4, text).providerMessageId, "42");
});

const MESSAGES = ["STOP", "", "id:", "my id: 42 please", "id:42", "id:42 stat:DELIVRD", "stat:DELIVRD"];
for (const text of MESSAGES)
  test(`${JSON.stringify(text)} without the flag is an inbound message`, () => assert.equal(parseReceipt(short(0, text)), undefined));

test("a flagged deliver_sm without an id is an unreadable receipt", () => assert.equal(parseReceipt(short(4, "nonsense")), "unreadable"));
test("an acknowledgement of a phone is not a receipt", () =>
  assert.equal(parseReceipt(short(0x08, "id:42 stat:DELIVRD dlvrd:1")), undefined));

test("parsing of random texts ends", () => {
  const word = fc.constantFrom("id:", "stat:", "text:", "submit date:", "err:", " ", "\0", "a", "1", ";", "DELIVRD", ":");
  fc.assert(
    fc.property(fc.string({ unit: word, maxLength: 2_000, size: "max" }), fc.integer({ min: 0, max: 255 }), (text, esmClass) => {
      const found = parseReceipt(short(esmClass, text));
      if (typeof found === "object") assert.ok(found.providerMessageId !== null && found.providerMessageId.length <= 255);
    }),
    { numRuns: 200 },
  );
});

test("a receipt keeps the carrier's own parameters, and neither the text nor more or longer ones than a limit", () => {
  const found = receipt(4, "id:42 stat:DELIVRD", [
    [0x1403, hexOf("310410")],
    [0x1404, hexOf("0.0075")],
    [0x1405, "0102"],
    [TLV.messagePayload, hexOf("Hello")],
    [0x1406, "41".repeat(256)],
    ...Array.from({ length: 30 }, (_, index): [number, string] => [0x1500 + index, "41"]),
  ]);
  const { tlv_1403: network, tlv_1404: price, tlv_1405: bytes, ...rest } = found.raw;
  assert.deepEqual([network, price, bytes], ["310410", "0.0075", "0102"]);
  assert.equal(Object.keys(rest).filter((name) => name.startsWith("tlv_")).length, 17);
  assert.ok(!("tlv_0424" in rest) && !("tlv_1406" in rest));
});

describe("the carrier's own words", () => {
  const settings: ReceiptSettings = {
    receiptWords: { DELIVRD2: "delivered", ACCEPTD: "delivered", BUFFERED: "sent", GONE: "expired", DELIVRD: "undelivered" },
    receiptErrors: { "0A1": "invalid_destination", "3:34": "recipient_blocked" },
  };
  const read = (stat: string, err = "000", tlvs: Parameters<typeof short>[2] = [], esmClass = 4): Receipt => {
    const found = parseReceipt(
      short(esmClass, `id:7 sub:001 dlvrd:000 done date:2611151201 stat:${stat} err:${err} text:`, tlvs),
      settings,
    );
    assert.ok(typeof found === "object");
    return found;
  };

  test("have the configured status, in any case, also beside the parameter of the standard", () => {
    for (const [word, status] of [
      ["DELIVRD2", "delivered"],
      ["delivrd2", "delivered"],
      ["ACCEPTD", "delivered"],
      ["BUFFERED", "sent"],
      ["GONE", "expired"],
      ["DELIVRD", "undelivered"],
      ["UNDELIV", "undelivered"],
      ["constructor", "sent"],
    ] as const)
      assert.equal(read(word).status, status, word);
    assert.equal(read("DELIVRD2", "000", [[TLV.messageState, "05"]]).status, "delivered");
    assert.equal(read("UNLISTED", "000", [[TLV.messageState, "05"]]).status, "undelivered");
    assert.equal(read("GONE", "000", [], 0x20).status, "sent", "an intermediate notification");
  });

  test("for errors become our codes, and the carrier's code is kept", () => {
    const codes = ({ error }: Receipt): unknown[] => [error?.code, error?.providerCode];
    assert.deepEqual(codes(read("UNDELIV", "0a1")), ["invalid_destination", "0a1"]);
    assert.deepEqual(codes(read("UNDELIV", "0A2")), ["undeliverable", "0A2"]);
    assert.deepEqual(codes(read("UNDELIV", "0A1", [[TLV.networkError, "030022"]])), ["recipient_blocked", "3:34"]);
    assert.deepEqual(codes(read("UNDELIV", "0A1", [[TLV.networkError, "030023"]])), ["invalid_destination", "3:35"]);
    assert.equal(read("DELIVRD2", "0A1").error, null);
  });
});
