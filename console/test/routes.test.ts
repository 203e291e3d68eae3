/** The form of a route becomes a valid request, and a saved route becomes the form again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Link, Route } from "godwit-sdk";
import { movedUp, newRouteDraft, routeDraftOf, toNewRoute, toRules, withStep } from "../src/carriers/route-draft.ts";

const link = (id: string, channel: "sms" | "whatsapp"): Link => ({ id, name: id.toUpperCase(), channels: [channel] }) as Link;
const [a, b, w] = [link("a", "sms"), link("b", "sms"), link("w", "whatsapp")];
const LINKS = [a, b, w];

test("a new route starts with the first carrier of its channel, and has no rules", () => {
  const none = { countries: null, prefixes: null, priority: null, weights: null, strategy: null };
  assert.deepEqual(toNewRoute(newRouteDraft(LINKS)), { channel: "sms", links: ["a"], ...none });
  assert.deepEqual(toNewRoute(newRouteDraft(LINKS, "whatsapp")), { channel: "whatsapp", links: ["w"], ...none });
});

test("lists are separated by commas or spaces, and countries may be typed in lower case", () => {
  const draft = { ...newRouteDraft(LINKS), countries: " us, CA de,", prefixes: "+1415;+1628", priority: "-5" };
  const { countries, prefixes, priority } = toRules(draft);
  assert.deepEqual([countries, prefixes, priority], [["US", "CA", "DE"], ["+1415", "+1628"], -5]);
});

test("a further carrier is one that the route does not have, and carriers can be moved", () => {
  const steps = withStep(withStep([], [a, b]), [a, b]);
  assert.deepEqual(
    steps.map(({ key, link: id }) => [key, id]),
    [
      [0, "a"],
      [1, "b"],
    ],
  );
  assert.deepEqual(
    movedUp([...steps, { key: 2, link: "c", weight: "" }], 2).map(({ link: id }) => id),
    ["a", "c", "b"],
  );
});

test("weights are all absent, or one for each carrier: a missing one is null in the request", () => {
  const weightsOf = (...weights: string[]): string =>
    JSON.stringify(toRules({ ...newRouteDraft(LINKS), steps: weights.map((weight, key) => ({ key, link: "a", weight })) }).weights);
  assert.equal(weightsOf("", ""), "null");
  assert.equal(weightsOf("3", "0"), "[3,0]");
  assert.equal(weightsOf("3", ""), "[3,null]");
});

test("a route that is saved without a change stays the same", () => {
  const rules = { links: ["b", "a"], countries: ["US"], prefixes: ["+1415"], weights: [3, 1] };
  const route = { channel: "sms", priority: 7, ...rules } as Route;
  assert.deepEqual(toRules(routeDraftOf(route)), { priority: 7, strategy: null, ...rules });
  const byPrice = { ...route, strategy: "price" } as Route;
  assert.equal(toRules(routeDraftOf(byPrice)).strategy, "price");
});
