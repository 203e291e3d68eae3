/** The names by which carriers speak of messages. */

/** What a carrier calls a message; it means something within its link alone. */
export type CarrierId = { link: string; providerMessageId: string };

/** A name, and until when the carrier may speak of the message by it. */
export type ProviderReference = CarrierId & {
  expiresAtMs: number;
  /** What it calls the parts after the first, of a message that went in several. */
  furtherPartIds?: readonly string[];
};
