/** The form of an API key: `gw_live_` and 32 random base-62 digits (190 bits), then six digits of checksum, so that a
 *  typo or a made-up key is recognised without asking the database. Only its hash is ever stored. */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { randomBase62, toBase62 } from "../lib/base62.ts";
import type { Environment } from "../storage/owner.ts";

const SECRET_DIGITS = 32;
// 62^6 is more than 2^32: a CRC-32 always fits.
const CHECKSUM_DIGITS = 6;
const FORM = new RegExp(`^gw_(test|live)_[0-9A-Za-z]{${SECRET_DIGITS + CHECKSUM_DIGITS}}$`);
const HINT_DIGITS = 4;

const checksum = (text: string): string => toBase62(crc32(text), CHECKSUM_DIGITS);

export function newApiKey(environment: Environment): string {
  const text = `gw_${environment}_${randomBase62(SECRET_DIGITS)}`;
  return text + checksum(text);
}

export const isApiKey = (text: string): boolean =>
  FORM.test(text) && checksum(text.slice(0, -CHECKSUM_DIGITS)) === text.slice(-CHECKSUM_DIGITS);

/** A plain SHA-256 will do: nobody guesses 190 random bits, so there is nothing to slow down. */
export const hashApiKey = (text: string): Buffer => hash("sha256", text, "buffer");

/** `gw_live_Ab3x…`, by which a person tells keys apart. */
export const apiKeyHint = (text: string): string => `${text.slice(0, "gw_live_".length + HINT_DIGITS)}…`;
