/** A list of messages that follows what happens to them. */
import type { GodwitEvent, Message } from "godwit-sdk";
import type { Listed } from "../ui/pages.tsx";

// More than anybody reads: beyond it the oldest make room.
const MAX_LISTED = 200;

/** The last record of each message among the events, in the order in which the messages first appear. */
export function newestRecords(events: readonly GodwitEvent[]): Message[] {
  const records = new Map<string, Message>();
  for (const { data } of events) {
    const { message } = data;
    if (message === undefined || message === null) continue;
    const known = records.get(message.id);
    if (known === undefined || known.sequence < message.sequence) records.set(message.id, message);
  }
  return [...records.values()];
}

/** Puts them in: new ones at their place by age, known ones over what was shown, and takes out what no longer belongs. */
export function merge(
  { items, cursor }: Listed<Message>,
  records: readonly Message[],
  isWanted: (message: Message) => boolean,
): Listed<Message> {
  const shown = new Map(items.map((item) => [item.id, item]));
  const oldest = items.at(-1)?.id ?? "";
  for (const record of records) {
    const known = shown.get(record.id);
    // A stream that was resumed repeats the last seconds.
    if (known !== undefined && known.sequence > record.sequence) continue;
    if (known === undefined) {
      // What is older than the last that is shown is on a page that was not asked for yet.
      const isBelow = cursor !== null && record.id < oldest;
      if (isWanted(record) && !isBelow) shown.set(record.id, record);
    } else if (!isWanted(record)) shown.delete(record.id);
    else shown.set(record.id, record);
  }
  // Ids are ordered by time.
  const sorted = [...shown.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1));
  // Who has loaded more than that keeps it: only what comes of itself makes room for itself.
  const most = Math.max(MAX_LISTED, items.length);
  return sorted.length <= most ? { items: sorted, cursor } : { items: sorted.slice(0, most), cursor };
}
