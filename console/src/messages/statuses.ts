/** What a message can be. A status of tomorrow is shown as it is; only the filter would not offer it. */
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
