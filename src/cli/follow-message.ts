/** Follows one message to its end. What is on record is the truth, and is looked at again and again; the event stream is the bell that
 *  says when. A key without `events:read` looks at the message itself, a little more often. */
import { pause } from "../lib/wait.ts";
import type { MessageRecord } from "../messages/message.ts";
import { callApi, type Answer, type Answered } from "./api.ts";
import type { ClientConfig } from "./client-config.ts";
import { followEvents } from "./follow-events.ts";

/** A state of the message, and since when. */
export type State = { at: string; record: MessageRecord };

export type FollowMessageOptions = { signal: AbortSignal; onState: (state: State) => void };

/** The message at its end, or why nobody knows it. */
export type Followed = { kind: "ended"; record: MessageRecord } | { kind: "lost"; record: MessageRecord; reason: string };

const FIRST_LOOK_MS = 500;
const MAX_LOOK_MS = 2_000;
// With a bell, for what it may have missed: a stream tells what is made from its opening on, and what was made just before may be
// committed only then.
const MAX_BELL_LOOK_MS = 5_000;

const WELL: ReadonlySet<string> = new Set(["delivered", "read"]);
const ENDS: ReadonlySet<string> = new Set([...WELL, "undelivered", "failed", "expired", "canceled"]);
export const hasArrived = ({ status }: MessageRecord): boolean => WELL.has(status);

type Look = (client: ClientConfig, id: string, signal: AbortSignal) => Promise<Seen>;
type Seen = { kind: "states"; states: readonly State[] } | { kind: "refused"; status: number };

export async function followMessage(client: ClientConfig, accepted: MessageRecord, options: FollowMessageOptions): Promise<Followed> {
  const { signal, onState } = options;
  const bell = new Bell(client, accepted.id);
  let [record, look, pauseMs] = [accepted, lookAtEvents, FIRST_LOOK_MS];
  const lost = (reason: string): Followed => ({ kind: "lost", record, reason });
  try {
    for (;;) {
      const seen = await look(client, record.id, signal);
      if (seen.kind === "states") {
        for (const state of seen.states.filter((each) => each.record.sequence > record.sequence)) {
          record = state.record;
          pauseMs = FIRST_LOOK_MS;
          onState(state);
        }
        if (look === lookAtEvents) bell.hang();
      } else if (seen.status === 403 && look === lookAtEvents) {
        look = lookAtMessage;
        continue;
      } else if (seen.status === 403) return lost("the key has neither the scope events:read nor messages:read");
      else return lost(`the server answered ${seen.status}`);
      if (ENDS.has(record.status)) return { kind: "ended", record };
      if (signal.aborted) return lost("it was not waited for any longer");
      await bell.wait(pauseMs, signal);
      pauseMs = Math.min(bell.isOpen ? MAX_BELL_LOOK_MS : MAX_LOOK_MS, pauseMs * 2);
    }
  } finally {
    bell.takeDown();
  }
}

type EventPage = { data?: readonly { type: string; timestamp: string; data: { message: MessageRecord } }[] };

/** Every state that is on record. */
const lookAtEvents: Look = async (client, id, signal) =>
  seenIn(await callApi(client, { method: "GET", path: `/v1/events?message_id=${id}&type=message.*&limit=100` }, signal), (json) =>
    ((json as EventPage).data ?? [])
      .filter(({ type, data }) => type === `message.${data.message.status}`)
      .map(({ timestamp, data }) => ({ at: timestamp, record: data.message }))
      .toSorted((a, b) => a.record.sequence - b.record.sequence),
  );

/** The state it is in. */
const lookAtMessage: Look = async (client, id, signal) =>
  seenIn(await callApi(client, { method: "GET", path: `/v1/messages/${id}` }, signal), (json) => {
    const record = json as MessageRecord;
    return [{ at: record.updated_at, record }];
  });

/** A server that is in trouble, or away, shows nothing for now. */
function seenIn(answer: Answer, read: (json: NonNullable<Answered["json"]>) => State[]): Seen {
  if (answer.kind === "unanswered" || answer.status === 429 || answer.status >= 500) return { kind: "states", states: [] };
  if (answer.status !== 200 || answer.json === undefined) return { kind: "refused", status: answer.status };
  return { kind: "states", states: read(answer.json) };
}

/** Rings when something happened to the message. While there is no stream it is silent, and the looks alone must do. */
class Bell {
  readonly #client: ClientConfig;
  readonly #id: string;
  readonly #down = new AbortController();
  #isHung = false;
  isOpen = false;
  #hasRung = false;
  #wake = (): void => undefined;

  constructor(client: ClientConfig, id: string) {
    this.#client = client;
    this.#id = id;
  }

  hang(): void {
    if (!this.#isHung) void this.#listen();
    this.#isHung = true;
  }

  takeDown(): void {
    this.#down.abort();
  }

  /** Until it rings, or at once if it has since the last time; for so long at most. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#hasRung) {
      const rung = new AbortController();
      this.#wake = () => rung.abort();
      await pause(ms, AbortSignal.any([signal, rung.signal]));
    }
    this.#hasRung = false;
  }

  #ring(): void {
    this.#hasRung = true;
    this.#wake();
  }

  async #listen(): Promise<void> {
    const onState = (state: unknown): void => {
      this.isOpen = state === "connected";
      // What happened before it was open is seen by the look that its opening rings for.
      if (this.isOpen) this.#ring();
    };
    try {
      const events = followEvents({ ...this.#client, type: "message.*", signal: this.#down.signal, onState });
      for await (const { data } of events) if (data.includes(`"${this.#id}"`)) this.#ring();
    } catch {
      // The stream is refused, as a proxy may do.
      this.isOpen = false;
    }
  }
}
