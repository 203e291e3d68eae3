/** The ids by which carriers report about messages. */

/** The id that a carrier gives to a message or part. It is unique only within its link. */
export type CarrierId = { link: string; providerMessageId: string };

/** A carrier id of a message, and the time until which the carrier may report about the message with it. */
export type ProviderReference = CarrierId & {
  expiresAtMs: number;
  /** The parts that the carrier has accepted, for a message in several parts. */
  parts?: StoredParts;
};

/** The carrier ids of a message's first parts, the number of all its parts, and the number that ties them together. The latter is
 *  null if the carrier has accepted all parts. */
export type StoredParts = { ids: readonly string[]; total: number; reference: number | null };
