import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { recipientOf } from "../../test/support/recipient.ts";
import { newId } from "../model/id.ts";
import { USUAL_RULES } from "../model/segments.ts";
import { simulatorLink, type Link } from "./link.ts";
import { EMPTY_PLAN, type Plan, type RouteRow, type Sender } from "./plan.ts";
import { chooseLinks, chooseToWait, explainSender, mayTake, type RouteQuery } from "./choose-links.ts";
import { senderOn } from "./choose-sender.ts";
import { LinkDirectory, NOTHING_CREATED, type CreatedRecords } from "./directory.ts";
import { hasNumber, inboundOwner, onlyOwnerOn, ownerOfNumber, ownersOn } from "./ownership.ts";
import { SYSTEM_ORIGIN } from "../model/origin.ts";
import { pauseByRequest, unusable } from "./pauses.ts";

const HOUSE = newId("acct", 1);
const OTHER = newId("acct", 2);
const ACCOUNTS = new Map([
  ["house", HOUSE],
  ["other", OTHER],
]);
const SIMULATOR = simulatorLink(1);
const US = recipientOf("+14155550123");
const DE = recipientOf("+4915112345678");

const link = (name: string, fields: Partial<Link> = {}): Link => ({
  name,
  provider: "smpp",
  settings: {},
  channels: ["sms"],
  sender: null,
  country: null,
  source: fields.accountId ? "api" : "file",
  accountId: null,
  inboundAccount: null,
  segmentRules: USUAL_RULES,
  unwilling: { optedOut: new Set(), windowClosed: new Set() },
  onUnknown: { holdMs: 1, policy: "fail" },
  ...fields,
});

const A = link("a");
const B = link("b", { sender: "BEE" });
const C = link("c");
const WA = link("wa", { provider: "whatsapp", channels: ["whatsapp"] });

const planOf = (fields: Partial<Plan>): Plan => ({ ...EMPTY_PLAN, links: [A, B, C, WA], ...fields });
const linkDirectoryWith = (fields: Partial<Plan>): LinkDirectory => new LinkDirectory(SIMULATOR, planOf(fields), ACCOUNTS);
const query = (fields: Partial<RouteQuery> = {}): RouteQuery => ({
  accountId: HOUSE,
  environment: "live",
  channel: "sms",
  recipient: US,
  sender: null,
  ...fields,
});
const sms = (fields: Partial<RouteRow> & { links: string[] }): RouteRow => ({ channel: "sms", ...fields });
const senderAt = (number: string, at: string, fields: Partial<Sender> = {}): Sender => ({
  number,
  link: at,
  account: "house",
  environment: "live",
  ...fields,
});

/** The names of the links in their order, or why there are none. */
function chosenLinks(linkDirectory: LinkDirectory, fields: Partial<RouteQuery> = {}): string {
  const choice = chooseLinks(linkDirectory.current, query(fields));
  return choice.kind === "chosen" ? choice.links.map(({ name }) => name).join(" ") : choice.kind;
}

describe("without a route", () => {
  test("every link of the channel is chosen, in the order of the file", () => {
    const linkDirectory = linkDirectoryWith({});
    assert.equal(chosenLinks(linkDirectory), "a b c");
    assert.equal(chosenLinks(linkDirectory, { channel: "whatsapp" }), "wa");
  });

  test("and without a link, live has no route and test has the simulator", () => {
    const linkDirectory = new LinkDirectory(SIMULATOR);
    assert.equal(chosenLinks(linkDirectory), "no_route");
    assert.equal(chosenLinks(linkDirectory, { environment: "test" }), "simulator");
    assert.deepEqual(linkDirectory.current.links, [SIMULATOR]);
  });
});

