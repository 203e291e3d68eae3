/** Receives inbound messages of all carriers. A message is stored once, even if the carrier repeats it, and is acknowledged after its
 *  commit. A message that belongs to no account is kept for the operator. */
import type { ConsentDefaults } from "../consent/consent-defaults.ts";
import { errorFields, type Log } from "../model/log.ts";
import { NO_RECIPIENT } from "../links/address.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import type { Link } from "../links/link.ts";
import type { MessageAcceptance } from "../messages/acceptance.ts";
import { applyOptWord, receiveMessage, type Received, type WordPair } from "../messages/receive.ts";
import type { InboundMessage } from "../providers/provider.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { consentPairs, InboundOwners, referenceWait, type InboundOwner, type IdentifiedMessage } from "./inbound-owner.ts";
import { keepMessages, KeptInboundFull, KeptRoom } from "./kept-inbound.ts";
import { rememberInbound } from "./receipt-queries.ts";
import type { DeliveryWatch, InboundOutcome } from "./watch.ts";

export type InboundParts = {
  db: Database;
  clock: Clock;
  linkChooser: LinkChooser;
  consentDefaults: ConsentDefaults;
  wakeWebhooks: () => void;
  /** Wakes the lane of an automatic reply. */
  queued: (reply: MessageAcceptance) => void;
  watch: DeliveryWatch;
  log: Log;
};

// The messages that are looked up, or kept, together: one statement must not hold up others.
const MAX_TOGETHER = 100;
// This many transactions run at a time, each with this many messages.
const MAX_CONCURRENT = 4;
const MAX_IN_TRANSACTION = 20;

type Stored = { outcome: InboundOutcome; reply?: MessageAcceptance | undefined };

/** An inbound message with its owner, and the pairs whose consent an opt-out word in it changes. */
type Addressed = { inbound: IdentifiedMessage; found: InboundOwner | undefined; pairs: readonly WordPair[] };

export class Inbound {
  readonly #parts: InboundParts;
  readonly #owners: InboundOwners;
  readonly #room = new KeptRoom();

  constructor(parts: InboundParts) {
    this.#parts = parts;
    this.#owners = new InboundOwners(parts);
  }

