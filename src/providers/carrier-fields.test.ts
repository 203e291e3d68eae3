import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAddress } from "./carrier-fields.ts";

test("an address is read in any notation", () => {
  assert.equal(parseAddress(" whatsapp:+1 415‑555‑0100 "), "+1 415-555-0100");
  assert.equal(parseAddress("\u202a+14155550100\u202c"), "+14155550100");
  assert.equal(parseAddress("＋１４１５"), "+1415");
  assert.equal(parseAddress(`${" ".repeat(900)}tel:+14155550100`), "+14155550100");
  assert.equal(parseAddress("\u00ad \u0000"), undefined);
});

test("the senders of a callback do not expand in the memory: one character can become 18", () => {
  const address = "\uFDFA".repeat(1_024);
  const before = process.cpuUsage();
  for (let count = 0; count < 3_000; count += 1) parseAddress(address);
  const { user } = process.cpuUsage(before);
  // 0.05 s with bounds before and after the normalization, 0.3 s without the second, and 1.5 s without both.
  assert.ok(user < 300_000, `${user} µs of processor time`);
});
