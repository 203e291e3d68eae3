/** Suppressions: `/v1/suppressions`. */
import type { BodyOf, CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Call } from "./response.ts";
import type { Suppression, SuppressionImport } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Suppressions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Suppresses a recipient: messages to it are refused from now on, from one sender or from all. */
  create(suppression: BodyOf<"post_suppressions">, options?: WriteOptions): Call<Suppression> {
    return this.#transport.call("post_suppressions", { body: suppression }, options);
  }

  /** Retrieves a suppression. */
  get(id: string, options?: CallOptions): Call<Suppression> {
    return this.#transport.call("get_suppressions_id", { path: { id } }, options);
  }

  /** Lists suppressions, newest first. */
  list(query?: QueryOf<"get_suppressions">, options?: CallOptions): PagesOf<"get_suppressions"> {
    return listPages(this.#transport, "get_suppressions", { query }, options);
  }

  /** Lifts a suppression, so that messages to the recipient are accepted again. The record remains. */
  lift(id: string, options?: CallOptions): Call<Suppression> {
    return this.#transport.call("delete_suppressions_id", { path: { id } }, options);
  }

  /** The same as `lift`. */
  delete(...input: Parameters<Suppressions["lift"]>): Call<Suppression> {
    return this.lift(...input);
  }

  /** Lists the changes of a suppression, newest first: each time it became active or was lifted. */
  history(id: string, query?: QueryOf<"get_suppressions_id_history">, options?: CallOptions): PagesOf<"get_suppressions_id_history"> {
    return listPages(this.#transport, "get_suppressions_id_history", { path: { id }, query }, options);
  }

  /** Imports up to 1,000 suppressions: all of them, or none if an entry is invalid. */
  import(entries: BodyOf<"post_suppressions_import">, options?: WriteOptions): Call<SuppressionImport> {
    return this.#transport.call("post_suppressions_import", { body: entries }, options);
  }
}