  /** Resolves when every message is committed. */
  async receive(link: Link, messages: readonly InboundMessage[]): Promise<void> {
    const waitUntil = referenceWait();
    await this.#storeAll(link, messages, async (identified) => {
      const owners = await this.#owners.find(link, identified, waitUntil);
      return identified.map((inbound, index) => {
        // An account could not reply to a message without a writer. The operator can ask the carrier.
        const found = inbound.from === NO_RECIPIENT && link.accountId === null ? undefined : owners[index];
        return { inbound, found, pairs: this.#owners.pairsOf(link, inbound, found) };
      });
    });
  }

  /** Keeps messages to a number of which no link is configured. `link` is the one that received them. Resolves when they are committed. */
  async keep(link: Link, messages: readonly InboundMessage[]): Promise<void> {
    const keepAll = async (identified: readonly IdentifiedMessage[]): Promise<Addressed[]> =>
      identified.map((inbound) => ({
        inbound,
        found: undefined,
        pairs: consentPairs({ ...inbound, link: undefined, isKnown: true }, undefined, this.#parts.linkChooser),
      }));
    // The sender of the link is not the number that the people wrote to.
    await this.#storeAll(link, messages, keepAll, { ...link, sender: null });
  }

  async #storeAll(
    link: Link,
    messages: readonly InboundMessage[],
    address: (identified: readonly IdentifiedMessage[]) => Promise<Addressed[]>,
    readFor = link,
  ): Promise<void> {
    const errors: unknown[] = [];
    for (let at = 0; at < messages.length; at += MAX_TOGETHER) {
      const identified = await this.#owners.identify(readFor, messages.slice(at, at + MAX_TOGETHER));
      const addressed = await address(identified);
      // The error is thrown after all have ended: on an error the carrier repeats every message.
      errors.push(...(await this.#storeTogether(link, addressed)));
    }
    if (errors.length > 0) throw errors[0];
  }

  /** Stores messages, and returns the errors of those that could not be stored. Messages that concern no account are kept in one transaction:
   *  there may be many of them. */
  async #storeTogether(link: Link, messages: readonly Addressed[]): Promise<unknown[]> {
    const { unowned = [], others = [] } = Object.groupBy(messages, ({ found, pairs }) =>
      found === undefined && pairs.length === 0 ? "unowned" : "others",
    );
    const groups = inGroups(others);
    const workers = Array.from({ length: Math.min(MAX_CONCURRENT, groups.length) }, async (_, worker) => {
      for (let at = worker; at < groups.length; at += MAX_CONCURRENT) await this.#storeGroup(link, groups[at] ?? []);
    });
    const ends = await Promise.allSettled([...workers, this.#keepUnowned(link, unowned)]);
    return ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
  }

  /** Stores messages in one transaction, which costs one commit. Where one of them fails, or the connection is lost, each is stored by itself:
   *  their ids tell which are stored already. */
  async #storeGroup(link: Link, group: readonly Addressed[]): Promise<void> {
    const isWithoutId = group.some(({ inbound }) => inbound.providerMessageId === null);
    const stored = group.length === 1 || isWithoutId ? undefined : await this.#tryStoreAll(link, group);
    if (stored === undefined) for (const each of group) await this.#store(link, each);
    else for (const each of stored) this.#wasStored(link, each);
  }

  #tryStoreAll(link: Link, group: readonly Addressed[]): Promise<Stored[] | undefined> {
    const stored = this.#parts.db.transaction(async (tx) => {
      const all: Stored[] = [];
      for (const each of group) all.push(await this.#storeIn(tx, link, each));
      return all;
    });
    return stored.catch(() => undefined);
  }

  #wasStored(link: Link, { outcome, reply }: Stored): void {
    const { wakeWebhooks, queued, watch } = this.#parts;
    if (outcome === "kept") this.#warnOfKept(link, 1);
    if (outcome !== "repeated") wakeWebhooks();
    if (reply !== undefined) queued(reply);
    watch.inbound(link.name, outcome);
  }

  async #store(link: Link, addressed: Addressed): Promise<void> {
    const { db, wakeWebhooks } = this.#parts;
    try {
      this.#wasStored(link, await db.transaction((tx) => this.#storeIn(tx, link, addressed)));
    } catch (error) {
      if (error instanceof KeptInboundFull) {
        // The carrier may not repeat the message. Its opt-out takes effect in any case.
        await this.#applyWord(link, addressed);
        wakeWebhooks();
        this.#reportFull(link, error);
      }
      throw error;
    }
  }

  /** Keeps messages from people to whom no account has written. No word in them changes anybody's consent. */
  async #keepUnowned(link: Link, messages: readonly Addressed[]): Promise<void> {
    if (messages.length === 0) return;
    const { db, clock, watch } = this.#parts;
    const kept = await db
      .transaction(async (tx) => {
        const nowMs = clock.now();
        const news = await this.#firstDeliveries(tx, link, messages, nowMs);
        await this.#room.take(tx, news.length);
        await keepMessages(
          tx,
          nowMs,
          news.map(({ inbound }) => toReceived(link, inbound)),
        );
        return news.length;
      })
      .catch((error: unknown) => {
        if (error instanceof KeptInboundFull) this.#reportFull(link, error);
        throw error;
      });
    if (kept > 0) this.#warnOfKept(link, kept);
    messages.forEach((_, index) => watch.inbound(link.name, index < kept ? "kept" : "repeated"));
  }

  /** The messages that the carrier has not delivered before. A message without an id is one. */
  async #firstDeliveries(tx: Tx, link: Link, messages: readonly Addressed[], nowMs: number): Promise<Addressed[]> {
    const names = messages.flatMap(({ inbound: { providerMessageId } }) =>
      providerMessageId === null ? [] : [{ link: link.name, providerMessageId }],
    );
    const left = new Set(names.length === 0 ? [] : await rememberInbound(tx, names, nowMs));
    return messages.filter(({ inbound: { providerMessageId: id } }) => id === null || left.delete(id));
  }

  #warnOfKept(link: Link, count: number): void {
    const facts = { event: "delivery.inbound_unowned", link: link.name, count } as const;
    this.#parts.log.warn(facts, "inbound messages have no owner: they are kept");
  }

  #reportFull(link: Link, error: KeptInboundFull): void {
    const facts = { event: "delivery.inbound_full", link: link.name, ...errorFields(error) } as const;
    this.#parts.log.error(facts, "inbound messages without an owner were refused");
  }

  #applyWord(link: Link, { inbound, pairs }: Addressed): Promise<unknown> {
    const { db, clock, consentDefaults: defaults } = this.#parts;
    const use = { ...toReceived(link, inbound), pairs };
    return db.transaction((tx) => applyOptWord(tx, clock.now(), use, { defaults, message: null }));
  }

  async #storeIn(tx: Tx, link: Link, addressed: Addressed): Promise<Stored> {
    const { inbound, found, pairs } = addressed;
    const { clock, consentDefaults: defaults } = this.#parts;
    const nowMs = clock.now();
    if ((await this.#firstDeliveries(tx, link, [addressed], nowMs)).length === 0) return { outcome: "repeated" };
    const received = { ...toReceived(link, inbound), pairs };
    if (found === undefined) {
      await this.#room.take(tx, 1);
      await keepMessages(tx, nowMs, [received]);
      await applyOptWord(tx, nowMs, received, { defaults, message: null });
      return { outcome: "kept" };
    }
    const { owner, inReplyTo, isUnrouted } = found;
    const arrival = { nowMs, owner, received: { ...received, inReplyTo, isUnrouted } };
    const { reply } = await receiveMessage(tx, arrival, { defaults, replyLink: this.#replyLink(link, owner, inbound) });
    return { outcome: isUnrouted ? "unrouted" : "received", reply };
  }

  /** An automatic reply leaves on the link of its message. A person in a country that is not allowed gets none. */
  #replyLink(link: Link, owner: Owner, { channel, from, to }: IdentifiedMessage): Link | undefined {
    const { kind } = this.#parts.linkChooser.choose({ ...owner, channel, recipient: from, sender: to });
    return kind === "destination_not_permitted" ? undefined : link;
  }
}

function toReceived(link: Link, inbound: IdentifiedMessage): Omit<Received, "inReplyTo" | "isUnrouted" | "pairs"> {
  const { from: sender, to: recipient, providerMessageId: messageId, channel, text, reported, isToGroup, details } = inbound;
  const content = { channel, text, reported, isToGroup, details };
  return { ...content, sender, recipient, provider: { name: link.provider, link: link.name, messageId } };
}

/** Messages by their senders, so that transactions lock the consent of people in one order. The messages of one sender stay in their order, in
 *  one group. */
function inGroups(messages: readonly Addressed[]): Addressed[][] {
  const bySender = [...Map.groupBy(messages, ({ inbound }) => inbound.from)].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const groups: Addressed[][] = [];
  for (const [, ofSender] of bySender) {
    const last = groups.at(-1);
    if (last === undefined || last.length + ofSender.length > MAX_IN_TRANSACTION) groups.push([...ofSender]);
    else last.push(...ofSender);
  }
  return groups;
}
