/** Chooses the links of a message, by its environment, account, channel, and the country or prefix of its recipient. */
import { randomInt } from "node:crypto";
import { countryOf, type Recipient } from "../model/phone-number.ts";
import type { Owner } from "../model/owner.ts";
import { networkOf } from "../quality/network.ts";
import type { Channel } from "./channel.ts";
import { providerFault, type Need } from "./content-support.ts";
import { mayNameFor } from "./choose-sender.ts";
import type { Directory, OwnedRoute, OwnedSender } from "./directory.ts";
import type { Link } from "./link.ts";
import type { Pause } from "./pauses.ts";
import type { RouteRow } from "./plan.ts";
import { priceOf } from "./prices.ts";
import { weighLinks, type Strategy, type Weighed, type WeighedLink } from "./strategy.ts";

/** The properties of a message by which a route is found. `isNamed`: a request names the sender, and links that have senders must have it. */
export type RouteQuery = Owner & {
  channel: Channel;
  recipient: Recipient;
  sender: string | null;
  isNamed?: boolean;
  need?: Need | undefined;
};

/** Why a message has its link. `sender`: the other links of the route do not have the sender that the request names. `reply`: the message
 *  replies to one that came by the link. `measuring`: the route chooses by quality or price, and the message keeps the figures of another link
 *  current. */
export const LINK_REASONS = [
  "simulator",
  "only_link",
  "file_order",
  "creation_order",
  "route",
  "weights",
  "quality",
  "price",
  "measuring",
  "sender",
  "reply",
  "failover",
] as const;
export type LinkReason = (typeof LINK_REASONS)[number];

/** The links for a message. Delivery starts with the first one; the others are for failover, in their order. `weighed`: the numbers by which a
 *  route with a strategy placed them. */
export type LinkChoice = { kind: "chosen"; links: readonly [Link, ...Link[]]; reason: LinkReason; weighed?: readonly WeighedLink[] };
/** `not_carried`: no link of the route carries the content of the message. */
export type NoRoute = { kind: "no_route" | "destination_not_permitted" | "sender_not_allowed" } | { kind: "not_carried"; detail: string };

/** The links of a route in the order of delivery, and why the first one is first. With a strategy, the order follows from numbers. */
type OrderedLinks = { links: readonly Link[]; reason: LinkReason; strategy?: Strategy | undefined };

/** Chooses for a message that was accepted before, and that waits if all its links are paused. */
export function chooseToWait(directory: Directory, query: RouteQuery): LinkChoice | NoRoute {
  const choice = chooseLinks(directory, query);
  return choice.kind === "no_route" || choice.kind === "not_carried" ? chooseLinks(directory, query, true) : choice;
}

/** `mayWait`: a link that is paused may be chosen. */
export function chooseLinks(directory: Directory, query: RouteQuery, mayWait = false): LinkChoice | NoRoute {
  const allowed = directory.allowedCountries[query.environment];
  if (allowed !== undefined && !allowed.includes(countryOf(query.recipient) ?? "")) return { kind: "destination_not_permitted" };
  if (query.environment === "test") return { kind: "chosen", links: [directory.simulator], reason: "simulator" };
  const { need } = query;
  const registered = registeredFor(directory, query);
  if (registered === undefined) return { kind: "sender_not_allowed" };
  const route = ownLinks(directory, query) ?? operatorsLinks(directory, query);
  const open = mayWait ? route.links : route.links.filter(({ name }) => directory.pauseOf(name) === undefined);
  const working = need === undefined ? open : open.filter(({ provider }) => providerFault(provider, query.channel, need) === undefined);
  if (working.length === 0 && open.length > 0 && need !== undefined)
    return { kind: "not_carried", detail: whyNotCarried(open, query.channel, need) };
  const usable = linksWith(directory, working, query, registered);
  if (usable.length === 0 && working.length > 0 && registered.length === 0) return { kind: "sender_not_allowed" };
  if (route.strategy !== undefined)
    return weighedChoice(weigh(directory, route.strategy, usable, query.recipient), usable.length < working.length);
  const [first, ...others] = usable;
  if (first === undefined) return { kind: "no_route" };
  return { kind: "chosen", links: [first, ...others], reason: first === working[0] ? route.reason : "sender" };
}

