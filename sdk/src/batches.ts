/** `/v1/batches`. */
import type { Call } from "./answer.ts";
import type { CallOptions, WriteOptions } from "./operation.ts";
import type { AcceptedBatch, Batch, NewBatch } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Batches {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Up to 1,000 messages under one key. `results` says of each item whether it was taken. */
  send(batch: NewBatch, options?: WriteOptions): Call<AcceptedBatch> {
    return this.#transport.call("post_batches", { body: batch }, options);
  }

  get(id: string, options?: CallOptions): Call<Batch> {
    return this.#transport.call("get_batches_id", { path: { id } }, options);
  }
}
