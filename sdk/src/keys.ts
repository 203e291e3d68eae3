/** `/v1/keys`. */
import type { Call } from "./answer.ts";
import type { CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Key, KeyWithSecret, NewKey, RotateKey } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Keys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** With at most the scopes that this client's own credential has. The answer shows the key, this once. */
  create(key: NewKey, options?: WriteOptions): Call<KeyWithSecret> {
    return this.#transport.call("post_keys", { body: key }, options);
  }

  get(id: string, options?: CallOptions): Call<Key> {
    return this.#transport.call("get_keys_id", { path: { id } }, options);
  }

  /** Newest first, also those that are revoked or have expired. */
  list(query?: QueryOf<"get_keys">, options?: CallOptions): PagesOf<"get_keys"> {
    return listPages(this.#transport, "get_keys", { query }, options);
  }

  /** A new key in place of an old one, which goes on working for the overlap. The answer shows it, this once. */
  rotate(id: string, rotation: RotateKey = {}, options?: WriteOptions): Call<KeyWithSecret> {
    return this.#transport.call("post_keys_id_rotate", { path: { id }, body: rotation }, options);
  }

  /** It stops working within a second, and every token that it bought with it. */
  revoke(id: string, options?: CallOptions): Call<Key> {
    return this.#transport.call("delete_keys_id", { path: { id } }, options);
  }
}