const CHOICES: readonly (readonly [what: string, rows: RouteRow[], who: Partial<RouteQuery>, choice: string])[] = [
  ["its links are chosen in their order", [sms({ links: ["c", "a"] })], {}, "c a"],
  ["a message of another channel does not match", [sms({ links: ["a"] })], { channel: "whatsapp" }, "no_route"],
  ["test uses the simulator regardless of the routes", [sms({ links: ["a"] })], { environment: "test" }, "simulator"],
  ["for the environment of the message matches", [sms({ environment: "live", links: ["b"] })], {}, "b"],
  ["for the country of the recipient matches", [sms({ countries: ["CA", "US"], links: ["b"] })], {}, "b"],
  ["for another country does not match", [sms({ countries: ["DE"], links: ["b"] })], {}, "no_route"],
  [
    "for a country does not match a number without a country",
    [sms({ countries: ["US"], links: ["b"] })],
    { recipient: recipientOf("+88213012345") },
    "no_route",
  ],
  ["for a prefix of the recipient matches", [sms({ prefixes: ["+1212", "+1415"], links: ["b"] })], {}, "b"],
  ["for another prefix does not match", [sms({ prefixes: ["+1212"], links: ["b"] })], {}, "no_route"],
  ["for the account of the message matches", [sms({ account: "house", links: ["b"] })], {}, "b"],
  ["for another account does not match", [sms({ account: "other", links: ["b"] })], {}, "no_route"],
  ["for an unknown account does not match", [sms({ account: "nobody", links: ["b"] })], {}, "no_route"],
  ["must match in all of its conditions", [sms({ countries: ["US"], prefixes: ["+1212"], links: ["b"] })], {}, "no_route"],
  [
    "the longest prefix wins",
    [sms({ prefixes: ["+1"], links: ["a"] }), sms({ prefixes: ["+141"], links: ["b"] }), sms({ prefixes: ["+14"], links: ["c"] })],
    {},
    "b",
  ],
  [
    "a long prefix that does not match does not count",
    [sms({ prefixes: ["+1", "+12125550"], links: ["a"] }), sms({ prefixes: ["+14"], links: ["b"] })],
    {},
    "b",
  ],
  [
    "a longer prefix takes precedence over a shorter one with a country and an account",
    [sms({ prefixes: ["+141"], countries: ["US"], account: "house", links: ["a"] }), sms({ prefixes: ["+1415"], links: ["b"] })],
    {},
    "b",
  ],
  [
    "a prefix takes precedence over a country",
    [sms({ countries: ["US"], links: ["a"] }), sms({ prefixes: ["+1415"], links: ["b"] })],
    {},
    "b",
  ],
  ["a country takes precedence over no country", [sms({ links: ["a"] }), sms({ countries: ["US"], links: ["b"] })], {}, "b"],
  ["an account takes precedence over no account", [sms({ links: ["a"] }), sms({ account: "house", links: ["b"] })], {}, "b"],
  [
    "a priority takes precedence over the longest possible prefix",
    [sms({ prefixes: ["+14155550123"], countries: ["US"], account: "house", links: ["a"] }), sms({ priority: 1, links: ["b"] })],
    {},
    "b",
  ],
  ["a negative priority ranks below none", [sms({ priority: -1, prefixes: ["+1415"], links: ["a"] }), sms({ links: ["b"] })], {}, "b"],
  ["the first of equal routes is chosen", [sms({ links: ["b"] }), sms({ links: ["a"] })], {}, "b"],
  ["a route may name the simulator", [sms({ links: ["simulator", "a"] })], {}, "simulator a"],
];

describe("a route", () => {
  for (const [what, rows, who, choice] of CHOICES)
    test(`${what}: ${choice}`, () => assert.equal(chosenLinks(linkDirectoryWith({ routes: rows }), who), choice));
});

describe("the reason for a link", () => {
  const reasonOf = (fields: Partial<Plan>, who: Partial<RouteQuery> = {}): string => {
    const choice = chooseLinks(linkDirectoryWith(fields).current, query(who));
    return choice.kind === "chosen" ? choice.reason : choice.kind;
  };
  const CASES: readonly (readonly [reason: string, plan: Partial<Plan>, who: Partial<RouteQuery>])[] = [
    ["simulator", {}, { environment: "test" }],
    ["only_link", {}, { channel: "whatsapp" }],
    ["file_order", {}, {}],
    ["route", { routes: [sms({ links: ["b"] })] }, {}],
    ["weights", { routes: [sms({ links: ["a", "b"], weights: [1, 1] })] }, {}],
    ["sender", { senders: [senderAt("+1333", "c")] }, { sender: "+1333" }],
    ["file_order", { senders: [senderAt("+1333", "a")] }, { sender: "+1333" }],
  ];
  for (const [reason, plan, who] of CASES)
    test(`is ${reason}: ${JSON.stringify({ ...who, plan: Object.keys(plan) })}`, () => assert.equal(reasonOf(plan, who), reason));
});

