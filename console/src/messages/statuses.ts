/** The statuses that the filter offers. A status that the console does not know is still shown. */
export const STATUSES = [
  "scheduled",
  "queued",
  "sending",
  "sent",
  "delivered",
  "read",
  "undelivered",
  "failed",
  "expired",
  "canceled",
  "received",
];
