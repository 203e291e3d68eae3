/** Merges events into a list of messages. */
import type { GodwitEvent, Message } from "godwit-sdk";
import type { Listed } from "../ui/pages.tsx";
import { newest } from "./newest.ts";

// More than a person reads. Beyond it the oldest messages are removed from the list.
const MAX_LISTED = 200;

/** Returns the newest record of each message in the events, in the order in which the messages first appear. */
export function newestRecords(events: readonly GodwitEvent[]): Message[] {
  const records = new Map<string, Message>();
  for (const { data } of events) {
    const { message } = data;
    if (message === undefined || message === null) continue;
    records.set(message.id, newest(records.get(message.id), message));
  }
  return [...records.values()];
}

/** Merges records into the list: inserts new ones by age, replaces known ones, and removes those that no longer match. */
export function merge(
  { items, cursor }: Listed<Message>,
  records: readonly Message[],
  isWanted: (message: Message) => boolean,
): Listed<Message> {
  const shown = new Map(items.map((item) => [item.id, item]));
  const oldest = items.at(-1)?.id ?? "";
  for (const record of records) {
    const known = shown.get(record.id);
    // A resumed stream repeats the events of the last seconds.
    if (newest(known, record) === known) continue;
    if (known === undefined) {
      // A record older than the last shown one belongs to a page that is not loaded yet.
      const isBelow = cursor !== null && record.id < oldest;
      if (isWanted(record) && !isBelow) shown.set(record.id, record);
    } else if (!isWanted(record)) shown.delete(record.id);
    else shown.set(record.id, record);
  }
  // Ids are ordered by time.
  const sorted = [...shown.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1));
  // The limit applies only to messages from events. A longer list that the user has loaded keeps its length.
  const most = Math.max(MAX_LISTED, items.length);
  return sorted.length <= most ? { items: sorted, cursor } : { items: sorted.slice(0, most), cursor };
}