describe("weights", () => {
  test("decide how often each link is first, and the others follow in their order", () => {
    const linkDirectory = linkDirectoryWith({ routes: [sms({ links: ["a", "b", "c"], weights: [6, 3, 1] })] });
    const draws = 10_000;
    const seen = new Map<string, number>();
    for (let draw = 0; draw < draws; draw += 1) {
      const choice = chosenLinks(linkDirectory);
      seen.set(choice, (seen.get(choice) ?? 0) + 1);
    }
    assert.deepEqual([...seen.keys()].toSorted(), ["a b c", "b a c", "c a b"]);
    // Six standard deviations at most: one run in some hundred millions is further out.
    for (const [choice, share] of [
      ["a b c", 0.6],
      ["b a c", 0.3],
      ["c a b", 0.1],
    ] as const) {
      const far = Math.abs((seen.get(choice) ?? 0) - draws * share);
      assert.ok(far < 6 * Math.sqrt(draws * share * (1 - share)), `${choice}: ${seen.get(choice)} of ${draws}`);
    }
  });

  test("of zero are never first, but still follow", () => {
    const linkDirectory = linkDirectoryWith({ routes: [sms({ links: ["a", "b"], weights: [0, 5] })] });
    for (let draw = 0; draw < 200; draw += 1) assert.equal(chosenLinks(linkDirectory), "b a");
  });
});

describe("allowed countries", () => {
  test("hold for a user id by the two letters of its country", () => {
    const linkDirectory = linkDirectoryWith({ allowedCountries: { live: ["US"] } });
    const toId = (recipient: string): string => chosenLinks(linkDirectory, { channel: "whatsapp", recipient: recipientOf(recipient) });
    assert.equal(toId("US.13491208655302741918"), "wa");
    assert.equal(toId("DE.13491208655302741918"), "destination_not_permitted");
  });

  test("exclude every other country, and numbers without a country", () => {
    const linkDirectory = linkDirectoryWith({ allowedCountries: { live: ["US"] } });
    assert.equal(chosenLinks(linkDirectory), "a b c");
    assert.equal(chosenLinks(linkDirectory, { recipient: DE }), "destination_not_permitted");
    assert.equal(chosenLinks(linkDirectory, { recipient: recipientOf("+88213012345") }), "destination_not_permitted");
    assert.equal(chosenLinks(linkDirectory, { recipient: DE, environment: "test" }), "simulator", "the list is of live only");
  });

  test("of test apply in test and not in live", () => {
    const linkDirectory = linkDirectoryWith({ allowedCountries: { test: ["US"] } });
    assert.equal(chosenLinks(linkDirectory, { environment: "test" }), "simulator");
    assert.equal(chosenLinks(linkDirectory, { recipient: DE, environment: "test" }), "destination_not_permitted");
    assert.equal(chosenLinks(linkDirectory, { recipient: DE }), "a b c");
  });

  test("that are an empty list allow no country", () =>
    assert.equal(chosenLinks(linkDirectoryWith({ allowedCountries: { live: [] } })), "destination_not_permitted"));
});

