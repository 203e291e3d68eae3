/** All SQL of events. */
import type { Uuid } from "../lib/uuid.ts";
import { column, type Column } from "../storage/batch.ts";

/** An event of a message, written with the change it reports; `record` is the message's record after it. */
type NewEvent = { id: Uuid; type: string; record: string };
export type Evented = { event: NewEvent | null };

export const eventColumns: readonly Column<Evented>[] = [
  column("event_id", "uuid", ({ event }) => event?.id ?? null),
  column("event_type", "text", ({ event }) => event?.type ?? null),
  column("record", "text", ({ event }) => event?.record ?? null),
];

/** The events of the messages in `accepted`. */
export const insertMessageEvents = `
  insert into events (account_id, environment, id, type, message_id, sequence, record)
  select account_id, environment, event_id, event_type, message_id, sequence, record
    from accepted
   where event_id is not null`;
