/** The files of the certificate and of its private key, and who may read the key. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";

export type TlsFiles = { certPath: string; keyPath: string };

/** Reads the certificate and the key. Throws if they do not belong together, or if every user of the machine may read or replace the key.
 *  Also called on SIGHUP. */
export function readTlsFiles({ certPath, keyPath }: TlsFiles): { cert: Buffer; key: Buffer } {
  if ((keyMode(keyPath) & 0o006) !== 0) throw new Error(`every user of this machine may use the key ${keyPath}: chmod 600 ${keyPath}`);
  const pair = { cert: fromFile(certPath, readBytes), key: fromFile(keyPath, readBytes) };
  explain(`${certPath} is not a certificate in PEM`, () => new X509Certificate(pair.cert));
  explain(`${keyPath} is not a private key in PEM, or it needs a passphrase`, () => createPrivateKey(pair.key));
  explain(`the key ${keyPath} does not belong to the certificate ${certPath}`, () => createSecureContext(pair));
  return pair;
}

const SYSTEM_ERRORS: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `there is no file ${path}`,
  ENOTDIR: (path) => `there is no file ${path}`,
  EACCES: (path) => `this user may not read ${path}`,
  EISDIR: (path) => `${path} is a folder and not a file`,
};

const readBytes = (path: string): Buffer => readFileSync(path);

/** Replaces an error of the file system with a sentence. */
function fromFile<T>(path: string, read: (path: string) => T): T {
  try {
    return read(path);
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    throw new Error(SYSTEM_ERRORS[code]?.(path) ?? message, { cause: error });
  }
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
const keyMode = (path: string): number => (process.platform === "win32" ? 0 : fromFile(path, (each) => statSync(each).mode));

/** Whether other users than the owner may read the key: those of its group. */
export const isKeyShared = ({ keyPath }: TlsFiles): boolean => (keyMode(keyPath) & 0o060) !== 0;
