/** Usage counts: `/v1/usage`. */
import type { CallOptions, QueryOf } from "./operation.ts";
import type { Call } from "./response.ts";
import type { Usage } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class UsageCounts {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Retrieves counts of messages by minute, hour or day, and by channel, status and error code. */
  get(query?: QueryOf<"getUsage">, options?: CallOptions): Call<Usage> {
    return this.#transport.call("getUsage", { query }, options);
  }
}
