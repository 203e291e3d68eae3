/** Follows one message until its final status, by polling. Its events have every change; a key without `events:read` polls the message. */
import { pause } from "../lib/wait.ts";
import type { MessageRecord } from "../messages/message.ts";
import { callApi } from "./client.ts";
import type { ClientConfig } from "./client-config.ts";

/** A status of the message, with the time of the change. */
export type StatusChange = { at: string; record: MessageRecord };

type FollowOptions = { signal: AbortSignal; onChange: (change: StatusChange) => void };

/** The message in its final status, or the reason why that status is not known. */
type FollowResult = { kind: "ended"; record: MessageRecord } | { kind: "lost"; record: MessageRecord; reason: string };

const FIRST_POLL_MS = 250;
const MAX_POLL_MS = 2_000;

const DELIVERED: ReadonlySet<string> = new Set(["delivered", "read"]);
const FINAL: ReadonlySet<string> = new Set([...DELIVERED, "undelivered", "failed", "expired", "canceled"]);
export const isDelivered = ({ status }: MessageRecord): boolean => DELIVERED.has(status);

type Poll = { path: (id: string) => string; changes: (json: object) => readonly StatusChange[] };
type EventPage = { data?: readonly { type: string; timestamp: string; data: { message: MessageRecord } }[] };

const EVENTS: Poll = {
  path: (id) => `/v1/events?message_id=${id}&type=message.*&limit=100`,
  changes: (json) =>
    ((json as EventPage).data ?? [])
      .filter(({ type, data }) => type === `message.${data.message.status}`)
      .map(({ timestamp, data }) => ({ at: timestamp, record: data.message }))
      .toSorted((a, b) => a.record.sequence - b.record.sequence),
};

const MESSAGE: Poll = {
  path: (id) => `/v1/messages/${id}`,
  changes: (json) => [{ at: (json as MessageRecord).updated_at, record: json as MessageRecord }],
};

export async function followMessage(client: ClientConfig, accepted: MessageRecord, options: FollowOptions): Promise<FollowResult> {
  const { signal, onChange } = options;
  let [record, poll, pauseMs] = [accepted, EVENTS, FIRST_POLL_MS];
  for (;;) {
    const result = await callApi(client, { method: "GET", path: poll.path(record.id) }, signal);
    if (result.kind === "response" && result.status === 403 && poll === EVENTS) {
      poll = MESSAGE;
      continue;
    }
    // A server that is overloaded or unavailable yields no changes; the next poll may succeed.
    if (result.kind === "response" && result.status !== 429 && result.status < 500) {
      if (result.status !== 200 || result.json === undefined) return { kind: "lost", record, reason: explainRefusal(result.status) };
      for (const change of poll.changes(result.json).filter((each) => each.record.sequence > record.sequence)) {
        record = change.record;
        pauseMs = FIRST_POLL_MS;
        onChange(change);
      }
    }
    if (FINAL.has(record.status)) return { kind: "ended", record };
    if (signal.aborted) return { kind: "lost", record, reason: "the time limit was reached" };
    await pause(pauseMs, signal);
    pauseMs = Math.min(MAX_POLL_MS, pauseMs * 2);
  }
}

const explainRefusal = (status: number): string =>
  status === 403 ? "the key has neither the scope events:read nor messages:read" : `the server responded with ${status}`;
