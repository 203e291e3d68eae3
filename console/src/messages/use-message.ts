/** Follows one message until its final status: by events, or by polling if the key may not read events. */
import type { Message, TimelineEntry } from "godwit-sdk";
import { useResource, type Resource } from "../lib/resource.ts";
import { take } from "../lib/take.ts";
import { useInterval, useThrottled } from "../lib/timing.ts";
import { useEvents, useLiveState, useOnStreamRestart } from "../session/live.tsx";
import { useApi } from "../session/use-session.ts";
import { newest } from "./newest.ts";

const FINAL: ReadonlySet<string> = new Set(["delivered", "read", "undelivered", "failed", "expired", "canceled", "received"]);

export const isFinal = ({ status }: Message): boolean => FINAL.has(status);

const POLL_MS = 2_000;
const RELOAD_MS = 500;
// A message has about ten entries; one with duplicate receipts for many parts has more.
const MAX_ENTRIES = 500;

export type FollowedMessage = { message: Resource<Message>; timeline: Resource<readonly TimelineEntry[]> };

/** Fetches and follows the message. Null follows nothing. */
export function useMessage(id: string | null): FollowedMessage {
  const api = useApi();
  const message = useResource(id, (signal) => api.messages.get(id ?? "", { signal }), newest);
  const timeline = useResource<readonly TimelineEntry[]>(id, async (signal) => {
    const entries = await take(api.messages.events(id ?? "", { limit: 100 }, { signal }), MAX_ENTRIES);
    return entries.toReversed();
  });
  const reloadTimeline = useThrottled(timeline.reload, RELOAD_MS);
  useEvents((events) => {
    for (const { data } of events) {
      const changed = data.message;
      if (changed === undefined || changed === null || changed.id !== id) continue;
      message.set((known) => newest(known, changed));
      reloadTimeline();
    }
  });
  useOnStreamRestart(() => {
    message.reload();
    timeline.reload();
  });
  const isLive = useLiveState() === "live";
  const isOpen = message.data !== undefined && !isFinal(message.data);
  useInterval(
    () => {
      message.reload();
      timeline.reload();
    },
    isOpen && !isLive ? POLL_MS : null,
  );
  return { message, timeline };
}
