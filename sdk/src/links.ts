/** Links to carriers: `/v1/links`. */
import type { Call } from "./answer.ts";
import type { CallOptions } from "./operation.ts";
import type { LinkList } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Links {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists the links to carriers with their current state. */
  list(options?: CallOptions): Call<LinkList> {
    return this.#transport.call("get_links", {}, options);
  }
}
