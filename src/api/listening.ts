/** The errors of a server that cannot listen, and the expiry of its certificate. */
import { X509Certificate } from "node:crypto";
import { StartupError } from "../storage/startup-error.ts";

/** The chain is valid until the first of its certificates expires, since a client needs all of them. */
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export const certificateEnd = (chain: Buffer): Date =>
  new Date(Math.min(...Array.from(chain.toString("latin1").matchAll(BLOCK), ([pem]) => new X509Certificate(pem).validToDate.getTime())));

/** Explains in one sentence why the server cannot listen. */
export function explainListenError(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE")
    return new StartupError(`port ${port} on ${host} is in use: stop what listens there, or set GODWIT_PORT (0 picks a free one)`);
  if (code === "EACCES") return new StartupError(`this user may not listen on port ${port}: choose one from 1024 on`);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return new StartupError(`this machine has no address ${host}: set GODWIT_HOST to one of its own`);
  return error;
}
