/** Batches of messages: `/v1/batches`. */
import type { CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Call } from "./response.ts";
import type { AcceptedBatch, Batch, NewBatch } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Batches {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Sends up to 1,000 messages in one request. `results` contains the outcome of each item: accepted, or refused with the reason. */
  send(batch: NewBatch, options?: WriteOptions): Call<AcceptedBatch> {
    return this.#transport.call("sendBatch", { body: batch }, options);
  }

  /** The same as `send`. */
  create(...input: Parameters<Batches["send"]>): Call<AcceptedBatch> {
    return this.send(...input);
  }

  /** Lists batches, newest first. */
  list(query?: QueryOf<"listBatches">, options?: CallOptions): PagesOf<"listBatches"> {
    return listPages(this.#transport, "listBatches", { query }, options);
  }

  /** Retrieves a batch with its counts. */
  get(id: string, options?: CallOptions): Call<Batch> {
    return this.#transport.call("getBatch", { path: { id } }, options);
  }
}
