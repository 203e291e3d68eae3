/** Follows the event stream: reconnects when the connection ends, and continues after the last event. */
import { Deadline, wait } from "./deadline.ts";
import { GodwitError } from "./errors.ts";
import { FrameReader, type Frame } from "./event-frames.ts";
import { withinDeadline } from "./exchange.ts";
import type { QueryOf } from "./operation.ts";
import { checkOptions, type OptionNames } from "./option-names.ts";
import { lowerCased } from "./request.ts";
import { isRetryable, retryDelayMs } from "./retry.ts";
import type { Event } from "./schema.ts";
import type { Transport } from "./transport.ts";

export type StreamOptions = {
  /** Ends the iteration without an error. */
  signal?: AbortSignal | undefined;
  /** The `lastEventId` of an earlier stream, to continue after it. Without it, the stream starts with new events. */
  lastEventId?: string | undefined;
  /** Called when the stream is connected, and when the connection is lost. */
  onState?: ((state: StreamState) => void) | undefined;
  /** The stream reconnects after this time without any data. The service sends some at least every 15 seconds. Default: 45 seconds. */
  silenceMs?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
};

/** `lost` carries the error, and the wait before the next connection. */
export type StreamState = { kind: "connected" } | { kind: "lost"; error: unknown; retryMs: number };

const OPTIONS: OptionNames<StreamOptions> = { lastEventId: true, onState: true, silenceMs: true, headers: true, signal: true };
const SILENCE_MS = 45_000;

/** A stream of events. Iterate it once, with `for await`. It ends when the loop is left, when the signal aborts, or with an error when
 *  the service refuses the request permanently. */
export class EventStream implements AsyncIterable<Event> {
  /** The id of the last event whose processing is finished. Store it to continue after it in another process. */
  lastEventId: string | undefined;
  readonly #transport: Transport;
  readonly #query: QueryOf<"streamEvents">;
  readonly #options: StreamOptions;

  constructor(transport: Transport, query: QueryOf<"streamEvents">, options: StreamOptions) {
    checkOptions(options, OPTIONS, "an event stream");
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
      const response = await this.#transport.open("streamEvents", { query: this.#query }, { headers, deadline });
      const [reader, frames] = [response.body?.getReader(), new FrameReader()];
      if (reader === undefined) return;
      onOpen();
      for (;;) {
        const { done, value } = await withinDeadline(() => reader.read(), deadline);
        if (done) return;
        // The caller may take long to process the events; that time does not count as silence of the service.
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
    if (data !== undefined) yield JSON.parse(data) as Event;
    // The caller has asked for the next event, so this one is processed.
    this.lastEventId = id ?? this.lastEventId;
  }
}
