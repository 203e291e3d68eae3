/** Verifications: `/v1/verifications`. */
import type { CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Call } from "./response.ts";
import type { CheckedVerification, NewVerification, Verification, VerificationCheck } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Verifications {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a verification and sends its code to the recipient. */
  create(verification: NewVerification, options?: WriteOptions): Call<Verification> {
    return this.#transport.call("sendVerification", { body: verification }, options);
  }

  /** Lists verifications, newest first. */
  list(query?: QueryOf<"listVerifications">, options?: CallOptions): PagesOf<"listVerifications"> {
    return listPages(this.#transport, "listVerifications", { query }, options);
  }

  /** Retrieves a verification. */
  get(id: string, options?: CallOptions): Call<Verification> {
    return this.#transport.call("getVerification", { path: { id } }, options);
  }

  /** Checks a code. `valid` is true if the code is right. A repetition with the same idempotency key does not count as a second attempt. */
  check(id: string, check: VerificationCheck, options?: WriteOptions): Call<CheckedVerification> {
    return this.#transport.call("checkVerification", { path: { id }, body: check }, options);
  }

  /** Cancels a verification. Its code is no longer accepted. */
  cancel(id: string, options?: WriteOptions): Call<Verification> {
    return this.#transport.call("cancelVerification", { path: { id } }, options);
  }
}
