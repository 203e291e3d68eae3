/** `/v1/suppressions`. */
import type { Call } from "./answer.ts";
import type { BodyOf, CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Suppression, SuppressionImport } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Suppressions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** From now on nothing is sent to the recipient. */
  create(suppression: BodyOf<"post_suppressions">, options?: WriteOptions): Call<Suppression> {
    return this.#transport.call("post_suppressions", { body: suppression }, options);
  }

  get(id: string, options?: CallOptions): Call<Suppression> {
    return this.#transport.call("get_suppressions_id", { path: { id } }, options);
  }

  /** Newest first. */
  list(query?: QueryOf<"get_suppressions">, options?: CallOptions): PagesOf<"get_suppressions"> {
    return listPages(this.#transport, "get_suppressions", { query }, options);
  }

  /** The recipient may be written to again. The record stays. */
  lift(id: string, options?: CallOptions): Call<Suppression> {
    return this.#transport.call("delete_suppressions_id", { path: { id } }, options);
  }

  /** Each time it became active or was lifted, newest first. */
  history(id: string, query?: QueryOf<"get_suppressions_id_history">, options?: CallOptions): PagesOf<"get_suppressions_id_history"> {
    return listPages(this.#transport, "get_suppressions_id_history", { path: { id }, query }, options);
  }

  /** Up to 1,000: all of them, or none when an entry is at fault. */
  import(entries: BodyOf<"post_suppressions_import">, options?: WriteOptions): Call<SuppressionImport> {
    return this.#transport.call("post_suppressions_import", { body: entries }, options);
  }
}
