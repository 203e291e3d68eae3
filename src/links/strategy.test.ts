import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { simulatorLink, type Link } from "./link.ts";
import { priceOf } from "./prices.ts";
import { linkWeights, MEASURING_SHARE, orderLinks, weighLinks, type Strategy, type WeighedLink } from "./strategy.ts";
import { newId } from "../model/id.ts";

const link = (name: string): Link => ({ ...simulatorLink(1), name });
const weighed = (name: string, rate: number, price: number | null = null): WeighedLink => ({ link: link(name), rate, results: 50, price });
const order = (strategy: Strategy, ...links: WeighedLink[]): string =>
  orderLinks(strategy, links)
    .map((each) => each.link.name)
    .join("");

describe("quality", () => {
  test("keeps the order of the route among links that are about as good as the best", () =>
    assert.equal(order("quality", weighed("a", 0.97), weighed("b", 0.98), weighed("c", 0.965)), "abc"));
  test("places the others after them, the better first", () =>
    assert.equal(order("quality", weighed("a", 0.5), weighed("b", 0.7), weighed("c", 0.98)), "cba"));
  test("does not look at prices", () => assert.equal(order("quality", weighed("a", 0.9, 9), weighed("b", 0.9, 1)), "ab"));
});

describe("price", () => {
  test("places the cheapest of the good links first", () =>
    assert.equal(order("price", weighed("a", 0.98, 3), weighed("b", 0.94, 1), weighed("c", 0.97, 2)), "bca"));
  test("places a cheap link that delivers badly last", () =>
    assert.equal(order("price", weighed("a", 0.98, 3), weighed("b", 0.92, 1), weighed("c", 0.5, 0)), "abc"));
  test("places a link without a price after those with one, and keeps the order of the route among equals", () =>
    assert.equal(order("price", weighed("a", 0.9), weighed("b", 0.9), weighed("c", 0.9, 2), weighed("d", 0.9, 2)), "cdab"));
});

/** A generator of the same numbers in each run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const NUMBERS = { scoreOf: () => ({ rate: 0.9, results: 0 }), priceOf: () => null };

test("a share of the messages takes each other link first, and keeps the order behind it", () => {
  const random = seeded(7);
  const links = [link("a"), link("b"), link("c")];
  const counts = new Map<string, number>();
  for (let index = 0; index < 20_000; index += 1) {
    const { links: chosen, reason } = weighLinks("quality", links, NUMBERS, random);
    const names = `${reason} ${chosen.map((each) => each.link.name).join("")}`;
    counts.set(names, (counts.get(names) ?? 0) + 1);
  }
  assert.deepEqual([...counts.keys()].toSorted(), ["measuring bac", "measuring cab", "quality abc"]);
  for (const names of ["measuring bac", "measuring cab"]) {
    const share = (counts.get(names) ?? 0) / 20_000;
    assert.ok(Math.abs(share - MEASURING_SHARE / 2) < 0.005, `${names} ${share}`);
  }
});

test("a route with one link measures nothing", () => {
  assert.equal(weighLinks("price", [link("a")], NUMBERS, () => 0).reason, "price");
  assert.deepEqual(weighLinks("price", [], NUMBERS, () => 0).links, []);
});

describe("the price of a message", () => {
  const prices = { "*": 5, DE: 7, "+4917": 8, "+49171": 9 };
  for (const [recipient, country, expected] of [
    ["+4917112345678", "DE", 9],
    ["+4917212345678", "DE", 8],
    ["+4915112345678", "DE", 7],
    ["+14155550123", "US", 5],
    ["DE.12345", "DE", 7],
  ] as const)
    test(`${recipient}: ${expected}`, () => assert.equal(priceOf(prices, recipient, country), expected));
  test("is null without a price for it", () => {
    assert.equal(priceOf({ DE: 7 }, "+14155550123", "US"), null);
    assert.equal(priceOf(undefined, "+14155550123", "US"), null);
  });
});

test("an account sees the rates of the operator's links, but neither their volumes nor their prices", () => {
  const own = { ...weighed("own", 0.98765, 3), link: { ...link("own"), accountId: newId("acct", 1) } };
  assert.deepEqual(linkWeights([own, weighed("file", 0.9, 2)]), [
    { link: "own", delivery_rate: 0.988, results: 50, price: 3 },
    { link: "file", delivery_rate: 0.9, results: null, price: null },
  ]);
});
