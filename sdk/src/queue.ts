/** The queue: `/v1/queue`. */
import type { CallOptions } from "./operation.ts";
import type { Call } from "./response.ts";
import type { Queue } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class QueueDepth {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Retrieves the number of messages in progress, and how long the oldest due message has waited. */
  get(options?: CallOptions): Call<Queue> {
    return this.#transport.call("getQueue", {}, options);
  }
}
