/** Recognizes API keys that this installation may have made, without a query. So made-up keys cost no work of the database. */
import type { Queryable } from "../database/database.ts";
import { hashApiKey, hasKeyedChecksum, isOfFirstForm } from "./api-key.ts";
import { listHashesOfFirstForm, type Installation } from "./queries.ts";

/** Whether this installation may have made the key. It may be revoked or expired. */
export type RecognizeKey = (text: string) => boolean;

/** Only version 0.1 created keys of the first form, so their hashes are read once. */
export async function keyRecognizer(db: Queryable, { key_checksum_secret: checksumSecret }: Installation): Promise<RecognizeKey> {
  const hashes = await readHashesOfFirstForm(db);
  return (text) => hasKeyedChecksum(text, checksumSecret) || (isOfFirstForm(text) && hashes.has(setEntry(hashApiKey(text))));
}

const PAGE_ROWS = 5_000;

async function readHashesOfFirstForm(db: Queryable): Promise<ReadonlySet<string>> {
  const hashes = new Set<string>();
  for (let after: Buffer | undefined = Buffer.alloc(0); after !== undefined;) {
    const page: { hash: Buffer }[] = await listHashesOfFirstForm(db, after, PAGE_ROWS);
    for (const { hash } of page) hashes.add(setEntry(hash));
    after = page.length < PAGE_ROWS ? undefined : page.at(-1)?.hash;
  }
  return hashes;
}

/** A string of one byte per character takes half the memory of hexadecimal digits. */
const setEntry = (hash: Buffer): string => hash.toString("latin1");
