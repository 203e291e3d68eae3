/** Which links take which messages: `/v1/routes`. */
import type { BodyOf, CallOptions, WriteOptions } from "./operation.ts";
import type { Call } from "./response.ts";
import type { DeletedRoute, Route, RouteList } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Routes {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a route: which links take the messages of a channel, by country or prefix. */
  create(route: BodyOf<"createRoute">, options?: WriteOptions): Call<Route> {
    return this.#transport.call("createRoute", { body: route }, options);
  }

  /** Retrieves a route. */
  get(id: string, options?: CallOptions): Call<Route> {
    return this.#transport.call("getRoute", { path: { id } }, options);
  }

  /** Lists routes. Those of the operator's configuration file have the source `file`. */
  list(options?: CallOptions): Call<RouteList> {
    return this.#transport.call("listRoutes", {}, options);
  }

  /** Changes a route. Null removes what is named. */
  edit(id: string, changes: BodyOf<"updateRoute">, options?: WriteOptions): Call<Route> {
    return this.#transport.call("updateRoute", { path: { id }, body: changes }, options);
  }

  /** The same as `edit`. */
  update(...input: Parameters<Routes["edit"]>): Call<Route> {
    return this.edit(...input);
  }

  /** Deletes a route. There is no idempotency key: `not_found` after an attempt without a response means that it is deleted. */
  delete(id: string, options?: CallOptions): Call<DeletedRoute> {
    return this.#transport.call("deleteRoute", { path: { id } }, options);
  }
}
