/** Follows the event stream: connects again when it ends, goes on after the last event it saw, and leaves out repeats. */
import { Deadline, wait } from "./deadline.ts";
import { GodwitError } from "./errors.ts";
import { FrameReader, type Frame } from "./event-frames.ts";
import { withinDeadline } from "./exchange.ts";
import type { QueryOf } from "./operation.ts";
import { lowerCased } from "./request.ts";
import { isRetryable, retryDelayMs } from "./retry.ts";
import type { Event } from "./schema.ts";
import type { Transport } from "./transport.ts";

export type StreamOptions = {
  /** Ends the iteration without an error. */
  signal?: AbortSignal | undefined;
  /** Where to go on: `lastEventId` of an earlier stream. Without it, from now on. */
  lastEventId?: string | undefined;
  /** Told when the connection is there, and when and why it is not. */
  onState?: ((state: StreamState) => void) | undefined;
  /** After so long without a sign of life the connection is given up. The service gives one every 15 seconds; 45. */
  silenceMs?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
};

export type StreamState = { kind: "connected" } | { kind: "lost"; error: unknown; retryMs: number };

const SILENCE_MS = 45_000;
// After a return the service repeats twenty seconds.
const MAX_REMEMBERED = 100_000;

/** Iterate it once. It goes on until it is left, its signal says so, or the service refuses for good. */
export class EventStream implements AsyncIterable<Event> {
  /** The last event that was dealt with: keep it to go on from there in another process. */
  lastEventId: string | undefined;
  readonly #transport: Transport;
  readonly #query: QueryOf<"get_events_stream">;
  readonly #options: StreamOptions;
  readonly #seen = new Set<string>();

  constructor(transport: Transport, query: QueryOf<"get_events_stream">, options: StreamOptions) {
    this.#transport = transport;
    this.#query = query;
    this.#options = options;
    this.lastEventId = options.lastEventId;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    const { signal, onState } = this.#options;
    const isAborted = (): boolean => signal?.aborted === true;
    let failures = 0;
    const onOpen = (): void => {
      failures = 0;
      onState?.({ kind: "connected" });
    };
    while (!isAborted()) {
      let error: unknown = new GodwitError("the service closed the stream");
      try {
        yield* this.#readConnection(onOpen);
      } catch (caught) {
        if (isAborted()) return;
        if (!isRetryable(caught)) throw caught;
        error = caught;
      }
      failures += 1;
      const retryMs = retryDelayMs(failures, error);
      onState?.({ kind: "lost", error, retryMs });
      await wait(retryMs, signal).catch(() => undefined);
    }
  }

  async *#readConnection(onOpen: () => void): AsyncGenerator<Event, void, undefined> {
    const { signal, silenceMs = SILENCE_MS } = this.#options;
    const deadline = new Deadline(signal);
    const restartTimer = (): void => deadline.set(silenceMs, "a sign of life of the event stream");
    try {
      restartTimer();
      const headers = { ...lowerCased(this.#options.headers), accept: "text/event-stream", ...this.#resumption() };
      const response = await this.#transport.open("get_events_stream", { query: this.#query }, { headers, deadline });
      const [reader, frames] = [response.body?.getReader(), new FrameReader()];
      if (reader === undefined) return;
      onOpen();
      for (;;) {
        const { done, value } = await withinDeadline(() => reader.read(), deadline);
        if (done) return;
        // Whoever takes the events may take long: that is no silence of the service's.
        deadline.pause();
        for (const frame of frames.take(value)) yield* this.#events(frame);
        restartTimer();
      }
    } finally {
      deadline.end();
    }
  }

  #resumption(): Record<string, string> {
    return this.lastEventId === undefined ? {} : { "last-event-id": this.lastEventId };
  }

  *#events({ id, data }: Frame): Generator<Event, void, undefined> {
    if (id !== undefined && data !== undefined && !this.#seen.has(id)) {
      if (this.#seen.size >= MAX_REMEMBERED) this.#seen.delete(this.#seen.values().next().value ?? "");
      this.#seen.add(id);
      yield JSON.parse(data) as Event;
    }
    // Only now is it dealt with.
    this.lastEventId = id ?? this.lastEventId;
  }
}
