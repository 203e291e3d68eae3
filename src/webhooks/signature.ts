/** Standard Webhooks 1.0: secrets and signatures. */
import { createHmac, createSecretKey, randomBytes, type KeyObject } from "node:crypto";

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
