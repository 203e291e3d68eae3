/** How a server begins to listen, the errors of one that cannot, and the expiry of its certificate. */
import { X509Certificate } from "node:crypto";
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { StartupError } from "../storage/startup-error.ts";

/** The chain is valid until the first of its certificates expires, since a client needs all of them. */
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export const certificateEnd = (chain: Buffer): Date =>
  new Date(Math.min(...Array.from(chain.toString("latin1").matchAll(BLOCK), ([pem]) => new X509Certificate(pem).validToDate.getTime())));

type Address = { host: string; port: number; tls: unknown; workers: number };

/** Starts to listen and returns the URL. Each of several workers has a socket of its own for the same port, and the system gives each
 *  connection to one of them. */
export async function listenOn(app: FastifyInstance, { host, port, tls, workers }: Address): Promise<string> {
  // Fastify passes all options on to the server, and its types do not know this one.
  const options = { host, port, reusePort: workers > 1 } as { host: string; port: number };
  await app.listen(options).catch((error: unknown) => {
    throw explainListenError(error, { host, port });
  });
  const { port: actual } = app.server.address() as AddressInfo;
  return `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${actual}`;
}

/** Explains in one sentence why the server cannot listen. */
function explainListenError(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE")
    return new StartupError(`port ${port} on ${host} is in use: stop what listens there, or set GODWIT_PORT (0 picks a free one)`);
  if (code === "EACCES") return new StartupError(`this user may not listen on port ${port}: choose one from 1024 on`);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return new StartupError(`this machine has no address ${host}: set GODWIT_HOST to one of its own`);
  return error;
}
