/** Chooses the links and the sender of a message, by its environment, account, channel, and the country or prefix of its recipient. */
import { idKey, type AccountId } from "../model/id.ts";
import { countryOf, type Recipient } from "../model/phone-number.ts";
import type { Owner } from "../model/owner.ts";
import type { Channel } from "./channel.ts";
import { candidatesFor, mayNameFor, pickSender, type Candidates, type OwnedSender, type SenderChoice } from "./choose-sender.ts";
import { isSameAccount, SIMULATOR_LINK, type Link } from "./link.ts";
import { HOLD, type Pause } from "./pauses.ts";
import { EMPTY_PLAN, type Plan, type RouteRow } from "./plan.ts";
import {
  bestRoute,
  highestRank,
  linksWith,
  NOTHING_CREATED,
  orderedNames,
  ownKey,
  toRouting,
  type Accounts,
  type CreatedPlan,
  type OwnPlan,
  type Routing,
} from "./routing.ts";

/** The properties of a message by which a route is found. */
export type RouteQuery = Owner & { channel: Channel; recipient: Recipient; sender: string | null };

/** Why a message has its link. `sender`: the other links of the route do not have the sender that the request names. `reply`: the message
 *  replies to one that came by the link. */
export const LINK_REASONS = [
  "simulator",
  "only_link",
  "file_order",
  "creation_order",
  "route",
  "weights",
  "sender",
  "reply",
  "failover",
] as const;
export type LinkReason = (typeof LINK_REASONS)[number];

/** The links for a message. Delivery starts with the first one; the others are for failover, in their order. */
export type LinkChoice = { kind: "chosen"; links: readonly [Link, ...Link[]]; reason: LinkReason };
export type NoRoute = { kind: "no_route" | "destination_not_permitted" | "sender_not_allowed" };

/** The links of a route in the order of delivery, and why the first one is first. */
type OrderedLinks = { links: readonly Link[]; reason: LinkReason };

/** The properties of a message by which its sender is chosen. */
type SenderQuery = Pick<RouteQuery, "accountId" | "environment" | "recipient">;

export class LinkChooser {
  readonly #simulator: Link;
  #routing: Routing;
  /** When each sender with a rate has had its turns for the messages that this node has given it. */
  readonly #busyUntil = new Map<string, number>();

  readonly #followers: (() => void)[] = [];

  constructor(simulator: Link, plan: Plan = EMPTY_PLAN, accounts: Accounts = new Map()) {
    this.#simulator = simulator;
    this.#routing = toRouting(simulator, plan, accounts, NOTHING_CREATED);
  }

  /** Replaces the plan of the file for messages that come later. A message that already has a link keeps it. */
  replace(plan: Plan, accounts: Accounts): void {
    this.#routing = toRouting(this.#simulator, plan, accounts, this.#routing.created);
  }