describe("a sender", () => {
  const senders = [senderAt("+1222", "b"), senderAt("+1333", "a"), senderAt("+1333", "c"), senderAt("+1444", "a", { account: "other" })];

  test("that is registered on one link uses only that link", () =>
    assert.equal(chosenLinks(linkDirectoryWith({ senders }), { sender: "+1222" }), "b"));

  test("that is registered on two links uses both, in the order of the route", () => {
    assert.equal(chosenLinks(linkDirectoryWith({ senders }), { sender: "+1333" }), "a c");
    assert.equal(chosenLinks(linkDirectoryWith({ senders, routes: [sms({ links: ["c", "b", "a"] })] }), { sender: "+1333" }), "c a");
  });

  test("whose link is not on the route has no route", () =>
    assert.equal(chosenLinks(linkDirectoryWith({ senders, routes: [sms({ links: ["a"] })] }), { sender: "+1222" }), "no_route"));

  test("of another account is refused, and allowed for its owner", () => {
    assert.equal(chosenLinks(linkDirectoryWith({ senders }), { sender: "+1444" }), "sender_not_allowed");
    assert.equal(chosenLinks(linkDirectoryWith({ senders }), { sender: "+1444", accountId: OTHER }), "a");
  });

  test("of another environment of the same account is refused", () => {
    const mine = [senderAt("+1555", "a", { environment: "test" })];
    assert.equal(chosenLinks(linkDirectoryWith({ senders: mine }), { sender: "+1555" }), "sender_not_allowed");
  });

  test("without an owner may use any link", () => assert.equal(chosenLinks(linkDirectoryWith({ senders }), { sender: "ACME" }), "a b c"));

  describe("that a request names", () => {
    const named = { sender: "ACME", isNamed: true };

    test("and no link has is refused by links that have senders", () => {
      const linkDirectory = linkDirectoryWith({ senders: [...senders, senderAt("+1777", "c")] });
      assert.equal(chosenLinks(linkDirectory, named), "sender_not_allowed");
      assert.equal(
        explainSender(linkDirectory.current, query(named)),
        "ACME is not a sender of this environment. The senders of this environment are +1333, BEE, +1222, +1777. Add it with POST /v1/senders or [[sender]], or permit any with any_sender on the link.",
      );
    });

    test("may use a link without senders, and one that permits any", () => {
      assert.equal(chosenLinks(linkDirectoryWith({ senders: [senderAt("+1777", "a")] }), named), "c");
      assert.equal(chosenLinks(linkDirectoryWith({ links: [link("a", { sender: "BEE", anySender: true })] }), named), "a");
      assert.equal(chosenLinks(linkDirectoryWith({ links: [link("a", { sender: "BEE" })] }), named), "sender_not_allowed");
    });
  });

  test("by default is the account's first on the link, or the link's own, or none", () => {
    const linkDirectory = linkDirectoryWith({
      senders: [...senders, senderAt("+1777", "b"), senderAt("+1888", "b", { account: "other" })],
    });
    const on = (at: Link, fields: Partial<RouteQuery> = {}) => Object.values(senderOn(linkDirectory, at, query(fields)));
    assert.deepEqual(on(B), ["+1222", "first_sender"]);
    assert.deepEqual(on(B, { accountId: OTHER }), ["+1888", "only_sender"]);
    assert.deepEqual(on(B, { environment: "test" }), ["BEE", "link_default"]);
    assert.deepEqual(on(C, { accountId: OTHER }), [null, null]);
  });

  test("that is a link's own uses only the links that have it", () => {
    assert.equal(chosenLinks(linkDirectoryWith({}), { sender: "BEE" }), "b");
    const linkDirectory = linkDirectoryWith({ senders: [senderAt("BEE", "c")] });
    assert.equal(chosenLinks(linkDirectory, { sender: "BEE" }), "b c");
    assert.equal(
      chosenLinks(linkDirectoryWith({ routes: [sms({ links: ["a", "c"] })] }), { sender: "BEE" }),
      "a c",
      "none of the route has it",
    );
  });

  test("with countries is refused for others, and uses the link that it is registered on for the country", () => {
    const linkDirectory = linkDirectoryWith({
      senders: [senderAt("+1333", "a", { countries: ["DE"] }), senderAt("+1333", "c", { countries: ["US"] })],
    });
    assert.equal(chosenLinks(linkDirectory, { sender: "+1333" }), "c");
    assert.equal(chosenLinks(linkDirectory, { sender: "+1333", recipient: DE }), "a");
    assert.equal(chosenLinks(linkDirectory, { sender: "+1333", recipient: recipientOf("+33612345678") }), "sender_not_allowed");
  });

  test("of a pool is given in proportion to the rates", () => {
    const linkDirectory = linkDirectoryWith({
      senders: [senderAt("+1", "a", { pool: "p", rate: 0.3 }), senderAt("+2", "a", { pool: "p", rate: 0.1 })],
    });
    const counts = new Map<string | null, number>();
    for (let index = 0; index < 400; index += 1) {
      const { sender } = senderOn(linkDirectory, A, query());
      linkDirectory.assigned("a", sender ?? "");
      counts.set(sender, (counts.get(sender) ?? 0) + 1);
    }
    assert.ok(Math.abs((counts.get("+1") ?? 0) - 300) <= 3, JSON.stringify([...counts]));
  });

  test("has its owner on its link, and none on other links", () => {
    const linkDirectory = linkDirectoryWith({ senders });
    assert.deepEqual(ownerOfNumber(linkDirectory.current, { name: "b", accountId: null }, "+1222"), {
      accountId: HOUSE,
      environment: "live",
    });
    assert.deepEqual(ownerOfNumber(linkDirectory.current, { name: "a", accountId: null }, "+1444"), {
      accountId: OTHER,
      environment: "live",
    });
    assert.equal(ownerOfNumber(linkDirectory.current, { name: "a", accountId: null }, "+1222"), undefined);
    assert.equal(ownerOfNumber(linkDirectory.current, { name: "b", accountId: null }, "+1999"), undefined);
  });

  test("of an unknown account has no owner", () => {
    const linkDirectory = linkDirectoryWith({ senders: [senderAt("+1666", "a", { account: "ghost" })] });
    assert.equal(ownerOfNumber(linkDirectory.current, { name: "a", accountId: null }, "+1666"), undefined);
    assert.equal(chosenLinks(linkDirectory, { sender: "+1666" }), "a b c");
  });
});

