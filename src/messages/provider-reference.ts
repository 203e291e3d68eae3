/** The ids by which carriers report about messages. */

/** The id that a carrier gives to a message or part. It is unique only within its link. */
export type CarrierId = { link: string; providerMessageId: string };

/** A carrier id of a message, and the time until which the carrier may report about the message with it. */
export type ProviderReference = CarrierId & {
  expiresAtMs: number;
  /** The carrier ids of the parts after the first, for a message in several parts. */
  furtherPartIds?: readonly string[];
};
