/** The facts of a message that only the Kannel API has to know, as they are stored with it; and the bits of `dlr-mask`. */

export type SentDetails = {
  /** The id of the credential. */
  user: string;
  /** Sender and receiver as the client wrote them. */
  from: string;
  to: string;
  dlr_url: string;
  dlr_mask: number;
  account: string;
  meta_data: string;
};

/** The types of reports. Bit 4, of a carrier that keeps the message for later, has no event. */
export const DLR = { delivered: 1, undelivered: 2, accepted: 8, rejected: 16 } as const;
export const DLR_REPORTED = DLR.delivered | DLR.undelivered | DLR.accepted | DLR.rejected;

/** A report of expiry has the bit of failed ones, too. */
export const DLR_EXPIRED = 0x20 | DLR.undelivered;
