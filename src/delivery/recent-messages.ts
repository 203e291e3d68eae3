/** The messages that this node submitted last, by carrier id. Most receipts arrive within seconds, and find their message here without a
 *  query. A message may have changed meanwhile: a change that is based on an old version is not stored. */
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Message } from "../messages/message.ts";
import type { CarrierId } from "../messages/provider-reference.ts";

// The messages of some seconds on a busy link, in a few megabytes.
const MAX_MESSAGES = 8_192;

export class RecentMessages {
  readonly #messages = new BoundedMap<string, Message>(MAX_MESSAGES);

  remember({ link, providerMessageId }: CarrierId, message: Message): void {
    this.#messages.set(`${link} ${providerMessageId}`, message);
  }

  find({ link, providerMessageId }: CarrierId): Message | undefined {
    return this.#messages.get(`${link} ${providerMessageId}`);
  }

  /** Removes a message whose status is the last of its channel. Replaces any other message by its new version. */
  update(message: Message): void {
    const { provider } = message;
    if (provider === null || provider.messageId === null) return;
    const key = `${provider.link} ${provider.messageId}`;
    if (!this.#messages.has(key)) return;
    if (message.status === "read" || (message.status === "delivered" && message.channel === "sms")) this.#messages.delete(key);
    else this.#messages.set(key, message);
  }
}
