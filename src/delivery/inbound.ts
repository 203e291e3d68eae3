/** Receives inbound messages of all carriers. A message belongs to the owner of the number that it was sent to, or to the owner of the
 *  message that it replies to, where the carrier reports that. A message is stored once, even if the carrier repeats it, and is
 *  acknowledged after its commit. */
import type { MessageId } from "../lib/id.ts";
import type { Log } from "../lib/log.ts";
import type { Recipient } from "../lib/phone-number.ts";
import { poll } from "../lib/wait.ts";
import { carrierAddress } from "../links/address.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import type { Link } from "../links/link.ts";
import { receiveMessage, storable } from "../messages/receive.ts";
import type { InboundMessage } from "../providers/provider.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { findByCarrierIds } from "./queries.ts";
import { rememberInbound } from "./receipt-queries.ts";
import type { DeliveryWatch } from "./watch.ts";

export type InboundParts = {
  db: Database;
  clock: Clock;
  linkChooser: LinkChooser;
  wakeWebhooks: () => void;
  watch: DeliveryWatch;
  log: Log;
};

// A reply may arrive before the carrier id of its message is stored. The commit takes moments.
const REFERENCE_WAIT_MS = 2_000;
const REFERENCE_POLL_MS = 50;
// The messages of one sender are stored in their order. This many senders are processed at a time.
const MAX_CONCURRENT = 4;

type InboundOwner = { owner: Owner; inReplyTo: MessageId | null };

export class Inbound {
  readonly #parts: InboundParts;

  constructor(parts: InboundParts) {
    this.#parts = parts;
  }

  /** Resolves when every message is committed, or is known to have no owner. */
  async receive(link: Link, messages: readonly InboundMessage[]): Promise<void> {
    const bySender = [...Map.groupBy(messages, ({ from }) => from).values()];
    const workers = Array.from({ length: Math.min(MAX_CONCURRENT, bySender.length) }, async (_, worker) => {
      for (let at = worker; at < bySender.length; at += MAX_CONCURRENT)
        for (const each of bySender[at] ?? []) await this.#store(link, toStorable(each));
    });
    // The error is thrown after all have ended: on an error the carrier repeats every message.
    const failed = (await Promise.allSettled(workers)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  async #store(link: Link, inbound: StorableInbound): Promise<void> {
    const { db, clock, wakeWebhooks, watch, log } = this.#parts;
    const found = await this.#findOwner(link, inbound);
    if (found === undefined) {
      log.warn({ event: "delivery.inbound_unowned", link: link.name, channel: inbound.channel }, "an inbound message has no owner");
      watch.inbound(link.name, "unowned");
      return;
    }
    const isNew = await db.transaction(async (tx) => {
      const { providerMessageId: messageId } = inbound;
      const nowMs = clock.now();
      if (messageId !== null && !(await rememberInbound(tx, { link: link.name, providerMessageId: messageId }, nowMs))) return false;
      await receiveMessage(tx, nowMs, found.owner, {
        channel: inbound.channel,
        sender: inbound.from,
        recipient: inbound.to,
        text: inbound.text,
        inReplyTo: found.inReplyTo,
        provider: { name: link.provider, link: link.name, messageId },
      });
      return true;
    });
    if (isNew) wakeWebhooks();
    watch.inbound(link.name, isNew ? "received" : "repeated");
  }

  async #findOwner(link: Link, { to, inReplyTo }: InboundMessage): Promise<InboundOwner | undefined> {
    const owner = this.#parts.linkChooser.ownerOf(link.name, to);
    if (inReplyTo === null) return owner && { owner, inReplyTo: null };
    const carrierId = { link: link.name, providerMessageId: inReplyTo };
    const find = async () => (await findByCarrierIds(this.#parts.db, [carrierId])).get(0)?.message;
    const repliedTo = owner === undefined ? await poll(find, { timeoutMs: REFERENCE_WAIT_MS, everyMs: REFERENCE_POLL_MS }) : await find();
    if (owner === undefined)
      return repliedTo && { owner: { accountId: repliedTo.accountId, environment: repliedTo.environment }, inReplyTo: repliedTo.id };
    // The number may have another owner than at the time of the message that this one replies to.
    const isSameOwner = repliedTo?.accountId.equals(owner.accountId) === true && repliedTo.environment === owner.environment;
    return { owner, inReplyTo: isSameOwner ? repliedTo.id : null };
  }
}

type StorableInbound = InboundMessage & { from: Recipient; to: Recipient };

/** Replaces characters that PostgreSQL cannot store. The carrier would repeat a message that cannot be stored forever, and the messages
 *  behind it would wait. */
const toStorable = ({ providerMessageId, from, to, inReplyTo, ...rest }: InboundMessage): StorableInbound => ({
  ...rest,
  from: carrierAddress(storable(from)),
  to: carrierAddress(storable(to)),
  providerMessageId: providerMessageId && storable(providerMessageId),
  inReplyTo: inReplyTo && storable(inReplyTo),
});
