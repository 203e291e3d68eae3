/** Opens the secrets of endpoints and signs by them. Opening costs more than signing, so what was opened is kept for a while. */
import type { KeyObject } from "node:crypto";
import type { SecretBox } from "../lib/secret-box.ts";
import { secretPlace, type Endpoint } from "./endpoint.ts";
import { signatureOf, signingKey, type Signed } from "./signature.ts";

const MAX_KEPT = 5_000;

export class Signer {
  readonly #box: SecretBox;
  readonly #keys = new Map<string, KeyObject>();

  constructor(box: SecretBox) {
    this.#box = box;
  }

  /** By the endpoint's secret, and by the one before it as long as that counts. Throws when a secret cannot be opened. */
  sign(endpoint: Endpoint, signed: Signed): string {
    const { secret, previousSecret } = endpoint;
    const keys =
      previousSecret === null ? [this.#open(secret, endpoint)] : [this.#open(secret, endpoint), this.#open(previousSecret, endpoint)];
    return signatureOf(signed, keys);
  }

  #open(sealed: string, endpoint: Endpoint): KeyObject {
    let key = this.#keys.get(sealed);
    if (key === undefined) {
      key = signingKey(this.#box.open(sealed, secretPlace(endpoint)));
      if (this.#keys.size >= MAX_KEPT) this.#keys.clear();
      this.#keys.set(sealed, key);
    }
    return key;
  }
}
