/** Standard Webhooks 1.0: secrets and signatures. */
import { createHmac, createSecretKey, randomBytes, type KeyObject } from "node:crypto";
import type { SecretBox } from "../lib/secret-box.ts";
import { secretPlace, type Endpoint } from "./endpoint.ts";

const PREFIX = "whsec_";
const SECRET_BYTES = 32;

export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString("base64");

export type Signed = { id: string; timestamp: string; body: string };

/** The key that a secret stands for. As a key object: given as bytes, it would be made one for each signature, at five times the
 *  cost of signing. */
export const signingKey = (secret: string): KeyObject => createSecretKey(secret.slice(PREFIX.length), "base64");

/** One signature for each key: two while a secret is being rotated. */
export const signatureOf = ({ id, timestamp, body }: Signed, keys: readonly KeyObject[]): string =>
  keys.map((key) => `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")}`).join(" ");

const MAX_KEPT = 5_000;

/** Opens the secrets of endpoints and signs by them. Opening costs more than signing, so what was opened is kept for a while. */
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
