/** The messages that this process handed over last, by the names their carriers gave them. Receipts mostly come within
 *  seconds, and most of them need not ask the database whose they are. A message may have changed since: whoever changes it
 *  finds that out when the change does not hold. */
import type { Message } from "../messages/message.ts";
import type { CarrierId } from "../messages/provider-reference.ts";

// Some seconds of a busy link; a few megabytes.
const MAX_MESSAGES = 8_192;

export class RecentMessages {
  readonly #names = new Map<string, Message>();

  remember({ link, providerMessageId }: CarrierId, message: Message): void {
    const name = `${link} ${providerMessageId}`;
    // A map keeps the order in which names came: the first is the oldest.
    if (this.#names.size >= MAX_MESSAGES) for (const [oldest] of this.#names.entries().take(1)) this.#names.delete(oldest);
    this.#names.set(name, message);
  }

  find({ link, providerMessageId }: CarrierId): Message | undefined {
    return this.#names.get(`${link} ${providerMessageId}`);
  }

  /** What is final for its channel is forgotten, anything else is known as it is now. */
  update(message: Message): void {
    const { provider } = message;
    if (provider === null || provider.messageId === null) return;
    const name = `${provider.link} ${provider.messageId}`;
    if (!this.#names.has(name)) return;
    if (message.status === "read" || (message.status === "delivered" && message.channel === "sms")) this.#names.delete(name);
    else this.#names.set(name, message);
  }
}
