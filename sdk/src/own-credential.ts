/** The client's own credential: `/v1/credential`. */
import type { CallOptions } from "./operation.ts";
import type { Call } from "./response.ts";
import type { Credential } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class OwnCredential {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Retrieves this client's own credential: its account, environment, scopes, quota and expiry. Requires no scope. */
  get(options?: CallOptions): Call<Credential> {
    return this.#transport.call("getCredential", {}, options);
  }
}
