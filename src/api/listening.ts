/** How a server begins to listen, the errors of one that cannot, and the expiry of its certificate. */
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server as NetServer } from "node:net";
import { StartupError } from "../database/startup-error.ts";

/** The chain is valid until the first of its certificates expires, since a client needs all of them. */
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export const certificateEnd = (chain: Buffer): Date =>
  new Date(Math.min(...Array.from(chain.toString("latin1").matchAll(BLOCK), ([pem]) => new X509Certificate(pem).validToDate.getTime())));

type Address = { host: string; port: number; tls: unknown; workers: number };

/** Starts to listen and returns the URL. Each of several workers has a socket of its own for the same port, and the system gives each
 *  connection to one of them. */
export async function listenOn(server: NetServer, { host, port, tls, workers }: Address): Promise<string> {
  try {
    server.listen({ host, port, reusePort: workers > 1 });
    await once(server, "listening");
  } catch (error) {
    throw explainListenError(error, { host, port });
  }
  const { port: actual } = server.address() as AddressInfo;
  return `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${actual}`;
}

/** Throws if the port is in use, before a start creates a database for nothing. The probe does not share the port: workers would share
 *  theirs with those of another service on this machine, which then gets a part of the connections. */
export async function checkPort({ host, port }: Pick<Address, "host" | "port">): Promise<void> {
  if (port === 0) return;
  const probe = createServer();
  await listenOn(probe, { host, port, tls: undefined, workers: 1 });
  await new Promise((resolve) => probe.close(resolve));
}

/** Explains in one sentence why the server cannot listen. */
function explainListenError(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE")
    return new StartupError(`port ${port} on ${host} is in use: stop the program that uses it, or set GODWIT_PORT (0 picks a free port)`);
  if (code === "EACCES") return new StartupError(`this user may not listen on port ${port}: choose a port from 1024 on`);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return new StartupError(`this machine has no address ${host}: set GODWIT_HOST to an address of this machine`);
  return error;
}
