/** The states of a message, as a table: what may follow what. `docs/states.md` draws it, and a test holds the two together.
 *  `advance.ts` is the only one that writes a status, and it asks here. */

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
] as const;
export type Status = (typeof STATUSES)[number];

/** Signals of carriers move a message up only: sent 3 < delivered 4 < read 5; the bad ends apply below 4. A late
 *  `delivered` or `read` is the truth and overrides a bad end. */
export const NEXT: Readonly<Record<Status, readonly Status[]>> = {
  // To itself: it was edited.
  scheduled: ["scheduled", "queued", "canceled"],
  // What a carrier says reaches a queued message only when an earlier try of it is what the carrier speaks of.
  queued: ["sending", "sent", "delivered", "read", "undelivered", "failed", "expired", "canceled"],
  sending: ["queued", "sent", "delivered", "read", "undelivered", "failed", "expired"],
  sent: ["delivered", "read", "undelivered", "failed", "expired"],
  delivered: ["read"],
  read: [],
  undelivered: ["delivered", "read"],
  // Only where nobody knew whether it had left.
  failed: ["delivered", "read"],
  expired: ["delivered", "read"],
  canceled: [],
  received: [],
};

/** Nobody knows whether the message left. The one failure that a receipt can still overturn. */
export const OUTCOME_UNKNOWN = "outcome_unknown";

const SAID_BY_CARRIERS: ReadonlySet<Status> = new Set(["sent", "delivered", "read", "undelivered"]);

/** What of a message the table asks for. */
export type StatusFields = { status: Status; attempts: number; error: { code: string } | null };

export function mayBecome({ status, attempts, error }: StatusFields, next: Status): boolean {
  if (!NEXT[status].includes(next)) return false;
  if (status === "queued" && SAID_BY_CARRIERS.has(next)) return attempts > 0;
  if (status === "failed") return error?.code === OUTCOME_UNKNOWN;
  return true;
}

/** The ends at which something else may be tried. */
const BAD_ENDS: ReadonlySet<Status> = new Set(["undelivered", "failed", "expired"]);
export const hasEndedBadly = ({ status }: { status: Status }): boolean => BAD_ENDS.has(status);

/** Where nothing of ours happens any more, though a late receipt may. */
const UNFINISHED: ReadonlySet<Status> = new Set(["scheduled", "queued", "sending", "sent"]);
export const isFinished = (status: Status): boolean => !UNFINISHED.has(status);
