/** Finds the owner of an inbound message, and the accounts for which its opt-out word takes effect. The owner is the first of these: the
 *  account that has the number, the sender of the message that it replies to, the account that last sent to the person from this number,
 *  the only account on the link, and the link's `inbound_account`. docs/decisions/0043-inbound-owners.md has the reasons. */
import { pairName } from "../consent/suppression.ts";
import type { AccountId } from "../model/id.ts";
import { ERASED, formsOf, type Recipient } from "../model/phone-number.ts";
import { poll } from "../lib/wait.ts";
import { NO_RECIPIENT, readCarrierAddress, type CarrierAddress } from "../links/address.ts";
import type { Channel } from "../links/channel.ts";
import type { Directory, LinkDirectory } from "../links/directory.ts";
import { hasNumber, inboundOwner, linksOfAccount, onlyOwnerOn, ownerOfNumber } from "../links/ownership.ts";
import type { Link } from "../links/link.ts";
import type { Message } from "../messages/message.ts";
import { storable, type WordPair } from "../messages/receive.ts";
import type { InboundMessage } from "../providers/provider.ts";
import type { Database } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { findByCarrierIds, findSentTo, listAccountIds, type Correspondent, type MatchedMessage, type SentMessage } from "./queries.ts";

// A reply may arrive before the carrier id of its message is stored. The commit takes moments.
const REFERENCE_WAIT_MS = 2_000;
const REFERENCE_POLL_MS = 50;

/** The moment until which the messages of one carrier request wait together, by the clock of `performance`. */
export const referenceWait = (): number => performance.now() + REFERENCE_WAIT_MS;

/** An inbound message with its addresses in our form, and the messages that the person got on the link or from the number. */
export type IdentifiedMessage = Omit<InboundMessage, "fromType" | "toType" | "alsoFrom"> & {
  from: Recipient;
  /** All addresses by which the person may be known here, `from` among them. An opt-out is one for each. */
  addresses: readonly Recipient[];
  to: Recipient;
  /** The carrier names no number of ours: `to` is the sender of the link, or empty if the link has none. */
  isToAssumed: boolean;
  sent: readonly SentMessage[];
};

export type InboundOwner = {
  owner: Owner;
  /** The owner's message that this one replies to. */
  inReplyTo: Message | null;
  /** Other accounts may have sent from the number as well. */
  isShared: boolean;
  isUnrouted: boolean;
};

/** A message, and the addresses that its writer may have: one list for each reading of the address that the carrier wrote. */
type ReadMessage = { message: InboundMessage; to: Recipient; people: readonly (readonly Recipient[])[] };

export class InboundOwners {
  readonly #parts: { db: Database; linkDirectory: LinkDirectory };

  constructor(parts: { db: Database; linkDirectory: LinkDirectory }) {
    this.#parts = parts;
  }

