/** Standard Webhooks 1.0: secrets and signatures. */
import { createHmac, createSecretKey, hkdfSync, randomBytes, type KeyObject } from "node:crypto";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { secretContext, type Endpoint } from "./endpoint.ts";

const PREFIX = "whsec_";
const SECRET_BYTES = 32;

export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString("base64");

/** Derives a secret from another one: always the same for one purpose. */
export const secretFrom = (other: string, purpose: string): string =>
  PREFIX + Buffer.from(hkdfSync("sha256", other, "", purpose, SECRET_BYTES)).toString("base64");

export type Signed = { id: string; timestamp: string; body: string };

/** The key of a secret, as a key object: Node would otherwise build one for each signature, at five times the cost of signing. */
export const signingKey = (secret: string): KeyObject => createSecretKey(secret.slice(PREFIX.length), "base64");

/** One signature for each key: two during the rotation of a secret. */
export const signatureOf = ({ id, timestamp, body }: Signed, keys: readonly KeyObject[]): string =>
  keys.map((key) => `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")}`).join(" ");

const MAX_CACHED_KEYS = 5_000;

/** Signs with the secrets of endpoints. Opening a secret costs more than signing, so opened keys are cached. */
export class Signer {
  readonly #box: SecretBox;
  readonly #keys = new BoundedMap<string, KeyObject>(MAX_CACHED_KEYS);

  constructor(box: SecretBox) {
    this.#box = box;
  }

  /** Signs with the secret of the endpoint, and with the previous one until it expires. Throws when a secret cannot be opened. */
  sign(endpoint: Endpoint, signed: Signed): string {
    const { secret, previousSecret } = endpoint;
    const keys =
      previousSecret === null ? [this.#open(secret, endpoint)] : [this.#open(secret, endpoint), this.#open(previousSecret, endpoint)];
    return signatureOf(signed, keys);
  }

  #open(sealed: string, endpoint: Endpoint): KeyObject {
    let key = this.#keys.get(sealed);
    if (key === undefined) {
      key = signingKey(this.#box.open(sealed, secretContext(endpoint)));
      this.#keys.set(sealed, key);
    }
    return key;
  }
}