const whyNotCarried = (links: readonly Link[], channel: Channel, need: Need): string =>
  [...new Set(links.map(({ provider }) => providerFault(provider, channel, need)))].join("; ");

function weigh(directory: Directory, strategy: Strategy, links: readonly Link[], recipient: Recipient): Weighed {
  const { country } = networkOf(recipient);
  const numbers = {
    scoreOf: ({ name }: Link) => directory.scores.of(name, recipient),
    priceOf: ({ prices }: Link) => priceOf(prices, recipient, country),
  };
  return weighLinks(strategy, links, numbers, Math.random);
}

/** `isBound`: the sender of the message excludes links of the route. */
function weighedChoice({ links: weighed, reason }: Weighed, isBound: boolean): LinkChoice | NoRoute {
  const [first, ...others] = weighed.map(({ link }) => link);
  if (first === undefined) return { kind: "no_route" };
  return { kind: "chosen", links: [first, ...others], reason: isBound && others.length === 0 ? "sender" : reason, weighed };
}

const NOT_REGISTERED: readonly OwnedSender[] = [];

/** The registrations of a named sender that an owner may use for a recipient; none if it is not registered. Undefined if it is registered only
 *  for others: the account and environment that own a number may send from it, and only to its countries. */
function registeredFor(directory: Directory, query: RouteQuery): readonly OwnedSender[] | undefined {
  const { sender, accountId, environment, recipient } = query;
  const named = sender === null ? NOT_REGISTERED : directory.sendersOf(sender);
  if (named.length === 0) return NOT_REGISTERED;
  const own = named.filter((each) => each.accountId.equals(accountId));
  // Only the operator can say whose a number is: a number that an account claims stays usable for others on their own links, and a number
  // of the file cannot be claimed by others.
  const isOfFile = ({ source }: OwnedSender): boolean => source === "file";
  if (named.some(isOfFile) && !own.some(isOfFile)) return undefined;
  if (own.length === 0) return NOT_REGISTERED;
  const usable = own.filter((each) => each.environment === environment && mayNameFor(each, recipient));
  return usable.length === 0 ? undefined : usable;
}

/** Whether a link has a named sender: as a registered one of its owner, or as its own. */
export const hasSender = (directory: Directory, link: Link, query: RouteQuery): boolean =>
  link.sender === query.sender || registeredFor(directory, query)?.some((each) => each.link === link.name) === true;

/** The properties of messages that the routes of an owner distinguish, besides their recipients. */
type KindOfMessage = Owner & { channel: Channel };

/** Whether a message of an owner can be routed to a link, for at least one recipient. */
export function mayTake(directory: Directory, name: string, query: KindOfMessage): boolean {
  const { simulator, hasFileRoutes, fileRoutes } = directory;
  if (query.environment === "test") return name === simulator.name;
  const link = directory.find(name);
  const carries = ({ channels }: Link): boolean => channels.includes(query.channel);
  const owner = link?.accountId ?? null;
  if (link !== undefined && owner !== null) return owner.equals(query.accountId) && carries(link) && isRouted(directory, name, query);
  // The links of the account hide those of the operator.
  if (directory.ownLinks(query.accountId).some(carries)) return false;
  if (!hasFileRoutes) return link !== undefined && carries(link) && name !== simulator.name;
  const rows = fileRoutes.filter((row) => isFor(row, query)).toSorted((a, b) => highestRank(b) - highestRank(a));
  // The first route for all numbers hides the routes after it.
  const last = rows.findIndex(({ countries, prefixes }) => countries === undefined && prefixes === undefined);
  return rows.slice(0, last === -1 ? rows.length : last + 1).some((row) => row.links.includes(name));
}

/** Routes of an account for a channel, if it has any, must name the link. */
function isRouted(directory: Directory, name: string, { accountId, channel }: KindOfMessage): boolean {
  const rows = directory.ownRoutes(accountId).filter((row) => row.channel === channel);
  return rows.length === 0 || rows.some((row) => row.links.includes(name));
}

