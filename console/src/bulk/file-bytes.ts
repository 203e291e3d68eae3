/** The bytes of a file that a person has chosen, in small parts: the file is never in memory as a whole. */

// Some milliseconds of work for the page, between which it reacts.
const PART = 65_536;

export async function* fileBytes(file: File, onPart?: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < file.size; from += PART) {
    const bytes = new Uint8Array(await file.slice(from, from + PART).arrayBuffer());
    await onPart?.(bytes);
    yield bytes;
  }
}

/** A hash of a file that is read part by part: each hash covers the one before, because browsers hash only whole texts. */
export class FileHash {
  #hash: Uint8Array<ArrayBuffer> = new Uint8Array();

  async add(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const whole = new Uint8Array(this.#hash.length + bytes.length);
    whole.set(this.#hash);
    whole.set(bytes, this.#hash.length);
    this.#hash = new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
  }

  get hex(): string {
    return Array.from(this.#hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}
