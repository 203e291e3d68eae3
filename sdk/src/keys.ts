/** API keys: `/v1/keys`. */
import type { CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Call } from "./response.ts";
import type { Key, KeyWithSecret, NewKey, RotateKey } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Keys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates an API key. It can have only scopes that this client's own credential has. Only this response contains the secret. */
  create(key: NewKey, options?: WriteOptions): Call<KeyWithSecret> {
    return this.#transport.call("createKey", { body: key }, options);
  }

  /** Retrieves an API key, without its secret. */
  get(id: string, options?: CallOptions): Call<Key> {
    return this.#transport.call("getKey", { path: { id } }, options);
  }

  /** Lists API keys, newest first, including revoked and expired ones. */
  list(query?: QueryOf<"listKeys">, options?: CallOptions): PagesOf<"listKeys"> {
    return listPages(this.#transport, "listKeys", { query }, options);
  }

  /** Replaces an API key by a new one. The old key remains valid for the overlap. Only this response contains the new secret. */
  rotate(id: string, rotation: RotateKey = {}, options?: WriteOptions): Call<KeyWithSecret> {
    return this.#transport.call("rotateKey", { path: { id }, body: rotation }, options);
  }

  /** Revokes an API key and every access token that it created. Takes effect within a second. */
  revoke(id: string, options?: CallOptions): Call<Key> {
    return this.#transport.call("revokeKey", { path: { id } }, options);
  }

  /** The same as `revoke`. */
  delete(...input: Parameters<Keys["revoke"]>): Call<Key> {
    return this.revoke(...input);
  }
}