/** Whether a route is for the messages of an owner on a channel. */
const isFor = (row: OwnedRoute, { accountId, environment, channel }: KindOfMessage): boolean =>
  row.channel === channel && (row.environment ?? environment) === environment && (row.accountId?.equals(accountId) ?? true);

/** The links of the account itself, if it has any for the channel. */
function ownLinks(directory: Directory, { accountId, channel, recipient }: RouteQuery): OrderedLinks | undefined {
  const links = directory.ownLinks(accountId);
  if (links.length === 0) return undefined;
  const carrying = links.filter(({ channels }) => channels.includes(channel));
  if (carrying.length === 0) return undefined;
  const rows = directory.ownRoutes(accountId).filter((row) => row.channel === channel);
  // An account with links of its own never falls back to those of the operator.
  if (rows.length > 0) return linksOf(directory, bestRoute(rows, recipient)) ?? { links: [], reason: "route" };
  return { links: carrying, reason: carrying.length === 1 ? "only_link" : "creation_order" };
}

function operatorsLinks(directory: Directory, query: RouteQuery): OrderedLinks {
  const { fileRoutes, hasFileRoutes, fileLinks } = directory;
  const best = bestRoute(
    fileRoutes.filter((row) => isFor(row, query)),
    query.recipient,
  );
  const routed = linksOf(directory, best);
  if (routed !== undefined) return routed;
  // A plan without routes uses every link of the channel, in the order of the file.
  const all = hasFileRoutes ? [] : fileLinks.filter(({ channels }) => channels.includes(query.channel));
  return { links: all, reason: all.length === 1 ? "only_link" : "file_order" };
}

function linksOf(directory: Directory, row: RouteRow | undefined): OrderedLinks | undefined {
  if (row === undefined) return undefined;
  const links = orderedNames(row).flatMap((name) => directory.findListed(name) ?? []);
  return { links, reason: row.weights === undefined ? "route" : "weights", strategy: row.strategy };
}

const isForNumber = ({ countries, prefixes }: RouteRow, recipient: Recipient): boolean =>
  (countries === undefined || countries.includes(countryOf(recipient) ?? "")) &&
  (prefixes === undefined || prefixes.some((prefix) => recipient.startsWith(prefix)));

const bestRoute = (rows: readonly RouteRow[], recipient: Recipient): RouteRow | undefined =>
  rows.filter((row) => isForNumber(row, recipient)).toSorted((a, b) => rankFor(b, recipient) - rankFor(a, recipient))[0];

/** The rank of a route for a recipient: by priority, and among equals the route with the longest matching prefix. */
function rankFor(row: RouteRow, recipient: Recipient): number {
  return rankWith(row, row.prefixes?.filter((prefix) => recipient.startsWith(prefix)) ?? []);
}

/** The rank of a route for the number that its longest prefix matches. */
const highestRank = (row: RouteRow): number => rankWith(row, row.prefixes ?? []);

// A prefix has at most sixteen characters.
const PREFIX_LENGTHS = 32;

/** By priority, then by the longest prefix, then a route with countries, then one with an account. */
function rankWith({ priority = 0, countries, account }: RouteRow, prefixes: readonly string[]): number {
  const longest = Math.max(0, ...prefixes.map(({ length }) => length));
  return ((priority * PREFIX_LENGTHS + longest) * 2 + (countries === undefined ? 0 : 1)) * 2 + (account === undefined ? 0 : 1);
}

/** The links of a route in the order of delivery. With weights, the first one is drawn at random; the others follow in their order. */
function orderedNames({ links, weights }: RouteRow): readonly string[] {
  if (weights === undefined) return links;
  let draw = randomInt(weights.reduce((sum, weight) => sum + weight, 0));
  const chosen = links.find((_, index) => (draw -= weights[index] ?? 0) < 0) ?? links[0];
  return [...links.filter((name) => name === chosen), ...links.filter((name) => name !== chosen)];
}

/** Keeps the links that have a named sender: as a registered one, or as their own. Other carriers would refuse or replace it. A sender that no
 *  link has may use any, but if a request names it only those that take any. */
