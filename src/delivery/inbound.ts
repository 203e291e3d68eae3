/** The door for what people write to us, whatever carrier brings it. A message belongs to whose number it was written to, or to whom
 *  it answers, where the carrier says what it answers; it is stored once however often the carrier repeats it, and acknowledged when it is. */
import type { MessageId } from "../lib/id.ts";
import type { Log } from "../lib/log.ts";
import type { Recipient } from "../lib/phone-number.ts";
import { poll } from "../lib/wait.ts";
import { receiveMessage, storable } from "../messages/receive.ts";
import type { InboundMessage } from "../providers/provider.ts";
import { rememberInbound } from "./receipt-queries.ts";
import { carrierAddress } from "../links/address.ts";
import type { Link } from "../links/link.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import type { DeliveryWatch } from "./watch.ts";
import { findByCarrierIds } from "./queries.ts";
import type { Owner } from "../storage/owner.ts";

export type InboundParts = {
  db: Database;
  clock: Clock;
  linkChooser: LinkChooser;
  wakeWebhooks: () => void;
  watch: DeliveryWatch;
  log: Log;
};

// An answer may come before the name of what it answers is on record: that is a matter of a commit.
const NAME_WAIT_MS = 2_000;
const NAME_EVERY_MS = 50;
// What one person writes is taken in its order; so many people at a time.
const MAX_TOGETHER = 4;

type Home = { owner: Owner; inReplyTo: MessageId | null };

export class Inbound {
  readonly #parts: InboundParts;

  constructor(parts: InboundParts) {
    this.#parts = parts;
  }

  /** Resolves when every one of them is committed, or known to belong to nobody. */
  async receive(link: Link, messages: readonly InboundMessage[]): Promise<void> {
    const byWriter = [...Map.groupBy(messages, ({ from }) => from).values()];
    const lines = Array.from({ length: Math.min(MAX_TOGETHER, byWriter.length) }, async (_, line) => {
      for (let at = line; at < byWriter.length; at += MAX_TOGETHER)
        for (const each of byWriter[at] ?? []) await this.#take(link, readable(each));
    });
    // Not before all have ended: who is told of a failure brings everything again.
    const failed = (await Promise.allSettled(lines)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  async #take(link: Link, inbound: Readable): Promise<void> {
    const { db, clock, wakeWebhooks, watch, log } = this.#parts;
    const home = await this.#homeOf(link, inbound);
    if (home === undefined) {
      log.warn({ event: "delivery.inbound_unowned", link: link.name, channel: inbound.channel }, "an inbound message has no owner");
      watch.inbound(link.name, "unowned");
      return;
    }
    const isNew = await db.transaction(async (tx) => {
      const { providerMessageId: messageId } = inbound;
      if (messageId !== null && !(await rememberInbound(tx, { link: link.name, providerMessageId: messageId }))) return false;
      await receiveMessage(tx, clock.now(), home.owner, {
        channel: inbound.channel,
        sender: inbound.from,
        recipient: inbound.to,
        text: inbound.text,
        inReplyTo: home.inReplyTo,
        provider: { name: link.provider, link: link.name, messageId },
      });
      return true;
    });
    if (isNew) wakeWebhooks();
    watch.inbound(link.name, isNew ? "received" : "repeated");
  }

  async #homeOf(link: Link, { to, inReplyTo }: InboundMessage): Promise<Home | undefined> {
    const owner = this.#parts.linkChooser.ownerOf(link.name, to);
    if (inReplyTo === null) return owner && { owner, inReplyTo: null };
    const name = { link: link.name, providerMessageId: inReplyTo };
    const look = async () => (await findByCarrierIds(this.#parts.db, [name])).get(0)?.message;
    const answered = owner === undefined ? await poll(look, { timeoutMs: NAME_WAIT_MS, everyMs: NAME_EVERY_MS }) : await look();
    if (owner === undefined)
      return answered && { owner: { accountId: answered.accountId, environment: answered.environment }, inReplyTo: answered.id };
    // A number may have changed hands since.
    const isTheirs = answered?.accountId.equals(owner.accountId) === true && answered.environment === owner.environment;
    return { owner, inReplyTo: isTheirs ? answered.id : null };
  }
}

type Readable = InboundMessage & { from: Recipient; to: Recipient };

/** Names as they can be stored and looked for. One that cannot would be brought again for ever, and hold up what comes after it. */
const readable = ({ providerMessageId, from, to, inReplyTo, ...rest }: InboundMessage): Readable => ({
  ...rest,
  from: carrierAddress(storable(from)),
  to: carrierAddress(storable(to)),
  providerMessageId: providerMessageId && storable(providerMessageId),
  inReplyTo: inReplyTo && storable(inReplyTo),
});
