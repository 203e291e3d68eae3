/** Private keys in texts of others. OpenSSL computes the public part of a DSA or Diffie-Hellman key while it reads the key, and with large
 *  numbers that takes seconds. Only kinds of keys that TLS uses are read. */
import { createPrivateKey, type KeyObject } from "node:crypto";

const BLOCK = /-----BEGIN ([A-Z ]{1,30})-----([A-Za-z0-9+/=\s]*)-----END/g;

/** The identifiers of RSA, RSA-PSS, EC, Ed25519 and Ed448 in PKCS #8, with their lengths. */
const KINDS = ["06092a864886f70d010101", "06092a864886f70d01010a", "06072a8648ce3d0201", "06032b6570", "06032b6571"];

const [INTEGER, OCTETS, SEQUENCE] = [0x02, 0x04, 0x30];

/** Reads the only private key of a text in PEM. Throws if there is none, or one of another kind. */
export function readPrivateKey(pem: string): KeyObject {
  const [[, , base64 = ""] = [], ...others] = Array.from(pem.matchAll(BLOCK)).filter(([, label]) => label?.endsWith("PRIVATE KEY"));
  const key = Buffer.from(base64, "base64");
  const type = formatOf(key);
  if (type === undefined || others.length > 0) throw new Error("the text has no private key in PEM of a kind that TLS uses");
  // The bytes, because OpenSSL may find another key in the text.
  return createPrivateKey({ key, format: "der", type });
}

/** A sequence begins with the version; what follows tells the formats apart. */
function formatOf(der: Buffer): "pkcs1" | "pkcs8" | "sec1" | undefined {
  const version = contentAt(der, 0);
  if (der[0] !== SEQUENCE || der[version] !== INTEGER || der[version + 1] !== 1) return undefined;
  const at = version + 3;
  if (der[at] === INTEGER) return "pkcs1";
  if (der[at] === OCTETS) return "sec1";
  const algorithm = contentAt(der, at);
  const kind = der.subarray(algorithm, algorithm + 11).toString("hex");
  return der[at] === SEQUENCE && KINDS.some((each) => kind.startsWith(each)) ? "pkcs8" : undefined;
}

/** The position after a tag and its length. */
function contentAt(der: Buffer, at: number): number {
  const length = der[at + 1] ?? 0;
  return at + 2 + (length < 0x80 ? 0 : length & 0x7f);
}
