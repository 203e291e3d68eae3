/** The transport of a database connection. A server that is neither on loopback nor on a socket is reached over TLS with a verified
 *  certificate, as libpq's `sslmode=verify-full` does it, unless the operator allows plain text. */
import { checkServerIdentity } from "node:tls";
import pg from "pg";
import { isLoopback } from "../lib/addresses.ts";
import { serverUrls } from "./database-servers.ts";
import { parseUrl } from "./driver.ts";

/** `isPlaintextAllowed`: a remote server is reached as the URL says, without TLS by default. */
export type DatabaseAddress = { url: string; isPlaintextAllowed?: boolean };

const PLAINTEXT_HINT = "or set GODWIT_DATABASE_PLAINTEXT=allow if the network in between is trusted";

/** The parameters with which a URL can choose less than a verified certificate. */
const WEAK_PARAMETERS: readonly { name: string; isVerified: (value: string) => boolean }[] = [
  { name: "sslmode", isVerified: (value) => value === "verify-full" },
  { name: "ssl", isVerified: (value) => value === "true" || value === "1" },
];

/** Returns the reason why the URL cannot be used, without its password. */
export function findAddressFault({ url, isPlaintextAllowed = false }: DatabaseAddress): string | undefined {
  if (!/^postgres(ql)?:\/\//.test(url)) return "must begin with postgres:// or postgresql://";
  let remote: string | undefined;
  try {
    remote = serverUrls(url)
      .map(hostOf)
      .find((host) => !isLocal(host));
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
  if (remote === undefined || isPlaintextAllowed) return undefined;
  const given = new URLSearchParams(url.split("?").slice(1).join("?"));
  for (const { name, isVerified } of WEAK_PARAMETERS) {
    const weak = given.getAll(name).find((value) => !isVerified(value));
    if (weak !== undefined)
      return `${name}=${weak} does not verify the certificate of ${remote}: write sslmode=verify-full, ${PLAINTEXT_HINT}`;
  }
  return undefined;
}

/** Whether connections to the server use TLS with a verified certificate. False for a socket and for loopback. */
export const needsVerifiedTls = ({ url, isPlaintextAllowed = false }: DatabaseAddress): boolean => !isPlaintextAllowed && isAnyRemote(url);

/** Whether plain text is allowed and has an effect. */
export const isPlaintextUsed = ({ url, isPlaintextAllowed = false }: DatabaseAddress): boolean => isPlaintextAllowed && isAnyRemote(url);

/** Returns the driver's configuration of a client. A client of a server that needs verified TLS verifies it, whatever the URL, PGSSLMODE or
 *  NODE_TLS_REJECT_UNAUTHORIZED say: the options take precedence over them. */
export function clientConfig(address: DatabaseAddress): pg.ClientConfig {
  const config = parseUrl(address.url);
  if (!needsVerifiedTls(address)) return config;
  const given = typeof config.ssl === "object" ? config.ssl : {};
  return { ...config, ssl: { ...given, rejectUnauthorized: true, checkServerIdentity } };
}

/** Explains a failed handshake to the operator. */
export function tlsHint(reason: string): string {
  if (/does not support SSL/.test(reason)) return `; switch on ssl in PostgreSQL, ${PLAINTEXT_HINT}`;
  if (/certificate|altnames/i.test(reason)) return "; sslrootcert=FILE in DATABASE_URL names the certificate authority of the server";
  return "";
}

/** The driver takes the host from the URL, from its parameters, or from PGHOST. A path is a socket. Names other than `localhost` count as
 *  remote, whatever they resolve to: the next lookup may find another address. */
const hostOf = (url: string): string => serverOf(url).host;

/** The host and the port of a server, for people. */
export function serverName(url: string): string {
  const { host, port } = serverOf(url);
  return `${host}:${port}`;
}

/** The driver prints a warning about each other mode, and only the address is of interest here. */
const serverOf = (url: string): pg.Client => new pg.Client(url.replaceAll(/([?&]sslmode=)[^&]*/g, "$1verify-full"));

const isAnyRemote = (url: string): boolean => serverUrls(url).some((each) => !isLocal(hostOf(each)));
const isLocal = (host: string): boolean => host.startsWith("/") || isLoopback(host);
