/** `/v1/verifications`. */
import type { Call } from "./answer.ts";
import type { CallOptions, WriteOptions } from "./operation.ts";
import type { CheckedVerification, NewVerification, Verification, VerificationCheck } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Verifications {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Makes a code and sends it. */
  create(verification: NewVerification, options?: WriteOptions): Call<Verification> {
    return this.#transport.call("post_verifications", { body: verification }, options);
  }

  get(id: string, options?: CallOptions): Call<Verification> {
    return this.#transport.call("get_verifications_id", { path: { id } }, options);
  }

  /** `valid` tells whether it is the right one. A repetition under the same key is no second guess. */
  check(id: string, check: VerificationCheck, options?: WriteOptions): Call<CheckedVerification> {
    return this.#transport.call("post_verifications_id_check", { path: { id }, body: check }, options);
  }

  cancel(id: string, options?: WriteOptions): Call<Verification> {
    return this.#transport.call("post_verifications_id_cancel", { path: { id } }, options);
  }
}