  /** Reads the addresses of messages, with one query. Replaces characters that PostgreSQL cannot store: the carrier would repeat a message
   *  that cannot be stored for ever, and the messages behind it would wait. */
  async identify(link: Link, messages: readonly InboundMessage[]): Promise<IdentifiedMessage[]> {
    const read = messages.map((message) => this.#readAddresses(link, message));
    const links = linksOfAccount(this.#parts.linkDirectory.current, link.name);
    const correspondents = read.flatMap(({ people, to }) => people.flat().flatMap((recipient) => toCorrespondents(recipient, to, links)));
    const found = await findSentTo(this.#parts.db, correspondents);
    let position = 0;
    return read.map((each) => {
      const sent = each.people.map((addresses) =>
        addresses.flatMap(() => links.flatMap(() => found.get(position++) ?? []).filter((one) => isSeenBy(link, one))),
      );
      return identified(each, sent);
    });
  }

  /** The owners of messages that came together, by position in the list. Undefined if a message belongs to no account. */
  async find(link: Link, messages: readonly IdentifiedMessage[], waitUntil = referenceWait()): Promise<(InboundOwner | undefined)[]> {
    const ofNumbers = messages.map(({ to }) => ownerOfNumber(this.#parts.linkDirectory.current, link, to));
    const registered = messages.map(({ isToAssumed }, index) => (isToAssumed ? undefined : ofNumbers[index]));
    const repliedTo = await this.#findRepliedTo(link, messages, { registered, waitUntil });
    const links = linksOfAccount(this.#parts.linkDirectory.current, link.name);
    const owners = messages.map((message, index) => {
      const { [index]: ofNumber } = ofNumbers;
      return knownOwner(links, message, { registered: registered[index], repliedTo: repliedTo.get(index), ofNumber });
    });
    if (owners.every((owner) => owner !== undefined)) return owners;
    const accountIds = await listAccountIds(this.#parts.db);
    return owners.map((owner, index) => owner ?? this.#otherOwner(link, messages[index]?.channel ?? "sms", accountIds));
  }

  /** The pairs whose consent an opt-out word in the message changes. */
  pairsOf(link: Link, inbound: IdentifiedMessage, found: InboundOwner | undefined): WordPair[] {
    const isKnown = hasNumber(this.#parts.linkDirectory.current, link.name, inbound.to);
    return consentPairs({ ...inbound, link: link.name, isKnown }, found, this.#parts.linkDirectory.current);
  }

  #readAddresses(link: Link, message: InboundMessage): ReadMessage {
    const { from, fromType, alsoFrom, to, toType } = message;
    const readings = readCarrierAddress({ text: storable(from), type: fromType }, link.country);
    const others = alsoFrom === undefined ? [] : [readCarrierAddress({ text: storable(alsoFrom), type: undefined }, null)[0]];
    return {
      message,
      to: this.#readOwnNumber(link, { text: storable(to || link.sender || ""), type: toType }),
      people: readings.map((reading) => [...formsOf(reading), ...others]),
    };
  }

  /** A sender of the link, if one of the readings is one. A short code may look like a number of the country. */
  #readOwnNumber(link: Link, address: CarrierAddress): Recipient {
    const readings = readCarrierAddress(address, link.country);
    const [unchanged] = readCarrierAddress({ ...address, type: "other" }, null);
    return [unchanged, ...readings].find((reading) => hasNumber(this.#parts.linkDirectory.current, link.name, reading)) ?? readings[0];
  }

  /** Finds the messages that these reply to. Waits for a message that may decide who the owner is. */
  async #findRepliedTo(
    link: Link,
    messages: readonly IdentifiedMessage[],
    { registered, waitUntil }: { registered: readonly (Owner | undefined)[]; waitUntil: number },
  ): Promise<ReadonlyMap<number, Message>> {
    const replies = messages.flatMap(({ inReplyTo }, index) => (inReplyTo === null ? [] : [{ index, providerMessageId: inReplyTo }]));
    if (replies.length === 0) return new Map();
    const carrierIds = replies.map(({ providerMessageId }) => ({ link: link.name, providerMessageId }));
    let found: ReadonlyMap<number, MatchedMessage> = new Map();
    const findAll = async (): Promise<true | undefined> => {
      found = await findByCarrierIds(this.#parts.db, carrierIds);
      return replies.every(({ index }, position) => found.has(position) || registered[index] !== undefined) || undefined;
    };
    await poll(findAll, { timeoutMs: waitUntil - performance.now(), everyMs: REFERENCE_POLL_MS });
    return new Map(
      replies.flatMap(({ index }, position) => {
        const match = found.get(position);
        return match === undefined ? [] : [[index, match.message] as const];
      }),
    );
  }

  /** The only account on the link, or the one that the link names. */
  #otherOwner(link: Link, channel: Channel, accountIds: readonly AccountId[]): InboundOwner | undefined {
    const only = onlyOwnerOn(this.#parts.linkDirectory.current, link.name, channel, accountIds);
    if (only !== undefined) return { owner: only, inReplyTo: null, isShared: true, isUnrouted: false };
    const configured = inboundOwner(this.#parts.linkDirectory.current, link);
    return configured && { owner: configured, inReplyTo: null, isShared: true, isUnrouted: true };
  }
}

/** The messages of a person on these links, or from the number. */
export const toCorrespondents = (recipient: Recipient, sender: string, links: readonly string[]): Correspondent[] =>
  links.map((link) => ({ recipient, link, sender }));

/** On the link of an account only its own messages count: it could forge what arrives there. */
const isSeenBy = ({ accountId }: Link, sent: SentMessage): boolean => accountId === null || accountId.equals(sent.account_id);

/** Decides who wrote a message. An address may have several readings: the first one counts to which an account has sent. A person may have
 *  several addresses: the first one counts to which an account has sent. `sent` has the messages to each list of addresses. */
function identified({ message, to, people }: ReadMessage, sent: readonly (readonly SentMessage[])[]): IdentifiedMessage {
  const { fromType: _, toType: __, alsoFrom: ___, providerMessageId, inReplyTo, ...rest } = message;
  const known = sent.findIndex((each) => each.length > 0);
  const addresses = people[known] ?? people.flat();
  const messages = sent[known] ?? [];
  return {
    ...rest,
    from: addresses.find((address) => messages.some(({ recipient }) => recipient === address)) ?? (addresses[0] as Recipient),
    addresses: [...new Set(addresses)],
    to,
    isToAssumed: !message.to,
    sent: messages,
    providerMessageId: providerMessageId && storable(providerMessageId),
    inReplyTo: inReplyTo && storable(inReplyTo),
  };
}

/** `registered`: the owner of the number that the carrier names. `ofNumber`: the same, even if the number is assumed. */
type Hints = { registered: Owner | undefined; repliedTo: Message | undefined; ofNumber: Owner | undefined };

/** The owner by the number, by the message that this one replies to, or by the messages that the person got. */
function knownOwner(
  links: readonly string[],
  message: IdentifiedMessage,
  { registered, repliedTo, ofNumber }: Hints,
): InboundOwner | undefined {
  if (registered !== undefined) {
    // The number may have another owner than at the time of the message that this one replies to.
    const inReplyTo = repliedTo !== undefined && isSameOwner(repliedTo, registered) ? repliedTo : null;
    return { owner: registered, inReplyTo, isShared: false, isUnrouted: false };
  }
  if (repliedTo !== undefined) {
    const { accountId, environment } = repliedTo;
    return { owner: { accountId, environment }, inReplyTo: repliedTo, isShared: false, isUnrouted: false };
  }
  const owner = latestSender(links, message) ?? ofNumber;
  return owner && { owner, inReplyTo: null, isShared: true, isUnrouted: false };
}

type Correspondence = {
  addresses: readonly Recipient[];
  to: Recipient;
  sent: readonly SentMessage[];
  /** Undefined if the number is known to be of no link. */
  link: string | undefined;
  /** `to` is a sender of the link. */
  isKnown: boolean;
  isToAssumed?: boolean;
};

/** The pairs whose consent an opt-out word changes, each once, in the order in which all transactions lock them.
 *
 *  - The word counts for the owner of the message. If accounts may share the number, it counts for each account that has sent from it.
 *  - A message without a sender came from a number that the carrier chose. Its pair covers all senders.
 *  - A person with several addresses has a pair for each address. If the person writes only with a user id, the address of the message that this
 *    one replies to is among them. A number of a pool stands for all numbers of the pool.
 *  - The carrier may not name the number, or name a number that is unknown here and from which the person got nothing. Then the word counts for
 *    all messages to the person on the link.
 *  - A message without a writer changes nothing. */
export function consentPairs(
  { addresses: written, to, sent, link, isKnown, isToAssumed = false }: Correspondence,
  found: Omit<InboundOwner, "isUnrouted"> | undefined,
  directory: Directory,
): WordPair[] {
  if (written.includes(NO_RECIPIENT)) return [];
  const isByNumber = written.some((address) => address.startsWith("+"));
  const repliedTo = isByNumber || found?.inReplyTo?.recipient === ERASED ? null : found?.inReplyTo;
  const addresses = repliedTo ? [...written, repliedTo.recipient] : written;
  const theirs = found === undefined || found.isShared ? sent : sent.filter((each) => isSameOwner(ownerOf(each), found.owner));
  const links = link === undefined ? [] : linksOfAccount(directory, link);
  const isOnLink = (each: SentMessage): boolean => each.link !== null && links.includes(each.link);
  const fromNumber = theirs.filter((each) => each.sender === to || (each.sender === null && isOnLink(each)));
  const isAboutNumber = !isToAssumed && (isKnown || fromNumber.length > 0);
  const meant = isAboutNumber ? fromNumber : theirs.filter(isOnLink);
  const senders = meant.map((each) => ({ owner: ownerOf(each), sender: each.sender }));
  if (found !== undefined) senders.push({ owner: found.owner, sender: to || null });
  if (found && repliedTo) senders.push({ owner: found.owner, sender: repliedTo.sender });
  const pairs = senders.flatMap(({ owner, sender }) =>
    (sender === null ? [null] : directory.poolOf(owner, sender)).flatMap((each): WordPair[] => {
      const isOfNumber = each === null || directory.poolOf(owner, to).includes(each);
      return addresses.map((recipient) => ({ ...owner, recipient, sender: each, isOfNumber }));
    }),
  );
  const named = new Map(pairs.map((pair) => [pairName(pair), pair]));
  return [...named].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, pair]) => pair);
}

const ownerOf = ({ account_id: accountId, environment }: SentMessage): Owner => ({ accountId, environment });

const isSameOwner = (one: Owner, other: Owner): boolean => one.accountId.equals(other.accountId) && one.environment === other.environment;

/** The account that last sent to the person on one of these links, from this number or from one that the carrier chose. If the carrier does not name
 *  our number, any number counts. */
function latestSender(links: readonly string[], { to, isToAssumed, sent }: IdentifiedMessage): Owner | undefined {
  const [latest] = sent
    .filter(({ link, sender }) => link !== null && links.includes(link) && (isToAssumed || sender === to || sender === null))
    .toSorted((one, other) => Buffer.compare(other.id, one.id));
  return latest && ownerOf(latest);
}