test("a new plan applies from the next message on, and the simulator stays", () => {
  const linkDirectory = linkDirectoryWith({ senders: [senderAt("+1222", "b")], allowedCountries: { live: ["US"] } });
  linkDirectory.replaceFile({ ...EMPTY_PLAN, links: [C], routes: [sms({ links: ["c"] })] }, ACCOUNTS);
  assert.equal(chosenLinks(linkDirectory), "c");
  assert.equal(chosenLinks(linkDirectory, { recipient: DE }), "c");
  assert.equal(chosenLinks(linkDirectory, { environment: "test" }), "simulator");
  assert.equal(ownerOfNumber(linkDirectory.current, { name: "b", accountId: null }, "+1222"), undefined);
  assert.deepEqual(linkDirectory.current.links, [SIMULATOR, C]);
  assert.deepEqual(
    [linkDirectory.current.find("c"), linkDirectory.current.find("a"), linkDirectory.current.find("simulator")],
    [C, undefined, SIMULATOR],
  );
});

describe("whether a link can be used at all", () => {
  const wa = (fields: Partial<RouteRow> & { links: string[] }): RouteRow => ({ channel: "whatsapp", ...fields });
  const links = ["wa", "wb", "wc"].map((name) => link(name, { provider: "whatsapp", channels: ["whatsapp"] }));
  const all = (rows: RouteRow[]): LinkDirectory => linkDirectoryWith({ links: [A, ...links], routes: rows });
  const taken = (linkDirectory: LinkDirectory, accountId = HOUSE): string =>
    linkDirectory.current.links
      .map(({ name }) => name)
      .filter((name) => mayTake(linkDirectory.current, name, { accountId, environment: "live", channel: "whatsapp" }))
      .join(" ");

  const CASES: readonly (readonly [what: string, rows: RouteRow[], house: string, other: string])[] = [
    ["without routes, all of the channel", [], "wa wb wc", "wa wb wc"],
    ["by routes of the channel only", [sms({ links: ["a"] })], "", ""],
    ["failover counts", [wa({ links: ["wb", "wc"] })], "wb wc", "wb wc"],
    ["of an account", [wa({ links: ["wa"], account: "house" })], "wa", ""],
    ["one of an account hides the one of all", [wa({ links: ["wa"] }), wa({ links: ["wb"], account: "house" })], "wb", "wa"],
    ["by its country it does not", [wa({ links: ["wa"] }), wa({ links: ["wb"], account: "house", countries: ["DE"] })], "wa wb", "wa"],
    ["of a lower priority", [wa({ links: ["wa"], priority: 1 }), wa({ links: ["wb"], prefixes: ["+49"] })], "wa", "wa"],
    ["of an environment", [wa({ links: ["wa"], environment: "live" })], "wa", "wa"],
  ];
  for (const [what, rows, house, other] of CASES)
    test(what, () => assert.deepEqual([taken(all(rows)), taken(all(rows), OTHER)], [house, other]));

  test("every chosen link can be used", () => {
    const rows = CASES.flatMap(([, each]) => each);
    for (let at = 0; at < rows.length; at += 1)
      for (let to = at; to <= rows.length; to += 1)
        for (const accountId of [HOUSE, OTHER])
          for (const recipient of [US, DE]) {
            const linkDirectory = all(rows.slice(at, to));
            const who = { accountId, environment: "live", channel: "whatsapp" } as const;
            const choice = chooseLinks(linkDirectory.current, { ...who, recipient, sender: null });
            if (choice.kind === "chosen")
              for (const { name } of choice.links) assert.ok(mayTake(linkDirectory.current, name, who), `${name} of ${at} to ${to}`);
          }
  });

  test("test uses only the simulator, and live does not use it by default", () => {
    const who = { accountId: HOUSE, channel: "whatsapp" } as const;
    const linkDirectory = all([]);
    assert.ok(mayTake(linkDirectory.current, "simulator", { ...who, environment: "test" }));
    assert.ok(!mayTake(linkDirectory.current, "wa", { ...who, environment: "test" }));
    assert.ok(!mayTake(linkDirectory.current, "simulator", { ...who, environment: "live" }));
    assert.ok(!mayTake(linkDirectory.current, "nobody", { ...who, environment: "live" }));
  });

  test("the only account of a link is the one that its routes allow, of all that exist", () => {
    const only = (linkDirectory: LinkDirectory, name: string, accounts = [HOUSE, OTHER]) =>
      onlyOwnerOn(linkDirectory.current, name, "whatsapp", accounts)?.accountId;
    assert.equal(only(all([]), "wa"), undefined, "two accounts may send");
    assert.equal(only(all([]), "wa", [OTHER]), OTHER);
    assert.equal(only(all([wa({ links: ["wa"], account: "house" })]), "wa"), HOUSE);
    assert.equal(only(all([wa({ links: ["wb"] })]), "wa", [HOUSE]), undefined, "the routes do not use the link");
  });

  test("the inbound account of a link and its own sender are found", () => {
    const linkDirectory = linkDirectoryWith({ links: [link("x", { sender: "+15550009", inboundAccount: "other" }), A] });
    assert.deepEqual(inboundOwner(linkDirectory.current, link("x", { inboundAccount: "other" })), {
      accountId: OTHER,
      environment: "live",
    });
    assert.equal(inboundOwner(linkDirectory.current, A), undefined);
    assert.deepEqual(
      ["x", "a", "nowhere"].map((name) => hasNumber(linkDirectory.current, name, "+15550009")),
      [true, false, false],
    );
  });

  test("the owners of numbers on a link are found", () => {
    const linkDirectory = linkDirectoryWith({ senders: [senderAt("+15550001", "wa"), senderAt("+15550002", "a", { account: "other" })] });
    assert.deepEqual(
      ownersOn(linkDirectory.current, "wa").map(({ accountId, environment }) => [accountId, environment]),
      [[HOUSE, "live"]],
    );
    assert.deepEqual(ownersOn(linkDirectory.current, "nowhere"), []);
  });
});

