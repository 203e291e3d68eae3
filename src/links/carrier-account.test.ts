import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newId } from "../model/id.ts";
import { findSiblings } from "./carrier-account.ts";
import type { Link } from "./link.ts";
import { readPlan } from "./plan.ts";

const SMPP = { provider: "smpp", host: "127.0.0.1", port: 2775, system_id: "godwit", password_env: "PW" };

/** The links of these tables, named a, b, c and so on. */
function linksOf(...tables: Readonly<Record<string, unknown>>[]): readonly Link[] {
  const faults: string[] = [];
  const link = tables.map((table, index) => ({ ...SMPP, ...table, name: String.fromCodePoint(97 + index) }));
  const plan = readPlan({ link }, () => "secret", faults);
  assert.deepEqual(faults, []);
  return plan.links;
}

const siblings = (...tables: Readonly<Record<string, unknown>>[]) => Object.fromEntries(findSiblings(linksOf(...tables)));

describe("two links are one account at the carrier", () => {
  test("if user, host and port are the same", () => {
    assert.deepEqual(siblings({}, {}, { system_id: "other" }, { host: "localhost" }), { a: ["b"], b: ["a"] });
  });

  test("if they have the same list of hosts, in any order", () => {
    const hosts = ["127.0.0.1:1", "127.0.0.1:2"];
    const { host: _, port: __, ...rest } = SMPP;
    const link = [hosts, hosts.toReversed(), ["127.0.0.1:1", "127.0.0.1:3"]].map((each, index) => ({
      ...rest,
      name: String.fromCodePoint(97 + index),
      hosts: each,
    }));
    const { links } = readPlan({ link }, () => "secret", []);
    assert.deepEqual(Object.fromEntries(findSiblings(links)), { a: ["b"], b: ["a"] });
  });

  test("if they have the same carrier_account, whatever their hosts are", () => {
    const named = { carrier_account: "acme" };
    assert.deepEqual(siblings(named, { ...named, host: "::1", port: 1, system_id: "rx" }, {}, { carrier_account: "else" }), {
      a: ["b"],
      b: ["a"],
    });
  });

  test("if one of them only receives, on a port of its own, and the links that send have one port", () => {
    const receiver = { port: 2776, bind_mode: "receiver" };
    assert.deepEqual(siblings({}, receiver), { a: ["b"], b: ["a"] });
    assert.deepEqual(siblings({}, {}, receiver), { a: ["b", "c"], b: ["a", "c"], c: ["a", "b"] });
  });

  test("but not if their ports differ, because each may be the tunnel to another carrier", () => {
    assert.deepEqual(siblings({}, { port: 2776 }), {});
    assert.deepEqual(siblings({}, { port: 2776 }, { port: 2777, bind_mode: "receiver" }), {});
    assert.deepEqual(siblings({}, { port: 2776 }, { port: 2777, bind_mode: "receiver", carrier_account: "a" }), {});
  });

  test("but not if they belong to different accounts of this service", () => {
    const [first, second] = linksOf({}, {});
    assert.ok(first !== undefined && second !== undefined);
    assert.equal(findSiblings([first, { ...second, accountId: newId("acct", Date.now()) }]).size, 0);
  });
});
