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
  create(suppression: BodyOf<"createSuppression">, options?: WriteOptions): Call<Suppression> {
    return this.#transport.call("createSuppression", { body: suppression }, options);
  }

  /** Retrieves a suppression. */
  get(id: string, options?: CallOptions): Call<Suppression> {
    return this.#transport.call("getSuppression", { path: { id } }, options);
  }

  /** Lists suppressions, newest first. */
  list(query?: QueryOf<"listSuppressions">, options?: CallOptions): PagesOf<"listSuppressions"> {
    return listPages(this.#transport, "listSuppressions", { query }, options);
  }

  /** Lifts a suppression, so that messages to the recipient are accepted again. The record remains. */
  lift(id: string, options?: CallOptions): Call<Suppression> {
    return this.#transport.call("liftSuppression", { path: { id } }, options);
  }

  /** The same as `lift`. */
  delete(...input: Parameters<Suppressions["lift"]>): Call<Suppression> {
    return this.lift(...input);
  }

  /** Lists the changes of a suppression, newest first: each time it became active or was lifted. */
  history(id: string, query?: QueryOf<"listSuppressionHistory">, options?: CallOptions): PagesOf<"listSuppressionHistory"> {
    return listPages(this.#transport, "listSuppressionHistory", { path: { id }, query }, options);
  }

  /** Imports up to 1,000 suppressions: all of them, or none if an entry is invalid. */
  import(entries: BodyOf<"importSuppressions">, options?: WriteOptions): Call<SuppressionImport> {
    return this.#transport.call("importSuppressions", { body: entries }, options);
  }
}