describe("a message that waits", () => {
  const created = link("lnk_1", { accountId: HOUSE });
  const UNUSABLE = new Map([["lnk_1", unusable("its password is missing")]]);
  const withPaused = (fields: Partial<CreatedRecords>): LinkDirectory => {
    const linkDirectory = linkDirectoryWith({});
    linkDirectory.replaceCreated({ ...NOTHING_CREATED, pauses: new Map([["lnk_1", pauseByRequest(SYSTEM_ORIGIN)]]), ...fields });
    return linkDirectory;
  };
  const namesOf = (choice: ReturnType<typeof chooseLinks>): readonly string[] =>
    choice.kind === "chosen" ? choice.links.map(({ name }) => name) : [choice.kind];

  for (const [what, fields] of [
    ["is paused", { links: [created] }],
    ["cannot be opened on this node", { links: [created], pauses: UNUSABLE }],
    [
      "a route names, and that cannot be opened",
      {
        links: [created],
        pauses: UNUSABLE,
        routes: [{ ...sms({ links: ["lnk_1"] }), id: "rte_1", source: "api", accountId: HOUSE }],
      },
    ],
  ] as const)
    test(`keeps a link of its account that ${what}, and a new message does not take it`, () => {
      const linkDirectory = withPaused(fields);
      assert.deepEqual(namesOf(chooseLinks(linkDirectory.current, query())), ["no_route"]);
      assert.deepEqual(namesOf(chooseToWait(linkDirectory.current, query())), ["lnk_1"]);
    });

  test("has a link that cannot be opened in its directory, which no node opens", () => {
    const { current } = withPaused({ links: [created], pauses: UNUSABLE });
    assert.deepEqual([current.find("lnk_1"), current.findListed("lnk_1"), current.links.includes(created)], [undefined, created, false]);
    assert.deepEqual(withPaused({ links: [created] }).current.find("lnk_1"), created, "a paused link is open");
  });

  test("takes a link that is not paused where there is one", () => {
    const linkDirectory = withPaused({ links: [created, link("lnk_2", { accountId: HOUSE })] });
    assert.deepEqual(namesOf(chooseToWait(linkDirectory.current, query())), ["lnk_2"]);
  });
});

