/** `/v1/credential`. */
import type { Call } from "./answer.ts";
import type { CallOptions } from "./operation.ts";
import type { Credential } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class OwnCredential {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** What this client's own credential is: whose, what it may do, how often, and until when. It needs no scope. */
  get(options?: CallOptions): Call<Credential> {
    return this.#transport.call("get_credential", {}, options);
  }
}
