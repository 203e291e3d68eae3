/** Recognizes API keys that this installation may have made, without a query. So made-up keys cost no work of the database. */
import type { Queryable } from "../database/database.ts";
import { hashApiKey, hasKeyedChecksum, isOfFirstForm } from "./api-key.ts";
import { listHashesOfFirstForm, readInstallation } from "./queries.ts";

// A node of an older version may still create keys of the first form. Such a key works on this node after this time at the latest.
const READ_AGAIN_MS = 10_000;

export class KeyRecognizer {
  readonly #db: Queryable;
  readonly #checksumSecret: Buffer;
  readonly #now: () => number;
  /** The hashes of all keys of the first form. */
  #hashes: ReadonlySet<string> = new Set();
  #readAtMs = -Infinity;
  #reading: Promise<void> | undefined;

  private constructor(db: Queryable, checksumSecret: Buffer, now: () => number) {
    this.#db = db;
    this.#checksumSecret = checksumSecret;
    this.#now = now;
  }

  /** `now` is a monotonic clock. */
  static async open(db: Queryable, now: () => number = () => performance.now()): Promise<KeyRecognizer> {
    const recognizer = new KeyRecognizer(db, (await readInstallation(db)).key_checksum_secret, now);
    await recognizer.#readHashes();
    return recognizer;
  }

  /** Whether this installation may have made the key. It may be revoked or expired. */
  recognizes(text: string): boolean | Promise<boolean> {
    if (hasKeyedChecksum(text, this.#checksumSecret)) return true;
    if (!isOfFirstForm(text)) return false;
    const hash = setEntry(hashApiKey(text));
    if (this.#hashes.has(hash)) return true;
    if (this.#now() - this.#readAtMs < READ_AGAIN_MS) return false;
    this.#reading ??= this.#readHashes().finally(() => (this.#reading = undefined));
    return this.#reading.then(() => this.#hashes.has(hash));
  }

  async #readHashes(): Promise<void> {
    const startedAtMs = this.#now();
    const hashes = new Set<string>();
    for (let after: Buffer | undefined = Buffer.alloc(0); after !== undefined;) {
      const page: { hash: Buffer }[] = await listHashesOfFirstForm(this.#db, after, PAGE_ROWS);
      for (const { hash } of page) hashes.add(setEntry(hash));
      after = page.length < PAGE_ROWS ? undefined : page.at(-1)?.hash;
    }
    this.#hashes = hashes;
    this.#readAtMs = startedAtMs;
  }
}

const PAGE_ROWS = 5_000;

/** A string of one byte per character takes half the memory of hexadecimal digits. */
const setEntry = (hash: Buffer): string => hash.toString("latin1");
