/** Receives inbound messages of all carriers. A message is stored once, even if the carrier repeats it, and is acknowledged after its
 *  commit. A message that belongs to no account is kept for the operator. */
import type { ConsentDefaults } from "../consent/consent-defaults.ts";
import { errorFields } from "../model/log.ts";
import { NO_RECIPIENT } from "../links/address.ts";
import { chooseLinks } from "../links/choose-links.ts";
import type { Link } from "../links/link.ts";
import type { Acceptance } from "../messages/acceptance.ts";
import { applyOptWord, receiveMessage, type Unowned, type WordPair } from "../messages/receive.ts";
import type { InboundMessage } from "../providers/provider.ts";
import type { Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import type { DeliveryContext, InboundOutcome } from "./context.ts";
import { consentPairs, InboundOwners, referenceWait, type InboundOwner, type IdentifiedMessage } from "./inbound-owner.ts";
import { keepMessage, KeptInboundFull } from "./kept-inbound.ts";
import { isFirstDelivery } from "./receipt-queries.ts";

type InboundParts = Pick<DeliveryContext, "db" | "clock" | "linkDirectory" | "wakeWebhooks" | "watch" | "log"> & {
  consentDefaults: ConsentDefaults;
  mediaRetentionMs: number;
  /** Wakes the lane of an automatic reply. */
  queued: (reply: Acceptance) => void;
  /** Wakes the downloads: an account has files to download. */
  filesCame: (owner: Owner) => void;
};

// The messages that are looked up together: one statement must not hold up others.
const MAX_TOGETHER = 100;
// This many transactions run at a time, each with this many messages.
const MAX_CONCURRENT = 4;
const MAX_IN_TRANSACTION = 20;

/** `filesOf`: the owner of the files of the message. */
type Stored = { outcome: InboundOutcome; reply?: Acceptance | undefined; filesOf?: Owner | undefined };

/** An inbound message with its owner, and the pairs whose consent an opt-out word in it changes. */
type Addressed = { inbound: IdentifiedMessage; found: InboundOwner | undefined; pairs: readonly WordPair[] };

export class Inbound {
  readonly #parts: InboundParts;
  readonly #owners: InboundOwners;

  constructor(parts: InboundParts) {
    this.#parts = parts;
    this.#owners = new InboundOwners(parts);
  }

  /** Resolves when every message is committed. */
  async receive(link: Link, messages: readonly InboundMessage[]): Promise<void> {
    const waitUntil = referenceWait();
    await this.#storeAll(link, messages, (identified) => this.#address(link, identified, waitUntil));
  }

  /** Stores a message whose parts `take` removes in the same transaction. Returns false if another transaction has removed them. */
  async receiveJoined(link: Link, message: InboundMessage, take: (tx: Tx) => Promise<boolean>): Promise<boolean> {
    const [addressed] = await this.#address(link, await this.#owners.identify(link, [message]));
    return addressed !== undefined && this.#store(link, addressed, take);
  }

  /** Keeps messages to a number of which no link is configured. `link` is the one that received them. Resolves when they are committed. */
  async keep(link: Link, messages: readonly InboundMessage[]): Promise<void> {
    const keepAll = async (identified: readonly IdentifiedMessage[]): Promise<Addressed[]> =>
      identified.map((inbound) => ({
        inbound,
        found: undefined,
        pairs: consentPairs({ ...inbound, link: undefined, isKnown: true }, undefined, this.#parts.linkDirectory.current),
      }));
    // The sender of the link is not the number that the people wrote to.
    await this.#storeAll(link, messages, keepAll, { ...link, sender: null });
  }

  async #address(link: Link, identified: readonly IdentifiedMessage[], waitUntil = referenceWait()): Promise<Addressed[]> {
    const owners = await this.#owners.find(link, identified, waitUntil);
    return identified.map((inbound, index) => {
      // An account could not reply to a message without a writer. The operator can ask the carrier.
      const found = inbound.from === NO_RECIPIENT && link.accountId === null ? undefined : owners[index];
      return { inbound, found, pairs: this.#owners.pairsOf(link, inbound, found) };
    });
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

  /** Stores messages, and returns the errors of those that could not be stored. */
  async #storeTogether(link: Link, messages: readonly Addressed[]): Promise<unknown[]> {
    const groups = inGroups(messages);
    const workers = Array.from({ length: Math.min(MAX_CONCURRENT, groups.length) }, async (_, worker) => {
      const errors: unknown[] = [];
      for (let at = worker; at < groups.length; at += MAX_CONCURRENT) errors.push(...(await this.#storeGroup(link, groups[at] ?? [])));
      return errors;
    });
    return (await Promise.all(workers)).flat();
  }

  /** Stores messages in one transaction, which costs one commit. If one of them fails, or the connection is lost, each is stored by itself:
   *  their ids tell which are stored already. */
  async #storeGroup(link: Link, group: readonly Addressed[]): Promise<unknown[]> {
    const isWithoutId = group.some(({ inbound }) => inbound.providerMessageId === null);
    const stored = group.length === 1 || isWithoutId ? undefined : await this.#tryStoreAll(link, group);
    if (stored !== undefined) {
      this.#wereStored(link, stored);
      return [];
    }
    const errors: unknown[] = [];
    for (const each of group) await this.#store(link, each).catch((error: unknown) => errors.push(error));
    return errors;
  }

  #tryStoreAll(link: Link, group: readonly Addressed[]): Promise<Stored[] | undefined> {
    const stored = this.#parts.db.transaction(async (tx) => {
      const all: Stored[] = [];
      for (const each of group) all.push(await this.#storeIn(tx, link, each));
      return all;
    });
    return stored.catch(() => undefined);
  }

  #wereStored(link: Link, stored: readonly Stored[]): void {
    const { wakeWebhooks, queued, filesCame, watch, log } = this.#parts;
    const count = stored.filter(({ outcome }) => outcome === "kept").length;
    if (count > 0) log.warn({ event: "delivery.inbound_unowned", link: link.name, count }, "inbound messages have no owner: they are kept");
    if (stored.some(({ outcome }) => outcome !== "repeated")) wakeWebhooks();
    for (const { outcome, reply, filesOf } of stored) {
      if (reply !== undefined) queued(reply);
      if (filesOf !== undefined) filesCame(filesOf);
      watch.inbound(link.name, outcome);
    }
  }

  /** Returns false if `take` does, which runs first in the transaction. */
  async #store(link: Link, addressed: Addressed, take = async (_tx: Tx): Promise<boolean> => true): Promise<boolean> {
    const { db, wakeWebhooks, log } = this.#parts;
    try {
      const stored = await db.transaction(async (tx) => ((await take(tx)) ? this.#storeIn(tx, link, addressed) : undefined));
      if (stored !== undefined) this.#wereStored(link, [stored]);
      return stored !== undefined;
    } catch (error) {
      if (error instanceof KeptInboundFull) {
        // The carrier may not repeat the message. Its opt-out takes effect in any case.
        await this.#applyWord(link, addressed);
        wakeWebhooks();
        const facts = { event: "delivery.inbound_full", link: link.name, ...errorFields(error) } as const;
        log.error(facts, "an inbound message without an owner was refused");
      }
      throw error;
    }
  }

  #applyWord(link: Link, { inbound, pairs }: Addressed): Promise<unknown> {
    const { db, clock, consentDefaults: defaults } = this.#parts;
    const use = { ...toReceived(link, inbound), pairs };
    return db.transaction((tx) => applyOptWord(tx, clock.now(), use, { defaults, message: null }));
  }

  async #storeIn(tx: Tx, link: Link, { inbound, found, pairs }: Addressed): Promise<Stored> {
    const { clock, consentDefaults: defaults, mediaRetentionMs } = this.#parts;
    const nowMs = clock.now();
    const { providerMessageId } = inbound;
    const isRepeated = providerMessageId !== null && !(await isFirstDelivery(tx, { link: link.name, providerMessageId }, nowMs));
    if (isRepeated) return { outcome: "repeated" };
    const received = { ...toReceived(link, inbound), pairs };
    if (found === undefined) {
      await keepMessage(tx, nowMs, received);
      await applyOptWord(tx, nowMs, received, { defaults, message: null });
      return { outcome: "kept" };
    }
    const { owner, inReplyTo, isUnrouted } = found;
    const arrival = { nowMs, owner, received: { ...received, inReplyTo: inReplyTo?.id ?? null, isUnrouted } };
    const replyLink = this.#replyLink(link, owner, inbound);
    const { reply, hasFiles } = await receiveMessage(tx, arrival, { defaults, replyLink, mediaRetentionMs });
    return { outcome: isUnrouted ? "unrouted" : "received", reply, filesOf: hasFiles ? owner : undefined };
  }

  /** An automatic reply leaves on the link of its message, or on one that sends with the same account at the carrier. A person in a country that is not allowed gets none. */
  #replyLink(link: Link, owner: Owner, { channel, from, to }: IdentifiedMessage): Link | undefined {
    const directory = this.#parts.linkDirectory.current;
    const { kind } = chooseLinks(directory, { ...owner, channel, recipient: from, sender: to });
    if (kind === "destination_not_permitted") return undefined;
    const others = directory.siblingsOf(link.name).flatMap((name) => directory.find(name) ?? []);
    return [link, ...others].find(({ channels }) => channels.includes(channel));
  }
}

function toReceived(link: Link, inbound: IdentifiedMessage): Unowned {
  const { from: sender, to: recipient, providerMessageId: messageId, channel, text, reported, isToGroup, writtenAtMs } = inbound;
  const { content, details } = inbound;
  return {
    channel,
    text,
    reported,
    isToGroup,
    writtenAtMs,
    content,
    details,
    sender,
    recipient,
    provider: { name: link.provider, link: link.name, messageId },
  };
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