function linksWith(
  directory: Directory,
  links: readonly Link[],
  { sender, isNamed }: RouteQuery,
  registered: readonly OwnedSender[],
): readonly Link[] {
  if (sender === null) return links;
  const known = links.filter((link) => link.sender === sender || registered.some((each) => each.link === link.name));
  if (known.length > 0 || registered.length > 0) return known;
  return isNamed === true ? links.filter((link) => directory.takesAnySender(link)) : links;
}

const MAX_SENDERS_NAMED = 10;

/** Explains why a sender cannot be named: which senders the links of the owner have for the channel, and what to do. */
export function explainSender(directory: Directory, query: RouteQuery): string {
  const links = directory.linksFor(query).filter(({ channels }) => channels.includes(query.channel));
  const senders = links.flatMap((link) => [
    ...(link.sender === null ? [] : [link.sender]),
    ...(directory.sendersOn(link.name, query) ?? []).map(({ number }) => number),
  ]);
  const all = [...new Set(senders)];
  const named = all.slice(0, MAX_SENDERS_NAMED).join(", ");
  const more = all.length > MAX_SENDERS_NAMED ? ` and ${all.length - MAX_SENDERS_NAMED} more` : "";
  const known = all.length === 0 ? "This environment has no senders." : `The senders of this environment are ${named}${more}.`;
  const forRecipient = all.includes(query.sender ?? "") ? " for this recipient" : "";
  return `${query.sender} is not a sender of this environment${forRecipient}. ${known} Add it with POST /v1/senders or [[sender]], or permit any with any_sender on the link.`;
}

const MAX_LINKS_NAMED = 5;
const WHAT_TO_DO = "Connect a carrier in the console under Carriers, with godwit links add, or with POST /v1/links: /docs/links shows how.";

/** Explains why no link takes a message: which links there are, what each of them lacks, and where to add one. */
export function explainNoRoute(directory: Directory, query: RouteQuery): string {
  const country = countryOf(query.recipient);
  const wanted = `No link takes a message on ${query.channel}${country === undefined ? "" : ` to ${country}`}.`;
  const all = directory.linksFor(query);
  // The links of the account hide those of the operator.
  const own = all.filter(({ accountId, channels }) => accountId !== null && channels.includes(query.channel));
  const links = own.length > 0 ? own : all;
  if (links.length === 0) return `${wanted} This environment has no links. ${WHAT_TO_DO}`;
  const reasons = links.slice(0, MAX_LINKS_NAMED).map((link) => `${link.title ?? link.name}: ${reasonOf(directory, link, query)}.`);
  const more = links.length > MAX_LINKS_NAMED ? ` And ${links.length - MAX_LINKS_NAMED} more.` : "";
  // A link that only has to be resumed needs no other one.
  const isAnyPaused = links.some(({ name, channels }) => channels.includes(query.channel) && directory.pauseOf(name) !== undefined);
  return `${wanted} ${reasons.join(" ")}${more}${isAnyPaused ? "" : ` ${WHAT_TO_DO}`}`;
}

/** Why one link does not take the message. */
function reasonOf(directory: Directory, link: Link, query: RouteQuery): string {
  const { channel, sender } = query;
  if (!link.channels.includes(channel)) return link.channels.length === 0 ? "only receives" : `carries ${link.channels.join(" and ")} only`;
  const paused = directory.pauseOf(link.name);
  if (paused !== undefined) return pauseReason(link, paused);
  if (sender !== null && chooseLinks(directory, { ...query, sender: null }).kind === "chosen")
    return "does not have the sender of the message";
  return "no route for this recipient names it";
}

/** Why a link is paused, and how it is resumed. The texts of carriers are for the owner of the link, who may be another than the client. */
function pauseReason({ name }: Link, { kind }: Pause): string {
  if (kind === "operator") return `is paused by the operator, who resumes it with godwit links resume ${name}`;
  if (kind === "account")
    return `is paused. Resume it in the console under Carriers, with godwit links resume ${name}, or with PATCH /v1/links/${name} and "paused": false`;
  if (kind === "unusable") return "cannot be opened: correct its settings";
  return `is paused, because the carrier refuses its account, and is tried again by itself; godwit links resume ${name} tries it at once`;
}
