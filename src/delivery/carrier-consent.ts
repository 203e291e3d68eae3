/** The consent that carriers report: a message that was refused since its recipient has opted out at the carrier, and a choice that a person
 *  made in the carrier's app. Each becomes a suppression, so that the next message is not handed to the carrier. */
import { liftReported, optOut, optOutAll } from "../consent/change-consent.ts";
import type { Pair } from "../consent/suppression.ts";
import { carrierOrigin } from "../model/origin.ts";
import { ERASED } from "../model/phone-number.ts";
import type { Link } from "../links/link.ts";
import type { Message } from "../messages/message.ts";
import type { InboundAddresses, Preference } from "../providers/provider.ts";
import type { DeliveryContext } from "./context.ts";
import { consentPairs, InboundOwners } from "./inbound-owner.ts";
import { readMessages } from "./queries.ts";

type CarrierConsentParts = Pick<DeliveryContext, "db" | "clock" | "linkDirectory" | "wakeWebhooks" | "log">;

export class CarrierConsent {
  readonly #parts: CarrierConsentParts;
  readonly #owners: InboundOwners;

  constructor(parts: CarrierConsentParts) {
    this.#parts = parts;
    this.#owners = new InboundOwners(parts);
  }

  /** Suppresses the recipient of a message that its carrier refused because of an opt-out. Resolves when that is committed. A message without
   *  a sender suppresses the recipient for all senders, since only the carrier knows which of its numbers it would have used. */
  async refused(link: string, message: Message): Promise<void> {
    const { db, clock, linkDirectory, wakeWebhooks } = this.#parts;
    const isChanged = await db.transaction(async (tx) => {
      const [now] = await readMessages(tx, [message]);
      if (now === undefined || now.recipient === ERASED) return false;
      const senders = message.sender === null ? [null] : linkDirectory.current.poolOf(message, message.sender).toSorted();
      const pairs = senders.map((sender) => ({
        pair: { ...message, sender },
        cause: { source: "carrier", origin: carrierOrigin(link) } as const,
      }));
      return (await optOutAll(tx, clock.now(), pairs)).some((done) => done.isChanged);
    });
    if (isChanged) wakeWebhooks();
  }

  /** Applies the choices of people, in their order. Resolves when all are committed, or are known to concern no account. */
  async apply(link: Link, preferences: readonly Preference[]): Promise<void> {
    for (const preference of preferences) await this.#applyOne(link, preference);
  }

  async #applyOne(link: Link, { isOptOut, ...addresses }: Preference): Promise<void> {
    const { db, clock, wakeWebhooks, log } = this.#parts;
    const pairs = await this.#pairsOf(link, addresses);
    if (pairs.length === 0) {
      log.warn({ event: "delivery.preference_unowned", link: link.name }, "the choice of a person concerns no account");
      return;
    }
    const cause = { source: "carrier", origin: carrierOrigin(link.name) } as const;
    await db.transaction(async (tx) => {
      for (const pair of pairs)
        if (isOptOut) await optOut(tx, clock.now(), pair, cause);
        else await liftReported(tx, clock.now(), pair, cause);
    });
    wakeWebhooks();
  }

  /** The choice is about the number only: it changes the pairs that an opt-out word to a number of the link changes. */
  async #pairsOf(link: Link, addresses: InboundAddresses): Promise<Pair[]> {
    const written = { ...addresses, channel: "whatsapp", text: "", providerMessageId: null, inReplyTo: null } as const;
    const messages = await this.#owners.identify(link, [written]);
    const [found] = await this.#owners.find(link, messages);
    return messages.flatMap((each) => consentPairs({ ...each, link: link.name, isKnown: true }, found, this.#parts.linkDirectory.current));
  }
}
