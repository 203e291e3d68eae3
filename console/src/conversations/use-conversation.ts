/** Loads the messages with one person and follows them. Outbound messages are a filter of the API. Inbound messages are searched for among
 *  the newest ones, because the API has no filter by their sender. */
import type { Message } from "godwit-sdk";
import { useState } from "preact/hooks";
import { useScan, type Scan } from "../lib/scan.ts";
import { useEvents } from "../session/live.tsx";
import { useApi } from "../session/use-session.ts";
import { useList, type List } from "../ui/pages.tsx";
import { mergeMessages, personOf } from "./conversation.ts";

const PAGE = 100;
// 2,000 inbound messages.
const MAX_PAGES = 20;
// More than a person reads at once. A long search pauses here.
const MAX_FOUND = 200;

export type FollowedConversation = {
  /** Oldest first. */
  messages: readonly Message[];
  outbound: List<Message>;
  inbound: Scan<Message>;
  add: (message: Message) => void;
};

export function useConversation(person: string): FollowedConversation {
  const api = useApi();
  const outbound = useList<Message>(person, (cursor, signal) =>
    api.messages.list({ recipient: person, direction: "outbound", limit: 50 }, { signal }).page(cursor),
  );
  const inbound = useScan<Message>(person, {
    fetchPage: (cursor, signal) => api.messages.list({ direction: "inbound", limit: PAGE }, { signal }).page(cursor),
    isWanted: (message) => message.sender === person,
    maxPages: MAX_PAGES,
    maxFound: MAX_FOUND,
  });
  const [changed, setChanged] = useState<readonly Message[]>([]);
  const add = (message: Message): void => setChanged((before) => mergeMessages(before, [message]));
  useEvents((events) => {
    const records = events.flatMap(({ data: { message } }) =>
      message !== undefined && message !== null && personOf(message) === person ? [message] : [],
    );
    if (records.length > 0) setChanged((before) => mergeMessages(before, records));
  });
  return { messages: mergeMessages(outbound.resource.data?.items ?? [], inbound.found, changed), outbound, inbound, add };
}
