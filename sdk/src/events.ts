/** Events: `/v1/events`. */
import { EventStream, type StreamOptions } from "./event-stream.ts";
import type { CallOptions, QueryOf } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Call } from "./response.ts";
import type { Event } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Retrieves an event. */
  get(id: string, options?: CallOptions): Call<Event> {
    return this.#transport.call("getEvent", { path: { id } }, options);
  }

  /** Lists events, newest first. */
  list(query?: QueryOf<"listEvents">, options?: CallOptions): PagesOf<"listEvents"> {
    return listPages(this.#transport, "listEvents", { query }, options);
  }

  /** Lists the webhook deliveries of an event, one for each endpoint. */
  deliveries(id: string, options?: CallOptions): PagesOf<"listEventDeliveries"> {
    return listPages(this.#transport, "listEventDeliveries", { path: { id } }, options);
  }

  /** Streams events as they happen. Reconnects automatically, and yields every event exactly once. */
  stream(query: QueryOf<"streamEvents"> = {}, options: StreamOptions = {}): EventStream {
    return new EventStream(this.#transport, query, options);
  }
}
