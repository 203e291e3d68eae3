/** The statuses of a message and the permitted transitions, as a table. `docs/states.md` draws the usual ones, and a test compares the two.
 *  `advance.ts`, the only writer of a status, writes only changes that this table permits. */

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

/** Signals of carriers only advance a message: sent 3 < delivered 4 < read 5. Failures apply below 4. A late `delivered` or `read` is true
 *  and overrides a failure. */
export const NEXT: Readonly<Record<Status, readonly Status[]>> = {
  // An edit leads from `scheduled` to `scheduled`.
  scheduled: ["scheduled", "queued", "canceled"],
  // A queued message gets a carrier's signal only if the signal belongs to an earlier attempt.
  queued: ["sending", "sent", "delivered", "read", "undelivered", "failed", "expired", "canceled"],
  sending: ["queued", "sent", "delivered", "read", "undelivered", "failed", "expired"],
  sent: ["delivered", "read", "undelivered", "failed", "expired"],
  delivered: ["read"],
  read: [],
  undelivered: ["delivered", "read"],
  // Only after a failure with an unknown outcome.
  failed: ["delivered", "read"],
  expired: ["delivered", "read"],
  canceled: [],
  received: [],
};

/** The error of a message of unknown outcome: the only failure that a receipt can still override. */
export const OUTCOME_UNKNOWN = "outcome_unknown";

const SET_BY_CARRIERS: ReadonlySet<Status> = new Set(["sent", "delivered", "read", "undelivered"]);

/** The fields of a message on which the table depends. */
export type StatusFields = { status: Status; attempts: number; error: { code: string } | null };

export function mayBecome({ status, attempts, error }: StatusFields, next: Status): boolean {
  if (!NEXT[status].includes(next)) return false;
  if (status === "queued" && SET_BY_CARRIERS.has(next)) return attempts > 0;
  if (status === "failed") return error?.code === OUTCOME_UNKNOWN;
  return true;
}

/** The final statuses after which a fallback starts. */
const UNSUCCESSFUL: ReadonlySet<Status> = new Set(["undelivered", "failed", "expired"]);
export const isUnsuccessful = ({ status }: { status: Status }): boolean => UNSUCCESSFUL.has(status);

/** In any other status the service changes nothing more, though a late receipt still can. */
const UNFINISHED: ReadonlySet<Status> = new Set(["scheduled", "queued", "sending", "sent"]);
export const isFinished = (status: Status): boolean => !UNFINISHED.has(status);
