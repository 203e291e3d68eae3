import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../model/id.ts";
import { Directory, NOTHING_CREATED, type OwnedSender } from "./directory.ts";
import { simulatorLink } from "./link.ts";
import { EMPTY_PLAN } from "./plan.ts";

const accountId = newId("acct", 0);
const owner = { accountId, environment: "live" } as const;

const sender = (number: string, pool: string, link = "lnk_a"): OwnedSender => ({ ...owner, source: "api", number, pool, link });
const directoryOf = (senders: readonly OwnedSender[]): Directory =>
  new Directory({ simulator: simulatorLink(1), plan: EMPTY_PLAN, accounts: new Map(), created: { ...NOTHING_CREATED, senders } });

test("a number has the other numbers of all its pools", () => {
  const directory = directoryOf([
    sender("+1", "a"),
    sender("+2", "a"),
    sender("+2", "b", "lnk_b"),
    sender("+3", "b"),
    sender("+1", "a", "lnk_b"),
  ]);
  assert.deepEqual(directory.poolOf(owner, "+1"), ["+1", "+2"]);
  assert.deepEqual(directory.poolOf(owner, "+2"), ["+1", "+2", "+3"]);
  assert.deepEqual(directory.poolOf(owner, "+3"), ["+2", "+3"]);
  assert.deepEqual(directory.poolOf(owner, "+4"), ["+4"]);
});

test("the numbers of a large pool share one list", () => {
  const directory = directoryOf(Array.from({ length: 500 }, (_, index) => sender(`+${index}`, "a")));
  assert.equal(directory.poolOf(owner, "+7"), directory.poolOf(owner, "+499"));
});
