/** The links, senders and routes among which a message has a choice: those of the configuration file, and those that accounts have created. */
import { randomInt } from "node:crypto";
import { idKey, type AccountId } from "../model/id.ts";
import { countryOf, type Recipient } from "../model/phone-number.ts";
import type { OwnedSender } from "./choose-sender.ts";
import type { Link } from "./link.ts";
import type { Pauses } from "./pauses.ts";
import type { Plan, RouteRow } from "./plan.ts";

/** The ids of accounts by their names, since a plan names accounts. */
export type Accounts = ReadonlyMap<string, AccountId>;

/** The links, senders and routes that accounts have created, all for `live`, and the links that are paused. */
export type CreatedPlan = {
  /** In the order of their creation. Each has the account that it belongs to. */
  links: readonly Link[];
  /** Links that cannot be opened. They are among the pauses, so that the messages of their accounts do not take other links. */
  closed: readonly Link[];
  senders: readonly OwnedSender[];
  routes: readonly (RouteRow & { accountId: AccountId })[];
  pauses: Pauses;
};

export const NOTHING_CREATED: CreatedPlan = { links: [], closed: [], senders: [], routes: [], pauses: new Map() };

/** The links and routes of one account. */
export type OwnPlan = { links: readonly Link[]; routes: readonly RouteRow[] };

export type Routing = {
  links: ReadonlyMap<string, Link>;
  /** Created links that cannot be opened here. */
  closed: ReadonlyMap<string, Link>;
  plan: Plan;
  accounts: Accounts;
  /** The senders of the file. */
  senders: readonly OwnedSender[];
  /** The senders of the file, by number. */
  fileNumbers: ReadonlyMap<string, readonly OwnedSender[]>;
  created: CreatedPlan;
  /** The senders that accounts have created, by number. */
  createdNumbers: ReadonlyMap<string, readonly OwnedSender[]>;
  /** The links and routes that each account has created, by `idKey`. */
  createdBy: ReadonlyMap<string, OwnPlan>;
  /** The senders of an account and environment on a link, by `ownKey`. */
  own: ReadonlyMap<string, readonly OwnedSender[]>;
  /** The numbers in the pools of a number of an account and environment, itself among them, by `ownKey`. */
  pools: ReadonlyMap<string, readonly string[]>;
  /** Messages a second, by link and sender. */
  rates: ReadonlyMap<string, ReadonlyMap<string, number>>;
};

export function toRouting(simulator: Link, plan: Plan, accounts: Accounts, created: CreatedPlan): Routing {
  const senders = plan.senders.flatMap((sender) => {
    const accountId = accounts.get(sender.account);
    return accountId === undefined ? [] : [{ ...sender, accountId }];
  });
  const all = [...senders, ...created.senders];
  return {
    links: new Map([simulator, ...plan.links, ...created.links].map((link) => [link.name, link])),
    closed: new Map(created.closed.map((link) => [link.name, link])),
    plan,
    accounts,
    senders,
    fileNumbers: Map.groupBy(senders, ({ number }) => number),
    created,
    createdNumbers: Map.groupBy(created.senders, ({ number }) => number),
    createdBy: toOwnPlans(created),
    own: Map.groupBy(all, ({ link, environment, accountId }) => ownKey(link, environment, accountId)),
    pools: toPools(all),
    rates: toRates(all),
  };
}

const accountKey = ({ accountId }: { accountId: AccountId | null }): string => (accountId === null ? "" : idKey(accountId));

function toOwnPlans({ links, closed, routes }: CreatedPlan): Routing["createdBy"] {
  const routesOf = Map.groupBy(routes, accountKey);
  return new Map(
    Map.groupBy([...links, ...closed], accountKey)
      .entries()
      .map(([account, own]) => [account, { links: own, routes: routesOf.get(account) ?? [] }]),
  );
}

export const ownKey = (name: string, environment: string, accountId: AccountId): string => `${name} ${environment} ${idKey(accountId)}`;

function toPools(senders: readonly OwnedSender[]): Routing["pools"] {
  const keyOf = ({ number, environment, accountId }: OwnedSender): string => ownKey(number, environment, accountId);
  const pooled = senders.filter(({ pool }) => pool !== undefined);
  const members = Map.groupBy(pooled, ({ pool, environment, accountId }) => ownKey(pool ?? "", environment, accountId));
  const together = [...members.values()].flatMap((group) => group.map((each) => ({ key: keyOf(each), group })));
  return new Map(
    Map.groupBy(together, ({ key }) => key)
      .entries()
      .map(([key, pools]) => [key, [...new Set(pools.flatMap(({ group }) => group.map(({ number }) => number)))]]),
  );
}

const toRates = (senders: readonly OwnedSender[]): Routing["rates"] =>
  new Map(
    Map.groupBy(senders, ({ link }) => link)
      .entries()
      .map(([link, each]) => [link, new Map(each.flatMap(({ number, rate }) => (rate === undefined ? [] : [[number, rate]])))]),
  );

/** Whether a route is for the number of a recipient. */
const isForNumber = ({ countries, prefixes }: RouteRow, recipient: Recipient): boolean =>
  (countries === undefined || countries.includes(countryOf(recipient) ?? "")) &&
  (prefixes === undefined || prefixes.some((prefix) => recipient.startsWith(prefix)));

/** The best of these routes for a recipient. */
export const bestRoute = (rows: readonly RouteRow[], recipient: Recipient): RouteRow | undefined =>
  rows.filter((row) => isForNumber(row, recipient)).toSorted((a, b) => rankFor(b, recipient) - rankFor(a, recipient))[0];

/** The rank of a route for a recipient: by priority, and among equals the route with the longest matching prefix. */
function rankFor(row: RouteRow, recipient: Recipient): number {
  return rankWith(row, row.prefixes?.filter((prefix) => recipient.startsWith(prefix)) ?? []);
}

/** The rank of a route for the number that its longest prefix matches. */
export const highestRank = (row: RouteRow): number => rankWith(row, row.prefixes ?? []);

// A prefix has at most sixteen characters.
const PREFIX_LENGTHS = 32;

/** By priority, then by the longest prefix, then a route with countries, then one with an account. */
function rankWith({ priority = 0, countries, account }: RouteRow, prefixes: readonly string[]): number {
  const longest = Math.max(0, ...prefixes.map(({ length }) => length));
  return ((priority * PREFIX_LENGTHS + longest) * 2 + (countries === undefined ? 0 : 1)) * 2 + (account === undefined ? 0 : 1);
}

/** The links of a route in the order of delivery. With weights, the first one is drawn at random; the others follow in their order. */
export function orderedNames({ links, weights }: RouteRow): readonly string[] {
  if (weights === undefined) return links;
  let draw = randomInt(weights.reduce((sum, weight) => sum + weight, 0));
  const chosen = links.find((_, index) => (draw -= weights[index] ?? 0) < 0) ?? links[0];
  return [...links.filter((name) => name === chosen), ...links.filter((name) => name !== chosen)];
}

/** Keeps the links that have a named sender: as a registered one, or as their own. Other carriers would refuse or replace it. A sender that no
 *  link has may use any. */
export function linksWith(links: readonly Link[], sender: string | null, registered: readonly OwnedSender[]): readonly Link[] {
  if (sender === null) return links;
  const known = links.filter((link) => link.sender === sender || registered.some((each) => each.link === link.name));
  return known.length > 0 || registered.length > 0 ? known : links;
}
