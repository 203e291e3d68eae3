/** The request log: `/v1/requests`. */
import type { CallOptions, QueryOf } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Call } from "./response.ts";
import type { LoggedRequest } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class RequestLog {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists the API requests of the last seven days, newest first. */
  list(query?: QueryOf<"listRequests">, options?: CallOptions): PagesOf<"listRequests"> {
    return listPages(this.#transport, "listRequests", { query }, options);
  }

  /** Retrieves a request by its id, the `X-Request-Id` of its response. */
  get(id: string, options?: CallOptions): Call<LoggedRequest> {
    return this.#transport.call("getRequest", { path: { id } }, options);
  }
}