describe("a route with a strategy", () => {
  const rates: Record<string, number> = { a: 0.5, b: 0.99, c: 0.8 };
  const scores = {
    of: (name: string) => ({ rate: rates[name] ?? 0.9, results: 40 }),
  } as unknown as LinkDirectory["current"]["scores"];
  const directoryOf = (fields: Partial<RouteRow> = {}, created: Partial<CreatedRecords> = {}) => {
    const plan = planOf({ routes: [sms({ links: ["a", "b", "c"], strategy: "quality", ...fields })] });
    const linkDirectory = new LinkDirectory(SIMULATOR, plan, ACCOUNTS, () => scores);
    linkDirectory.replaceCreated({ ...NOTHING_CREATED, ...created });
    return linkDirectory.current;
  };
  /** The choices of many messages: one of twenty measures another link. */
  const choicesOf = (directory: ReturnType<typeof directoryOf>, fields: Partial<RouteQuery> = {}): Set<string> =>
    new Set(
      Array.from({ length: 1_000 }, () => {
        const choice = chooseLinks(directory, query(fields));
        return choice.kind === "chosen" ? `${choice.reason} ${choice.links.map(({ name }) => name).join("")}` : choice.kind;
      }),
    );

  test("orders its links by their scores, and measures each of the others", () =>
    assert.deepEqual(choicesOf(directoryOf()), new Set(["quality bca", "measuring cba", "measuring abc"])));

  test("does not choose or measure a link that is paused", () => {
    const pauses = new Map([["b", pauseByRequest(SYSTEM_ORIGIN)]]);
    assert.deepEqual(choicesOf(directoryOf({}, { pauses })), new Set(["quality ca", "measuring ac"]));
  });

  test("takes the link that has the sender of the message", () =>
    assert.deepEqual(choicesOf(directoryOf(), { sender: "BEE" }), new Set(["sender b"])));

  test("names the numbers of each link", () => {
    const choice = chooseLinks(directoryOf(), query());
    const weighed = (choice.kind === "chosen" && choice.weighed) || [];
    assert.deepEqual(Object.fromEntries(weighed.map(({ link: { name }, rate }) => [name, rate])), rates);
  });

  test("is the only one whose links are measured", () => {
    assert.deepEqual(directoryOf().measuredLinks, ["a", "b", "c"]);
    assert.deepEqual(linkDirectoryWith({ routes: [sms({ links: ["a", "b"] })] }).current.measuredLinks, []);
  });
});
