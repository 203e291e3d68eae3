/** The files of the certificate and of its private key, and who may read the key. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";

export type TlsFiles = { certPath: string; keyPath: string };

/** Reads the certificate and the key. Throws if they do not belong together, or if every user of the machine may read or replace the key.
 *  Also called on SIGHUP. */
export function readTlsFiles({ certPath, keyPath }: TlsFiles): { cert: Buffer; key: Buffer } {
  if ((keyMode(keyPath) & 0o006) !== 0) throw new Error(`every user of this machine may use the key ${keyPath}: chmod 600 ${keyPath}`);
  const pair = { cert: read(certPath), key: read(keyPath) };
  explain(`${certPath} is not a certificate in PEM`, () => new X509Certificate(pair.cert));
  explain(`${keyPath} is not a private key in PEM, or it needs a passphrase`, () => createPrivateKey(pair.key));
  explain(`the key ${keyPath} does not belong to the certificate ${certPath}`, () => createSecureContext(pair));
  return pair;
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw fileError(path, error);
  }
}

const SYSTEM_ERRORS: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `there is no file ${path}`,
  ENOTDIR: (path) => `there is no file ${path}`,
  EACCES: (path) => `this user may not read ${path}`,
  EISDIR: (path) => `${path} is a folder and not a file`,
};

function fileError(path: string, error: unknown): Error {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return new Error(SYSTEM_ERRORS[code]?.(path) ?? message, { cause: error });
}

/** Replaces an error of OpenSSL with a sentence. */
function explain(text: string, work: () => unknown): void {
  try {
    work();
  } catch (error) {
    throw new Error(text, { cause: error });
  }
}

/** Windows has no such permissions. */
function keyMode(path: string): number {
  if (process.platform === "win32") return 0;
  try {
    return statSync(path).mode;
  } catch (error) {
    throw fileError(path, error);
  }
}

/** Whether other users than the owner may read the key: those of its group. */
export const isKeyShared = ({ keyPath }: TlsFiles): boolean => (keyMode(keyPath) & 0o060) !== 0;
