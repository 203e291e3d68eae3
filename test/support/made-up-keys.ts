/** API keys that no installation has made. */
import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { newApiKey } from "../../src/access/api-key.ts";
import { randomBase62, toBase62 } from "../../src/lib/base62.ts";

/** A key with the checksum of another installation. */
export const madeUpKey = (): string => newApiKey("test", randomBytes(32));

/** A key of the first form, whose checksum everybody can compute. */
export function keyOfFirstForm(): string {
  const text = `gw_test_${randomBase62(32)}`;
  return text + toBase62(crc32(text), 6);
}
