/** Links to carriers: `/v1/links`. */
import type { BodyOf, CallOptions, WriteOptions } from "./operation.ts";
import type { Call } from "./response.ts";
import type { DeletedLink, Link, LinkList, LinkTest } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Links {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a link, in `live`. Its secrets are given literally and never returned. */
  create(link: BodyOf<"createLink">, options?: WriteOptions): Call<Link> {
    return this.#transport.call("createLink", { body: link }, options);
  }

  /** Retrieves a link with its current state, without its secrets. */
  get(id: string, options?: CallOptions): Call<Link> {
    return this.#transport.call("getLink", { path: { id } }, options);
  }

  /** Lists the links to carriers with their current state. */
  list(options?: CallOptions): Call<LinkList> {
    return this.#transport.call("listLinks", {}, options);
  }

  /** Changes, pauses or resumes a link. Null removes a setting; a secret that is not named stays. */
  edit(id: string, changes: BodyOf<"updateLink">, options?: WriteOptions): Call<Link> {
    return this.#transport.call("updateLink", { path: { id }, body: changes }, options);
  }

  /** The same as `edit`. */
  update(...input: Parameters<Links["edit"]>): Call<Link> {
    return this.edit(...input);
  }

  /** Deletes a link with its senders. There is no idempotency key: `not_found` after an attempt without a response means that it is deleted. */
  delete(id: string, options?: CallOptions): Call<DeletedLink> {
    return this.#transport.call("deleteLink", { path: { id } }, options);
  }

  /** Connects to the carrier and signs in, without sending a message, and returns what failed. */
  test(id: string, options?: CallOptions): Call<LinkTest> {
    return this.#transport.call("testLink", { path: { id } }, options);
  }
}
