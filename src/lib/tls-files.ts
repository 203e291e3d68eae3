/** The files of the certificate and of its private key, and who may read the key. */
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";

export type TlsFiles = { certPath: string; keyPath: string };

/** Reads the certificate and the key. Throws if they do not belong together, or if every user of the machine may read or replace the key.
 *  Also called on SIGHUP. */
export function readTlsFiles({ certPath, keyPath }: TlsFiles): { cert: Buffer; key: Buffer } {
  if ((keyMode(keyPath) & 0o006) !== 0) throw new Error(`every user of this machine may use the key ${keyPath}: chmod 600 ${keyPath}`);
  const pair = { cert: readFileSync(certPath), key: readFileSync(keyPath) };
  createSecureContext(pair);
  return pair;
}

/** Windows has no such permissions. */
const keyMode = (path: string): number => (process.platform === "win32" ? 0 : statSync(path).mode);

/** Whether other users than the owner may read the key: those of its group. */
export const isKeyShared = ({ keyPath }: TlsFiles): boolean => (keyMode(keyPath) & 0o060) !== 0;
