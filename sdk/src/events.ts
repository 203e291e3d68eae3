/** `/v1/events`. */
import type { Call } from "./answer.ts";
import { EventStream, type StreamOptions } from "./event-stream.ts";
import type { CallOptions, QueryOf } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Event } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get(id: string, options?: CallOptions): Call<Event> {
    return this.#transport.call("get_events_id", { path: { id } }, options);
  }

  /** Newest first. */
  list(query?: QueryOf<"get_events">, options?: CallOptions): PagesOf<"get_events"> {
    return listPages(this.#transport, "get_events", { query }, options);
  }

  /** What became of it, one delivery for each endpoint that was tried. */
  deliveries(id: string, options?: CallOptions): PagesOf<"get_events_id_deliveries"> {
    return listPages(this.#transport, "get_events_id_deliveries", { path: { id } }, options);
  }

  /** Events as they happen. It connects again by itself, misses none and gives none twice. */
  stream(query: QueryOf<"get_events_stream"> = {}, options: StreamOptions = {}): EventStream {
    return new EventStream(this.#transport, query, options);
  }
}
