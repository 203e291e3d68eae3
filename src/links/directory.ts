/** The links, senders and routes among which a message has a choice: those of the configuration file and those that accounts have created, in
 *  one list each, with the pauses of links. */
import { idKey, type AccountId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import { findSiblings } from "./carrier-account.ts";
import { SIMULATOR_LINK, type Link, type LinkSource } from "./link.ts";
import { NO_SCORES, type LinkScores } from "../quality/scores.ts";
import { HOLD, type Pause, type Pauses } from "./pauses.ts";
import { EMPTY_PLAN, type Plan, type RouteRow, type Sender } from "./plan.ts";

/** The ids of accounts by their names, since a plan names accounts. */
export type Accounts = ReadonlyMap<string, AccountId>;

/** A sender of an account, by its id and not by its name. */
export type OwnedSender = Omit<Sender, "account"> & { source: LinkSource; accountId: AccountId };

/** A route. `accountId`: the account that it is for; null for all accounts, and only in the file. */
export type OwnedRoute = RouteRow & { id: string; source: LinkSource; accountId: AccountId | null };

/** The records that accounts have created, all for `live`, in the order of their creation, and the pauses of all links. */
export type CreatedRecords = {
  /** A link that cannot be opened is among them with its pause, so that the messages of its account do not take other links. */
  links: readonly Link[];
  senders: readonly OwnedSender[];
  routes: readonly OwnedRoute[];
  pauses: Pauses;
};

export const NOTHING_CREATED: CreatedRecords = { links: [], senders: [], routes: [], pauses: new Map() };

type DirectoryParts = { simulator: Link; plan: Plan; accounts: Accounts; created: CreatedRecords; readScores?: () => LinkScores };

/** The state at one time. It never changes except for the scores, and has an index for each question of the hot path. */
export class Directory {
  readonly simulator: Link;
  /** All links that can be opened, the simulator first. */
  readonly links: readonly Link[];
  readonly fileLinks: readonly Link[];
  readonly fileRoutes: readonly OwnedRoute[];
  /** Without routes, the messages of the operator's links take them in the order of the file. */
  readonly hasFileRoutes: boolean;
  readonly senders: readonly OwnedSender[];
  readonly allowedCountries: Plan["allowedCountries"];
  readonly accounts: Accounts;
  /** The links of routes that choose by quality or price. */
  readonly measuredLinks: readonly string[];
  readonly #readScores: () => LinkScores;
  readonly #pauses: Pauses;
  readonly #byName: ReadonlyMap<string, Link>;
  readonly #ownLinks: ReadonlyMap<string, readonly Link[]>;
  readonly #ownRoutes: ReadonlyMap<string, readonly OwnedRoute[]>;
  readonly #byNumber: ReadonlyMap<string, readonly OwnedSender[]>;
  /** By `ownKey`. */
  readonly #onLinks: ReadonlyMap<string, readonly OwnedSender[]>;
  /** The names of the links on which somebody has a sender. */
  readonly #withSenders: ReadonlySet<string>;
  /** The numbers in the pools of a number, itself among them, by `ownKey`. */
  readonly #pools: ReadonlyMap<string, readonly string[]>;
  readonly #siblings: ReadonlyMap<string, readonly string[]>;

  constructor({ simulator, plan, accounts, created, readScores = () => NO_SCORES }: DirectoryParts) {
    const all = [simulator, ...plan.links, ...created.links];
    this.simulator = simulator;
    this.#pauses = created.pauses;
    this.#byName = new Map(all.map((link) => [link.name, link]));
    this.links = [...this.#byName.values()].filter(({ name }) => this.find(name) !== undefined);
    this.fileLinks = plan.links;
    this.fileRoutes = toFileRoutes(plan, accounts);
    this.hasFileRoutes = plan.routes.length > 0;
    this.allowedCountries = plan.allowedCountries;
    this.accounts = accounts;
    const weighing = [...plan.routes, ...created.routes].filter(({ strategy }) => strategy !== undefined);
    this.measuredLinks = [...new Set(weighing.flatMap(({ links }) => links))];
    this.#readScores = readScores;
    this.senders = [...toFileSenders(plan, accounts), ...created.senders];
    this.#ownLinks = Map.groupBy(created.links, accountKey);
    this.#ownRoutes = Map.groupBy(created.routes, accountKey);
    this.#byNumber = Map.groupBy(this.senders, ({ number }) => number);
    this.#onLinks = Map.groupBy(this.senders, (sender) => ownKey(sender.link, sender));
    this.#withSenders = new Set(this.senders.map(({ link }) => link));
    this.#pools = toPools(this.senders);
    this.#siblings = findSiblings(this.links);
  }

  /** How well links have delivered lately. */
  get scores(): LinkScores {
    return this.#readScores();
  }

  /** A link that can be opened. */
  find(name: string): Link | undefined {
    return this.#pauses.get(name)?.kind === "unusable" ? undefined : this.#byName.get(name);
  }

  /** A link, whether it can be opened or not. */
  findListed(name: string): Link | undefined {
    return this.#byName.get(name);
  }

  /** Why a link is paused; undefined if it is not. */
  pauseOf(name: string): Pause | undefined {
    return this.#pauses.get(name);
  }

  /** Why no link sends; undefined if they may. Messages are accepted for their links meanwhile. */
  get hold(): Pause | undefined {
    return this.#pauses.get(HOLD);
  }

  /** The other links with the same account at the carrier. */
  siblingsOf(name: string): readonly string[] {
    return this.#siblings.get(name) ?? NONE;
  }

  /** The links that an account has created. */
  ownLinks(accountId: AccountId): readonly Link[] {
    return this.#ownLinks.size === 0 ? NONE : (this.#ownLinks.get(idKey(accountId)) ?? NONE);
  }

  /** The routes that an account has created. */
  ownRoutes(accountId: AccountId): readonly OwnedRoute[] {
    return this.#ownRoutes.get(idKey(accountId)) ?? NONE;
  }

  /** The links that the messages of an owner may take, or that its operator has: not those of other accounts. */
  linksFor({ accountId, environment }: Owner): readonly Link[] {
    if (environment === "test") return [this.simulator];
    const isNamed = this.fileRoutes.some(({ links }) => links.includes(SIMULATOR_LINK));
    return [...(isNamed ? [this.simulator] : []), ...this.fileLinks, ...this.ownLinks(accountId)];
  }

  sendersOf(number: string): readonly OwnedSender[] {
    return this.#byNumber.get(number) ?? NONE;
  }

  sendersOn(link: string, owner: Owner): readonly OwnedSender[] | undefined {
    return this.#onLinks.size === 0 ? undefined : this.#onLinks.get(ownKey(link, owner));
  }

  /** Whether a request may name a sender that no link has: the link has none, or permits any. */
  takesAnySender({ name, sender, anySender }: Link): boolean {
    return anySender === true || (sender === null && !this.#withSenders.has(name));
  }

  /** The number, and the other numbers of its pools: a person who gets messages from one of them may get the next one from another. */
  poolOf(owner: Owner, number: string): readonly string[] {
    return this.#pools.get(ownKey(number, owner)) ?? [number];
  }

  /** The messages a second that a sender may send on a link. Undefined without a limit of its own. */
  rateOf(link: string, sender: string): number | undefined {
    return this.sendersOf(sender).find((each) => each.link === link)?.rate;
  }
}

const NONE: readonly never[] = [];

/** Holds the current directory. Messages that already have a link keep it after a change. */
export class LinkDirectory {
  readonly #followers: (() => void)[] = [];
  /** When each sender with a rate has had its turns for the messages that this node has given it. */
  readonly #busyUntil = new Map<string, number>();
  #parts: DirectoryParts;
  #current: Directory;

  constructor(simulator: Link, plan: Plan = EMPTY_PLAN, accounts: Accounts = new Map(), readScores = () => NO_SCORES) {
    this.#parts = { simulator, plan, accounts, created: NOTHING_CREATED, readScores };
    this.#current = new Directory(this.#parts);
  }

  get current(): Directory {
    return this.#current;
  }

  replaceFile(plan: Plan, accounts: Accounts): void {
    this.#parts = { ...this.#parts, plan, accounts };
    this.#current = new Directory(this.#parts);
  }

  replaceCreated(created: CreatedRecords): void {
    this.#parts = { ...this.#parts, created };
    this.#current = new Directory(this.#parts);
    for (const each of this.#followers) each();
  }

  /** Stops all links at once, until the stored records are read again. */
  hold(pause: Pause): void {
    const { created } = this.#parts;
    this.replaceCreated({ ...created, pauses: new Map(created.pauses).set(HOLD, pause) });
  }

  /** Calls the follower after each change of what accounts have created. */
  onChange(follower: () => void): void {
    this.#followers.push(follower);
  }

  /** Takes note of a message of this node, so that the senders of a pool get messages in proportion to their rates. */
  assigned(link: string, sender: string): void {
    const rate = this.#current.rateOf(link, sender);
    if (rate === undefined) return;
    const key = `${link} ${sender}`;
    this.#busyUntil.set(key, Math.max(performance.now(), this.#busyUntil.get(key) ?? 0) + 1_000 / rate);
  }

  /** How long a sender has to wait for its turn, in milliseconds. */
  readonly waitOf = ({ link, number }: { link: string; number: string }): number =>
    Math.max(0, (this.#busyUntil.get(`${link} ${number}`) ?? 0) - performance.now());
}

const toFileSenders = ({ senders }: Plan, accounts: Accounts): OwnedSender[] =>
  senders.flatMap(({ account, ...sender }) => {
    const accountId = accounts.get(account);
    return accountId === undefined ? [] : [{ ...sender, source: "file" as const, accountId }];
  });

/** The ids of senders and routes of the configuration file begin with this. */
export const FILE_PREFIX = "file:";

/** The routes with their positions in the file, from one. A route for an account that does not exist has no messages. */
const toFileRoutes = ({ routes }: Plan, accounts: Accounts): OwnedRoute[] =>
  routes.flatMap((route, index) => {
    const accountId = route.account === undefined ? null : accounts.get(route.account);
    return accountId === undefined ? [] : [{ ...route, id: `${FILE_PREFIX}${index + 1}`, source: "file" as const, accountId }];
  });

const accountKey = ({ accountId }: { accountId: AccountId | null }): string => (accountId === null ? "" : idKey(accountId));

/** The key of a name or number of an owner. */
const ownKey = (name: string, { accountId, environment }: Owner): string => `${name} ${environment} ${idKey(accountId)}`;

function toPools(senders: readonly OwnedSender[]): ReadonlyMap<string, readonly string[]> {
  const pooled = senders.filter(({ pool }) => pool !== undefined);
  const pools = new Map<string, readonly string[]>();
  for (const group of Map.groupBy(pooled, (sender) => ownKey(sender.pool ?? "", sender)).values()) {
    // The numbers of a pool share one list: a list for each number of a pool with 500 numbers took 40 ms.
    const numbers = [...new Set(group.map(({ number }) => number))];
    for (const number of numbers) {
      const key = ownKey(number, group[0] as OwnedSender);
      const others = pools.get(key);
      pools.set(key, others === undefined ? numbers : [...new Set([...others, ...numbers])]);
    }
  }
  return pools;
}
