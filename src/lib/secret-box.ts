/** Secrets at rest: AES-256-GCM with a key that is not in the database. A sealed text opens only in the context that it was sealed for,
 *  since the context is authenticated with it. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
  type KeyObject,
} from "node:crypto";

const PREFIX = "sealed:";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NAME_BYTES = 4;

type Key = { name: Buffer; key: Buffer; macKey: KeyObject };

/** Whether a text is sealed, with any key. */
export const isSealed = (text: string): boolean => text.startsWith(PREFIX);

export class SecretBox {
  readonly #key: Key;
  /** The current key and the previous one, whose sealed texts can still be opened. */
  readonly #keys: readonly Key[];

  constructor(secretKey: Buffer, previousKey?: Buffer) {
    this.#key = toKey(secretKey);
    this.#keys = previousKey === undefined ? [this.#key] : [this.#key, toKey(previousKey)];
  }

  seal(text: string, context: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key.key, nonce).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return PREFIX + Buffer.concat([this.#key.name, nonce, cipher.getAuthTag(), sealed]).toString("base64");
  }

  /** A keyed hash of a text for a context. Without the key the text cannot be guessed, even if there are few possible texts. */
  mac(text: string, context: string): Buffer {
    return macBy(this.#key, text, context);
  }

  /** Whether this is the hash of the text in the context, with one of our keys. Compares in constant time. */
  isMac(mac: Buffer, text: string, context: string): boolean {
    return this.#keys.some((key) => {
      const expected = macBy(key, text, context);
      return expected.length === mac.length && timingSafeEqual(expected, mac);
    });
  }

  /** Opens a sealed text. Throws unless it was sealed for this context with one of our keys. */
  open(text: string, context: string): string {
    const bytes = Buffer.from(text.slice(PREFIX.length), "base64");
    const name = bytes.subarray(0, NAME_BYTES);
    const found = this.#keys.find((each) => each.name.equals(name));
    if (!isSealed(text) || found === undefined) throw new Error("a secret was sealed by another secret key");
    const nonce = bytes.subarray(NAME_BYTES, NAME_BYTES + NONCE_BYTES);
    const tag = bytes.subarray(NAME_BYTES + NONCE_BYTES, NAME_BYTES + NONCE_BYTES + TAG_BYTES);
    // Without the length a shortened tag would be accepted, which is easier to guess.
    const decipher = createDecipheriv("aes-256-gcm", found.key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(context))
      .setAuthTag(tag);
    return Buffer.concat([decipher.update(bytes.subarray(NAME_BYTES + NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString("utf8");
  }

  canOpen(text: string, context: string): boolean {
    try {
      this.open(text, context);
      return true;
    } catch {
      return false;
    }
  }

  /** Seals a text again with the current key. Undefined if the text cannot be opened. */
  reseal(text: string, context: string): string | undefined {
    return this.canOpen(text, context) ? this.seal(this.open(text, context), context) : undefined;
  }
}

/** Derives a separate key for each use, and a name that reveals nothing about the key. */
function toKey(secretKey: Buffer): Key {
  const key = Buffer.from(hkdfSync("sha256", secretKey, "", "godwit secret box", 32));
  // A keyed hash by a key object takes a fifth of the time that it takes by bytes.
  const macKey = createSecretKey(Buffer.from(hkdfSync("sha256", secretKey, "", "godwit secret box mac", 32)));
  return { key, macKey, name: createHash("sha256").update("godwit secret box name").update(key).digest().subarray(0, NAME_BYTES) };
}

/** A context has no line break, so two different pairs of context and text are hashed differently. */
const macBy = ({ macKey }: Key, text: string, context: string): Buffer =>
  createHmac("sha256", macKey).update(`${context}\n${text}`).digest();
