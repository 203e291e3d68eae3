/** `/v1/links`. */
import type { Call } from "./answer.ts";
import type { CallOptions } from "./operation.ts";
import type { LinkList } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Links {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** How each connection to a carrier is doing. */
  list(options?: CallOptions): Call<LinkList> {
    return this.#transport.call("get_links", {}, options);
  }
}
