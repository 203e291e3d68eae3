/** One part of a message that went in several, as the carrier speaks of it. */
export type Part<Status, Failure> = { number: number; status: Status; error: Failure | null };

/** As it is on record: with what the carrier calls it, and when it last changed. */
export type KnownPart<Status, Failure> = Part<Status, Failure> & { provider_message_id: string; updated_at: Date };
