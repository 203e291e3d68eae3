/** The search in texts and numbers, and the lines of CSV files. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Message } from "godwit-sdk";
import { toCsvLine } from "../../src/lib/csv.ts";
import { CSV_HEAD, messageLine } from "../src/messages/messages-csv.ts";
import { textMatcher } from "../src/messages/text-search.ts";

const message = (fields: Partial<Message>): Message =>
  ({ body: null, client_reference: null, recipient: "+14155550123", sender: null, ...fields }) as Message;

describe("a search", () => {
  test("finds a part of a text or reference, without regard to case", () => {
    assert.ok(textMatcher("ORDER 18")(message({ body: "Your order 1815 is here" })));
    assert.ok(textMatcher("ord")(message({ client_reference: "order-1815" })));
    assert.ok(textMatcher("acme")(message({ sender: "Acme" })));
    assert.ok(!textMatcher("order")(message({ body: "Hello" })));
  });

  test("finds a carrier id, and the messages of a request by the end of their ids", () => {
    const provider = { name: "smpp", link: "acme", message_id: "6F1C02D9", attempts: 1 };
    assert.ok(textMatcher("6f1c02d9")(message({ provider })));
    const ofRequest = textMatcher("req_01m7rf6rc0e9frzfnfq7b797fc");
    assert.ok(ofRequest(message({ id: "msg_01m7rf6rc9e9f8zfnfq7b797fc" })));
    assert.ok(!ofRequest(message({ id: "msg_01m7rf6rc9e9frzfnfq7b797fd" })));
  });

  test("finds a part of a number in any notation, from three digits on", () => {
    for (const text of ["0123", "555-0123", "(415) 555", "+1 415", "1415"]) assert.ok(textMatcher(text)(message({})), text);
    assert.ok(textMatcher("0199")(message({ sender: "+14155550199" })));
    assert.ok(!textMatcher("99")(message({ sender: "+14155550199" })));
    assert.ok(!textMatcher("order 0123")(message({})), "digits among letters are a text");
  });
});

describe("a line of a CSV file", () => {
  test("quotes separators, and keeps numbers", () => {
    assert.equal(
      toCsvLine(["a,b", 'say "hi"', "two\nlines", null, 7, "+14155550123", "-1.5"]),
      '"a,b","say ""hi""","two\nlines",,7,+14155550123,-1.5\r\n',
    );
  });

  test("never begins a cell with a formula", () => {
    for (const text of ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", '=HYPERLINK("http://h","x")'])
      assert.match(toCsvLine([text]), /^"?'/, text);
  });

  test("begins no part of a cell with a formula, for programs that split at other characters or read full-width signs", () => {
    for (const text of ["＝1+1", "＋1", "－1+1", "＠SUM(A1)", "\rx", "\n=1+1", " =1+1"])
      assert.match(toCsvLine([text]), /^"?'/, JSON.stringify(text));
    assert.equal(toCsvLine(["a;=1+1;b"]), `"a;'=1+1;b"\r\n`);
    assert.equal(toCsvLine(['a",=1+1']), `"a"",'=1+1"\r\n`);
    for (const separator of [";", ",", "|", "\t", "\r", "\n", '"', "'"])
      for (const sign of "=+-@＝＋－＠") assert.ok(toCsvLine([`a${separator}${sign}1`]).includes(`${separator}'${sign}`), separator + sign);
    for (const text of ["a - b", "2 + 2 = 4", "mail@example.com", "a-b"]) assert.equal(toCsvLine([text]), `${text}\r\n`);
  });

  test("has a cell for each column", () => {
    const line = messageLine(message({ id: "msg_1", error: null, segments: null, provider: null }));
    assert.equal(line.split(",").length, CSV_HEAD.split(",").length);
  });
});
