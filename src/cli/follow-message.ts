/** Follows one message until its final status. The stored events are polled, because they are complete; the event stream only wakes the
 *  poll early. A key without `events:read` polls the message itself, a little more often. */
import { pause } from "../lib/wait.ts";
import type { MessageRecord } from "../messages/message.ts";
import { callApi, type ApiResponse, type ApiResult } from "./api.ts";
import type { ClientConfig } from "./client-config.ts";
import { followEvents } from "./follow-events.ts";

/** A status of the message, with the time of the change. */
export type StatusChange = { at: string; record: MessageRecord };

export type FollowMessageOptions = { signal: AbortSignal; onChange: (change: StatusChange) => void };

/** The message in its final status, or the reason why that status is not known. */
export type FollowResult = { kind: "ended"; record: MessageRecord } | { kind: "lost"; record: MessageRecord; reason: string };

const FIRST_POLL_MS = 500;
const MAX_POLL_MS = 2_000;
// Polling goes on beside an open stream. The stream starts with events created after it opened; an event created before that can be
// committed later, and only a poll finds it.
const MAX_WATCHED_POLL_MS = 5_000;

const DELIVERED: ReadonlySet<string> = new Set(["delivered", "read"]);
const FINAL: ReadonlySet<string> = new Set([...DELIVERED, "undelivered", "failed", "expired", "canceled"]);
export const isDelivered = ({ status }: MessageRecord): boolean => DELIVERED.has(status);

type Poll = (client: ClientConfig, id: string, signal: AbortSignal) => Promise<PollResult>;
type PollResult = { kind: "changes"; changes: readonly StatusChange[] } | { kind: "refused"; status: number };

export async function followMessage(client: ClientConfig, accepted: MessageRecord, options: FollowMessageOptions): Promise<FollowResult> {
  const { signal, onChange } = options;
  const watch = new EventWatch(client, accepted.id);
  let [record, poll, pauseMs] = [accepted, pollEvents, FIRST_POLL_MS];
  const lost = (reason: string): FollowResult => ({ kind: "lost", record, reason });
  try {
    for (;;) {
      const result = await poll(client, record.id, signal);
      if (result.kind === "changes") {
        for (const change of result.changes.filter((each) => each.record.sequence > record.sequence)) {
          record = change.record;
          pauseMs = FIRST_POLL_MS;
          onChange(change);
        }
        if (poll === pollEvents) watch.start();
      } else if (result.status === 403 && poll === pollEvents) {
        poll = pollMessage;
        continue;
      } else if (result.status === 403) return lost("the key has neither the scope events:read nor messages:read");
      else return lost(`the server responded with ${result.status}`);
      if (FINAL.has(record.status)) return { kind: "ended", record };
      if (signal.aborted) return lost("the time limit was reached");
      await watch.wait(pauseMs, signal);
      pauseMs = Math.min(watch.isConnected ? MAX_WATCHED_POLL_MS : MAX_POLL_MS, pauseMs * 2);
    }
  } finally {
    watch.stop();
  }
}

type EventPage = { data?: readonly { type: string; timestamp: string; data: { message: MessageRecord } }[] };

/** Reads every status change of the message from its events. */
const pollEvents: Poll = async (client, id, signal) =>
  toPollResult(await callApi(client, { method: "GET", path: `/v1/events?message_id=${id}&type=message.*&limit=100` }, signal), (json) =>
    ((json as EventPage).data ?? [])
      .filter(({ type, data }) => type === `message.${data.message.status}`)
      .map(({ timestamp, data }) => ({ at: timestamp, record: data.message }))
      .toSorted((a, b) => a.record.sequence - b.record.sequence),
  );

/** Reads the current status of the message. */
const pollMessage: Poll = async (client, id, signal) =>
  toPollResult(await callApi(client, { method: "GET", path: `/v1/messages/${id}` }, signal), (json) => {
    const record = json as MessageRecord;
    return [{ at: record.updated_at, record }];
  });

/** Converts a response. A server that is overloaded or unavailable yields no changes; the next poll may succeed. */
function toPollResult(result: ApiResult, read: (json: NonNullable<ApiResponse["json"]>) => StatusChange[]): PollResult {
  if (result.kind === "no_response" || result.status === 429 || result.status >= 500) return { kind: "changes", changes: [] };
  if (result.status !== 200 || result.json === undefined) return { kind: "refused", status: result.status };
  return { kind: "changes", changes: read(result.json) };
}

/** Watches the event stream and ends a `wait` early when the message has a new event. Without a stream, only the polls find changes. */
class EventWatch {
  readonly #client: ClientConfig;
  readonly #id: string;
  readonly #stopping = new AbortController();
  #isStarted = false;
  isConnected = false;
  #isWoken = false;
  #wakeWaiter = (): void => undefined;

  constructor(client: ClientConfig, id: string) {
    this.#client = client;
    this.#id = id;
  }

  start(): void {
    if (!this.#isStarted) void this.#listen();
    this.#isStarted = true;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Waits for an event of the message, at most `ms`. Returns at once if one has arrived since the last wait. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isWoken) {
      const woken = new AbortController();
      this.#wakeWaiter = () => woken.abort();
      await pause(ms, AbortSignal.any([signal, woken.signal]));
    }
    this.#isWoken = false;
  }

  #wakeUp(): void {
    this.#isWoken = true;
    this.#wakeWaiter();
  }

  async #listen(): Promise<void> {
    const onState = (state: unknown): void => {
      this.isConnected = state === "connected";
      // The stream does not contain earlier events. A poll right after it opened finds them.
      if (this.isConnected) this.#wakeUp();
    };
    try {
      const events = followEvents({ ...this.#client, type: "message.*", signal: this.#stopping.signal, onState });
      for await (const { data } of events) if (data.includes(`"${this.#id}"`)) this.#wakeUp();
    } catch {
      // The server or a proxy refuses the stream. Polling continues without it.
      this.isConnected = false;
    }
  }
}
