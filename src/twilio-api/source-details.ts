/** The details that this API keeps of a message, beside its record. */

export type SourceDetails = {
  /** The id of the credential of the request, if it has a callback. */
  credential?: string;
  /** The URL that gets the statuses. */
  callback?: string;
  /** The SID of the messaging service that chose the sender. */
  service?: string;
  /** The message is a reply that a client gave to an inbound message. */
  isReply?: true;
};

/** Null if there is nothing to keep. */
export const detailsText = (details: SourceDetails): string | null => (Object.keys(details).length === 0 ? null : JSON.stringify(details));
