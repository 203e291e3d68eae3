/** Credentials of compatible APIs: `/v1/compatible_credentials`. Clients of other products send with them. */
import type { CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Call } from "./response.ts";
import type { CompatibleCredential, CompatibleCredentialWithSecret, NewCompatibleCredential } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class CompatibleCredentials {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a user name and a password. Only this response contains the password. */
  create(credential: NewCompatibleCredential, options?: WriteOptions): Call<CompatibleCredentialWithSecret> {
    return this.#transport.call("createCompatibleCredential", { body: credential }, options);
  }

  /** Retrieves a credential, without its password. */
  get(id: string, options?: CallOptions): Call<CompatibleCredential> {
    return this.#transport.call("getCompatibleCredential", { path: { id } }, options);
  }

  /** Lists credentials, newest first, including revoked ones. */
  list(query?: QueryOf<"listCompatibleCredentials">, options?: CallOptions): PagesOf<"listCompatibleCredentials"> {
    return listPages(this.#transport, "listCompatibleCredentials", { query }, options);
  }

  /** Revokes a credential. Takes effect within a second. */
  revoke(id: string, options?: CallOptions): Call<CompatibleCredential> {
    return this.#transport.call("revokeCompatibleCredential", { path: { id } }, options);
  }

  /** The same as `revoke`. */
  delete(...input: Parameters<CompatibleCredentials["revoke"]>): Call<CompatibleCredential> {
    return this.revoke(...input);
  }
}
