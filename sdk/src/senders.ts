/** The numbers and names that messages are sent from: `/v1/senders`. */
import type { BodyOf, CallOptions, WriteOptions } from "./operation.ts";
import type { Call } from "./response.ts";
import type { DeletedSender, Sender, SenderList } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Senders {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Adds a number or name to a link of the account. */
  create(sender: BodyOf<"createSender">, options?: WriteOptions): Call<Sender> {
    return this.#transport.call("createSender", { body: sender }, options);
  }

  /** Retrieves a sender. */
  get(id: string, options?: CallOptions): Call<Sender> {
    return this.#transport.call("getSender", { path: { id } }, options);
  }

  /** Lists senders. Those of the operator's configuration file have the source `file`. */
  list(options?: CallOptions): Call<SenderList> {
    return this.#transport.call("listSenders", {}, options);
  }

  /** Changes a sender. Null removes what is named. */
  edit(id: string, changes: BodyOf<"updateSender">, options?: WriteOptions): Call<Sender> {
    return this.#transport.call("updateSender", { path: { id }, body: changes }, options);
  }

  /** The same as `edit`. */
  update(...input: Parameters<Senders["edit"]>): Call<Sender> {
    return this.edit(...input);
  }

  /** Deletes a sender. There is no idempotency key: `not_found` after an attempt without a response means that it is deleted. */
  delete(id: string, options?: CallOptions): Call<DeletedSender> {
    return this.#transport.call("deleteSender", { path: { id } }, options);
  }
}
