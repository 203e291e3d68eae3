/** Chooses the links and the sender of a message, by its environment, account, channel, and the country or prefix of its recipient. */
import { randomInt } from "node:crypto";
import type { AccountId } from "../lib/id.ts";
import { countryOf, type Recipient } from "../lib/phone-number.ts";
import type { Owner } from "../storage/owner.ts";
import type { Channel } from "./channel.ts";
import type { Link } from "./link.ts";
import { EMPTY_PLAN, type Plan, type RouteRow, type Sender } from "./plan.ts";

/** The properties of a message by which a route is found. */
export type RouteQuery = Owner & { channel: Channel; recipient: Recipient; sender: string | null };

/** The links for a message. Delivery starts with the first one; the others are for failover, in their order. */
export type LinkChoice = { kind: "chosen"; links: readonly [Link, ...Link[]] };
export type NoRoute = { kind: "no_route" | "destination_not_permitted" | "sender_not_allowed" };

type OwnedSender = Sender & { accountId: AccountId };

/** The ids of accounts by their names, since a plan names accounts. */
export type Accounts = ReadonlyMap<string, AccountId>;

type Routing = { links: ReadonlyMap<string, Link>; plan: Plan; accounts: Accounts; senders: readonly OwnedSender[] };

export class LinkChooser {
  readonly #simulator: Link;
  #routing: Routing;

  constructor(simulator: Link, plan: Plan = EMPTY_PLAN, accounts: Accounts = new Map()) {
    this.#simulator = simulator;
    this.#routing = toRouting(simulator, plan, accounts);
  }

  /** Replaces the plan for messages that come later. A message that already has a link keeps it. */
  replace(plan: Plan, accounts: Accounts): void {
    this.#routing = toRouting(this.#simulator, plan, accounts);
  }

  /** All links, the simulator first. */
  get links(): readonly Link[] {
    return [...this.#routing.links.values()];
  }

  find(name: string): Link | undefined {
    return this.#routing.links.get(name);
  }

  choose(query: RouteQuery): LinkChoice | NoRoute {
    const allowed = this.#routing.plan.allowedCountries[query.environment];
    if (allowed !== undefined && !allowed.includes(countryOf(query.recipient) ?? "")) return { kind: "destination_not_permitted" };
    if (query.environment === "test") return { kind: "chosen", links: [this.#simulator] };
    const senders = this.#routing.senders.filter(({ number }) => number === query.sender);
    const isMine = ({ accountId, environment }: OwnedSender): boolean =>
      accountId.equals(query.accountId) && environment === query.environment;
    // Only the account and environment that own a number may send from it.
    if (senders.length > 0 && !senders.some(isMine)) return { kind: "sender_not_allowed" };
    const [first, ...others] = withSender(this.#linksFor(query), new Set(senders.filter(isMine).map(({ link }) => link)));
    return first === undefined ? { kind: "no_route" } : { kind: "chosen", links: [first, ...others] };
  }

  /** The default sender on a link: the first number of the account on the link, or else the sender of the link. */
  senderOn(link: Link, { accountId, environment }: Pick<RouteQuery, "accountId" | "environment">): string | null {
    const own = this.#routing.senders.find(
      (sender) => sender.link === link.name && sender.environment === environment && sender.accountId.equals(accountId),
    );
    return own?.number ?? link.sender;
  }

  /** The owner of a number on a link. An inbound message to the number belongs to this owner. */
  ownerOf(link: string, number: string): Owner | undefined {
    const sender = this.#routing.senders.find((each) => each.link === link && each.number === number);
    return sender && { accountId: sender.accountId, environment: sender.environment };
  }

  /** The owners of all numbers on a link. */
  ownersOn(link: string): Owner[] {
    return this.#routing.senders.filter((sender) => sender.link === link);
  }

  /** Whether a message of an owner can be routed to a link, for at least one recipient. */
  mayTake(link: string, query: Pick<RouteQuery, "accountId" | "environment" | "channel">): boolean {
    if (query.environment === "test") return link === this.#simulator.name;
    const { links, plan } = this.#routing;
    if (plan.routes.length === 0) return links.get(link)?.channels.includes(query.channel) === true && link !== this.#simulator.name;
    const rows = plan.routes.filter((row) => this.#isFor(row, query)).toSorted((a, b) => highestRank(b) - highestRank(a));
    // The first route for all numbers hides the routes after it.
    const last = rows.findIndex(({ countries, prefixes }) => countries === undefined && prefixes === undefined);
    return rows.slice(0, last === -1 ? rows.length : last + 1).some((row) => row.links.includes(link));
  }

  #isFor(row: RouteRow, { accountId, environment, channel }: Pick<RouteQuery, "accountId" | "environment" | "channel">): boolean {
    return (
      row.channel === channel &&
      (row.environment ?? environment) === environment &&
      (row.account === undefined || this.#routing.accounts.get(row.account)?.equals(accountId) === true)
    );
  }

  #linksFor(query: RouteQuery): Link[] {
    const { links, plan } = this.#routing;
    const fits = (row: RouteRow): boolean =>
      this.#isFor(row, query) &&
      (row.countries === undefined || row.countries.includes(countryOf(query.recipient) ?? "")) &&
      (row.prefixes === undefined || row.prefixes.some((prefix) => query.recipient.startsWith(prefix)));
    const best = plan.routes.filter(fits).toSorted((a, b) => rankFor(b, query) - rankFor(a, query))[0];
    if (best !== undefined) return orderedLinks(best).flatMap((name) => links.get(name) ?? []);
    // A plan without routes uses every link of the channel, in the order of the file.
    return plan.routes.length > 0 ? [] : plan.links.filter(({ channels }) => channels.includes(query.channel));
  }
}

const toRouting = (simulator: Link, plan: Plan, accounts: Accounts): Routing => ({
  links: new Map([simulator, ...plan.links].map((link) => [link.name, link])),
  plan,
  accounts,
  senders: plan.senders.flatMap((sender) => {
    const accountId = accounts.get(sender.account);
    return accountId === undefined ? [] : [{ ...sender, accountId }];
  }),
});

/** The rank of a route for a recipient: by priority, and among equals the route with the longest matching prefix. */
function rankFor(row: RouteRow, { recipient }: RouteQuery): number {
  return rankWith(row, row.prefixes?.filter((prefix) => recipient.startsWith(prefix)) ?? []);
}

/** The rank of a route for the number that its longest prefix matches. */
const highestRank = (row: RouteRow): number => rankWith(row, row.prefixes ?? []);

function rankWith({ priority = 0, countries, account }: RouteRow, prefixes: readonly string[]): number {
  const longest = Math.max(0, ...prefixes.map(({ length }) => length));
  return priority * 100 + longest * 2 + (countries === undefined ? 0 : 3) + (account === undefined ? 0 : 1);
}

/** The links of a route in the order of delivery. With weights, the first one is drawn at random; the others follow in their order. */
function orderedLinks({ links, weights }: RouteRow): readonly string[] {
  if (weights === undefined) return links;
  let draw = randomInt(weights.reduce((sum, weight) => sum + weight, 0));
  const chosen = links.find((_, index) => (draw -= weights[index] ?? 0) < 0) ?? links[0];
  return [...links.filter((name) => name === chosen), ...links.filter((name) => name !== chosen)];
}

/** Keeps the links on which the sender is registered, if there are any: other carriers would refuse the sender. */
function withSender(links: readonly Link[], registered: ReadonlySet<string>): readonly Link[] {
  return registered.size === 0 ? links : links.filter(({ name }) => registered.has(name));
}
