import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { recipientOf } from "../../test/support/recipient.ts";
import { newId } from "../model/id.ts";
import { candidatesFor, mayNameFor, pickSender } from "./choose-sender.ts";
import type { OwnedSender } from "./directory.ts";

const US = recipientOf("+14155550123");
const DE = recipientOf("+4915112345678");
const accountId = newId("acct", 1);

const sender = (number: string, fields: Partial<OwnedSender> = {}): OwnedSender => ({
  number,
  link: "a",
  environment: "live",
  source: "file",
  accountId,
  ...fields,
});

type Pick = { recipient?: typeof US; last?: string; waits?: Readonly<Record<string, number>> };

/** The sender and the reason, or nothing if the sender of the link is used. */
function chosen(senders: readonly OwnedSender[], { recipient = US, last, waits = {} }: Pick = {}): string | undefined {
  const candidates = candidatesFor(senders, recipient);
  if (candidates === undefined) return undefined;
  const choice = pickSender(candidates, { recipient, last: last ?? null }, ({ number }) => waits[number] ?? 0);
  return `${choice.sender} ${choice.senderReason}`;
}

describe("a sender without a pool", () => {
  test("is the first of the account on the link", () => {
    assert.equal(chosen([sender("+1")]), "+1 only_sender");
    assert.equal(chosen([sender("+1"), sender("+2")]), "+1 first_sender");
    assert.equal(chosen([sender("+1"), sender("+2")], { last: "+2" }), "+1 first_sender", "only pools are sticky");
  });

  test("is the one with the highest preference", () => {
    assert.equal(chosen([sender("+1"), sender("+2", { preference: 1 })]), "+2 preferred");
    assert.equal(chosen([sender("+1", { preference: -1 }), sender("+2")]), "+2 preferred");
  });

  test("is one that lists the country of the recipient before one that lists none", () => {
    const senders = [sender("+1"), sender("+2", { countries: ["DE", "AT"] })];
    assert.equal(chosen(senders, { recipient: DE }), "+2 preferred");
    assert.equal(chosen(senders), "+1 only_sender");
    assert.equal(chosen([sender("+1", { preference: 1 }), sender("+2", { countries: ["DE"] })], { recipient: DE }), "+1 preferred");
  });

  test("is that of the link where none is for the country", () => assert.equal(chosen([sender("+1", { countries: ["DE"] })]), undefined));
});

describe("a name", () => {
  test("is not chosen for a country whose carriers do not accept names", () => {
    assert.equal(chosen([sender("ACME"), sender("+1")]), "+1 only_sender");
    assert.equal(chosen([sender("ACME"), sender("+1")], { recipient: DE }), "ACME first_sender");
    assert.equal(chosen([sender("ACME")]), undefined);
  });

  test("is chosen for such a country where it lists it", () =>
    assert.equal(chosen([sender("ACME", { countries: ["US"] }), sender("+1")]), "ACME preferred"));

  test("may be named for every country, unless it lists others", () => {
    assert.equal(mayNameFor(sender("ACME"), US), true);
    assert.equal(mayNameFor(sender("ACME", { countries: ["DE"] }), US), false);
    assert.equal(mayNameFor(sender("ACME", { countries: ["DE"] }), DE), true);
  });

  test("has letters, which a short code and a number have not", () =>
    assert.equal(chosen([sender("12345"), sender("+14155550100")]), "12345 first_sender"));
});

describe("a pool", () => {
  const pool = (number: string, fields: Partial<OwnedSender> = {}): OwnedSender => sender(number, { pool: "p", ...fields });
  const many = ["+1", "+2", "+3", "+4"].map((number) => pool(number));

  test("gives a recipient the sender that it knows, whatever the preferences and waits", () => {
    assert.equal(chosen(many, { last: "+3", waits: { "+3": 60_000 } }), "+3 sticky");
    assert.equal(chosen([pool("+1", { preference: 9 }), pool("+2")], { last: "+2" }), "+2 sticky");
  });

  test("does not give a sender that has left the pool, or is not for the country", () => {
    assert.match(chosen(many, { last: "+9" }) ?? "", / pool$/);
    const senders = [pool("+1"), pool("+2"), pool("+3", { countries: ["DE"] })];
    assert.match(chosen(senders, { last: "+3" }) ?? "", /^\+[12] pool$/);
  });

  test("prefers the highest preference", () =>
    assert.equal(chosen([pool("+1"), pool("+2", { preference: 2 }), pool("+3", { preference: 1 })]), "+2 preferred"));

  test("takes the sender with the shortest wait", () =>
    assert.equal(chosen(many, { waits: { "+1": 300, "+2": 20, "+3": 100, "+4": 21 } }), "+2 pool"));

  test("gives a recipient the same sender each time, and spreads recipients over all senders", () => {
    const seen = new Map<string | undefined, number>();
    for (let index = 0; index < 400; index += 1) {
      const recipient = recipientOf(`+1415555${String(index).padStart(4, "0")}`);
      const first = chosen(many, { recipient });
      assert.equal(chosen(many.toReversed(), { recipient }), first);
      seen.set(first, (seen.get(first) ?? 0) + 1);
    }
    assert.equal(seen.size, 4);
    for (const count of seen.values()) assert.ok(count > 50, `${count} of 400`);
  });

  test("keeps the senders of most recipients when a sender leaves", () => {
    const people = Array.from({ length: 200 }, (_, index) => recipientOf(`+1415556${String(index).padStart(4, "0")}`));
    const moved = people.filter((recipient) => {
      const before = chosen(many, { recipient });
      return before !== "+4 pool" && chosen(many.slice(0, 3), { recipient }) !== before;
    });
    assert.deepEqual(moved, []);
  });

  test("is that of the best sender where an account has several on a link", () => {
    const other = [sender("+8", { pool: "q" }), sender("+9", { pool: "q" })];
    assert.match(chosen([...many, ...other]) ?? "", /^\+[1234] pool$/);
    assert.match(chosen([...many, ...other.map((each) => ({ ...each, preference: 1 }))]) ?? "", /^\+[89] pool$/);
  });

  test("with one sender for the country has no choice", () =>
    assert.equal(chosen([pool("+1"), pool("+2", { countries: ["DE"] })], { last: "+2" }), "+1 only_sender"));
});
