/** Which link a message takes, and from whom: by environment, channel, country or prefix. */
import { randomInt } from "node:crypto";
import type { AccountId } from "../lib/id.ts";
import { countryOf, type Recipient } from "../lib/phone-number.ts";
import type { Channel } from "./channel.ts";
import type { Link } from "./link.ts";
import { EMPTY_PLAN, type Plan, type RouteRow, type Sender } from "./plan.ts";
import type { Owner } from "../storage/owner.ts";

/** What a route is found by. */
export type RouteQuery = Owner & { channel: Channel; recipient: Recipient; sender: string | null };

/** The links to try, the first one first, and who the message comes from on a link. */
export type LinkChoice = { kind: "chosen"; links: readonly [Link, ...Link[]] };
export type NoRoute = { kind: "no_route" | "destination_not_permitted" | "sender_not_allowed" };

type Ours = Sender & { accountId: AccountId };

/** Whose the accounts of a plan are, by their names. */
export type Accounts = ReadonlyMap<string, AccountId>;

type Known = { links: ReadonlyMap<string, Link>; plan: Plan; accounts: Accounts; senders: readonly Ours[] };

export class LinkChooser {
  readonly #simulator: Link;
  #known: Known;

  constructor(simulator: Link, plan: Plan = EMPTY_PLAN, accounts: Accounts = new Map()) {
    this.#simulator = simulator;
    this.#known = toKnown(simulator, plan, accounts);
  }

  /** From now on: what is under way stays where it is. */
  replace(plan: Plan, accounts: Accounts): void {
    this.#known = toKnown(this.#simulator, plan, accounts);
  }

  /** Every link there is, the simulator first. */
  get links(): readonly Link[] {
    return [...this.#known.links.values()];
  }

  find(name: string): Link | undefined {
    return this.#known.links.get(name);
  }

  choose(query: RouteQuery): LinkChoice | NoRoute {
    const allowed = this.#known.plan.allowedCountries[query.environment];
    if (allowed !== undefined && !allowed.includes(countryOf(query.recipient) ?? "")) return { kind: "destination_not_permitted" };
    if (query.environment === "test") return { kind: "chosen", links: [this.#simulator] };
    const senders = this.#known.senders.filter(({ number }) => number === query.sender);
    const isMine = ({ accountId, environment }: Ours): boolean => accountId.equals(query.accountId) && environment === query.environment;
    // A number that is someone's is nobody else's to send from.
    if (senders.length > 0 && !senders.some(isMine)) return { kind: "sender_not_allowed" };
    const [first, ...others] = preferring(this.#linksFor(query), new Set(senders.filter(isMine).map(({ link }) => link)));
    return first === undefined ? { kind: "no_route" } : { kind: "chosen", links: [first, ...others] };
  }

  /** Who a message comes from on a link when it does not say: the link's own, or the first number of the account there. */
  senderOn(link: Link, { accountId, environment }: Pick<RouteQuery, "accountId" | "environment">): string | null {
    const own = this.#known.senders.find(
      (sender) => sender.link === link.name && sender.environment === environment && sender.accountId.equals(accountId),
    );
    return own?.number ?? link.sender;
  }

  /** Whose a number is on a link: an inbound message to it is theirs. */
  ownerOf(link: string, number: string): Owner | undefined {
    const sender = this.#known.senders.find((each) => each.link === link && each.number === number);
    return sender && { accountId: sender.accountId, environment: sender.environment };
  }

  /** Everybody who has a number on a link. */
  ownersOn(link: string): Owner[] {
    return this.#known.senders.filter((sender) => sender.link === link);
  }

  /** Whether a message of theirs may come to a link, whatever its recipient. */
  mayTake(link: string, who: Pick<RouteQuery, "accountId" | "environment" | "channel">): boolean {
    if (who.environment === "test") return link === this.#simulator.name;
    const { links, plan } = this.#known;
    if (plan.routes.length === 0) return links.get(link)?.channels.includes(who.channel) === true && link !== this.#simulator.name;
    const rows = plan.routes.filter((row) => this.#isFor(row, who)).toSorted((a, b) => highestRank(b) - highestRank(a));
    // The first that takes every number leaves nothing to those behind it.
    const last = rows.findIndex(({ countries, prefixes }) => countries === undefined && prefixes === undefined);
    return rows.slice(0, last === -1 ? rows.length : last + 1).some((row) => row.links.includes(link));
  }

  #isFor(row: RouteRow, { accountId, environment, channel }: Pick<RouteQuery, "accountId" | "environment" | "channel">): boolean {
    return (
      row.channel === channel &&
      (row.environment ?? environment) === environment &&
      (row.account === undefined || this.#known.accounts.get(row.account)?.equals(accountId) === true)
    );
  }

  #linksFor(query: RouteQuery): Link[] {
    const { links, plan } = this.#known;
    const fits = (row: RouteRow): boolean =>
      this.#isFor(row, query) &&
      (row.countries === undefined || row.countries.includes(countryOf(query.recipient) ?? "")) &&
      (row.prefixes === undefined || row.prefixes.some((prefix) => query.recipient.startsWith(prefix)));
    const found = plan.routes.filter(fits).toSorted((a, b) => rankOf(b, query) - rankOf(a, query))[0];
    if (found !== undefined) return inTurn(found).flatMap((name) => links.get(name) ?? []);
    // Who has written no route at all means every link, in the order of the file.
    return plan.routes.length > 0 ? [] : plan.links.filter(({ channels }) => channels.includes(query.channel));
  }
}

const toKnown = (simulator: Link, plan: Plan, accounts: Accounts): Known => ({
  links: new Map([simulator, ...plan.links].map((link) => [link.name, link])),
  plan,
  accounts,
  senders: plan.senders.flatMap((sender) => {
    const accountId = accounts.get(sender.account);
    return accountId === undefined ? [] : [{ ...sender, accountId }];
  }),
});

/** By priority; among equals the one that says most of the number. */
function rankOf(row: RouteRow, { recipient }: RouteQuery): number {
  return rankWith(row, row.prefixes?.filter((prefix) => recipient.startsWith(prefix)) ?? []);
}

/** For the number of which it says most. */
const highestRank = (row: RouteRow): number => rankWith(row, row.prefixes ?? []);

function rankWith({ priority = 0, countries, account }: RouteRow, prefixes: readonly string[]): number {
  const longest = Math.max(0, ...prefixes.map(({ length }) => length));
  return priority * 100 + longest * 2 + (countries === undefined ? 0 : 3) + (account === undefined ? 0 : 1);
}

/** The links of a route: the first by lot where there are weights, the others behind it in their order. */
function inTurn({ links, weights }: RouteRow): readonly string[] {
  if (weights === undefined) return links;
  let lot = randomInt(weights.reduce((sum, weight) => sum + weight, 0));
  const chosen = links.find((_, index) => (lot -= weights[index] ?? 0) < 0) ?? links[0];
  return [...links.filter((name) => name === chosen), ...links.filter((name) => name !== chosen)];
}

/** Those that a sender lives on first, and where it lives on any, those alone: no other carrier would take it. */
function preferring(links: readonly Link[], homes: ReadonlySet<string>): readonly Link[] {
  return homes.size === 0 ? links : links.filter(({ name }) => homes.has(name));
}
