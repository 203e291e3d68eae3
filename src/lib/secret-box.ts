/** Secrets at rest: AES-256-GCM under a key that is not in the database. What is sealed for one place opens in no other: the
 *  place is part of what is authenticated. */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";

const PREFIX = "sealed:";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NAME_BYTES = 4;

type Key = { name: Buffer; key: Buffer; macKey: Buffer };

/** Whether a text was sealed, by whichever key. */
export const isSealed = (text: string): boolean => text.startsWith(PREFIX);

export class SecretBox {
  readonly #key: Key;
  /** Keys that were used before: what they sealed can still be opened. */
  readonly #known: readonly Key[];

  constructor(secretKey: Buffer, previousKey?: Buffer) {
    this.#key = toKey(secretKey);
    this.#known = previousKey === undefined ? [this.#key] : [this.#key, toKey(previousKey)];
  }

  seal(text: string, place: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key.key, nonce).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return PREFIX + Buffer.concat([this.#key.name, nonce, cipher.getAuthTag(), sealed]).toString("base64");
  }

  /** A keyed hash of a text for a place: who lacks the key cannot tell what it is of, however few texts there are. */
  mac(text: string, place: string): Buffer {
    return macBy(this.#key, text, place);
  }

  /** Whether it is the hash of this text in this place, by any key that is known here. In constant time. */
  isMac(mac: Buffer, text: string, place: string): boolean {
    return this.#known.some((key) => {
      const expected = macBy(key, text, place);
      return expected.length === mac.length && timingSafeEqual(expected, mac);
    });
  }

  /** Throws unless it was sealed for this place by a key that is known here. */
  open(text: string, place: string): string {
    const bytes = Buffer.from(text.slice(PREFIX.length), "base64");
    const name = bytes.subarray(0, NAME_BYTES);
    const found = this.#known.find((each) => each.name.equals(name));
    if (!isSealed(text) || found === undefined) throw new Error("a secret was sealed by another secret key");
    const nonce = bytes.subarray(NAME_BYTES, NAME_BYTES + NONCE_BYTES);
    const tag = bytes.subarray(NAME_BYTES + NONCE_BYTES, NAME_BYTES + NONCE_BYTES + TAG_BYTES);
    // A tag that was cut short would be taken as it is, and is easier to guess.
    const decipher = createDecipheriv("aes-256-gcm", found.key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(place))
      .setAuthTag(tag);
    return Buffer.concat([decipher.update(bytes.subarray(NAME_BYTES + NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString("utf8");
  }
}

/** A key of its own for this use, and a name for it that tells nothing of it. */
function toKey(secretKey: Buffer): Key {
  const key = Buffer.from(hkdfSync("sha256", secretKey, "", "godwit secret box", 32));
  const macKey = Buffer.from(hkdfSync("sha256", secretKey, "", "godwit secret box mac", 32));
  return { key, macKey, name: createHash("sha256").update("godwit secret box name").update(key).digest().subarray(0, NAME_BYTES) };
}

/** The place has no line break, so no two pairs of place and text are written alike. */
const macBy = ({ macKey }: Key, text: string, place: string): Buffer => createHmac("sha256", macKey).update(`${place}\n${text}`).digest();