  /** Replaces what accounts have created. */
  replaceCreated(created: CreatedPlan): void {
    const { plan, accounts } = this.#routing;
    this.#routing = toRouting(this.#simulator, plan, accounts, created);
    for (const each of this.#followers) each();
  }

  /** Calls the follower after each change of what accounts have created. */
  follow(follower: () => void): void {
    this.#followers.push(follower);
  }

  /** The links that the messages of an owner may take, or that its operator has: not those of other accounts. */
  linksFor({ accountId, environment }: Owner): readonly Link[] {
    if (environment === "test") return [this.#simulator];
    const { plan, createdBy } = this.#routing;
    const isNamed = plan.routes.some(({ links }) => links.includes(SIMULATOR_LINK));
    return [...(isNamed ? [this.#simulator] : []), ...plan.links, ...(createdBy.get(idKey(accountId))?.links ?? [])];
  }

  /** Why a link is paused; undefined where it is not. */
  pauseOf(name: string): Pause | undefined {
    return this.#routing.created.pauses.get(name);
  }

  /** Why no link sends; undefined where they may. Messages are accepted for their links meanwhile. */
  get hold(): Pause | undefined {
    return this.pauseOf(HOLD);
  }

  /** The senders that the configuration file gives to an owner. */
  fileSenders({ accountId, environment }: Owner): readonly OwnedSender[] {
    return this.#routing.senders.filter((each) => each.accountId.equals(accountId) && each.environment === environment);
  }

  /** The routes of the configuration file that concern an account, with their positions in the file, from one. */
  fileRoutes({ accountId }: Pick<Owner, "accountId">): readonly { row: RouteRow; position: number }[] {
    const { plan, accounts } = this.#routing;
    return plan.routes
      .map((row, index) => ({ row, position: index + 1 }))
      .filter(({ row: { environment = "live" } }) => environment === "live")
      .filter(({ row: { account } }) => account === undefined || accounts.get(account)?.equals(accountId) === true);
  }

  /** All links, the simulator first. */
  get links(): readonly Link[] {
    return [...this.#routing.links.values()];
  }

  find(name: string): Link | undefined {
    return this.#routing.links.get(name);
  }

  /** The other links of the same owner with the same account at the carrier. */
  siblings(name: string): readonly string[] {
    const found = this.find(name);
    if (found?.carrierAccount === undefined) return [];
    const { carrierAccount, accountId } = found;
    const isSibling = (link: Link): boolean => link.carrierAccount === carrierAccount && isSameAccount(link.accountId, accountId);
    return this.links.filter((link) => isSibling(link) && link.name !== name).map((link) => link.name);
  }

  /** Chooses for a message that was accepted before, and that waits where all its links are paused. */
  chooseToWait(query: RouteQuery): LinkChoice | NoRoute {
    const choice = this.choose(query);
    return choice.kind === "no_route" ? this.choose(query, () => true) : choice;
  }

  choose(query: RouteQuery, isFit = (link: Link): boolean => this.pauseOf(link.name) === undefined): LinkChoice | NoRoute {
    const allowed = this.#routing.plan.allowedCountries[query.environment];
    if (allowed !== undefined && !allowed.includes(countryOf(query.recipient) ?? "")) return { kind: "destination_not_permitted" };
    if (query.environment === "test") return { kind: "chosen", links: [this.#simulator], reason: "simulator" };
    const registered = this.#registered(query);
    if (registered === undefined) return { kind: "sender_not_allowed" };
    const route = this.#linksFor(query);
    const working = route.links.filter(isFit);
    const [first, ...others] = linksWith(working, query.sender, registered);
    if (first === undefined) return { kind: "no_route" };
    return { kind: "chosen", links: [first, ...others], reason: first === working[0] ? route.reason : "sender" };
  }

  /** The registrations of a named sender that an owner may use for a recipient; none where it is not registered. Undefined where it is
   *  registered only for others: the account and environment that own a number may send from it, and only to its countries. */
  #registered({ sender, accountId, environment, recipient }: RouteQuery): readonly OwnedSender[] | undefined {
    if (sender === null) return [];
    const { fileNumbers, createdNumbers } = this.#routing;
    const own = (createdNumbers.get(sender) ?? []).filter((each) => each.accountId.equals(accountId));
    // Only the operator can say whose a number is: a number that an account claims stays usable for others on their own links, and a number
    // of the file cannot be claimed by others.
    const ofFile = fileNumbers.get(sender) ?? [];
    const isOthers = ofFile.length > 0 && !ofFile.some((each) => each.accountId.equals(accountId));
    const all = [...ofFile, ...(isOthers ? [] : own)];
    const usable = all.filter(
      (each) => each.accountId.equals(accountId) && each.environment === environment && mayNameFor(each, recipient),
    );
    return all.length > 0 && usable.length === 0 ? undefined : usable;
  }

  /** Whether a link has a named sender: as a registered one of its owner, or as its own. */
  hasSender(link: Link, query: RouteQuery): boolean {
    return link.sender === query.sender || this.#registered(query)?.some((each) => each.link === link.name) === true;
  }

  /** The senders among which a message without a named sender has a choice on a link. Undefined where it has the sender of the link. */
  candidatesOn(link: Link, { accountId, environment, recipient }: SenderQuery): Candidates | undefined {
    const { own } = this.#routing;
    const senders = own.size === 0 ? undefined : own.get(ownKey(link.name, environment, accountId));
    return senders && candidatesFor(senders, recipient);
  }

  /** Chooses the sender on a link for a message that names none. */
  senderOn(link: Link, query: SenderQuery): SenderChoice {
    return this.pickFrom(this.candidatesOn(link, query), link, { recipient: query.recipient, last: null });
  }

  /** Chooses among the candidates on a link. `last` is the sender that the recipient knows, where it is known. */
  pickFrom(candidates: Candidates | undefined, link: Link, whom: { recipient: Recipient; last: string | null }): SenderChoice {
    if (candidates !== undefined) return pickSender(candidates, whom, (sender) => this.#waitOf(sender));
    return { sender: link.sender, senderReason: link.sender === null ? null : "link_default" };
  }

  /** Whether a message without a named sender could have this one on a link. */
  mayChoose(link: Link, sender: string | null, query: SenderQuery): boolean {
    if (link.accountId !== null && !link.accountId.equals(query.accountId)) return false;
    const candidates = this.candidatesOn(link, query);
    return candidates === undefined ? link.sender === sender : candidates.pool.some(({ number }) => number === sender);
  }

  /** The messages a second that a sender may send on a link. Undefined without a limit of its own. */
  rateOf(link: string, sender: string): number | undefined {
    return this.#routing.rates.get(link)?.get(sender);
  }

  /** Takes note of a message of this node, so that the senders of a pool get messages in proportion to their rates. */
  assigned(link: string, sender: string): void {
    const rate = this.rateOf(link, sender);
    if (rate === undefined) return;
    const key = `${link} ${sender}`;
    this.#busyUntil.set(key, Math.max(performance.now(), this.#busyUntil.get(key) ?? 0) + 1_000 / rate);
  }

  #waitOf({ link, number }: OwnedSender): number {
    return Math.max(0, (this.#busyUntil.get(`${link} ${number}`) ?? 0) - performance.now());
  }

  /** The owner of a number on a link. An inbound message to the number belongs to this owner, and every message on the link of an account
   *  belongs to that account. */
  ownerOf({ name: link, accountId }: Pick<Link, "name" | "accountId">, number: string): Owner | undefined {
    if (accountId !== null) return { accountId, environment: "live" };
    const sender = this.#routing.senders.find((each) => each.link === link && each.number === number);
    return sender && { accountId: sender.accountId, environment: sender.environment };
  }

  /** The number, and the other numbers of its pools: a person who gets messages from one of them may get the next one from another. */
  readonly poolOf = ({ accountId, environment }: Owner, number: string): readonly string[] =>
    this.#routing.pools.get(ownKey(number, environment, accountId)) ?? [number];

  /** Whether a number is a sender of a link: one that an account has there, or the link's own. */
  hasNumber(link: string, number: string): boolean {
    const { fileNumbers, createdNumbers } = this.#routing;
    const named = [...(fileNumbers.get(number) ?? []), ...(createdNumbers.get(number) ?? [])];
    return this.find(link)?.sender === number || named.some((each) => each.link === link);
  }

  /** The owner of a link's inbound messages that have no other owner. */
  inboundOwner({ inboundAccount }: Link): Owner | undefined {
    const accountId = inboundAccount === null ? undefined : this.#routing.accounts.get(inboundAccount);
    return accountId && { accountId, environment: "live" };
  }

  /** The account whose live messages can be routed to a link, where it is the only one of these accounts. */
  onlyOwnerOn(link: string, channel: Channel, accounts: readonly AccountId[]): Owner | undefined {
    const owners = accounts.map((accountId) => ({ accountId, environment: "live" }) as const);
    const [only, ...others] = owners.filter((owner) => this.mayTake(link, { ...owner, channel }));
    return others.length === 0 ? only : undefined;
  }

  /** The owners of all numbers on a link. */
  ownersOn(link: string): Owner[] {
    const accountId = this.find(link)?.accountId ?? null;
    return accountId === null ? this.#routing.senders.filter((sender) => sender.link === link) : [{ accountId, environment: "live" }];
  }

  /** Whether a message of an owner can be routed to a link, for at least one recipient. */
  mayTake(link: string, query: Pick<RouteQuery, "accountId" | "environment" | "channel">): boolean {
    if (query.environment === "test") return link === this.#simulator.name;
    const { links, plan, createdBy } = this.#routing;
    const own = createdBy.get(idKey(query.accountId));
    const owner = links.get(link)?.accountId ?? null;
    if (owner !== null) return own !== undefined && owner.equals(query.accountId) && hasChannel(own, link, query.channel);
    // The links of the account hide those of the operator.
    if (own?.links.some(({ channels }) => channels.includes(query.channel)) === true) return false;
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

  /** The links of the account itself where it has any for the channel, otherwise those of the operator. */
  #linksFor(query: RouteQuery): OrderedLinks {
    const own = this.#routing.createdBy.get(idKey(query.accountId));
    return (own && this.#ownLinks(own, query)) ?? this.#operatorsLinks(query);
  }

  #ownLinks({ links, routes }: OwnPlan, query: RouteQuery): OrderedLinks | undefined {
    const carrying = links.filter(({ channels }) => channels.includes(query.channel));
    if (carrying.length === 0) return undefined;
    const rows = routes.filter(({ channel }) => channel === query.channel);
    // An account with links of its own never falls back to those of the operator.
    if (rows.length > 0) return this.#linksOf(bestRoute(rows, query.recipient)) ?? { links: [], reason: "route" };
    return { links: carrying, reason: carrying.length === 1 ? "only_link" : "creation_order" };
  }

  #operatorsLinks(query: RouteQuery): OrderedLinks {
    const { plan } = this.#routing;
    const best = bestRoute(
      plan.routes.filter((row) => this.#isFor(row, query)),
      query.recipient,
    );
    const routed = this.#linksOf(best);
    if (routed !== undefined) return routed;
    // A plan without routes uses every link of the channel, in the order of the file.
    const all = plan.routes.length > 0 ? [] : plan.links.filter(({ channels }) => channels.includes(query.channel));
    return { links: all, reason: all.length === 1 ? "only_link" : "file_order" };
  }

  #linksOf(row: RouteRow | undefined): OrderedLinks | undefined {
    if (row === undefined) return undefined;
    const { closed } = this.#routing;
    const links = orderedNames(row).flatMap((name) => this.find(name) ?? closed.get(name) ?? []);
    return { links, reason: row.weights === undefined ? "route" : "weights" };
  }
}

/** Whether a link of an account takes messages of a channel. Routes for it, where the account has any, must name the link. */
function hasChannel({ links, routes }: OwnPlan, name: string, channel: Channel): boolean {
  const rows = routes.filter((row) => row.channel === channel);
  const isCarrying = links.some((link) => link.name === name && link.channels.includes(channel));
  return isCarrying && (rows.length === 0 || rows.some((row) => row.links.includes(name)));
}
