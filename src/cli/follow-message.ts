/** Follows one message to its end. What is on record is the truth, and is looked at again and again; the event stream is the bell that
 *  says when. A key without `events:read` looks at the message itself, a little more often. */
import { pause } from "../lib/wait.ts";
import type { MessageRecord } from "../messages/message.ts";
import { callApi, type ApiResponse, type ApiResult } from "./api.ts";
import type { ClientConfig } from "./client-config.ts";
import { followEvents } from "./follow-events.ts";

/** A state of the message, and since when. */
export type StatusChange = { at: string; record: MessageRecord };

export type FollowMessageOptions = { signal: AbortSignal; onChange: (change: StatusChange) => void };

/** The message at its end, or why nobody knows it. */
export type FollowResult = { kind: "ended"; record: MessageRecord } | { kind: "lost"; record: MessageRecord; reason: string };

const FIRST_POLL_MS = 500;
const MAX_POLL_MS = 2_000;
// With a bell, for what it may have missed: a stream tells what is made from its opening on, and what was made just before may be
// committed only then.
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
      else return lost(`the server answered ${result.status}`);
      if (FINAL.has(record.status)) return { kind: "ended", record };
      if (signal.aborted) return lost("it was not waited for any longer");
      await watch.wait(pauseMs, signal);
      pauseMs = Math.min(watch.isConnected ? MAX_WATCHED_POLL_MS : MAX_POLL_MS, pauseMs * 2);
    }
  } finally {
    watch.stop();
  }
}

type EventPage = { data?: readonly { type: string; timestamp: string; data: { message: MessageRecord } }[] };

/** Every state that is on record. */
const pollEvents: Poll = async (client, id, signal) =>
  toPollResult(await callApi(client, { method: "GET", path: `/v1/events?message_id=${id}&type=message.*&limit=100` }, signal), (json) =>
    ((json as EventPage).data ?? [])
      .filter(({ type, data }) => type === `message.${data.message.status}`)
      .map(({ timestamp, data }) => ({ at: timestamp, record: data.message }))
      .toSorted((a, b) => a.record.sequence - b.record.sequence),
  );

/** The state it is in. */
const pollMessage: Poll = async (client, id, signal) =>
  toPollResult(await callApi(client, { method: "GET", path: `/v1/messages/${id}` }, signal), (json) => {
    const record = json as MessageRecord;
    return [{ at: record.updated_at, record }];
  });

/** A server that is in trouble, or away, shows nothing for now. */
function toPollResult(result: ApiResult, read: (json: NonNullable<ApiResponse["json"]>) => StatusChange[]): PollResult {
  if (result.kind === "no_response" || result.status === 429 || result.status >= 500) return { kind: "changes", changes: [] };
  if (result.status !== 200 || result.json === undefined) return { kind: "refused", status: result.status };
  return { kind: "changes", changes: read(result.json) };
}

/** Rings when something happened to the message. While there is no stream it is silent, and the looks alone must do. */
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

  /** Until it rings, or at once if it has since the last time; for so long at most. */
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
      // What happened before it was open is seen by the look that its opening rings for.
      if (this.isConnected) this.#wakeUp();
    };
    try {
      const events = followEvents({ ...this.#client, type: "message.*", signal: this.#stopping.signal, onState });
      for await (const { data } of events) if (data.includes(`"${this.#id}"`)) this.#wakeUp();
    } catch {
      // The stream is refused, as a proxy may do.
      this.isConnected = false;
    }
  }
}
