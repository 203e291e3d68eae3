/** One part of a message that went in several, as the carrier speaks of it. */
export type Part<Status, Failure> = { number: number; status: Status; error: Failure | null };
